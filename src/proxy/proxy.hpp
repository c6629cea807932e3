// SPDX-License-Identifier: Apache-2.0
//
// The thread that executes kernels' operations on far PEs. It takes their commands from the ring,
// gives them to the transport, and tells the kernels which are done.
// Invariant: it never waits for a kernel of this PE. Commands go to the transport in the order of
// the ring, so the commands of one thread of a kernel stay in order. Part of a KernelProxy, which
// starts it if there are far PEs and devices.
#ifndef MESHMEM_PROXY_PROXY_HPP_
#define MESHMEM_PROXY_PROXY_HPP_

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "proxy/ring_reader.hpp"
#include "transport/transport.hpp"

namespace meshmem {

class Proxy {
 public:
  // Lets another thread execute a collective, since that waits for other PEs. The other thread
  // calls answer() when the collective has ended.
  using Collective = std::function<void(const device::ProxyCommand&)>;

  ~Proxy() { stop(); }
  void start(const ProxyMemory& memory, Collective collective);
  bool is_running() const { return thread_.joinable(); }
  // Called before the first kernel that may give commands. Until then the thread sleeps.
  void wake();
  // Returns when all commands of ended kernels are done. A collective counts as done when it has
  // been handed over.
  void complete(const char* routine);
  // Ends the collective that has this result number. Any thread may call it.
  void answer(std::uint64_t number) {
    n_collectives_.fetch_sub(1, std::memory_order_relaxed);
    reader_->answer(number, 0);
  }
  // Called when no kernel runs any more. Returns when all commands are done and the thread has
  // ended.
  void stop();
  // The same without finishing anything, for a process that ends without shmem_finalize.
  void abandon();

 private:
  using Clock = std::chrono::steady_clock;
  // A result that a kernel waits for: its number, and the value, which the transport fills.
  struct Pending {
    std::uint64_t number;
    std::uint64_t value;
  };
  // When `mark` is done, so are the first `taken` commands, and the next `n_pending` results (those
  // that no earlier mark covers).
  struct Mark {
    std::unique_ptr<CompletionMark> mark;
    std::uint64_t taken;
    std::size_t n_pending;
  };

  // A collective on a stream, which begins when the first `after` commands are done.
  struct Waiting {
    device::ProxyCommand command;
    std::uint64_t after;
  };

  void run();
  // These return false if there was nothing to do.
  bool serve();
  bool step();
  bool take_commands();
  bool finish_first_mark();
  void execute(const device::ProxyCommand& command);
  void begin_collective(const device::ProxyCommand& command);
  void nap();
  void make_progress();
  bool is_idle() const { return marks_.empty() && completed_ == reader_->taken(); }

  std::optional<ProxyRingReader> reader_;
  Collective collective_;
  std::deque<Pending> pending_;  // the transport fills them in place
  std::deque<Mark> marks_;
  std::deque<Waiting> waiting_;
  std::size_t n_marked_ = 0;       // how many of pending_ a mark covers
  std::uint64_t completed_ = 0;    // commands done
  std::uint64_t last_issued_ = 0;  // commands taken up to the last one that is no collective
  Clock::time_point last_work_{}, last_progress_{};
  std::atomic<int> n_collectives_{0};  // under way
  std::mutex waking_;
  std::atomic<bool> is_awake_{false};
  std::atomic<bool> stops_{false};
  std::atomic<bool> is_abandoned_{false};
  std::thread thread_;
};

}  // namespace meshmem

#endif  // MESHMEM_PROXY_PROXY_HPP_
