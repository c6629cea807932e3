// SPDX-License-Identifier: Apache-2.0
//
// Times of fused and quantized collectives on GPUs, beside a plain all-reduce of as many bytes.
//   oshrun -n 2 fused_bench [--max-bytes N] [--hidden N] [--max-rows N] [--inner N]
// Prints lines: what, PEs, bytes, microseconds for one operation, GB/s, times the all-reduce. Bytes
// are those of bf16 data in each PE's larger array. Operations are timed in a graph of one stream,
// between two events; each line is the median of several runs. Lines "in turn" and "overlapped" are
// of a product [rows][inner] * [inner][hidden] and a collective, times the line in turn.
#include <hip/hip_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <meshmem/all_reduce_norm.hpp>
#include <meshmem/overlap.hpp>
#include <meshmem/quantized.hpp>
#include <vector>

#define CHECK(call)                                                                   \
  do {                                                                                \
    const hipError_t error = (call);                                                  \
    if (error != hipSuccess) {                                                        \
      std::fprintf(stderr, "fused_bench: %s: %s\n", #call, hipGetErrorString(error)); \
      shmem_global_exit(1);                                                           \
    }                                                                                 \
  } while (0)

namespace {

using meshmem::DataType;
using meshmem::Status;
using meshmem::Wire;

hipStream_t stream;
hipEvent_t begin_event, end_event;

void must(const Status& status) {
  if (status) return;
  std::fprintf(stderr, "fused_bench: %s\n", status.text());
  shmem_global_exit(1);
}

double time_of(hipGraphExec_t program) {
  shmem_barrier_all();
  CHECK(hipEventRecord(begin_event, stream));
  CHECK(hipGraphLaunch(program, stream));
  CHECK(hipEventRecord(end_event, stream));
  CHECK(hipEventSynchronize(end_event));
  float ms = 0;
  CHECK(hipEventElapsedTime(&ms, begin_event, end_event));
  return 1e3 * static_cast<double>(ms);
}

// put() puts an operation on the stream. Returns its microseconds.
template <typename Put>
double graphed(std::size_t bytes, const Put& put) {
  constexpr int kRuns = 7;
  const int nodes = bytes > (16u << 20) ? 5 : 50;
  hipGraph_t graph;
  hipGraphExec_t program;
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal));
  for (int i = 0; i < nodes; ++i) must(put());
  CHECK(hipStreamEndCapture(stream, &graph));
  CHECK(hipGraphInstantiate(&program, graph, nullptr, nullptr, 0));
  time_of(program);
  std::vector<double> us;
  for (int i = 0; i < kRuns; ++i) us.push_back(time_of(program) / nodes);
  CHECK(hipGraphExecDestroy(program));
  CHECK(hipGraphDestroy(graph));
  std::sort(us.begin(), us.end());
  return us[us.size() / 2];
}

void say(const char* what, std::size_t bytes, double us, double all_reduce) {
  if (shmem_my_pe() != 0) return;
  std::printf("%-24s %d %11zu %10.2f %8.2f %6.2f\n", what, shmem_n_pes(), bytes, us,
              static_cast<double>(bytes) / us * 1e-3, us / all_reduce);
  std::fflush(stdout);
}

std::size_t number_of(int argc, char** argv, const char* name, std::size_t otherwise) {
  for (int i = 1; i + 1 < argc; ++i)
    if (std::strcmp(argv[i], name) == 0) return std::strtoull(argv[i + 1], nullptr, 0);
  return otherwise;
}

void run(std::size_t most, std::size_t hidden) {
  meshmem::AllReduce plain;
  meshmem::AllReduceNorm norm;
  meshmem::Quantized quantized;
  for (const Status& status : {plain.status(), norm.status(), quantized.status()}) must(status);
  char *x, *residual, *weight;
  auto* y = static_cast<char*>(meshmem::SymmetricMemory::allocate(most));
  for (char** memory : {&x, &residual, &weight}) {
    *memory = static_cast<char*>(meshmem::SymmetricMemory::allocate(most));
    if (!*memory || !y) {
      std::fprintf(stderr,
                   "fused_bench: set MESHMEM_DEVICE_HEAP_SIZE to 4 times --max-bytes, and "
                   "168 MiB\n");
      shmem_global_exit(1);
    }
    CHECK(hipMemset(*memory, 0, most));
  }
  CHECK(hipDeviceSynchronize());
  const auto n = static_cast<std::size_t>(shmem_n_pes());
  for (std::size_t rows = 1; 2 * rows * hidden <= most; rows *= rows < 16 ? 2 : 4) {
    const std::size_t count = rows * hidden, bytes = 2 * count;
    const double sum = graphed(bytes, [&] {
      return plain.execute(x, y, count, DataType::bf16, meshmem::ReduceOp::sum, stream);
    });
    say("all-reduce", bytes, sum, sum);
    say("all-reduce, norm", bytes,
        graphed(bytes,
                [&] {
                  return norm.execute({x, residual, weight, y, residual, rows, hidden, 1e-5F},
                                      DataType::bf16, stream);
                }),
        sum);
    for (const Wire wire : {Wire::e4m3, Wire::e5m2, Wire::int8}) {
      const meshmem::Quantized::Format format{DataType::bf16, wire};
      const auto line = [&](const char* what, const auto& put) {
        const char* const name = wire == Wire::e4m3 ? "e4m3" : wire == Wire::e5m2 ? "e5m2" : "int8";
        char text[64];
        std::snprintf(text, sizeof text, "%s %s", name, what);
        say(text, bytes, graphed(bytes, put), sum);
      };
      line("all-reduce", [&] { return quantized.all_reduce(x, y, count, format, stream); });
      line("reduce-scatter",
           [&] { return quantized.reduce_scatter(x, y, count / n, format, stream); });
      line("all-gather", [&] { return quantized.all_gather(x, y, count / n, format, stream); });
    }
  }
  CHECK(hipStreamSynchronize(stream));
  for (char* memory : {y, x, residual, weight}) meshmem::SymmetricMemory::free(memory);
}

