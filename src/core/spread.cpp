// SPDX-License-Identifier: Apache-2.0
//
// The PEs' cores, as the directory has them. Invariant: all PEs compute the same from the same
// sets, so none is told where to go.
#include "core/spread.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <vector>

#include "base/error.hpp"
#include "base/machine.hpp"
#include "base/wait.hpp"

namespace meshmem {
namespace {

cpu_set_t cores_of(const DirectoryEntry* directory, int n_pes) {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int i = 0; i < n_pes; ++i) CPU_OR(&all, &all, &directory[i].cpus);
  return all;
}

// Where PEs outnumber the cores, deals them out evenly. The scheduler puts new processes on any
// core that is free at that moment, and takes up to a second to spread PEs that only yield. With 6
// PEs on one core and 2 on the other a barrier takes twice as long. Nodes that share a machine take
// cores of their own: where two had their leaders on one core, a barrier took 39 us instead of 24.
void deal_out(const DirectoryEntry* directory, int n_pes, int me, const cpu_set_t& part) {
  std::vector<cpu_set_t> own(static_cast<std::size_t>(n_pes));
  std::vector<const cpu_set_t*> allowed;
  for (int i = 0; i < n_pes; ++i) {
    cpu_set_t& cpus = own[static_cast<std::size_t>(i)];
    CPU_AND(&cpus, &directory[i].cpus, &part);
    allowed.push_back(CPU_COUNT(&cpus) > 0 ? &cpus : &directory[i].cpus);
  }
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

std::uint64_t name_of_cores(const DirectoryEntry* directory, int n_pes) {
  char boot[64] = "";
  std::ifstream("/proc/sys/kernel/random/boot_id").getline(boot, sizeof boot);
  const cpu_set_t cores = cores_of(directory, n_pes);
  if (boot[0] == '\0' || CPU_COUNT(&cores) == 0) return 0;
  std::uint64_t name = 0xcbf29ce484222325;  // FNV-1a
  const auto add = [&](const void* bytes, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i)
      name = (name ^ static_cast<const unsigned char*>(bytes)[i]) * 0x100000001b3;
  };
  add(boot, std::strlen(boot));
  add(&cores, sizeof cores);
  return name;
}

int count_cores(const DirectoryEntry* directory, int n_pes) {
  const cpu_set_t cores = cores_of(directory, n_pes);
  return static_cast<int>(
      std::min(static_cast<double>(CPU_COUNT(&cores)), std::max(1.0, cpu_quota())));
}

int FewestCores::Machine::of_node() const {
  return pes <= cores || cores == 0 ? std::numeric_limits<int>::max() : std::max(cores / nodes, 1);
}

void FewestCores::add(std::uint64_t name, int cores, int pes) {
  if (name == 0) {
    const Machine own{.cores = cores, .nodes = 1, .pes = pes};
    fewest_unnamed_ = std::min(fewest_unnamed_, own.of_node());
    return;
  }
  Machine& machine = machines_[name];
  machine.cores = cores;
  ++machine.nodes;
  machine.pes += pes;
}

int FewestCores::count() const {
  int fewest = fewest_unnamed_;
  for (const auto& [name, machine] : machines_) fewest = std::min(fewest, machine.of_node());
  return fewest;
}

bool share_cores(const DirectoryEntry* directory, int n_pes, const CoreShare& share) {
  const cpu_set_t cores = cores_of(directory, n_pes);
  return share.pes > std::min(static_cast<double>(CPU_COUNT(&cores)), cpu_quota());
}

void spread_over_cores(DirectoryEntry* directory, int n_pes, int me, const CoreShare& share,
                       bool is_wanted, const std::function<void()>& meet) {
  const cpu_set_t cores = cores_of(directory, n_pes);
  if (CPU_COUNT(&cores) == 0) return;  // there are more than are told apart
  if (std::max(share.pes, n_pes) > CPU_COUNT(&cores)) {
    if (is_wanted) deal_out(directory, n_pes, me, part_of_cores(cores, share.index, share.nodes));
    return;
  }
  directory[me].core = core_of_this_thread();
  meet();
  if (is_wanted) leave_shared_core(directory, n_pes, me);
}

}  // namespace meshmem
