// SPDX-License-Identifier: Apache-2.0
//
// The c10d backend: checks what torch.distributed hands over, and makes plans of it for a lane.
// Invariant: a wrong argument of one caller raises an exception that names it, before anything is
// sent.
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

#include "collectives.hpp"
#include "messages.hpp"
#include "plans.hpp"
#include "streams.hpp"
#include "work.hpp"

namespace meshmem::pytorch {

class Backend final : public c10d::Backend {
 public:
  using Tensors = pytorch::Tensors;
  using WorkPtr = c10::intrusive_ptr<c10d::Work>;

  Backend(int rank, std::vector<int> pes, double timeout_seconds, const std::string& name,
          bool has_gpus);
  ~Backend() override;

  const std::string getBackendName() const override { return "meshmem"; }
  c10::intrusive_ptr<Options> getBackendOptions() override { return options_; }
  void setTimeout(Milliseconds timeout) override;
  bool supportsCoalescing() const override { return true; }
  void startCoalescing() override;
  WorkPtr endCoalescing() override;
  void setSequenceNumberForGroup() override {}
  std::uint64_t getSequenceNumberForGroup() override { return n_collectives_; }

  WorkPtr barrier(const c10d::BarrierOptions& options) override;
  WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;
  WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  WorkPtr allreduce_coalesced(Tensors& tensors,
                              const c10d::AllreduceCoalescedOptions& options) override;
  WorkPtr reduce(Tensors& tensors, const c10d::ReduceOptions& options) override;
  WorkPtr allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                    const c10d::AllgatherOptions& options) override;
  WorkPtr _allgather_base(at::Tensor& output, at::Tensor& input,
                          const c10d::AllgatherOptions& options) override;
  WorkPtr allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                              const c10d::AllgatherOptions& options) override;
  WorkPtr allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::AllgatherOptions& options) override;
  WorkPtr gather(std::vector<Tensors>& outputs, Tensors& inputs,
                 const c10d::GatherOptions& options) override;
  WorkPtr scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                  const c10d::ScatterOptions& options) override;
  WorkPtr reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                         const c10d::ReduceScatterOptions& options) override;
  WorkPtr _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                               const c10d::ReduceScatterOptions& options) override;
  WorkPtr reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::ReduceScatterOptions& options) override;
  WorkPtr alltoall_base(at::Tensor& output, at::Tensor& input,
                        std::vector<std::int64_t>& output_splits,
                        std::vector<std::int64_t>& input_splits,
                        const c10d::AllToAllOptions& options) override;
  WorkPtr alltoall(Tensors& outputs, Tensors& inputs,
                   const c10d::AllToAllOptions& options) override;
  WorkPtr send(Tensors& tensors, int peer, int tag) override;
  WorkPtr recv(Tensors& tensors, int peer, int tag) override;
  WorkPtr recvAnysource(Tensors& tensors, int tag) override;
  void abort() override;
  void shutdown() override { stop(); }

 private:
  // All calls have this. `body` moves the data, and keeps the tensors alive.
  struct Call {
    c10d::OpType type;
    const char* name;
    bool is_async;
    Milliseconds timeout;
    Tensors outputs;
  };
  using Body = HostWork::Body;
  // `tensors` are all that the call uses; none: it is of the host.
  WorkPtr start(Call call, const Tensors& tensors, Body body);
  WorkPtr start_on_host(Call call, Body body);
  // Returns when the host's operations before it and `body` are done. is_of_all: all members run
  // it.
  void run_on_host(Body body, bool is_of_all);
  WorkPtr begun(WorkPtr work);
  bool is_coalescing();
  void stop();
  std::size_t greatest_of_all(std::size_t value);
  WorkPtr start_exchange(Call call, const Tensors& tensors, Exchange plan);
  WorkPtr all_reduce_each(Call call, const Tensors& tensors, const c10d::ReduceOp& op);
  void require_peer(int peer, const char* argument) const;

  std::atomic<Milliseconds> timeout_;
  std::shared_ptr<Group> group_;
  Streams streams_;
  std::shared_ptr<Queue> queue_;
  std::shared_ptr<Messages> messages_;
  c10::intrusive_ptr<Options> options_;
  std::mutex begun_;  // of the batches that threads have started
  std::map<std::thread::id, std::vector<WorkPtr>> coalesced_;
  std::atomic<std::uint64_t> n_collectives_{0};
};

}  // namespace meshmem::pytorch
