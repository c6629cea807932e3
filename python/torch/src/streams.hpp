// SPDX-License-Identifier: Apache-2.0
//
// Collectives and messages of a group's tensors on a GPU: on which stream each goes, and behind
// which work.
// Invariant: the operations of a group are in one order on the device, whatever streams the program
// uses. Each direction of messages with a member has a stream of its own, which waits for no other
// message.
#pragma once
#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <utility>
#include <vector>

#include "stream_lane.hpp"

namespace meshmem::pytorch {

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
  void use(c10::Device device);  // ValueError if the group has used another one
  c10::Stream own_stream(c10::Device device, int peer, bool is_send);
  c10::Stream begin_message(const at::Tensor& tensor, int peer, bool is_send);
  void keep_order(c10::Stream stream);
  std::shared_ptr<c10::Event> end_operation(c10::Stream stream);

  Group& group_;
  mutable std::mutex mutex_;  // of the next two: callbacks send messages too
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
