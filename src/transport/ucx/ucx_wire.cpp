// SPDX-License-Identifier: Apache-2.0
//
// One thread at a time calls a Wire, so UCX's worker takes no locks. Endpoints have UCX's error
// mode PEER: UCX calls on_sent() also for the messages in flight to a lost peer, and on_loss()
// once.
#include "transport/ucx/ucx_wire.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>

#include <chrono>
#include <cstring>
#include <utility>

namespace meshmem {
namespace {

constexpr unsigned kMessage = 1, kIntroduction = 2;  // active messages
constexpr std::size_t kMaxAddressBytes = 4096;
constexpr auto kCloseTimeout = std::chrono::milliseconds(500);

// Blocks signals while UCX starts its thread, which inherits the mask. So that thread never gets
// the program's signals.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;
  ~AllSignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

// The head that travels with a message that introduces: the length of message.head, message.head
// itself, and this process's address.
std::string with_address(const Wire::Message& message, const std::string& address) {
  const std::uint64_t head_bytes = message.head_bytes;
  std::string text(reinterpret_cast<const char*>(&head_bytes), sizeof head_bytes);
  text.append(static_cast<const char*>(message.head), message.head_bytes);
  return text + address;
}

}  // namespace

// ---- Opening

std::unique_ptr<UcxWire> UcxWire::open(const WireRequest& request, std::string* error) {
  const AllSignalsBlocked blocked;
  const std::string device = request.device != nullptr ? request.device : "";
  UcxSockets sockets(request.keepalive_seconds);
  UcxContext context = [&] {
    const UcxSockets::Opening opening(sockets, true);
    return open_context(device, error, request.rdma_only);
  }();
  if (context == nullptr) return nullptr;
  std::unique_ptr<UcxWire> wire(new UcxWire(request.listener, sockets, std::move(context)));
  const ucs_status_t status = wire->start();
  if (status != UCS_OK)
    *error = fmt::format("UCX cannot open its networks: {}", reason_of(status));
  else if (!wire->sockets_.are_guarded())
    *error = "this kernel cannot keep strangers from UCX's ports: it refuses SO_ATTACH_FILTER";
  else
    return wire;
  return nullptr;
}

UcxWire::UcxWire(WireListener* listener, const UcxSockets& sockets, UcxContext context)
    : listener_(listener), sockets_(sockets), context_(std::move(context)) {}

ucs_status_t UcxWire::receive_by(unsigned id, ucp_am_recv_callback_t callback) {
  ucp_am_handler_param_t param{};
  param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                     UCP_AM_HANDLER_PARAM_FIELD_ARG;
  param.id = id;
  param.cb = callback;
  param.arg = this;
  return ucp_worker_set_am_recv_handler(worker_, &param);
}

ucs_status_t UcxWire::start() {
  const UcxSockets::Opening listening(sockets_, true);
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  ucs_status_t status = ucp_worker_create(context_.get(), &params, &worker_);
  if (status != UCS_OK) {
    worker_ = nullptr;
    return status;
  }
  ucp_address_t* address = nullptr;
  std::size_t bytes = 0;
  status = ucp_worker_get_address(worker_, &address, &bytes);
  if (status != UCS_OK) return status;
  address_.assign(reinterpret_cast<const char*>(address), bytes);
  ucp_worker_release_address(worker_, address);

  status = ucp_worker_get_efd(worker_, &event_fd_);
  if (status == UCS_OK) status = receive_by(kMessage, on_message);
  if (status == UCS_OK) status = receive_by(kIntroduction, on_introduction);
  return status;
}

// ---- Peers and their endpoints

int UcxWire::connect(std::string_view address) {
  const auto [place, is_new] =
      peer_at_.try_emplace(std::string(address), static_cast<int>(peers_.size()));
  if (is_new) {
    peers_.emplace_back(new Peer{this, place->second, place->first, nullptr, false, UCS_OK, false});
  }
  return place->second;
}

bool UcxWire::admit_only(const std::vector<std::string>& addresses) {
  sockets_.admit_only(addresses);
  return true;
}

void UcxWire::make_endpoint(Peer& peer) {
  const AllSignalsBlocked blocked;
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(peer.address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler = {on_loss, &peer};
  const UcxSockets::Opening connecting(sockets_, false);
  const ucs_status_t status = ucp_ep_create(worker_, &params, &peer.endpoint);
  if (status == UCS_OK) return;
  peer.endpoint = nullptr;
  note_loss(peer, status);
}

void UcxWire::note_loss(Peer& peer, ucs_status_t reason) {
  if (peer.is_lost) return;
  peer.is_lost = true;
  peer.reason = reason;
  peer.was_silent = sockets_.have_timed_out();
  losses_.push_back(&peer);
}

void UcxWire::on_loss(void* argument, ucp_ep_h, ucs_status_t reason) {
  auto& peer = *static_cast<Peer*>(argument);
  peer.wire->note_loss(peer, reason);
}

std::string UcxWire::reason_of_loss(const Peer& peer) const {
  if (peer.was_silent)
    return fmt::format("it was silent for {} s (MESHMEM_KEEPALIVE)", sockets_.patience_seconds());
  // UCX reports a timeout whatever ended the connection.
  if (peer.reason == UCS_ERR_ENDPOINT_TIMEOUT) return "its connection has ended";
  return reason_of(peer.reason);
}

void UcxWire::report_losses() {
  for (Peer* peer : std::exchange(losses_, {})) {
    close(*peer);
    if (listener_ == nullptr) continue;
    listener_->handle_loss(peer->number, reason_of_loss(*peer), peer->was_silent);
  }
}

void UcxWire::close(Peer& peer) {
  if (peer.endpoint == nullptr) return;
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  void* request = ucp_ep_close_nbx(std::exchange(peer.endpoint, nullptr), &param);
  if (UCS_PTR_IS_PTR(request)) closings_.push_back(request);
}

void UcxWire::free_closed() {
  std::erase_if(closings_, [](void* request) {
    if (ucp_request_check_status(request) == UCS_INPROGRESS) return false;
    ucp_request_free(request);
    return true;
  });
}

// ---- Sending

UcxWire::Sending& UcxWire::begin(const Message& message) {
  if (free_sendings_.empty()) {
    sendings_.push_back({this, nullptr, nullptr, {}});
    free_sendings_.push_back(&sendings_.back());
  }
  Sending& sending = *free_sendings_.back();
  free_sendings_.pop_back();
  sending.sent = message.sent;
  sending.argument = message.argument;
  return sending;
}

// sent() may send again, so `sending` is free before the call.
void UcxWire::finish(Sending& sending) {
  const auto sent = std::exchange(sending.sent, nullptr);
  void* argument = sending.argument;
  free_sendings_.push_back(&sending);
  sent(argument);
}

void* UcxWire::give_to_ucx(const Peer& peer, const Message& message, Sending& sending) {
  ucp_request_param_t param{};
  param.op_attr_mask =
      UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.flags = UCP_AM_SEND_FLAG_EAGER;
  param.cb.send = on_sent;
  param.user_data = &sending;
  if (!message.introduces) {
    return ucp_am_send_nbx(peer.endpoint, kMessage, message.head, message.head_bytes, message.body,
                           message.body_bytes, &param);
  }
  sending.introduction = with_address(message, address_);
  return ucp_am_send_nbx(peer.endpoint, kIntroduction, sending.introduction.data(),
                         sending.introduction.size(), message.body, message.body_bytes, &param);
}

void UcxWire::send(int number, const Message& message) {
  Peer& peer = *peers_[static_cast<std::size_t>(number)];
  if (peer.endpoint == nullptr && !peer.is_lost) make_endpoint(peer);
  if (peer.is_lost) return message.sent(message.argument);
  Sending& sending = begin(message);
  void* request = give_to_ucx(peer, message, sending);
  if (UCS_PTR_IS_PTR(request)) return;  // on_sent() follows
  if (UCS_PTR_IS_ERR(request)) note_loss(peer, UCS_PTR_STATUS(request));
  finish(sending);
}

// Ignores the status: if the message was not sent, UCX also calls on_loss().
void UcxWire::on_sent(void* request, ucs_status_t, void* argument) {
  ucp_request_free(request);
  auto& sending = *static_cast<Sending*>(argument);
  sending.wire->finish(sending);
}

// ---- Receiving

ucs_status_t UcxWire::take(std::string_view introduced, const void* head, std::size_t head_bytes,
                           const void* body, std::size_t body_bytes, std::uint64_t attributes) {
  const bool is_announced_only = (attributes & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
  if (listener_ == nullptr || head_bytes > kMaxHeadBytes || is_announced_only) return UCS_OK;
  const auto* const head_at = static_cast<const std::byte*>(head);
  int sender = -1;
  if (!introduced.empty() && listener_->accepts_introduction(head_at, head_bytes)) {
    sender = connect(introduced);
    sockets_.close_accepted_on_exec();  // it may have come by a new connection
  }
  listener_->handle_message(sender, head_at, head_bytes, static_cast<const std::byte*>(body),
                            body_bytes);
  return UCS_OK;
}

ucs_status_t UcxWire::on_message(void* argument, const void* head, std::size_t head_bytes,
                                 void* body, std::size_t body_bytes,
                                 const ucp_am_recv_param_t* param) {
  return static_cast<UcxWire*>(argument)->take({}, head, head_bytes, body, body_bytes,
                                               param->recv_attr);
}

ucs_status_t UcxWire::on_introduction(void* argument, const void* head, std::size_t head_bytes,
                                      void* body, std::size_t body_bytes,
                                      const ucp_am_recv_param_t* param) {
  auto& wire = *static_cast<UcxWire*>(argument);
  std::uint64_t own = 0;
  if (head_bytes <= sizeof own) return UCS_OK;
  std::memcpy(&own, head, sizeof own);
  const auto* begin = static_cast<const char*>(head) + sizeof own;
  const std::size_t rest = head_bytes - sizeof own;
  if (own > kMaxHeadBytes || own >= rest || rest - own > kMaxAddressBytes) return UCS_OK;
  return wire.take({begin + own, rest - own}, begin, own, body, body_bytes, param->recv_attr);
}

// ---- Progress

bool UcxWire::progress() {
  bool did_something = ucp_worker_progress(worker_) != 0;
  if (!losses_.empty()) {
    report_losses();
    did_something = true;
  }
  if (!closings_.empty()) free_closed();
  return did_something;
}

bool UcxWire::arm() {
  return losses_.empty() && closings_.empty() && ucp_worker_arm(worker_) == UCS_OK;
}

std::string UcxWire::description() const {
  for (const auto& peer : peers_) {
    if (peer->endpoint == nullptr) continue;
    const auto print = [&](FILE* file) { ucp_ep_print_info(peer->endpoint, file); };
    const auto lanes = networks_in(text_of(print), "lane");
    if (!lanes.empty()) return fmt::format("{}, UCX {}", fmt::join(lanes, ", "), ucx_version());
  }
  return fmt::format("{}, UCX {}", fmt::join(networks_of(context_.get()), " or "), ucx_version());
}

// ---- Closing

void UcxWire::close_all() {
  for (const auto& peer : peers_) close(*peer);
  const auto end = std::chrono::steady_clock::now() + kCloseTimeout;
  while (!closings_.empty() && std::chrono::steady_clock::now() < end) {
    ucp_worker_progress(worker_);
    free_closed();
  }
}

UcxWire::~UcxWire() {
  listener_ = nullptr;
  if (worker_ == nullptr) return;
  close_all();
  ucp_worker_destroy(worker_);
  for (Sending& sending : sendings_) {  // UCX is gone, and will not report these
    if (sending.sent != nullptr) std::exchange(sending.sent, nullptr)(sending.argument);
  }
}

}  // namespace meshmem
