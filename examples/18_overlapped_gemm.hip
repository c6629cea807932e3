// SPDX-License-Identifier: Apache-2.0
//
// Two layers of a network whose weights are spread over PEs, with the products (GEMM) and the
// collectives of meshmem/overlap.hpp overlapped, tile by tile. The same in turn, to compare. Run
// it:
//   oshhip -O2 18_overlapped_gemm.hip arguments.cpp -o gemm && oshrun -n 4 ./gemm --rows 256

// Each PE has some columns of the first layer's weights and the rows of the second layer's that
// belong to them. Activations are shared out by rows between the layers:
//
//   all-gather       every PE gets the rows of all     x[rows of PE][width] -> all rows of x
//   first product    every PE makes its columns        hidden[rows][inner] = x * first
//   second product   every PE makes a part of the sum  partial[rows][width] = hidden * second
//   reduce-scatter   every PE gets the sum of its rows y[rows of PE][width]
//
// It runs in three ways. In turn: four operations, one after the other. In two kernels, whose first
// blocks communicate and whose other blocks multiply. In chunks, for a product that cannot be
// changed: one chunk for each PE's rows, while communication has a kernel on a second stream. The
// chunks are multiplied by cuBLASLt or hipBLASLt if CMake has found one.
//
// Invariant: all numbers are small and whole, so all ways come to the same sums.

#include <chrono>
#include <meshmem/overlap.hpp>

#include "gpu.hpp"
#if defined(EXAMPLES_CUBLASLT) || defined(EXAMPLES_HIPBLASLT)
#include "library_gemm.hpp"
#endif

namespace {

using meshmem::AllGatherTiles;
using meshmem::ReduceScatterTiles;
using meshmem::Rows;
using meshmem::TiledCall;

constexpr unsigned kThreads = 64, kSide = 8;  // a block multiplies squares of 8 x 8

// ---------------------------------------------------------------------------- 1. A plain product

struct Product {
  const float *a, *b;  // [rows][inner], [inner][columns]
  float* c;            // [rows][columns]
  std::size_t inner, columns;
};

// Some rows of a product, by all threads of a block, square by square.
__device__ void multiply(const Product& product, Rows rows) {
  __shared__ float of_a[kSide][kSide], of_b[kSide][kSide];
  const std::size_t x = threadIdx.x % kSide, y = threadIdx.x / kSide;
  for (std::size_t top = 0; top < rows.count; top += kSide)
    for (std::size_t left = 0; left < product.columns; left += kSide) {
      const std::size_t row = rows.first + top + y, column = left + x;
      const bool has_row = top + y < rows.count, has_column = column < product.columns;
      float sum = 0;
      for (std::size_t k = 0; k < product.inner; k += kSide) {
        of_a[y][x] = has_row && k + x < product.inner ? product.a[row * product.inner + k + x] : 0;
        of_b[y][x] =
            has_column && k + y < product.inner ? product.b[(k + y) * product.columns + column] : 0;
        __syncthreads();
        for (std::size_t i = 0; i < kSide; ++i) sum += of_a[y][i] * of_b[i][x];
        __syncthreads();
      }
      if (has_row && has_column) product.c[row * product.columns + column] = sum;
    }
}
__global__ void multiply_rows(Product product, Rows rows) {
  for (std::size_t first = blockIdx.x * kSide; first < rows.count; first += gridDim.x * kSide)
    multiply(product,
             {rows.first + first, rows.count - first < kSide ? rows.count - first : kSide});
}

// --------------------------------------------------------------- 2. Products that wait for tiles

// The first blocks of a grid communicate; these calls are for the others.
__global__ void gather_and_multiply(AllGatherTiles<float> tiles, Product product) {
  if (tiles.communicates()) return tiles.communicate();
  const std::size_t step = gridDim.x - TiledCall::kBlocks;
  for (std::size_t i = blockIdx.x - TiledCall::kBlocks; i < tiles.all_tiles(); i += step) {
    tiles.wait(tiles.tile_in_turn(i));
    multiply(product, tiles.tile_in_turn(i));
  }
}
__global__ void multiply_and_reduce(ReduceScatterTiles<float> tiles, Product product) {
  if (tiles.communicates()) return tiles.communicate();
  const std::size_t step = gridDim.x - TiledCall::kBlocks;
  for (std::size_t i = blockIdx.x - TiledCall::kBlocks; i < tiles.all_tiles(); i += step) {
    multiply(product, tiles.tile_in_turn(i));
    tiles.announce(tiles.tile_in_turn(i), product.columns);
  }
}

// ------------------------------------------------------------------------------------ 3. The host

// Small whole numbers, which stand for activations and weights.
float value_of(std::size_t matrix, std::size_t row, std::size_t column) {
  const std::size_t mixed = (matrix * 7919 + row * 104729 + column * 1299709) * 2654435761u;
  return static_cast<float>((mixed >> 16) % 5) - 2;
}

void must(const meshmem::Status& status) {
  if (status) return;
  std::fprintf(stderr, "%s: PE %d: %s\n", examples::program_name.c_str(), shmem_my_pe(),
               status.text());
  shmem_global_exit(1);
}

struct Sizes {
  std::size_t rows, width, inner;  // rows: of all PEs, a multiple of them; inner: of each PE
};

class Layers {
 public:
  Layers(Sizes sizes, unsigned blocks, std::size_t tile_rows)
      : sizes_(sizes),
        mine_(sizes.rows / static_cast<std::size_t>(shmem_n_pes())),
        blocks_(blocks),
        shape_{sizes.rows, sizes.width, tile_rows},
        overlap_(SHMEM_TEAM_WORLD, sizes.rows * sizes.width * sizeof(float)),
        x_(examples::allocate_on_gpus<float>(mine_ * sizes.width)),
        all_x_(examples::allocate_on_gpus<float>(sizes.rows * sizes.width)),
        partial_(examples::allocate_on_gpus<float>(sizes.rows * sizes.width)),
        y_(examples::allocate_on_gpus<float>(mine_ * sizes.width)) {
    must(overlap_.status());
    for (hipStream_t* stream : {&stream_, &side_})
      examples::check(hipStreamCreateWithFlags(stream, hipStreamNonBlocking), "make a stream");
    examples::check(hipEventCreateWithFlags(&event_, hipEventDisableTiming), "make an event");
    const auto me = static_cast<std::size_t>(shmem_my_pe());
    fill(x_, 0, mine_, sizes.width, me * mine_, 0);
    first_ = examples::allocate_private<float>(sizes.width * sizes.inner);
    second_ = examples::allocate_private<float>(sizes.inner * sizes.width);
    hidden_ = examples::allocate_private<float>(sizes.rows * sizes.inner);
    fill(first_, 1, sizes.width, sizes.inner, 0, me * sizes.inner);
    fill(second_, 2, sizes.inner, sizes.width, me * sizes.inner, 0);
  }
  Layers(const Layers&) = delete;
  Layers& operator=(const Layers&) = delete;
  ~Layers() {
    for (hipStream_t stream : {stream_, side_})
      examples::check(hipStreamDestroy(stream), "end a stream");
    examples::check(hipEventDestroy(event_), "end an event");
  }

