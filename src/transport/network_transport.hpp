// SPDX-License-Identifier: Apache-2.0
//
// The transport between machines: the operations of transport.hpp as messages over a Wire.
// Invariant: all one-sided operations on the PEs of one node go, in order, to one process there,
// which executes them on the memory of its node. Start-up makes it, gives it the wire as soon as it
// has one, and opens it when it knows the other PEs.
#ifndef MESHMEM_TRANSPORT_NETWORK_TRANSPORT_HPP_
#define MESHMEM_TRANSPORT_NETWORK_TRANSPORT_HPP_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "transport/transport.hpp"
#include "transport/wire.hpp"

namespace meshmem {

struct NetworkPlan {
  int me;                  // of the world
  int n_pes;               // of the world
  std::uint64_t token[2];  // of the job, secret
  int n_local;             // PEs of this node
  // Memory of this node's PEs, mapped here.
  std::function<std::byte*(int local_index, RemoteSegment segment)> base_of;
  std::size_t segment_bytes[3];  // by RemoteSegment, the same for all PEs
  // Of any PE of the world.
  std::function<int(int pe)> node_of;
  std::function<int(int pe)> local_index_of;
  std::function<int(int pe)> server_of;  // who executes this PE's operations on the node of `pe`
  std::function<std::string(int pe)> wire_address_of;
  std::function<std::string(int pe)> name_of;  // "PE 3 on host b"
};

class NetworkTransport : public Transport {
 public:
  NetworkTransport();
  ~NetworkTransport() override;

  // For the WireRequest; the wire calls it in progress() only, which nobody calls before open().
  WireListener* listener();
  void use_wire(std::unique_ptr<Wire> wire);
  std::string wire_address() const;

  // From now on messages are taken in, by a thread of its own and by whoever waits.
  void open(NetworkPlan plan);
  // After the last fence of the job's PEs: all has left, and who disappears now is not missed.
  void close();
  // The same without a word to the others, for a process that ends without shmem_finalize.
  void abandon();
  // After close().
  void reopen();

  void put(const RemotePlace& dest, const void* source, std::size_t bytes) override;
  void get(void* dest, const RemotePlace& source, std::size_t bytes) override;
  void put_nbi(const RemotePlace& dest, const void* source, std::size_t bytes) override;
  void get_nbi(void* dest, const RemotePlace& source, std::size_t bytes) override;
  void put_signal(const RemotePlace& dest, const void* source, std::size_t bytes,
                  const SignalUpdate& signal) override;
  std::uint64_t atomic(const RemotePlace& dest, const AtomicRequest& request) override;
  void order() override {}
  void complete() override;
  void send(int pe, const MessageKey& key, const void* data, std::size_t bytes) override;
  void receive(int pe, const MessageKey& key, void* dest, std::size_t bytes,
               const std::function<std::string()>& what) override;
  void progress() override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace meshmem

#endif  // MESHMEM_TRANSPORT_NETWORK_TRANSPORT_HPP_
