// SPDX-License-Identifier: Apache-2.0
//
// The state that the operations of NetworkTransport and the messages that arrive share.
// Invariant: `mutex` guards everything but the mailbox, which has a lock of its own, and the
// atomics. Whoever waits does so without it.
#ifndef MESHMEM_TRANSPORT_NETWORK_STATE_HPP_
#define MESHMEM_TRANSPORT_NETWORK_STATE_HPP_

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/hooks/trace_job.hpp"
#include "base/waiting/wait.hpp"
#include "transport/network/flow.hpp"
#include "transport/network/held.hpp"
#include "transport/network/plan.hpp"
#include "transport/network/requests.hpp"
#include "transport/network/segments.hpp"
#include "transport/network/thread.hpp"

namespace meshmem {

using Lock = std::unique_lock<std::mutex>;

// When a poll that has found nothing acknowledges what came before. A kernel that has got a signal
// answers it within microseconds, as a rule, and its message carries the acknowledgement; one of
// its own would leave first, and the answer would wait for that.
enum class Acknowledges { at_once, with_an_answer };

struct NetworkState {
  std::mutex mutex;
  std::unique_ptr<Wire> wire;
  NetworkPlan plan{};
  network::Outlet outlet;
  network::Requests requests;
  network::LocalSegments segments;
  network::HeldRecords held;
  Mailbox mailbox;
  std::vector<std::unique_ptr<network::Flow>> flows;
  std::unordered_map<int, network::Flow*> flow_of_pe;
  std::vector<network::Flow*> flow_of_node;  // to the process that serves this PE there
  std::atomic<bool> is_open{false};
  struct Loss {
    int pe;
    std::string why;
    bool was_silent;
  };
  std::vector<Loss> losses;
  bool is_ending = false;     // who disappears now is not missed
  std::uint64_t opening = 0;  // the number of this one, the same on all PEs
  bool takes_in_for_kernels = false;
  bool expects_answer = false;  // of a kernel, to what was taken in last
  using Time = network::FollowUps::Clock::time_point;
  Time losses_known_at{};
  Time answer_comes_until{};      // 0: none is expected
  std::atomic<Time> polled_at{};  // by others than the network's thread; in a poll Time::max()
  std::atomic<std::uint64_t> refused{0};  // messages of strangers
  std::atomic<AnswerQuestion> answer_with{nullptr};
  network::ProgressThread thread{};

  // To PE `pe`; made when it is first asked for.
  network::Flow& flow_to(int pe);
  network::Flow* find_flow(int pe) const;
  // To the process that executes operations on PE `pe`.
  network::Flow& server_flow(int pe);

  network::Record record_for(network::RecordKind kind, const RemotePlace& place,
                             std::size_t bytes) const;
  // Sends a record with data, which may be changed when it returns.
  void send(Lock& lock, network::Flow& flow, const network::Record& record, const void* data,
            network::SendPolicy policy);
  // A long one, from where its data lies until *under_way has come down to 0.
  void send_chunks(Lock& lock, network::Flow& flow, network::Record record, const void* data,
                   std::atomic<std::size_t>* under_way);
  void request(Lock& lock, network::Flow& flow, const RemotePlace& source, void* dest,
               std::size_t bytes, std::atomic<std::size_t>* missing);
  // `missing` as for request(): nullptr if quiet alone waits for it.
  void fetch(Lock& lock, network::Flow& flow, network::Record record, std::uint64_t* before,
             std::atomic<std::size_t>* missing);
  // Back-pressure: who sends faster than the network, or than the other's device, waits here.
  void wait_for_room(Lock& lock, network::Flow& flow);
  void wait_for(Lock& lock, const network::Flow& flow, const std::atomic<std::size_t>& missing);
  // The same for a request of `bytes`: who asks for more than is answered waits too.
  void wait_to_ask(Lock& lock, network::Flow& flow, std::size_t bytes);

  // Notes that this PE has lost `pe`, which ends the job a moment later: losses that follow tell
  // which machine is to blame.
  void note_loss(int pe, const std::string& why, bool was_silent);
  void end_if_losses_are_known();
  [[noreturn]] void end_for(const Loss& loss);
  [[noreturn]] void end_with_line(int pe, const std::string& line);
  bool is_cut_off() const;
  bool has_third_node() const;
  // The same if another PE of the node has lost one.
  void follow_loss();
  [[noreturn]] void end_after_others() const;

  // Lets the device do what it has been given. Without the lock, since calls of a device may take
  // long.
  void drive_device() const {
    if (plan.device) plan.device->drive();
  }
  // By one who takes in messages, or will in a moment.
  void note_poll() { polled_at.store(Time::clock::now(), std::memory_order_relaxed); }
  // By one who asks, and polls from now on until the answer comes: it would wake the network's
  // thread too, which then waits for the mutex.
  void will_poll() {
    if (thread.sleeps_on()) [[unlikely]]
      thread.leave_it_to_caller();
  }
  // Takes in what there is; acknowledges where there is nothing. False: there was nothing.
  bool take_in(const Lock& lock, Acknowledges when = Acknowledges::at_once);
  // An acknowledgement waits for a kernel's answer no longer than an answer takes. Each poll looks,
  // since while other PEs send no poll finds nothing.
  void acknowledge_if_answer_is_late();
  // The same as take_in(), and sends what waits to leave. For those who wait.
  void poll(const Lock& lock, Acknowledges when = Acknowledges::at_once);

  // Returns when ready() is true, asked under the lock. describe() as for wait_until_ready().
  template <typename Ready, typename Describe>
  void wait(Lock& lock, const Ready& ready, const Describe& describe) {
    while (!ready()) {
      lock.unlock();
      wait_until_ready<ProgressBy::ready>(
          [&] {
            drive_device();
            const Lock again(mutex);
            if (ready()) return true;
            poll(again);
            return ready();
          },
          describe);
      lock.lock();
    }
  }
};

}  // namespace meshmem

#endif  // MESHMEM_TRANSPORT_NETWORK_STATE_HPP_
