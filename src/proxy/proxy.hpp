// SPDX-License-Identifier: Apache-2.0
//
// The thread that does for kernels what they cannot do themselves. It takes their commands for far
// PEs out of the ring, gives them to the transport, and tells the kernels what is done.
// Invariant: it never waits for a kernel of this PE. Commands go to the transport in the order of
// the ring, so the commands of one thread of a kernel stay in order. Part of a KernelProxy, which
// starts it where PEs are far and there are devices.
#ifndef MESHMEM_PROXY_PROXY_HPP_
#define MESHMEM_PROXY_PROXY_HPP_

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "proxy/ring_reader.hpp"
#include "transport/transport.hpp"

namespace meshmem {

class Proxy {
 public:
  // Executes a collective, by another thread: it waits for other PEs. answer() ends it.
  using Collective = std::function<void(const device::ProxyCommand&)>;

  ~Proxy() { stop(); }
  void start(const ProxyMemory& memory, Collective collective);
  bool is_running() const { return thread_.joinable(); }
  // From now on kernels may come; until then the thread sleeps.
  void wake();
  // Returns when what kernels that have ended have handed over is done.
  void complete(const char* routine);
  // By any thread.
  void answer(std::uint64_t number) {
    n_collectives_.fetch_sub(1, std::memory_order_relaxed);
    reader_->answer(number, 0);
  }
  // Returns when all commands are done and the thread has ended. No kernel runs any more.
  void stop();
  // The same without finishing anything, for a process that ends without shmem_finalize.
  void abandon();

 private:
  using Clock = std::chrono::steady_clock;
  // A result that is on its way.
  struct Pending {
    std::uint64_t number;
    std::uint64_t value;
  };
  struct Mark {
    std::unique_ptr<CompletionMark> mark;
    std::uint64_t taken;    // commands that are done with it
    std::size_t n_pending;  // and results, of those not yet told
  };

  // A stream's collective, which begins when `after` commands are done.
  struct Waiting {
    device::ProxyCommand command;
    std::uint64_t after;
  };

  void run();
  bool serve();
  bool step();
  bool take_commands();
  bool look_at_marks();
  void execute(const device::ProxyCommand& command);
  void begin_collective(const device::ProxyCommand& command);
  void nap();
  void make_progress();
  bool is_idle() const { return marks_.empty() && completed_ == reader_->taken(); }

  std::optional<ProxyRingReader> reader_;
  Collective collective_;
  std::deque<Pending> pending_;  // the transport fills them where they are
  std::deque<Mark> marks_;
  std::deque<Waiting> waiting_;
  std::size_t n_marked_ = 0;  // results that a mark stands for
  std::uint64_t completed_ = 0;
  std::uint64_t last_issued_ = 0;  // commands up to the last one that is no collective
  Clock::time_point last_work_{}, last_progress_{};
  std::atomic<int> n_collectives_{0};  // under way
  std::atomic<bool> is_wanted_{false};
  std::atomic<bool> stops_{false};
  std::atomic<bool> is_abandoned_{false};
  std::thread thread_;
};

}  // namespace meshmem

#endif  // MESHMEM_PROXY_PROXY_HPP_
