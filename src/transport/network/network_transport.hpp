// SPDX-License-Identifier: Apache-2.0
//
// The transport between machines: the operations of transport.hpp as messages over a Wire.
// Invariant: all one-sided operations on the PEs of one node go, in order, to one process there,
// which executes them on the memory of its node. Start-up makes it, gives it the wire as soon as it
// has one, and opens it when it knows the other PEs.
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

  // For the WireRequest; the wire calls it in progress() only, which nobody calls before open().
  WireListener* listener();
  void use_wire(std::unique_ptr<Wire> wire);
  std::string wire_address() const;
  bool admit_only(const std::vector<std::string>& addresses);  // as the wire's

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

  // Asks a question of a library that watches the job, to the same library in the process that
  // serves `pe` on another node. Question and answer have at most kMostOfQuestion and kMostOfAnswer
  // bytes: see TraceJob.
  void ask(int pe, const void* question, std::size_t bytes, void* answer, std::size_t answer_bytes);
  void answer_with(AnswerQuestion answer);

 private:
  void note_received(int pe, int slot, std::size_t bytes);

  std::unique_ptr<NetworkState> state_;
  std::unique_ptr<WireListener> arrivals_;
};

}  // namespace meshmem

#endif  // MESHMEM_TRANSPORT_NETWORK_NETWORK_TRANSPORT_HPP_
