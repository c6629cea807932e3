// SPDX-License-Identifier: Apache-2.0
//
// Reduce-scatter and all-gather of a matrix tile by tile, in a kernel whose other blocks compute
// the matrix or use it. Made by overlap.hpp.
// Invariant: a sum is formed in float, in the order of PEs, and rounded once. So its bits do not
// depend on which tile came first.
#ifndef MESHMEM_MESHMEM_TILE_COLLECTIVES_HPP
#define MESHMEM_MESHMEM_TILE_COLLECTIVES_HPP

#include <meshmem/tiles.hpp>
#include <meshmem/units.hpp>

// Why no PE waits for ever: communication blocks are the first of the grid, and a device starts
// blocks in order. In an all-gather the blocks that compute wait for them, and they wait only for
// PEs to arrive. In a reduce-scatter they wait for the blocks that compute, which wait for nobody.
// But those have to start: the device needs room for more than kBlocks blocks at once.

namespace meshmem {

// result = this PE's share of the sum of all `partial` matrices. result may be that share itself.
template <typename E>
struct ReduceScatterTiles : TiledCall {
  const E* partial;
  E* result;

  // The tiles in the order that keeps all PEs busy: those of the other PEs first.
  MESHMEM_HOST_DEVICE_MEMBER Rows tile_in_turn(std::size_t i) const {
    const auto pes = static_cast<std::size_t>(n);
    return tile_of((me + 1 + static_cast<int>(i % pes)) % n, i / pes);
  }

  // By all threads of a block, which has stored `columns` columns of some rows of `partial`.
  MESHMEM_DEVICE_MEMBER void announce(Rows stored, std::size_t columns) const {
    device::release_all(device::Block());
    if (device::thread_in_block() != 0) return;
    device::release_mine();
    for_tiles(stored, [&](int pe, std::size_t tile, std::size_t count) {
      const std::uint64_t added = count * columns;
      if (device::fetch_add(word(pe, tile), added) + added > elements(tile_of(pe, tile)))
        refuse("more elements than the tile has; its first row is", tile_of(pe, tile).first);
    });
  }

  // By all threads of the communication blocks.
  MESHMEM_DEVICE_MEMBER void communicate() const {
    check_grid();
    for (std::size_t tile = 0; tile < tiles; ++tile) {
      for (int i = 1; i < n; ++i) send((me + i) % n, tile);
      add_up(tile);
    }
    shmemx_quiet_block();
  }

 private:
  MESHMEM_DEVICE_MEMBER std::uint64_t elements(Rows of) const {
    return of.count * (row_bytes / sizeof(E));
  }
  MESHMEM_DEVICE_MEMBER const E* at(const void* array, std::size_t row) const {
    return reinterpret_cast<const E*>(static_cast<const char*>(array) + row * row_bytes);
  }
  MESHMEM_DEVICE_MEMBER void send(int pe, std::size_t tile) const {
    const Rows part = tile_of(pe, tile);
    if (part.count == 0) return;
    if (tile == 0) await_arrival(pe);
    shmemx_signal_wait_until_block(word(pe, tile), SHMEM_CMP_EQ, elements(part));
    put(pe, static_cast<std::size_t>(me) * share + tile * tile_rows, at(partial, part.first),
        part.count, word_of_slice(tile));
  }
  MESHMEM_DEVICE_MEMBER void add_up(std::size_t tile) const {
    constexpr std::size_t kTogether = 8;
    const Rows part = tile_of(me, tile), slice = slice_of(part.count);
    if (part.count == 0) return;
    for (int i = 1; tile == 0 && i < n; ++i) await_arrival((me + i) % n);  // of the same matrix
    shmemx_signal_wait_until_block(word(me, tile), SHMEM_CMP_EQ, elements(part));
    shmemx_signal_wait_until_block(word_of_slice(tile), SHMEM_CMP_EQ,
                                   static_cast<std::uint64_t>(n - 1));
    const std::size_t first = slice.first / sizeof(E), count = slice.count / sizeof(E);
    const E* const mine = at(partial, part.first) + first;
    E* const to = result + elements({0, tile * tile_rows}) + first;
    const std::size_t step = kTogether * static_cast<std::size_t>(device::threads_of_block());
    for (std::size_t i = kTogether * device::thread_in_block(); i < count; i += step) {
      float sum[kTogether] = {};
      for (int pe = 0; pe < n; ++pe) {
        const std::size_t row = static_cast<std::size_t>(pe) * share + tile * tile_rows;
        float values[kTogether];
        load_elems(pe == me ? mine + i : at(memory, row) + first + i, count - i, values);
#pragma unroll
        for (std::size_t k = 0; k < kTogether; ++k) sum[k] += values[k];
      }
      store_elems(to + i, count - i, sum);
    }
  }
};

// Each PE's share of a matrix comes to all PEs, into gathered(). `mine`: this PE's share, there or
// in other memory.
template <typename E>
struct AllGatherTiles : TiledCall {
  const E* mine;

  // Peers store there while the kernel runs: no __restrict__, no non-coherent loads.
  MESHMEM_HOST_DEVICE_MEMBER E* gathered() const { return reinterpret_cast<E*>(memory); }

  // The tiles in the order in which they come: those of this PE first.
  MESHMEM_HOST_DEVICE_MEMBER Rows tile_in_turn(std::size_t i) const {
    if (i < tiles) return tile_of(me, i);
    const auto others = static_cast<std::size_t>(n - 1);
    const int back = static_cast<int>((i - tiles) % others) + 1;
    return tile_of((me + n - back) % n, (i - tiles) / others);
  }

  // By all threads of a block, before it reads rows of gathered().
  MESHMEM_DEVICE_MEMBER void wait(Rows needed) const {
    for_tiles(needed, [&](int pe, std::size_t tile, std::size_t) { await(pe, tile); });
  }

  // By all threads of the communication blocks.
  MESHMEM_DEVICE_MEMBER void communicate() const {
    check_grid();
    for (std::size_t tile = 0; tile < tiles; ++tile)
      for (int i = in_place() ? 1 : 0; i < n; ++i) send((me + i) % n, tile);
    for (std::size_t i = blockIdx.x; i < all_tiles(); i += kBlocks) {
      const int pe = static_cast<int>(i / tiles);
      if (pe != me) await_arrival(pe);  // with the same matrix
      await(pe, i % tiles);
    }
    shmemx_quiet_block();
  }

 private:
  MESHMEM_DEVICE_MEMBER const char* my_place() const {
    return memory + share_of(me).first * row_bytes;
  }
  MESHMEM_DEVICE_MEMBER bool in_place() const {
    return reinterpret_cast<const char*>(mine) == my_place();
  }
  MESHMEM_DEVICE_MEMBER void send(int pe, std::size_t tile) const {
    const Rows part = tile_of(me, tile);
    if (part.count == 0) return;
    if (tile == 0) await_arrival(pe);
    put(pe, part.first, reinterpret_cast<const char*>(mine) + tile * tile_rows * row_bytes,
        part.count, word(me, tile));
  }
  MESHMEM_DEVICE_MEMBER void await(int pe, std::size_t tile) const {
    if ((pe != me || !in_place()) && tile_of(pe, tile).count > 0)
      shmemx_signal_wait_until_block(word(pe, tile), SHMEM_CMP_EQ, kBlocks);
  }
};

}  // namespace meshmem

#endif
