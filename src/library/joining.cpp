// SPDX-License-Identifier: Apache-2.0
#include "library/joining.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "base/error.hpp"
#include "base/waiting/wait.hpp"
#include "core/runtime.hpp"
#include "library/splits.hpp"
#include "transport/transport.hpp"

namespace meshmem {
namespace {

std::uint64_t word_of(int pe) {
  if (runtime().is_near(pe))
    return runtime().job().memory().joining(pe).load(std::memory_order_relaxed);
  const RemotePlace there{pe, RemoteSegment::control, NodeMemory::place_of_joining()};
  return transport()->atomic(there, {device::AtomicOp::fetch, sizeof(std::uint64_t), 0, 0, true});
}

// Enters the PEs that have said that they join. `pes` has -1 where none is known.
void find_members(const Joining& joining, const char* routine, std::vector<int>& pes) {
  for (int pe = 0; pe < static_cast<int>(address_map.n_pes); ++pe) {
    if (!runtime().is_near(pe) && std::find(pes.begin(), pes.end(), pe) != pes.end()) continue;
    const std::uint64_t word = word_of(pe);
    if (word >> kJoiningPlaceBits != joining.id) continue;
    const int place = static_cast<int>(word & ((1 << kJoiningPlaceBits) - 1)) - 1;
    if (place >= joining.n_pes)
      fatal("{}: PE {} joins as number {} of a team that has {} PEs here", routine, pe, place,
            joining.n_pes);
    int& member = pes[static_cast<std::size_t>(place)];
    if (member >= 0 && member != pe)
      fatal("{}: PEs {} and {} both join as number {}", routine, member, pe, place);
    member = pe;
  }
}

}  // namespace

int join_team(const Joining& joining, const char* routine, shmem_team_t* made) {
  static std::mutex one_at_a_time;
  const std::scoped_lock lock(one_at_a_time);
  std::atomic<std::uint64_t>& mine = runtime().job().memory().joining(address_map.my_pe);
  const std::uint64_t place = static_cast<std::uint64_t>(joining.me) + 1;
  mine.store(joining.id << kJoiningPlaceBits | place, std::memory_order_relaxed);
  std::vector<int> pes(static_cast<std::size_t>(joining.n_pes), -1);
  const auto n_missing = [&] { return std::count(pes.begin(), pes.end(), -1); };
  wait_until_ready(
      [&] {
        find_members(joining, routine, pes);
        return n_missing() == 0;
      },
      [&] {
        return fmt::format("{} of {} PEs to join the team of id {:#x}", n_missing(), joining.n_pes,
                           joining.id);
      });
  const int result = make_team_of_pes(pes, routine, made);
  // Without a meeting of the members another may still read the word.
  if (result == kNoMeeting) fatal("{}: the job has no room for another list of PEs", routine);
  mine.store(0, std::memory_order_relaxed);
  return result;
}

}  // namespace meshmem
