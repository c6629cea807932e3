// SPDX-License-Identifier: Apache-2.0
//
// The threads that run the collectives of commands.
// Invariant: the members of a team count these collectives separately from those of the program
// (Team::twin_for_kernels), so both may be under way at once.
#include "collectives/device/for_kernels.hpp"

#include <chrono>

#include "base/error.hpp"
#include "base/machine/thread.hpp"
#include "base/waiting/relax.hpp"
#include "base/waiting/wait.hpp"
#include "collectives/between_nodes.hpp"
#include "collectives/data_movement.hpp"
#include "collectives/device/command.hpp"
#include "collectives/dispatch.hpp"
#include "core/runtime.hpp"
#include "gpu/device_target.hpp"

namespace meshmem {
namespace {

using device::ProxyCommand;

void execute(const ProxyCommand& command) {
  const auto slot = static_cast<int>(command.pe & ~(device::kFromStream | kInPeOrder));
  Team* const members = runtime().teams().find(handle_of(slot));
  if (!members || !members->twin_for_kernels)
    fatal("a kernel calls a collective of team {}, which has no PEs on other machines", slot);
  Team& team = *members->twin_for_kernels;
  team.kernel_waits = (command.pe & device::kFromStream) == 0;
  team.node.in_pe_order =
      team.kernel_waits ? members->node.in_pe_order : (command.pe & kInPeOrder) != 0;
  team.begin_call("a collective in a kernel");
  const AskedCall asked(command);
  if (asked.call().kind == CollectiveKind::broadcast) check_root(team, asked.call().root);
  if (asked.call().kind == CollectiveKind::alltoallv) return alltoallv(team, asked.call(), true);
  between_nodes::run(team, asked.call());
}

}  // namespace

CollectivesForKernels& collectives_for_kernels() {
  static CollectivesForKernels& instance = *new CollectivesForKernels;
  return instance;
}

void CollectivesForKernels::begin(const ProxyCommand& command) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(command);
  n_waiting_.store(waiting_.size(), std::memory_order_release);
  if (waiting_.size() > n_idle_)
    threads_.push_back(start_thread("that runs a collective of a kernel", [this] { run(); }));
  if (!one_polls_ || waiting_.size() > 1) changed_.notify_one();
}

// Kernels call one collective after the other, and a sleeping thread takes as long to wake up as a
// small collective takes. So one thread at a time polls.
void CollectivesForKernels::poll_for_a_while(std::unique_lock<std::mutex>& lock) {
  constexpr std::chrono::milliseconds kPollTime{2};
  if (one_polls_ || wait_policy.polls <= 1 || kDevicesAreProcessors) return;
  one_polls_ = true;
  lock.unlock();
  const auto end = std::chrono::steady_clock::now() + kPollTime;
  while (n_waiting_.load(std::memory_order_acquire) == 0 &&
         !stops_.load(std::memory_order_relaxed) && std::chrono::steady_clock::now() < end)
    relax();
  lock.lock();
  one_polls_ = false;
}

void CollectivesForKernels::run() {
  std::unique_lock lock(mutex_);
  for (bool has_worked = false;; has_worked = true) {
    ++n_idle_;
    if (has_worked) poll_for_a_while(lock);
    changed_.wait(lock, [this] { return stops_ || !waiting_.empty(); });
    --n_idle_;
    if (waiting_.empty()) return;
    const ProxyCommand command = waiting_.front();
    waiting_.pop_front();
    n_waiting_.store(waiting_.size(), std::memory_order_release);
    lock.unlock();
    execute(command);
    answer_(command.word[device::kResultOfCollective]);
    lock.lock();
  }
}

void CollectivesForKernels::stop() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  stops_ = false;
}

}  // namespace meshmem
