// SPDX-License-Identifier: Apache-2.0
//
// PEs that are threads of one process. Each has a heap of its own and the areas of its teams, as
// start-up lays them out, so that a sanitizer sees all sides of a collective.
// Invariant: heaps and areas are separate allocations, so that AddressSanitizer sees an access
// beyond one. Included by the unit tests of collectives and teams.
#ifndef MESHMEM_TESTS_UNIT_PE_THREADS_HPP_
#define MESHMEM_TESTS_UNIT_PE_THREADS_HPP_

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <numeric>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "base/waiting/schedule_fuzzing.hpp"
#include "base/waiting/wait.hpp"
#include "collectives/team_steps.hpp"
#include "core/team.hpp"
#include "core/team_area.hpp"
#include "memory/address_map.hpp"

namespace meshmem {

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<std::byte, FreeMemory>;

inline Memory zeroed_memory(std::size_t bytes) {
  const std::size_t whole_pages = (bytes + 4095) / 4096 * 4096;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(4096, whole_pages));
  std::memset(memory, 0, whole_pages);
  return Memory(memory);
}

// Fills the lines of an area as after many operations, the last of which was `sequence`.
inline void age(TeamArea& area, std::uint64_t sequence) {
  const auto set = [&](Line& line) { line.epoch.store(sequence, std::memory_order_relaxed); };
  for (Line* line : {&area.arrive, &area.done, &area.release}) set(*line);
  area.chunks.epoch.store(sequence << kChunkBits, std::memory_order_relaxed);
  for (auto& half : area.meet)
    for (Line& line : half) set(line);
  for (Line& line : area.first_lines) set(line);
  for (auto& lines : area.other_lines) {
    for (Line& line : lines) set(line);
  }
  for (Line& line : area.filled) set(line);
}

class PeThreads {
 public:
  struct Pe {
    PeThreads* job = nullptr;
    int number = 0;
    std::byte* heap = nullptr;
    AddressMap map;

    // A team in the given slot of areas, whose last operation was `sequence`.
    NodeTeam team(std::vector<int> pes, int slot = 0, std::uint64_t sequence = 0) const {
      NodeTeam result = make_node_team(std::move(pes), number, map);
      for (const int pe : result.pes) result.areas.push_back(job->area(pe, slot));
      result.sequence = result.known_started = sequence;
      result.slot = slot;
      result.more_pes_than_cores = true;
      result.routine = "a unit test";
      return result;
    }
    NodeTeam world(std::uint64_t sequence = 0) const {
      std::vector<int> pes(job->pes_.size());
      std::iota(pes.begin(), pes.end(), 0);
      return team(std::move(pes), 0, sequence);
    }
  };

  PeThreads(int n, std::size_t heap_bytes, int slots = 1) : slots_(slots) {
    // Random delays, if the build has them.
    if (const char* seed = std::getenv("MESHMEM_FUZZ_SEED"))
      start_schedule_fuzzing(std::strtoull(seed, nullptr, 10), 0);
    wait_policy.polls = 1;  // there are more threads than cores
    wait_policy.timeout_seconds = 60;
    wait_policy.timeout_name = "of the test";
    // A process has one map, and here it has the heaps of several PEs. To its checks all memory is
    // symmetric.
    direct_map.heap = Segment(0, SIZE_MAX, nullptr);
    for (int pe = 0; pe < n; ++pe) {
      heaps_.push_back(zeroed_memory(heap_bytes));
      heap_of_pe_.push_back(heaps_.back().get());
      for (int slot = 0; slot < slots; ++slot) areas_.push_back(zeroed_memory(sizeof(TeamArea)));
    }
    for (int pe = 0; pe < n; ++pe) {
      std::byte* heap = heap_of_pe_[static_cast<std::size_t>(pe)];
      const Segment segment{reinterpret_cast<std::uintptr_t>(heap), heap_bytes, heap_of_pe_.data()};
      pes_.push_back({this, pe, heap, {static_cast<unsigned>(n), pe, segment, {}}});
    }
  }

  // body(pe) by all PEs, a thread each. A body that stops early would leave the others waiting, so
  // it uses EXPECT_ and never ASSERT_.
  void run(const std::function<void(Pe&)>& body) {
    std::vector<std::thread> threads;
    for (Pe& pe : pes_) threads.emplace_back([&body, &pe] { body(pe); });
    for (std::thread& thread : threads) thread.join();
  }

  TeamArea* area(int pe, int slot) const {
    return reinterpret_cast<TeamArea*>(areas_[static_cast<std::size_t>(pe * slots_ + slot)].get());
  }
  void age_areas(std::uint64_t sequence) {
    for (const Memory& memory : areas_) age(*reinterpret_cast<TeamArea*>(memory.get()), sequence);
  }
  const std::byte* heap(int pe) const { return heap_of_pe_[static_cast<std::size_t>(pe)]; }

 private:
  int slots_;
  std::vector<Memory> heaps_, areas_;
  std::vector<std::byte*> heap_of_pe_;
  std::vector<Pe> pes_;
};

// The seed of everything random in a test; printed, so that a failure can be repeated.
inline std::uint64_t test_seed() {
  const char* given = std::getenv("MESHMEM_TEST_SEED");
  const std::uint64_t seed = given ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::printf("seed %llu (MESHMEM_TEST_SEED repeats it)\n", static_cast<unsigned long long>(seed));
  return seed;
}

// A value that depends on all of its arguments, the same wherever it is computed.
inline std::uint64_t mixed(std::uint64_t a, std::uint64_t b, std::uint64_t c = 0) {
  std::uint64_t value = a * 0x9e3779b97f4a7c15u + b * 0xc2b2ae3d27d4eb4fu + c * 0x165667b19e3779f9u;
  value = (value ^ value >> 29) * 0xbf58476d1ce4e5b9u;
  return value ^ value >> 32;
}

}  // namespace meshmem

#endif  // MESHMEM_TESTS_UNIT_PE_THREADS_HPP_