// ---- Products and collectives

using E = meshmem_bfloat16;
using meshmem::Rows;
using meshmem::TiledCall;
constexpr unsigned kSide = 32, kProductThreads = kSide * kSide / 4;

struct Product {
  const E *a, *b;  // [rows][inner], [inner][columns]
  E* c;            // [rows][columns]
  std::size_t inner, columns;
};

// A square of 32 x 32 elements, of which `rows` rows exist; by a block, whose threads have four
// rows of a column each.
__device__ void multiply_square(const Product& product, Rows rows, std::size_t left) {
  __shared__ float of_a[kSide][kSide + 1], of_b[kSide][kSide];
  const unsigned x = threadIdx.x % kSide, y = threadIdx.x / kSide, step = kProductThreads / kSide;
  float sum[4] = {};
  for (std::size_t k = 0; k < product.inner; k += kSide) {
    for (unsigned i = y; i < kSide; i += step) {
      const bool has_a = i < rows.count && k + x < product.inner;
      const bool has_b = k + i < product.inner && left + x < product.columns;
      of_a[i][x] =
          has_a ? static_cast<float>(product.a[(rows.first + i) * product.inner + k + x]) : 0;
      of_b[i][x] = has_b ? static_cast<float>(product.b[(k + i) * product.columns + left + x]) : 0;
    }
    __syncthreads();
    for (unsigned i = 0; i < kSide; ++i)
      for (unsigned r = 0; r < 4; ++r) sum[r] += of_a[y + r * step][i] * of_b[i][x];
    __syncthreads();
  }
  for (unsigned r = 0; r < 4; ++r)
    if (y + r * step < rows.count && left + x < product.columns)
      product.c[(rows.first + y + r * step) * product.columns + left + x] = E(sum[r]);
}
// Calls act(rows, left) for the squares of some tiles that block number `block` of `blocks` has.
// Squares of the same rows follow each other. tile_of(i): the rows of the i-th tile.
template <typename TileOf, typename Act>
__device__ void for_squares(std::size_t tiles, std::size_t tile_rows, std::size_t columns,
                            unsigned block, unsigned blocks, const TileOf& tile_of,
                            const Act& act) {
  const std::size_t bands = (tile_rows + kSide - 1) / kSide, across = (columns + kSide - 1) / kSide;
  for (std::size_t i = block; i < tiles * bands * across; i += blocks) {
    const Rows tile = tile_of(i / (bands * across));
    const std::size_t top = i / across % bands * kSide;
    if (top >= tile.count) continue;
    const std::size_t left_over = tile.count - top;
    act(Rows{tile.first + top, left_over < kSide ? left_over : kSide}, i % across * kSide);
  }
}
// The same for the blocks that compute. Tiles that are smaller than a square are done together.
template <typename Tiles, typename Act>
__device__ void for_squares_of(const Tiles& tiles, std::size_t columns, const Act& act) {
  const bool together = tiles.tile_rows < kSide;
  for_squares(
      together ? 1 : tiles.all_tiles(), together ? tiles.rows : tiles.tile_rows, columns,
      blockIdx.x - TiledCall::kBlocks, gridDim.x - TiledCall::kBlocks,
      [&](std::size_t i) {
        return together ? Rows{0, tiles.rows} : tiles.tile_in_turn(i);
      },
      act);
}
__global__ void multiply(const Product product, std::size_t rows) {
  for_squares(
      1, rows, product.columns, blockIdx.x, gridDim.x,
      [&](std::size_t) {
        return Rows{0, rows};
      },
      [&](Rows square, std::size_t left) { multiply_square(product, square, left); });
}
__global__ void multiply_and_reduce(const meshmem::ReduceScatterTiles<E> tiles,
                                    const Product product) {
  if (tiles.communicates()) return tiles.communicate();
  for_squares_of(tiles, product.columns, [&](Rows square, std::size_t left) {
    const std::size_t width = product.columns - left;
    multiply_square(product, square, left);
    tiles.announce(square, width < kSide ? width : kSide);
  });
}
__global__ void gather_and_multiply(const meshmem::AllGatherTiles<E> tiles, const Product product) {
  if (tiles.communicates()) return tiles.communicate();
  for_squares_of(tiles, product.columns, [&](Rows square, std::size_t left) {
    tiles.wait(square);
    multiply_square(product, square, left);
  });
}