  void run_in_turn() {
    shmemx_fcollect_on_stream(SHMEM_TEAM_WORLD, all_x_, x_, mine_ * sizes_.width, stream_);
    chunk(first(all_x_), {0, sizes_.rows});
    chunk(second(), {0, sizes_.rows});
    shmemx_sum_reduce_scatter_on_stream(SHMEM_TEAM_WORLD, y_, partial_, mine_ * sizes_.width,
                                        stream_);
  }
  void run_in_two_kernels() {
    AllGatherTiles<float> rows{};
    must(overlap_.all_gather<float>(x_, shape_, stream_, &rows));
    start(gather_and_multiply, rows, first(rows.gathered()));
    ReduceScatterTiles<float> sums{};
    must(overlap_.reduce_scatter<float>(partial_, y_, shape_, stream_, &sums));
    start(multiply_and_reduce, sums, second());
  }
  void run_in_chunks() {
    // Tile 0 of all shares travels before tile 1 of any. So a tile is a share, like a chunk.
    const meshmem::TiledShape shape{sizes_.rows, sizes_.width, mine_};
    AllGatherTiles<float> rows{};
    must(overlap_.all_gather<float>(x_, shape, stream_, &rows));
    order(stream_, side_);
    must(meshmem::Overlap::communicate(rows, side_));
    for (int i = 0; i < rows.n; ++i) {
      const Rows share = rows.share_of((rows.me + rows.n - i) % rows.n);
      must(meshmem::Overlap::wait(rows, share, stream_));
      chunk(first(rows.gathered()), share);
    }
    order(side_, stream_);
    // The kernel that waits is put on its stream behind those that it waits for.
    ReduceScatterTiles<float> sums{};
    must(overlap_.reduce_scatter<float>(partial_, y_, shape, stream_, &sums));
    order(stream_, side_);
    for (int i = 1; i <= sums.n; ++i) {
      const Rows share = sums.share_of((sums.me + i) % sums.n);
      chunk(second(), share);
      must(meshmem::Overlap::announce(sums, share, stream_));
    }
    must(meshmem::Overlap::communicate(sums, side_));
    order(side_, stream_);
  }

