// SPDX-License-Identifier: Apache-2.0
//
// Collectives of teams over several nodes that kernels ask the host for (device/proxy_ring.hpp).
// Invariant: each runs on a thread of its own, since it waits for other PEs, whose kernels may call
// collectives of several teams in another order. A team has one at a time. Called by Proxy.
#ifndef MESHMEM_COLLECTIVES_DEVICE_FOR_KERNELS_HPP_
#define MESHMEM_COLLECTIVES_DEVICE_FOR_KERNELS_HPP_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "device/proxy_ring.hpp"

namespace meshmem {

class CollectivesForKernels {
 public:
  // Called with the number of the result when the collective is over.
  using Answer = std::function<void(std::uint64_t number)>;

  ~CollectivesForKernels() { stop(); }
  void use(Answer answer) { answer_ = std::move(answer); }
  void begin(const device::ProxyCommand& command);
  // Ends the threads. Called when no collective is under way any more.
  void stop();

 private:
  void run();
  void poll_for_a_while(std::unique_lock<std::mutex>& lock);

  Answer answer_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<device::ProxyCommand> waiting_;
  std::atomic<std::size_t> n_waiting_{0};
  std::size_t n_idle_ = 0;
  bool one_polls_ = false;
  std::atomic<bool> stops_{false};
  std::vector<std::thread> threads_;
};

// The only object of this process. It lives for ever.
CollectivesForKernels& collectives_for_kernels();

}  // namespace meshmem

#endif  // MESHMEM_COLLECTIVES_DEVICE_FOR_KERNELS_HPP_
