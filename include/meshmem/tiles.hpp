// SPDX-License-Identifier: Apache-2.0
//
// A matrix whose rows are shared out to the PEs of a team, and travel tile by tile in one kernel's
// communication blocks. Used by tile_collectives.hpp.
// Invariant: words count what has arrived at this PE in this call. It clears them before it tells
// the others that it has arrived, and no PE puts before that. So no call meets another call's data.
#ifndef MESHMEM_MESHMEM_TILES_HPP
#define MESHMEM_MESHMEM_TILES_HPP

#include <shmemx.h>

#include <cstddef>
#include <cstdint>

#ifndef MESHMEM_COMPILES_KERNELS
#error "meshmem/tiles.hpp is for kernels: compile it by oshhip"
#endif

// Of n PEs, PE p owns a share of ceil(rows / n) rows, from p * ceil(rows / n) on. The last PEs may
// have fewer rows, or none. A share has tiles of some rows. A tile has slices, which begin at
// multiples of 128 bytes: one for each communication block.

namespace meshmem {

struct Rows {
  std::size_t first, count;
};

// Of the matrix that is reduced or gathered: the same on all PEs.
struct TiledShape {
  std::size_t rows, columns;
  std::size_t tile_rows = 128;  // raised if a share would have over TiledCall::kMostTiles tiles
};

// A call, as kernels get it by value.
struct TiledCall {
#if defined(MESHMEM_TARGET_IS_CPU)
  static constexpr unsigned kBlocks = 2;
#else
  static constexpr unsigned kBlocks = 16;  // that communicate, the first ones of the grid
#endif
  static constexpr std::size_t kMostTiles = 64;  // of a share
  static constexpr int kDigestBits = 24;

  shmem_team_t team;
  int me, n;
  std::size_t rows, row_bytes, share, tile_rows, tiles;  // share: rows; tiles: of a share
  std::uint64_t digest;                                  // of what all PEs must agree on
  std::uint64_t *epoch, *arrived, *words;                // arrived: of each PE, epoch and digest
  char* memory;                                          // into which the other PEs put

  MESHMEM_HOST_DEVICE_MEMBER Rows share_of(int pe) const { return rows_of(pe, 0, share); }
  MESHMEM_HOST_DEVICE_MEMBER Rows tile_of(int pe, std::size_t tile) const {
    return rows_of(pe, tile * tile_rows, (tile + 1) * tile_rows);
  }
  MESHMEM_HOST_DEVICE_MEMBER std::size_t all_tiles() const {
    return static_cast<std::size_t>(n) * tiles;
  }
  MESHMEM_HOST_DEVICE_MEMBER std::size_t all_words() const { return all_tiles() + tiles * kBlocks; }
  // A word for each tile of all PEs, and one for each slice of a tile of this PE.
  MESHMEM_DEVICE_MEMBER std::uint64_t* word(int pe, std::size_t tile) const {
    return words + static_cast<std::size_t>(pe) * tiles + tile;
  }
  MESHMEM_DEVICE_MEMBER std::uint64_t* word_of_slice(std::size_t tile) const {
    return words + all_tiles() + tile * kBlocks + blockIdx.x;
  }

  // False in the blocks that compute, which are numbered blockIdx.x - kBlocks.
  MESHMEM_DEVICE_MEMBER static bool communicates() { return blockIdx.x < kBlocks; }

  // Calls act(pe, tile, count) for each tile that the rows touch; count: how many rows of it.
  template <typename Act>
  MESHMEM_DEVICE_MEMBER void for_tiles(Rows touched, const Act& act) const {
    if (touched.first > rows || touched.count > rows - touched.first)
      refuse("rows beyond the matrix, from row", touched.first);
    for (std::size_t row = touched.first, end = row + touched.count; row < end;) {
      const int pe = static_cast<int>(row / share);
      const std::size_t tile = row % share / tile_rows;
      const Rows whole = tile_of(pe, tile);
      const std::size_t next = least(whole.first + whole.count, end);
      act(pe, tile, next - row);
      row = next;
    }
  }

  // At the start of a call, by one block: clears the words, and tells all PEs.
  MESHMEM_DEVICE_MEMBER void arrive() const {
    const std::uint64_t now = shmem_signal_fetch(epoch) + 1;
    for (std::size_t i = threadIdx.x; i < all_words(); i += blockDim.x)
      shmem_signal_set(&words[i], 0, shmem_my_pe());
    shmemx_fence_block();
    if (threadIdx.x == 0) shmem_signal_set(epoch, now, shmem_my_pe());
    for (int pe = static_cast<int>(threadIdx.x); pe < n; pe += static_cast<int>(blockDim.x))
      shmem_signal_set(&arrived[me], now << kDigestBits | digest, world_pe(pe));
  }
  MESHMEM_DEVICE_MEMBER void await_arrival(int pe) const {
    const std::uint64_t now = shmem_signal_fetch(epoch);
    const std::uint64_t there =
        shmemx_signal_wait_until_block(&arrived[pe], SHMEM_CMP_GE, now << kDigestBits);
    if (there >> kDigestBits == now && there != (now << kDigestBits | digest))
      refuse("another matrix, or another call, than on the team's PE",
             static_cast<std::size_t>(pe));
  }

  // The bytes of this block's slice of a tile of `count` rows: whole elements.
  MESHMEM_DEVICE_MEMBER Rows slice_of(std::size_t count) const {
    constexpr std::size_t kGrain = 128;
    const std::size_t all = count * row_bytes, grains = (all + kGrain - 1) / kGrain;
    const std::size_t most = (grains + kBlocks - 1) / kBlocks * kGrain;
    const std::size_t first = least(blockIdx.x * most, all);
    return {first, least(most, all - first)};
  }
  // Puts this block's slice of `count` rows to row `to` of a PE's memory, and adds 1 to its word.
  MESHMEM_DEVICE_MEMBER void put(int pe, std::size_t to, const void* from, std::size_t count,
                                 std::uint64_t* there) const {
    const Rows slice = slice_of(count);
    shmemx_putmem_signal_nbi_block(memory + to * row_bytes + slice.first,
                                   static_cast<const char*>(from) + slice.first, slice.count, there,
                                   1, SHMEM_SIGNAL_ADD, world_pe(pe));
  }
  MESHMEM_DEVICE_MEMBER void check_grid() const {
    if (gridDim.x < kBlocks || gridDim.y * gridDim.z != 1)
      refuse("the grid needs one dimension, and for communication this many blocks:", kBlocks);
  }

  // Ends the kernel; with checks it says why.
  [[noreturn]] MESHMEM_DEVICE_MEMBER static void refuse(const char* why, std::size_t number) {
    using namespace device;  // the macro names what is there
    if (kChecks) MESHMEM_PRINT_MISTAKE("%s %lld", why, static_cast<long long>(number));
    trap();
  }

 private:
  MESHMEM_HOST_DEVICE_MEMBER static std::size_t least(std::size_t a, std::size_t b) {
    return a < b ? a : b;
  }
  MESHMEM_HOST_DEVICE_MEMBER Rows rows_of(int pe, std::size_t from, std::size_t end) const {
    const std::size_t base = static_cast<std::size_t>(pe) * share;
    const std::size_t first = least(base + least(from, share), rows);
    return {first, least(base + least(end, share), rows) - first};
  }
  MESHMEM_DEVICE_MEMBER int world_pe(int pe) const {
    return shmem_team_translate_pe(team, pe, SHMEM_TEAM_WORLD);
  }
};

}  // namespace meshmem

#endif