// As many blocks as the GPU runs at once: a block that starts later would compute alone at the end.
template <typename... Parameters>
Status put_kernel(void (*kernel)(Parameters...), Parameters... arguments) {
  int device = 0, processors = 0, on_each = 0;
  CHECK(hipGetDevice(&device));
  CHECK(hipDeviceGetAttribute(&processors, hipDeviceAttributeMultiprocessorCount, device));
  CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&on_each, kernel, kProductThreads, 0));
  const auto blocks = static_cast<unsigned>(on_each * processors);
  hipLaunchKernelGGL(kernel, dim3(blocks), dim3(kProductThreads), 0, stream, arguments...);
  CHECK(hipGetLastError());
  return Status();
}

// hidden: the columns of the product; inner: of each PE.
void run_products(std::size_t most, std::size_t hidden, std::size_t inner) {
  const auto n = static_cast<std::size_t>(shmem_n_pes());
  const auto allocate = [](std::size_t count) {
    auto* const memory = static_cast<E*>(meshmem::SymmetricMemory::allocate(count * sizeof(E)));
    if (!memory) {
      std::fprintf(stderr, "fused_bench: set MESHMEM_DEVICE_HEAP_SIZE to more, or --max-rows\n");
      shmem_global_exit(1);
    }
    CHECK(hipMemset(memory, 0, count * sizeof(E)));
    return memory;
  };
  const std::size_t wide = inner > hidden ? inner : hidden;
  meshmem::Overlap overlap(SHMEM_TEAM_WORLD, (most + n) * wide * sizeof(E));
  must(overlap.status());
  E* const a = allocate((most + n) * inner);
  E* const share = allocate((most + n) * wide);
  E* const b = allocate(inner * hidden);
  E* const c = allocate((most + n) * hidden);
  CHECK(hipDeviceSynchronize());
  for (std::size_t m = 32; m <= most; m *= 4) {
    const std::size_t part = (m + n - 1) / n, rows = part * n, bytes = rows * hidden * sizeof(E);
    const Product product{a, b, c, inner, hidden};
    const double in_turn = graphed(bytes, [&] {
      must(put_kernel(multiply, product, rows));
      shmemx_bfloat16_sum_reduce_scatter_on_stream(SHMEM_TEAM_WORLD, share, c, part * hidden,
                                                   stream);
      return Status();
    });
    say("GEMM, RS in turn", bytes, in_turn, in_turn);
    say("GEMM, RS overlapped", bytes,
        graphed(bytes,
                [&] {
                  meshmem::ReduceScatterTiles<E> tiles{};
                  must(overlap.reduce_scatter<E>(c, share, {rows, hidden}, stream, &tiles));
                  return put_kernel(multiply_and_reduce, tiles, product);
                }),
        in_turn);
    const double gathered_first = graphed(bytes, [&] {
      shmemx_fcollectmem_on_stream(SHMEM_TEAM_WORLD, a, share, part * inner * sizeof(E), stream);
      return put_kernel(multiply, product, rows);
    });
    say("AG, GEMM in turn", bytes, gathered_first, gathered_first);
    say("AG, GEMM overlapped", bytes,
        graphed(bytes,
                [&] {
                  meshmem::AllGatherTiles<E> tiles{};
                  must(overlap.all_gather<E>(share, {rows, inner}, stream, &tiles));
                  const Product of_gathered{tiles.gathered(), b, c, inner, hidden};
                  return put_kernel(gather_and_multiply, tiles, of_gathered);
                }),
        gathered_first);
  }
  CHECK(hipStreamSynchronize(stream));
  for (E* memory : {a, share, b, c}) meshmem::SymmetricMemory::free(memory);
}

}  // namespace

int main(int argc, char** argv) {
  shmem_init();
  CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  CHECK(hipEventCreate(&begin_event));
  CHECK(hipEventCreate(&end_event));
  run(number_of(argc, argv, "--max-bytes", std::size_t{64} << 20),
      number_of(argc, argv, "--hidden", 4096));
  run_products(number_of(argc, argv, "--max-rows", 8192), number_of(argc, argv, "--hidden", 4096),
               number_of(argc, argv, "--inner", 1024));
  shmem_finalize();
}
