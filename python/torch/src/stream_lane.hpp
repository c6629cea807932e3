// SPDX-License-Identifier: Apache-2.0
//
// Collectives and messages for tensors of a GPU: their steps take their place on a stream, so that
// they can be captured into a graph. PyTorch's interface for all kinds of devices is enough, so
// nothing here needs the headers of CUDA.
// Invariant: the operations of a group are in one order on the device, whatever streams the program
// uses. Each direction of messages with a member has a stream of its own, which waits for no other
// message.
#pragma once
#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <utility>
#include <vector>

#include "collectives.hpp"

namespace meshmem::pytorch {

class StreamLane final : public Lane {
 public:
  // Waits for the processor's operations of the group, and returns the greatest value of all.
  using Compare = std::function<std::size_t(std::size_t)>;
  StreamLane(Group& group, c10::Device device, shmemx_stream_t stream, std::size_t& n_buffers,
             Compare compare)
      : Lane(group),
        device_(device),
        stream_(stream),
        n_buffers_(n_buffers),
        compare_(std::move(compare)) {}

  std::size_t buffer_bytes() const override { return group.device_buffer_bytes(); }
  char* next_buffer() override { return group.device_buffer(n_buffers_++ % 2); }
  void copy(void* to, const void* from, std::size_t bytes) override;
  void meet() override;
  std::size_t meet_and_compare(std::size_t value) override;
  // Nothing on a stream could compare where the tensors of all members are.
  bool is_same_on_all(const void*, std::size_t) override { return false; }
  void get(void* to, const void* there, std::size_t bytes, int rank) override;
  void finish_gets() override {}  // the stream has an order
  // A graph that is replayed uses the same buffer again.
  void finish_exchange() override { meet(); }
  void reduce(const Reduction& reduction, void* buffer, std::size_t n) override;
  void reduce_scatter(const Reduction& reduction, void* buffer, std::size_t n) override;
  bool exchange_directly(const Exchange& plan) override;
  bool reduce_directly(const Reduction& reduction, void* to, const void* from,
                       std::size_t n) override;
  bool reduce_scatter_directly(const Reduction& reduction, const at::Tensor& to,
                               const std::vector<at::Tensor>& from) override;

 private:
  at::Tensor new_bytes(std::size_t bytes) const;
  void all_gather_directly(const Exchange& plan);

  c10::Device device_;
  shmemx_stream_t stream_;
  std::size_t& n_buffers_;
  Compare compare_;
};

// An operation that is on a stream. wait() has the caller's stream wait for it.
class StreamWork final : public c10d::Work {
 public:
  // `done` has been recorded behind the operation.
  StreamWork(int rank, c10d::OpType type, const char* name, c10::Stream stream,
             std::shared_ptr<c10::Event> done, std::vector<at::Tensor> outputs);
  bool isCompleted() override;
  bool isSuccess() const override { return true; }
  bool wait(std::chrono::milliseconds timeout = kNoTimeout) override;
  void synchronize() override { wait(); }
  std::vector<at::Tensor> result() override { return outputs_; }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;

 private:
  c10::Stream stream_;
  const bool is_captured_;  // then nothing can be asked of the event
  std::shared_ptr<c10::Event> done_;
  std::vector<at::Tensor> outputs_;
  c10::intrusive_ptr<c10::ivalue::Future>
      future_;  // made when asked for, behind what the stream has by then
};

// Put a message on the stream of its sender, and on that of its receiver.
void send_on_stream(const Group& group, const Span& data, int peer, shmemx_stream_t stream);
void receive_on_stream(const Group& group, const Span& data, int peer, shmemx_stream_t stream);

// The streams of a group, on the device of its first tensor.
class Streams {
 public:
  explicit Streams(Group& group) : group_(group) {}
  ~Streams();
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;
  using Body = std::function<void(Lane&)>;
  struct Call {
    c10d::OpType type;
    const char* name;
    bool is_async;                    // on a stream of the group's own, else on the caller's
    std::vector<at::Tensor> tensors;  // all that the operation uses
    std::vector<at::Tensor> outputs;
  };
  c10::intrusive_ptr<c10d::Work> run(const Call& call, const Body& body,
                                     StreamLane::Compare compare);
  c10::intrusive_ptr<c10d::Work> send(const at::Tensor& tensor, int peer);
  c10::intrusive_ptr<c10d::Work> receive(const at::Tensor& tensor, int peer);
  // Returns when the caller's stream has done its work, if the group has used a device.
  void synchronize_caller() const;

 private:
  c10::Stream own_stream(c10::Device device, int peer, bool is_send);
  c10::Stream begin_message(const at::Tensor& tensor, int peer, bool is_send);
  void keep_order(c10::Stream stream);
  std::shared_ptr<c10::Event> end_operation(c10::Stream stream);

  Group& group_;
  std::optional<c10::Device> device_;
  std::map<std::pair<int, bool>, c10::Stream> streams_;  // by peer and direction
  std::size_t n_buffers_ = 0;
  // The newest operation that was not captured, and the stream of the newest that was.
  struct Last {
    c10::Stream stream;
    std::shared_ptr<c10::Event> done;
  };
  std::optional<Last> last_;
  std::optional<c10::Stream> last_captured_;
};

}  // namespace meshmem::pytorch
