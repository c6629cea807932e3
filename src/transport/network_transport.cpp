// SPDX-License-Identifier: Apache-2.0
//
// The transport between machines. Invariant: nothing is taken in before open().
#include "transport/network_transport.hpp"

#include <cstdlib>

namespace meshmem {

struct NetworkTransport::State : WireListener {
  void take(int, const std::byte*, std::size_t, const std::byte*, std::size_t) override {}
  void lose(int, const std::string&) override {}
  std::unique_ptr<Wire> wire;
  NetworkPlan plan;
};

NetworkTransport::NetworkTransport() : state_(std::make_unique<State>()) {}
NetworkTransport::~NetworkTransport() = default;
WireListener* NetworkTransport::listener() { return state_.get(); }
void NetworkTransport::use_wire(std::unique_ptr<Wire> wire) { state_->wire = std::move(wire); }
std::string NetworkTransport::wire_address() const { return state_->wire->address(); }
void NetworkTransport::open(NetworkPlan plan) { state_->plan = std::move(plan); }
void NetworkTransport::close() {}
void NetworkTransport::abandon() {}
void NetworkTransport::reopen() {}
void NetworkTransport::put(const RemotePlace&, const void*, std::size_t) { std::abort(); }
void NetworkTransport::get(void*, const RemotePlace&, std::size_t) { std::abort(); }
void NetworkTransport::put_nbi(const RemotePlace&, const void*, std::size_t) { std::abort(); }
void NetworkTransport::get_nbi(void*, const RemotePlace&, std::size_t) { std::abort(); }
void NetworkTransport::put_signal(const RemotePlace&, const void*, std::size_t,
                                  const SignalUpdate&) {
  std::abort();
}
std::uint64_t NetworkTransport::atomic(const RemotePlace&, const AtomicRequest&) { std::abort(); }
void NetworkTransport::complete() {}
void NetworkTransport::send(int, const MessageKey&, const void*, std::size_t) { std::abort(); }
void NetworkTransport::receive(int, const MessageKey&, void*, std::size_t,
                               const std::function<std::string()>&) {
  std::abort();
}
void NetworkTransport::progress() {}

}  // namespace meshmem
