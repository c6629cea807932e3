// SPDX-License-Identifier: Apache-2.0
//
// The state that the operations of NetworkTransport and the messages that arrive share.
// Invariant: `mutex` guards everything but the atomics and the mailbox, which has its own lock. A
// thread that waits does not hold the mutex.
#ifndef MESHMEM_TRANSPORT_NETWORK_STATE_HPP_
#define MESHMEM_TRANSPORT_NETWORK_STATE_HPP_

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/hooks/trace_job.hpp"
#include "base/status/far_pes.hpp"
#include "base/waiting/wait.hpp"
#include "transport/network/flow.hpp"
#include "transport/network/held.hpp"
#include "transport/network/plan.hpp"
#include "transport/network/requests.hpp"
#include "transport/network/segments.hpp"
#include "transport/network/thread.hpp"

namespace meshmem {

using Lock = std::unique_lock<std::mutex>;

// Tells by whom a question is: by a library that watches the job, or by a PE that waits.
enum class Asker : std::uint32_t { watcher, wait };

// When a poll that finds no message acknowledges earlier ones: at once, or with a kernel's answer
// if one is expected. A kernel usually answers a signal within microseconds, and its answer
// can carry the acknowledgement. A separate acknowledgement would leave first and delay the answer.
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
  // By node: the flow to the process there that executes this PE's operations.
  std::vector<network::Flow*> flow_of_node;
  std::atomic<bool> is_open{false};
  struct Loss {
    int pe;
    std::string why;
    bool was_silent;
  };
  std::vector<Loss> losses;
  bool is_ending = false;     // a PE that disappears now is not a loss
  std::uint64_t opening = 0;  // how often the transport has been opened, the same on all PEs
  bool takes_in_for_kernels = false;
  bool expects_answer = false;  // a kernel is likely to answer what the last take_in() took in
  using Time = network::FollowUps::Clock::time_point;
  Time losses_known_at{};
  Time answer_deadline{};  // when to acknowledge without the answer; 0: none is expected
  // When threads other than the network's polled last; Time::max() while they poll.
  std::atomic<Time> polled_at{};
  std::atomic<std::uint64_t> refused{0};             // parcels that are not of this job, dropped
  std::atomic<AnswerQuestion> answer_with{nullptr};  // answers other nodes' questions (records)
  std::unique_ptr<FarPes> far_pes;                   // asks for what they wait
  network::ProgressThread thread{};

  // The flow to PE `pe`. The first call makes it.
  network::Flow& flow_to(int pe);
  network::Flow* find_flow(int pe) const;
  // The flow to the process that executes this PE's operations on PE `pe`.
  network::Flow& server_flow(int pe);

  network::Record record_for(network::RecordKind kind, const RemotePlace& place,
                             std::size_t bytes) const;
  // Sends a record with data. The caller may change the data when this returns.
  void send(Lock& lock, network::Flow& flow, const network::Record& record, const void* data,
            network::SendPolicy policy);
  // Sends a long record in chunks, straight from `data`, which must not change until *under_way has
  // come down to 0.
  void send_chunks(Lock& lock, network::Flow& flow, network::Record record, const void* data,
                   std::atomic<std::size_t>* under_way);
  // Asks for `bytes` at `source`; the answers go to dest. *missing counts the answers to come; null
  // if only quiet waits for them.
  void request(Lock& lock, network::Flow& flow, const RemotePlace& source, void* dest,
               std::size_t bytes, std::atomic<std::size_t>* missing);
  // Sends a fetching atomic; the value before goes to *before. `missing` as for request().
  void fetch(Lock& lock, network::Flow& flow, network::Record record, std::uint64_t* before,
             std::atomic<std::size_t>* missing);
  bool has_room(network::Flow& flow) const;
  // Back-pressure: a sender that is faster than the network, or than the receiver's device, waits
  // here.
  void wait_for_room(Lock& lock, network::Flow& flow);
  // Waits until `missing` is 0.
  void wait_for(Lock& lock, const network::Flow& flow, const std::atomic<std::size_t>& missing);
  // wait_for_room() before a request of `bytes`. Also waits while too many requests, or too many
  // bytes, have not been answered.
  void wait_to_ask(Lock& lock, network::Flow& flow, std::size_t bytes);

  // Notes that this PE has lost `pe`. The job ends a moment later, since losses that follow tell
  // which machine is to blame.
  void note_loss(int pe, const std::string& why, bool was_silent);
  void end_if_losses_are_known();
  [[noreturn]] void end_for(const Loss& loss);
  [[noreturn]] void end_with_line(const std::string& line);
  bool is_cut_off() const;
  bool has_third_node() const;
  // Ends this PE too if another PE of its node has lost one.
  void follow_loss();
  [[noreturn]] void end_after_others() const;

  // Lets the device do what it has been given. Without the lock, since calls of a device may take
  // long.
  void drive_device() const {
    if (plan.device) plan.device->drive();
  }
  // Called by a thread that takes in messages, or will in a moment.
  void note_poll() { polled_at.store(Time::clock::now(), std::memory_order_relaxed); }
  // Called by a thread that sends a request and polls until the answer comes. Otherwise the answer
  // would also wake the network's thread, which would then wait for the mutex.
  void will_poll() {
    if (thread.sleeps_until_event()) [[unlikely]]
      thread.stop_watching_wire();
  }
  // Takes in the messages that have come. If there are none, it acknowledges earlier ones. Returns
  // false if it had nothing to do.
  bool take_in(const Lock& lock, Acknowledges when = Acknowledges::at_once);
  // Sends the acknowledgements that wait for a kernel's answer, if the answer is late. Every poll
  // calls this: while other PEs send, no poll finds nothing, so none acknowledges for that reason.
  void acknowledge_if_answer_is_late();
  // Sends the records that wait to leave, then calls take_in(). For threads that wait.
  void poll(const Lock& lock, Acknowledges when = Acknowledges::at_once);

  // Returns when ready() is true, which it calls with the lock held. describe() as for
  // wait_until_ready().
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