  // Microseconds of a step, on the average; `y` becomes the result.
  double time(void (Layers::*run)(), long steps, std::vector<float>* y) {
    (this->*run)();
    examples::check(hipStreamSynchronize(stream_), "run its kernels");
    shmem_barrier_all();
    const auto start = std::chrono::steady_clock::now();
    for (long step = 0; step < steps; ++step) (this->*run)();
    examples::check(hipStreamSynchronize(stream_), "run its kernels");
    const std::chrono::duration<double, std::micro> us = std::chrono::steady_clock::now() - start;
    y->resize(mine_ * sizes_.width);
    examples::copy_from_gpu(y->data(), y_, y->size());
    examples::check(hipMemset(y_, 0, y->size() * sizeof(float)), "clear memory of its GPU");
    examples::wait_for_gpu();
    return us.count() / static_cast<double>(steps);
  }

 private:
  static void fill(float* matrix, std::size_t number, std::size_t rows, std::size_t columns,
                   std::size_t first_row, std::size_t first_column) {
    std::vector<float> values(rows * columns);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = value_of(number, first_row + i / columns, first_column + i % columns);
    examples::copy_to_gpu(matrix, values.data(), values.size());
  }
  Product first(const float* x) const { return {x, first_, hidden_, sizes_.width, sizes_.inner}; }
  Product second() const { return {hidden_, second_, partial_, sizes_.inner, sizes_.width}; }

  template <typename Tiles>
  void start(void (*kernel)(Tiles, Product), const Tiles& tiles, const Product& product) const {
    hipLaunchKernelGGL(kernel, dim3(TiledCall::kBlocks + blocks_), dim3(kThreads), 0, stream_,
                       tiles, product);
    examples::check_launch("start its kernel");
  }
  void chunk(const Product& product, Rows rows) const {
#if defined(EXAMPLES_CUBLASLT) || defined(EXAMPLES_HIPBLASLT)
    library_(product.a + rows.first * product.inner, product.b,
             product.c + rows.first * product.columns, rows.count, product.inner, product.columns,
             stream_);
#else
    hipLaunchKernelGGL(multiply_rows, dim3(blocks_), dim3(kThreads), 0, stream_, product, rows);
    examples::check_launch("start its kernel");
#endif
  }
  // The next work of `second` comes after the work that `first` has been given so far.
  void order(hipStream_t first, hipStream_t second) const {
    examples::check(hipEventRecord(event_, first), "record an event");
    examples::check(hipStreamWaitEvent(second, event_, 0), "wait for an event");
  }

  Sizes sizes_;
  std::size_t mine_;
  unsigned blocks_;
  meshmem::TiledShape shape_;
  meshmem::Overlap overlap_;
  float *x_, *all_x_, *partial_, *y_, *first_, *second_, *hidden_;
  hipStream_t stream_ = nullptr, side_ = nullptr;
  hipEvent_t event_ = nullptr;
#if defined(EXAMPLES_CUBLASLT) || defined(EXAMPLES_HIPBLASLT)
  examples::LibraryGemm library_;
#endif
};

void run(int argc, char** argv) {
  examples::Arguments arguments("Overlaps the products of two layers with their collectives.");
  long rows = 16, width = 32, inner = 24, tile = 8, blocks = 2, steps = 3;
  arguments.number("--rows", rows, 1, 1L << 20, "Rows of each PE");
  arguments.number("--width", width, 1, 1L << 16, "Columns of the activations");
  arguments.number("--inner", inner, 1, 1L << 16, "Columns of a PE between the layers");
  arguments.number("--tile", tile, 1, 1L << 20, "Rows of a tile");
  arguments.number("--blocks", blocks, 1, 1L << 20, "Blocks that multiply");
  arguments.number("--steps", steps, 1, 1L << 40, "How often each way runs");
  arguments.parse(argc, argv);
  examples::require_gpus();

  const auto size = [](long number) { return static_cast<std::size_t>(number); };
  const Sizes sizes{size(rows) * size(shmem_n_pes()), size(width), size(inner)};
  std::vector<float> expected, found[2];
  double us[3];
  {
    Layers layers(sizes, static_cast<unsigned>(blocks), size(tile));
    us[0] = layers.time(&Layers::run_in_turn, steps, &expected);
    us[1] = layers.time(&Layers::run_in_two_kernels, steps, &found[0]);
    us[2] = layers.time(&Layers::run_in_chunks, steps, &found[1]);
  }
  examples::agree(found[0] == expected && found[1] == expected ? "" : "the ways differ");
  static double sum, all;  // symmetric, for the reduction
  sum = 0;
  for (std::size_t i = 0; i < expected.size(); ++i)
    sum += static_cast<double>(expected[i]) * static_cast<double>(i % 101 + 1);
  shmem_double_sum_reduce(SHMEM_TEAM_WORLD, &all, &sum, 1);
  if (shmem_my_pe() != 0) return;
  std::printf("%s: %zu x %zu activations, checksum %.0f\n", examples::number_of_pes().c_str(),
              sizes.rows, sizes.width, all);
  std::printf("a step: %.1f us in turn, %.1f us in two kernels, %.1f us in chunks\n", us[0], us[1],
              us[2]);
}

}  // namespace

int main(int argc, char** argv) { return examples::run_between_init_and_finalize(run, argc, argv); }
