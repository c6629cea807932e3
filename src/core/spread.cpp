// SPDX-License-Identifier: Apache-2.0
//
// Counts and chooses cores, from the sets of cores that the PEs have stored in the directory.
// Invariant: all PEs compute the same from the same sets, so no PE tells another where to go.
#include "core/spread.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "base/machine/machine.hpp"
#include "base/waiting/wait.hpp"

namespace meshmem {
namespace {

cpu_set_t cores_of(const DirectoryEntry* directory, int n_pes) {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int i = 0; i < n_pes; ++i) CPU_OR(&all, &all, &directory[i].cpus);
  return all;
}

// -1: the core's number is beyond those in a cpu_set_t.
int core_of_this_thread() {
  const int core = sched_getcpu();
  return core < CPU_SETSIZE ? core : -1;
}

}  // namespace

std::uint64_t name_of_cores(const DirectoryEntry* directory, int n_pes) {
  const std::string boot = boot_id();
  const cpu_set_t cores = cores_of(directory, n_pes);
  if (boot.empty() || CPU_COUNT(&cores) == 0) return 0;
  return hash_of(boot + std::string(reinterpret_cast<const char*>(&cores), sizeof cores));
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

bool pes_outnumber_cores(const DirectoryEntry* directory, int n_pes, const CoreShare& share) {
  const cpu_set_t cores = cores_of(directory, n_pes);
  return share.pes > std::min(static_cast<double>(CPU_COUNT(&cores)), cpu_quota());
}

// The scheduler puts new processes on any core that is free at that moment, and takes up to a
// second to spread PEs that only yield. With 6 PEs on one core and 2 on the other a barrier takes
// twice as long. It takes one and a half times as long if the PEs of two nodes share both cores,
// instead of one core for each node.
int core_dealt_to(const DirectoryEntry* directory, int me, const CoreShare& share) {
  const cpu_set_t& cpus = directory[me].cpus;
  int turn = 0;
  for (int i = 0; i < me; ++i) turn += CPU_EQUAL(&directory[i].cpus, &cpus);
  const int n = CPU_COUNT(&cpus), begin = share.index * n / share.nodes;
  int place = begin + turn % std::max((share.index + 1) * n / share.nodes - begin, 1);
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &cpus) && place-- == 0) return static_cast<int>(core);
  return -1;
}

// The scheduler takes 40 ms or more to part two PEs that start on one core and do not sleep. So a
// PE gets several cores if there are enough: the scheduler knows which of them no other job uses.
cpu_set_t cores_to_leave_for(const DirectoryEntry* directory, int n_pes, int me) {
  cpu_set_t taken, free, given;
  CPU_ZERO(&taken);
  CPU_ZERO(&given);
  int leavers = 0, turn = -1;
  for (int i = 0; i < n_pes; ++i) {
    if (directory[i].core < 0) continue;
    const auto core = static_cast<std::size_t>(directory[i].core);
    if (CPU_ISSET(core, &taken) && CPU_EQUAL(&directory[i].cpus, &directory[me].cpus)) {
      if (i == me) turn = leavers;
      ++leavers;
    }
    CPU_SET(core, &taken);
  }
  CPU_AND(&taken, &taken, &directory[me].cpus);
  CPU_XOR(&free, &taken, &directory[me].cpus);
  if (turn < 0 || CPU_COUNT(&free) == 0) return given;
  turn %= CPU_COUNT(&free);
  int passed = 0;
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &free) && passed++ % leavers == turn) CPU_SET(core, &given);
  return given;
}

void spread_over_cores(DirectoryEntry* directory, int n_pes, int me, const CoreShare& share,
                       bool is_wanted, const std::function<void()>& meet) {
  const cpu_set_t cores = cores_of(directory, n_pes);
  if (CPU_COUNT(&cores) == 0) return;  // there are more than a cpu_set_t has
  if (std::max(share.pes, n_pes) > CPU_COUNT(&cores)) {
    const int core = core_dealt_to(directory, me, share);
    if (is_wanted && core >= 0) keep_to_core(core);
    return;
  }
  directory[me].core = core_of_this_thread();
  meet();
  const cpu_set_t free = cores_to_leave_for(directory, n_pes, me);
  if (!is_wanted || CPU_COUNT(&free) == 0) return;
  go_to_one_of(free);
  debug("moved from core {}, where another PE is, to core {}", directory[me].core, sched_getcpu());
}

}  // namespace meshmem
