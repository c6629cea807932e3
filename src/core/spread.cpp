// SPDX-License-Identifier: Apache-2.0
//
// The PEs' cores, as the directory has them. Invariant: all PEs compute the same from the same
// sets, so none is told where to go.
#include "core/spread.hpp"

#include <sched.h>

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "base/machine.hpp"
#include "base/wait.hpp"

namespace meshmem {
namespace {

// The number of cores that one PE or another may use; 0 where there are more than are told apart.
int count_cores(const DirectoryEntry* directory, int n_pes) {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int i = 0; i < n_pes; ++i) CPU_OR(&all, &all, &directory[i].cpus);
  return CPU_COUNT(&all);
}

// Where PEs outnumber the cores, deals them out evenly. The scheduler puts new processes on any
// core that is free at that moment, and takes up to a second to spread PEs that only yield. With 6
// PEs on one core and 2 on the other a barrier takes twice as long.
void deal_out(const DirectoryEntry* directory, int n_pes, int me) {
  std::vector<const cpu_set_t*> allowed(static_cast<std::size_t>(n_pes));
  std::transform(directory, directory + n_pes, allowed.begin(),
                 [](const DirectoryEntry& entry) { return &entry.cpus; });
  const int core = deal_cores(allowed)[static_cast<std::size_t>(me)];
  if (core >= 0) keep_to_core(core);
}

// -1: the core's number is beyond those that are told apart.
int core_of_this_thread() {
  const int core = sched_getcpu();
  return core < CPU_SETSIZE ? core : -1;
}

// With a core for each PE the scheduler knows better, but takes 40 ms or more to part two that
// start on one and do not sleep. Who shares a core goes to one where no PE of this job is.
void leave_shared_core(const DirectoryEntry* directory, int n_pes, int me) {
  std::vector<RunningPe> pes(static_cast<std::size_t>(n_pes));
  std::transform(directory, directory + n_pes, pes.begin(), [](const DirectoryEntry& entry) {
    return RunningPe{entry.core, &entry.cpus};
  });
  const std::vector<int> free = part_pes(pes)[static_cast<std::size_t>(me)];
  if (free.empty()) return;
  go_to_one_of(free);
  debug("moved from core {}, where another PE is, to core {}", directory[me].core, sched_getcpu());
}

}  // namespace

bool share_cores(const DirectoryEntry* directory, int n_pes, int pes_of_machine) {
  const auto cores = static_cast<double>(count_cores(directory, n_pes));
  return pes_of_machine > std::min(cores, cpu_quota());
}

void spread_over_cores(DirectoryEntry* directory, int n_pes, int me, bool is_wanted,
                       const std::function<void()>& meet) {
  const int cores = count_cores(directory, n_pes);
  if (cores == 0) return;
  if (n_pes > cores) {
    if (is_wanted) deal_out(directory, n_pes, me);
    return;
  }
  directory[me].core = core_of_this_thread();
  meet();
  if (is_wanted) leave_shared_core(directory, n_pes, me);
}

}  // namespace meshmem
