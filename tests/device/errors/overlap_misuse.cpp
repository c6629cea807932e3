// SPDX-License-Identifier: Apache-2.0
//
// Mistakes in kernels that use meshmem/overlap.hpp: `device_overlap_misuse MISTAKE` makes one on
// the last PE. CMakeLists.txt compares the line that it prints.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstring>
#include <meshmem/overlap.hpp>

namespace {

using meshmem::ReduceScatterTiles;
using meshmem::TiledCall;

enum Mistake { kNone, kBeyond, kTwice, kOtherMatrix, kSmallGrid };
constexpr const char* kNames[] = {"none", "beyond", "twice", "other_matrix", "small_grid"};
constexpr std::size_t kColumns = 4;

__global__ void announce(const ReduceScatterTiles<float> tiles, Mistake mistake) {
  if (tiles.communicates()) return tiles.communicate();
  if (mistake == kBeyond) tiles.announce({99, 1}, 1);
  tiles.announce({0, tiles.rows}, kColumns);
  if (mistake == kTwice) tiles.announce({3, 1}, kColumns);
}

int run(Mistake mistake) {
  meshmem::Overlap overlap(SHMEM_TEAM_WORLD, 4096);
  const std::size_t rows = mistake == kOtherMatrix ? 6 : 8;
  float* matrix;
  if (hipMalloc(&matrix, 2 * rows * kColumns * sizeof(float)) != hipSuccess) return 1;
  ReduceScatterTiles<float> tiles{};
  const meshmem::Status begun = overlap.reduce_scatter<float>(matrix, matrix + rows * kColumns,
                                                              {rows, kColumns}, nullptr, &tiles);
  if (!begun) return std::fprintf(stderr, "%s\n", begun.text());
  const unsigned blocks = TiledCall::kBlocks + (mistake == kSmallGrid ? -1u : 1u);
  hipLaunchKernelGGL(announce, dim3(blocks), dim3(64), 0, nullptr, tiles, mistake);
  return hipDeviceSynchronize() == hipSuccess ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  shmem_init();
  Mistake mistake = kNone;
  for (int i = kNone; i <= kSmallGrid; ++i)
    if (argc > 1 && shmem_my_pe() == shmem_n_pes() - 1 && std::strcmp(argv[1], kNames[i]) == 0)
      mistake = static_cast<Mistake>(i);
  const int status = run(mistake);
  shmem_finalize();
  return status;
}
