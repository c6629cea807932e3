// SPDX-License-Identifier: Apache-2.0
//
// PEs that are kernels of one process, so that ThreadSanitizer sees all of them: their heaps, sync
// slabs and teams, as start-up would have made them.
// Invariant: rows are short, so that messages need several batches. Included by one file of a
// program, which then belongs to no job.
#ifndef MESHMEM_TESTS_UNIT_KERNEL_WORLD_HPP_
#define MESHMEM_TESTS_UNIT_KERNEL_WORLD_HPP_

#include <gtest/gtest.h>
#include <hip/hip_runtime.h>

#include <memory>
#include <random>
#include <vector>

#include "device/routines.hpp"

// The module of this test belongs to no job.
extern "C" void shmemx_register_module(std::size_t, void* (*)()) {}
extern "C" void shmemx_unregister_module(void* (*)()) {}

namespace meshmem {
namespace device {
namespace {

using Word = std::uint32_t;
constexpr std::size_t kMostWords = 3000;
constexpr std::size_t kHeapBytes = 1 << 20;
constexpr int kTestChannels = 3;
constexpr std::size_t kShortRow = 4096;  // so that messages need several batches

struct Freed {
  void operator()(void* block) const { EXPECT_EQ(hipFree(block), hipSuccess); }
};
using DeviceMemory = std::unique_ptr<void, Freed>;

DeviceMemory zeroed(std::size_t bytes) {
  void* block = nullptr;
  EXPECT_EQ(hipMalloc(&block, bytes), hipSuccess);
  EXPECT_EQ(hipMemset(block, 0, bytes), hipSuccess);
  return DeviceMemory(block);
}

// The use of a world's sync slabs: with many PEs they are large.
enum class Slabs { everything, meetings_of_the_world };

// n PEs with heaps and sync slabs in this process. Slot 0 is the world, slot 1 its PEs in reverse,
// slot 20 (of those with short rows) the even ones.
class World {
 public:
  World(int n, std::uint64_t first_epoch, Slabs slabs = Slabs::everything,
        std::size_t plain_row = kShortRow)
      : n_(n), states_(static_cast<std::size_t>(n)) {
    SyncLayout layout = SyncLayout::of(n, false);
    layout.large_packet_row = kShortRow;
    layout.large_plain_row = plain_row;
    layout.channels = kTestChannels;
    const std::size_t slab_bytes = slabs == Slabs::everything
                                       ? layout.total_bytes()
                                       : layout.space(kWorldSlot).channel_after(1).packets;
    for (int pe = 0; pe < n; ++pe) {
      heaps_.push_back(zeroed(kHeapBytes));
      slabs_.push_back(zeroed(slab_bytes));
      teams_.push_back(zeroed(sizeof(TeamView) * kTeamSlots));
    }
    for (int i = 0; i < n; ++i) reversed_.push_back(n - 1 - i);
    for (int i = 0; i < n; i += 2) even_.push_back(i);
    for (int pe = 0; pe < n; ++pe) describe(pe, layout, first_epoch);
  }

  const State& state(int pe) const { return states_[static_cast<std::size_t>(pe)]; }

  // As if all PEs had done this many operations, between two of them.
  void go_on_from(std::uint64_t epoch) {
    for (const State& state : states_) set_epoch(state, epoch);
  }

 private:
  void set_epoch(const State& state, std::uint64_t epoch) {
    for (const int slot : {0, 1, 20}) {
      const ChannelSpace space = state.sync_layout.space(slot);
      space.set_flags(reinterpret_cast<Flag*>(state.sync.near_copy[state.me] + space.flags), epoch);
    }
  }
  void describe(int pe, const SyncLayout& layout, std::uint64_t first_epoch) {
    State& state = states_[static_cast<std::size_t>(pe)];
    state = State();
    state.me = pe;
    state.n_pes = n_;
    state.near_pes = pe % 2 == 0 ? n_ : 0;  // with and without the short way
    state.sync_layout = layout;
    state.reduce_limits = {{32, 32}, {500, 2000}, {500, 2000}, {1000, 3000}};
    auto* mine = static_cast<std::byte*>(heaps_[static_cast<std::size_t>(pe)].get());
    state.device_heap.base = reinterpret_cast<std::uintptr_t>(mine);
    state.device_heap.bytes = kHeapBytes;
    state.sync.base = reinterpret_cast<std::uintptr_t>(slabs_[static_cast<std::size_t>(pe)].get());
    for (int i = 0; i < n_; ++i) {
      state.device_heap.near_copy[i] =
          static_cast<std::byte*>(heaps_[static_cast<std::size_t>(i)].get());
      state.sync.near_copy[i] = static_cast<std::byte*>(slabs_[static_cast<std::size_t>(i)].get());
    }
    state.set_arrivals_after(state.sync.near_copy);
    auto* teams = static_cast<TeamView*>(teams_[static_cast<std::size_t>(pe)].get());
    for (int slot = 0; slot < kTeamSlots; ++slot) teams[slot].me = -1;
    teams[0] = {pe, n_, nullptr};
    teams[1] = {n_ - 1 - pe, n_, reversed_.data()};
    if (pe % 2 == 0) teams[20] = {pe / 2, static_cast<int>(even_.size()), even_.data()};
    state.teams = teams;
    set_epoch(state, first_epoch);
  }

  int n_;
  std::vector<State> states_;
  std::vector<DeviceMemory> heaps_, slabs_, teams_;
  std::vector<int> reversed_, even_;
};

// The algorithms that groups of any shape can run: wide lines need whole waves.
const std::vector<ReduceAlgorithm> kAlgorithms = [] {
  std::vector<ReduceAlgorithm> algorithms;
  for (int i = 0; i < kReduceAlgorithmCount; ++i) {
    const ReduceKernel kernel = kReduceAlgorithms[i].kernel;
    if (kernel == ReduceKernel::packets || kernel == ReduceKernel::large)
      algorithms.push_back(static_cast<ReduceAlgorithm>(i));
  }
  return algorithms;
}();

unsigned some_seed() { return std::random_device()(); }

}  // namespace
}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_TESTS_UNIT_KERNEL_WORLD_HPP_
