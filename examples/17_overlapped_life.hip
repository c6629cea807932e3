// SPDX-License-Identifier: Apache-2.0
//
// The game of life on GPUs of one or more machines. A kernel computes the rows at its edges first,
// puts them to the next PEs, near or far, with a signal each, and computes the other rows while
// they travel. The same again without that overlap, to compare.
// Run it:
//   oshhip -O2 17_overlapped_life.hip arguments.cpp -o life && oshrun --hosts a:2,b:2 ./life

// The board is a torus of cells: each PE has a band of its rows, and the last PE's band lies above
// that of PE 0. One kernel is one generation. Its first two blocks have an edge each:
//
//   block 0   waits for the row above | computes the first row, puts it up   | other rows
//   block 1   waits for the row below | computes the last row, puts it down  | other rows
//   others                                                                     other rows
//
// Nobody waits for a row on its way before the next generation needs it. To a PE of another machine
// a put is a command for the proxy, a thread of the host. So the kernel is at its other rows while
// the network works. The code does not say which PEs are far.
//
// Invariant: every cell depends on the rule alone, so both ways come to the same board.

#include <chrono>

#include "gpu.hpp"

namespace {

// -------------------------------------------------------------------------- 1. Data of the kernels

// Handed to kernels by value.
struct Board {
  long width, rows;               // of this PE
  unsigned char* generations[2];  // symmetric; they take turns. Row 0 and the last are the halo
  std::uint64_t* arrived;         // symmetric; by edge, the newest generation whose halo is here

  __host__ __device__ unsigned char* row(long generation, long r) const {
    return generations[generation % 2] + r * width;
  }
};

// An edge of this PE's band: its own row there, the halo beside it, and where both are at the PE
// behind the edge, whose opposite edge meets this one.
struct Edge {
  int pe;
  long own_row, halo_row, halo_row_there;
  int own_signal, signal_there;
};

__host__ __device__ Edge edge_of(const Board& board, int me, int n, int number) {
  if (number == 0) return {(me + n - 1) % n, 1, 0, board.rows + 1, 0, 1};
  return {(me + 1) % n, board.rows, board.rows + 1, 0, 1, 0};
}

// --------------------------------------------------------------------------------- 2. The kernels

__device__ int count_neighbours(const Board& board, long generation, long r, long x) {
  const long left = x == 0 ? board.width - 1 : x - 1, right = x + 1 == board.width ? 0 : x + 1;
  const unsigned char* const here = board.row(generation, r);
  const unsigned char *const up = here - board.width, *const down = here + board.width;
  return up[left] + up[x] + up[right] + here[left] + here[right] + down[left] + down[x] +
         down[right];
}

// A row of the next generation, by all threads of the block.
__device__ void compute_row(const Board& board, long generation, long r) {
  const unsigned char* const here = board.row(generation, r);
  unsigned char* const next = board.row(generation + 1, r);
  for (long x = threadIdx.x; x < board.width; x += blockDim.x) {
    const int neighbours = count_neighbours(board, generation, r, x);
    next[x] = neighbours == 3 || (neighbours == 2 && here[x] != 0) ? 1 : 0;
  }
}

// Waits until the halo of this generation is here. Signals only grow, so none is ever set back.
__device__ void await_halo(const Board& board, const Edge& edge, long generation) {
  shmemx_signal_wait_until_block(board.arrived + edge.own_signal, SHMEM_CMP_GE,
                                 static_cast<std::uint64_t>(generation));
}

// Computes the own row at the edge, and puts it into the halo of the PE behind the edge. That PE no
// longer needs the row that it overwrites: it has computed its own edge from it, which has come
// here.
__device__ void send_edge(const Board& board, const Edge& edge, long generation) {
  compute_row(board, generation, edge.own_row);
  __syncthreads();  // the whole row is there, whichever thread puts which part
  shmemx_putmem_signal_nbi_block(
      board.row(generation + 1, edge.halo_row_there), board.row(generation + 1, edge.own_row),
      static_cast<std::size_t>(board.width), board.arrived + edge.signal_there,
      static_cast<std::uint64_t>(generation) + 1, SHMEM_SIGNAL_SET, edge.pe);
}

__device__ void compute_inner_rows(const Board& board, long generation) {
  for (long r = 2 + static_cast<long>(blockIdx.x); r < board.rows; r += gridDim.x)
    compute_row(board, generation, r);
}

__global__ void __launch_bounds__(1024) live_overlapped(Board board, long generation) {
  for (int number = static_cast<int>(blockIdx.x); number < 2;
       number += static_cast<int>(gridDim.x)) {
    const Edge edge = edge_of(board, shmem_my_pe(), shmem_n_pes(), number);
    await_halo(board, edge, generation);
    shmemx_quiet_block();  // the row sent last has arrived: its source may be overwritten
    send_edge(board, edge, generation);
  }
  compute_inner_rows(board, generation);
}

// The usual order: all rows, then the edges, and nobody goes on before they have arrived.
__global__ void __launch_bounds__(1024) live_in_turn(Board board, long generation) {
  compute_inner_rows(board, generation);
  for (int number = static_cast<int>(blockIdx.x); number < 2;
       number += static_cast<int>(gridDim.x)) {
    const Edge edge = edge_of(board, shmem_my_pe(), shmem_n_pes(), number);
    send_edge(board, edge, generation);
  }
  for (int number = static_cast<int>(blockIdx.x); number < 2;
       number += static_cast<int>(gridDim.x)) {
    shmemx_quiet_block();
    await_halo(board, edge_of(board, shmem_my_pe(), shmem_n_pes(), number), generation + 1);
  }
}

// ------------------------------------------------------------------------------------ 3. The host

// Whether a cell lives at the beginning: about one of three, the same for any number of PEs.
bool lives_at_first(long x, long y) {
  std::uint32_t mixed =
      static_cast<std::uint32_t>(x) * 2654435761u ^ static_cast<std::uint32_t>(y) * 2246822519u;
  mixed = (mixed ^ mixed >> 15) * 3266489917u;
  return (mixed ^ mixed >> 13) % 3 == 0;
}

// The first generation, with its halo.
void fill(const Board& board, long height) {
  std::vector<unsigned char> cells(static_cast<std::size_t>((board.rows + 2) * board.width));
  const long above = shmem_my_pe() * board.rows - 1;
  for (long r = 0; r < board.rows + 2; ++r)
    for (long x = 0; x < board.width; ++x)
      cells[static_cast<std::size_t>(r * board.width + x)] =
          lives_at_first(x, (above + r + height) % height);
  examples::copy_to_gpu(board.generations[0], cells.data(), cells.size());
  const std::uint64_t nothing[2] = {0, 0};
  examples::copy_to_gpu(board.arrived, nothing, 2);
  shmem_barrier_all();  // no halo may come before
}

// How many cells live, on all PEs, and the sum of their numbers.
struct Census {
  std::uint64_t living, places;
};
Census count(const Board& board, long generation) {
  static std::uint64_t mine[2], all[2];
  std::vector<unsigned char> cells(static_cast<std::size_t>(board.rows * board.width));
  examples::copy_from_gpu(cells.data(), board.row(generation, 1), cells.size());
  mine[0] = mine[1] = 0;
  const std::size_t first = static_cast<std::size_t>(shmem_my_pe()) * cells.size();
  for (std::size_t i = 0; i < cells.size(); ++i) {
    mine[0] += cells[i];
    mine[1] += cells[i] * (first + i + 1);
  }
  shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, all, mine, 2);
  return {all[0], all[1]};
}

