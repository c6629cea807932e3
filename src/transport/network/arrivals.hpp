// SPDX-License-Identifier: Apache-2.0
//
// Handles messages that arrive.
// Invariant: a message without the job's token, or of a PE that has not introduced itself, changes
// nothing. An invalid message of a known PE ends the job with a line. Nothing here waits. The wire
// calls it in progress(), under the transport's lock.
#ifndef MESHMEM_TRANSPORT_NETWORK_ARRIVALS_HPP_
#define MESHMEM_TRANSPORT_NETWORK_ARRIVALS_HPP_

#include <string>

#include "transport/network/format.hpp"
#include "transport/network/state.hpp"
#include "transport/wire.hpp"

namespace meshmem::network {

class Arrivals : public WireListener {
 public:
  explicit Arrivals(NetworkState& state);
  bool accepts_introduction(const std::byte* head_at, std::size_t head_bytes) override;
  void handle_message(int sender, const std::byte* head_at, std::size_t head_bytes,
                      const std::byte* body, std::size_t body_bytes) override;
  void handle_loss(int peer, const std::string& why, bool was_silent) override;

 private:
  // True if the head has the job's token, this format's version, and the number of another PE.
  bool is_of_job(const Head& head) const;
  bool is_hello(const Head& head) const;
  // The flow to the sender of this head; nullptr: a stranger.
  Flow* find_sender(int sender, const Head& head);
  void greet_back(int sender, const Head& head);
  void execute_all(Flow& from, const std::byte* body, std::size_t bytes);
  void execute(Flow& from, const Record& record, const std::byte* data);
  // Executes a record at once. Its memory, if any, is host memory.
  void execute_now(Flow& from, const Record& record, const std::byte* data);
  bool has_to_be_held(const Flow& from, const Record& record) const;
  void hold(Flow& from, const Record& record, const std::byte* data);
  void hold_one(Flow& from, const Record& record, const std::byte* data);
  void answer_fetch(Flow& from, const Record& record);
  void answer_get(Flow& from, const Record& record);
  void answer_question(Flow& from, const Record& record, const std::byte* data);
  void take_answer(Flow& from, const Record& record, const std::byte* data);
  void take_message(Flow& from, const Record& record, const std::byte* data);
  void take_credit(Flow& from, const Record& record);
  // Ends the job with a line about this record.
  [[noreturn]] void refuse(const Flow& from, const Record& record) const;

  NetworkState& state_;
};

}  // namespace meshmem::network

#endif  // MESHMEM_TRANSPORT_NETWORK_ARRIVALS_HPP_
