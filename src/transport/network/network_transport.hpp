// SPDX-License-Identifier: Apache-2.0
//
// The transport between machines: sends the operations of transport.hpp as messages over a Wire.
// Invariant: all of a PE's one-sided operations on one node go, in order, to one process there,
// which executes them on the memory of its node. Start-up makes the transport, gives it the wire,
// and opens it when it knows the other PEs.
#ifndef MESHMEM_TRANSPORT_NETWORK_NETWORK_TRANSPORT_HPP_
#define MESHMEM_TRANSPORT_NETWORK_NETWORK_TRANSPORT_HPP_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/hooks/trace_job.hpp"
#include "transport/network/plan.hpp"
#include "transport/transport.hpp"
#include "transport/wire.hpp"

namespace meshmem {

struct NetworkState;

class NetworkTransport : public Transport {
 public:
  NetworkTransport();
  ~NetworkTransport() override;

  // For the WireRequest. The wire calls it in progress() only, so not before open().
  WireListener* listener();
  void use_wire(std::unique_ptr<Wire> wire);
  std::string wire_address() const;
  bool admit_only(const std::vector<std::string>& addresses);  // see Wire

  // From now on its own thread, and each thread that waits, take in messages.
  void open(NetworkPlan plan);
  // Called after the last meeting of the job's PEs. Sends what waits to leave. PEs that disappear
  // from now on are not losses.
  void close();
  // The same without a goodbye to the other PEs, for a process that ends without shmem_finalize.
  void abandon();
  // Opens the transport again after close().
  void reopen();

  void put(const RemotePlace& dest, const void* source, std::size_t bytes) override;
  void get(void* dest, const RemotePlace& source, std::size_t bytes) override;
  void put_nbi(const RemotePlace& dest, const void* source, std::size_t bytes) override;
  void get_nbi(void* dest, const RemotePlace& source, std::size_t bytes) override;
  void put_signal(const RemotePlace& dest, const void* source, std::size_t bytes,
                  const SignalUpdate& signal) override;
  std::uint64_t atomic(const RemotePlace& dest, const AtomicRequest& request) override;
  void fetch_nbi(const RemotePlace& dest, const AtomicRequest& request,
                 std::uint64_t* before) override;
  void order() override;
  void complete() override;
  std::unique_ptr<CompletionMark> mark() override;
  void send(int pe, const MessageKey& key, const void* data, std::size_t bytes) override;
  void expect(int pe, const MessageKey& key, const MessageDest& dest) override;
  void receive(int pe, const MessageKey& key, const MessageDest& dest,
               const std::function<std::string()>& what) override;
  void progress() override;
  void progress_for_kernels() override;
  void will_progress() override;

  // Carries a question of a library that watches the job to the same library in the process that
  // serves `pe` on another node, and waits for the answer. They have at most kMostOfQuestion and
  // kMostOfAnswer bytes: see TraceJob.
  void ask(int pe, const void* question, std::size_t bytes, void* answer, std::size_t answer_bytes);
  // The function that answers such questions of other nodes.
  void answer_with(AnswerQuestion answer);

 private:
  void note_received(int pe, int slot, std::size_t bytes);

  std::unique_ptr<NetworkState> state_;
  std::unique_ptr<WireListener> arrivals_;
};

}  // namespace meshmem

#endif  // MESHMEM_TRANSPORT_NETWORK_NETWORK_TRANSPORT_HPP_