using Kernel = void (*)(Board, long);
struct Outcome {
  Census census;
  double us_of_generation;
};

Outcome live(const Board& board, long generations, Kernel kernel, dim3 blocks, dim3 threads) {
  fill(board, board.rows * shmem_n_pes());
  const auto start = std::chrono::steady_clock::now();
  for (long generation = 0; generation < generations; ++generation) {
    hipLaunchKernelGGL(kernel, blocks, threads, 0, 0, board, generation);
    examples::check_launch("start its kernel");
  }
  examples::wait_for_gpu();
  const std::chrono::duration<double, std::micro> us = std::chrono::steady_clock::now() - start;
  shmem_barrier_all();  // all halos have arrived
  return {count(board, generations), us.count() / static_cast<double>(generations)};
}

void run(int argc, char** argv) {
  examples::Arguments arguments("Plays the game of life over GPUs of several machines.");
  long width = 256, rows = 64, generations = 50, blocks = 0, threads = 64;
  arguments.number("--width", width, 3, 1L << 20, "Cells of a row");
  arguments.number("--rows", rows, 2, 1L << 20, "Rows of each PE");
  arguments.number("--generations", generations, 1, 1L << 40, "Steps in time");
  arguments.number_or_none("--blocks", blocks, 1, 1L << 30,
                           "Blocks of each PE; all run at once (as many as the GPU can)");
  arguments.number("--threads", threads, 1, 1024, "Threads of a block");
  arguments.parse(argc, argv);
  examples::require_gpus();
  const long most = examples::blocks_that_run_together();
  if (blocks > most) examples::refuse("--blocks: at most " + std::to_string(most) + " run at once");
  if (blocks == 0) blocks = std::min(most, rows);

  Board board{width, rows, {}, examples::allocate_on_gpus<std::uint64_t>(2)};
  for (unsigned char*& cells : board.generations)
    cells = examples::allocate_on_gpus<unsigned char>(static_cast<std::size_t>((rows + 2) * width));
  const dim3 grid(static_cast<unsigned>(blocks)), block(static_cast<unsigned>(threads));
  const Outcome in_turn = live(board, generations, live_in_turn, grid, block);
  const Outcome overlapped = live(board, generations, live_overlapped, grid, block);

  const bool same = in_turn.census.living == overlapped.census.living &&
                    in_turn.census.places == overlapped.census.places;
  examples::agree(same ? "" : "the two ways came to different boards");
  if (shmem_my_pe() != 0) return;
  std::printf("%ld x %ld cells, after %ld generations %llu live, checksum %llu\n", width,
              rows * shmem_n_pes(), generations,
              static_cast<unsigned long long>(overlapped.census.living),
              static_cast<unsigned long long>(overlapped.census.places));
  std::printf("a generation: %.1f us if all wait for the halos, %.1f us if they travel meanwhile\n",
              in_turn.us_of_generation, overlapped.us_of_generation);
}

}  // namespace

int main(int argc, char** argv) { return examples::run_between_init_and_finalize(run, argc, argv); }
