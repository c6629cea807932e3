// SPDX-License-Identifier: Apache-2.0
//
// The wire over UCX. A message is one active message of UCX, never sent by rendezvous, so messages
// arrive in order. A message that introduces its sender carries the sender's address.
// Invariant: a peer is an address, so both directions between two processes use one endpoint. The
// first message makes the endpoint. If the peer is lost, progress() closes the endpoint, outside of
// UCX's callbacks. Made by library.cpp.
#ifndef MESHMEM_TRANSPORT_UCX_UCX_WIRE_HPP_
#define MESHMEM_TRANSPORT_UCX_UCX_WIRE_HPP_

#include <ucp/api/ucp.h>

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "transport/ucx/context.hpp"
#include "transport/ucx/sockets.hpp"
#include "transport/wire.hpp"

namespace meshmem {

class UcxWire final : public Wire {
 public:
  // Returns nullptr, and a line in *error, if UCX finds no network, or if the kernel cannot keep
  // strangers from UCX's ports.
  static std::unique_ptr<UcxWire> open(const WireRequest& request, std::string* error);
  ~UcxWire() override;

  std::string address() const override { return address_; }
  int connect(std::string_view address) override;
  bool admit_only(const std::vector<std::string>& addresses) override;
  void send(int peer, const Message& message) override;
  bool progress() override;
  int event_fd() const override { return event_fd_; }
  bool arm() override;
  std::string description() const override;

 private:
  struct Peer {
    UcxWire* wire;
    int number;
    std::string address;
    ucp_ep_h endpoint;
    bool is_lost;
    ucs_status_t reason;
    bool was_silent;
  };
  // A message that UCX has not sent yet. The object is used again for a later message.
  struct Sending {
    UcxWire* wire;
    void (*sent)(void* argument);  // nullptr: free
    void* argument;
    std::string introduction;  // head and address, if the message introduces
  };

  UcxWire(WireListener* listener, const UcxSockets& sockets, UcxContext context);
  ucs_status_t start();
  ucs_status_t receive_by(unsigned id, ucp_am_recv_callback_t callback);

  void make_endpoint(Peer& peer);
  Sending& begin(const Message& message);
  void finish(Sending& sending);
  void* give_to_ucx(const Peer& peer, const Message& message, Sending& sending);
  // Handles a message. `introduced`: the sender's address; empty if the message has none.
  ucs_status_t take(std::string_view introduced, const void* head, std::size_t head_bytes,
                    const void* body, std::size_t body_bytes, std::uint64_t attributes);

  // Notes the loss, which progress() reports.
  void note_loss(Peer& peer, ucs_status_t reason);
  std::string reason_of_loss(const Peer& peer) const;
  void report_losses();
  void close(Peer& peer);
  void free_closed();
  void close_all();

  static ucs_status_t on_message(void* wire, const void* head, std::size_t head_bytes, void* body,
                                 std::size_t body_bytes, const ucp_am_recv_param_t* param);
  static ucs_status_t on_introduction(void* wire, const void* head, std::size_t head_bytes,
                                      void* body, std::size_t body_bytes,
                                      const ucp_am_recv_param_t* param);
  static void on_sent(void* request, ucs_status_t status, void* sending);
  static void on_loss(void* peer, ucp_ep_h endpoint, ucs_status_t reason);

  WireListener* listener_;  // nullptr: closing, so it is not called any more
  UcxSockets sockets_;
  UcxContext context_;
  ucp_worker_h worker_ = nullptr;
  std::string address_;
  int event_fd_ = -1;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::unordered_map<std::string, int> peer_at_;  // by address
  std::deque<Sending> sendings_;
  std::vector<Sending*> free_sendings_;
  std::vector<Peer*> losses_;
  std::vector<void*> closings_;  // UCX's requests to close endpoints
};

}  // namespace meshmem

#endif  // MESHMEM_TRANSPORT_UCX_UCX_WIRE_HPP_
