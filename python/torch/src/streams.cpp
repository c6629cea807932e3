// SPDX-License-Identifier: Apache-2.0
//
// Operations on streams, and the events between streams.
// Invariant: what is captured depends only on what was captured with it. So an operation waits for
// the group's last one only if both are captured, or none is.
#include "streams.hpp"

#include <c10/core/StreamGuard.h>

#include <algorithm>

#include "device_streams.hpp"

namespace meshmem::pytorch {
namespace {

constexpr int kNoPeer = -1;  // the stream of collectives
constexpr std::uint64_t kFree = 0, kFull = 1;

void require_stage(const Group& group, c10::Device device) {
  TORCH_CHECK(memory().is_of_this_job(), group.text(), ": the group has ended");
  TORCH_CHECK(group.device_stage, group.text(), " has no memory on ", device,
              ": the library is not for this GPU (meshmem-info), or there are too many groups, or "
              "MESHMEM_DEVICE_HEAP_SIZE is too small");
}

}  // namespace

// ---- Work

StreamWork::StreamWork(int rank, c10d::OpType type, const char* name, c10::Stream stream,
                       std::shared_ptr<c10::Event> done, std::vector<at::Tensor> outputs)
    : Work(rank, type, name),
      stream_(stream),
      is_captured_(is_captured(stream)),
      done_(std::move(done)),
      outputs_(std::move(outputs)) {
  if (recordFunctionEndCallback_) recordFunctionEndCallback_();
}

c10::intrusive_ptr<c10::ivalue::Future> StreamWork::getFuture() {
  const std::lock_guard lock(mutex_);
  if (future_) return future_;
  future_ = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()),
                                                     std::vector{stream_.device()});
  const c10::StreamGuard current(stream_);
  future_->markCompleted(outputs_);
  return future_;
}

bool StreamWork::isCompleted() { return is_captured_ || done_->query(); }

bool StreamWork::wait(std::chrono::milliseconds) {
  const c10::Stream caller = guard_of(stream_.device()).getStream(stream_.device());
  if (caller != stream_) done_->block(caller);
  return true;
}

// ---- Messages. A slot's word at its sender says whether it is in use, and another one at its
// receiver whether it is full. Both are as before when the message is done, so a graph can do it
// again.

void send_on_stream(const Group& group, const Span& data, int peer, shmemx_stream_t stream) {
  const int pe = group.pe(peer), my_pe = group.pe(group.me);
  const std::size_t most = group.device_slot_bytes();
  for (std::size_t first = 0, i = 0; first == 0 || first < data.bytes; first += most, i ^= 1) {
    const std::size_t n = std::min(most, data.bytes - first);
    std::uint64_t* in_use = &group.device_words(peer).in_use[i];
    shmemx_signal_wait_until_on_stream(in_use, SHMEM_CMP_EQ, kFree, stream);
    shmemx_signal_op_on_stream(in_use, kFull, SHMEM_SIGNAL_SET, my_pe, stream);
    shmemx_putmem_signal_on_stream(group.device_slot(group.me, i), data.data + first, n,
                                   &group.device_words(group.me).full[i], kFull, SHMEM_SIGNAL_SET,
                                   pe, stream);
  }
}

void receive_on_stream(const Group& group, const Span& data, int peer, shmemx_stream_t stream) {
  const int pe = group.pe(peer), my_pe = group.pe(group.me);
  const std::size_t most = group.device_slot_bytes();
  for (std::size_t first = 0, i = 0; first == 0 || first < data.bytes; first += most, i ^= 1) {
    const std::size_t n = std::min(most, data.bytes - first);
    std::uint64_t* full = &group.device_words(peer).full[i];
    shmemx_signal_wait_until_on_stream(full, SHMEM_CMP_EQ, kFull, stream);
    if (n > 0)
      shmemx_getmem_on_stream(data.data + first, group.device_slot(peer, i), n, my_pe, stream);
    shmemx_signal_op_on_stream(full, kFree, SHMEM_SIGNAL_SET, my_pe, stream);
    shmemx_signal_op_on_stream(&group.device_words(group.me).in_use[i], kFree, SHMEM_SIGNAL_SET, pe,
                               stream);
  }
}

// ---- Streams

void Streams::use(c10::Device device) {
  require_stage(group_, device);
  const std::lock_guard lock(mutex_);
  TORCH_CHECK_VALUE(!device_ || *device_ == device, "tensor: on ", device,
                    ", but the group has used ", device_->str());
  device_ = device;
}

c10::Stream Streams::own_stream(c10::Device device, int peer, bool is_send) {
  const std::lock_guard lock(mutex_);
  const auto key = std::make_pair(peer, is_send);
  const auto found = streams_.find(key);
  if (found != streams_.end()) return found->second;
  return streams_.emplace(key, take_stream(device)).first->second;
}

Streams::~Streams() {
  std::vector<c10::Stream> unfinished;
  for (const auto& [key, stream] : streams_)
    if (!give_back_stream(stream)) unfinished.push_back(stream);
  const auto last = last_ ? last_->done : nullptr;
  group_.device_is_done = [unfinished = std::move(unfinished), last] {
    return (!last || is_done(*last)) &&
           std::all_of(unfinished.begin(), unfinished.end(),
                       [](c10::Stream stream) { return is_done(stream); });
  };
}

void Streams::keep_order(c10::Stream stream) {
  if (!is_captured(stream)) {
    if (last_ && last_->stream != stream) last_->done->block(stream);
  } else if (last_captured_ && *last_captured_ != stream) {
    if (is_captured(*last_captured_)) wait_for(*last_captured_, stream);
    last_captured_.reset();
  }
}

std::shared_ptr<c10::Event> Streams::end_operation(c10::Stream stream) {
  auto done = record(stream);
  if (is_captured(stream))
    last_captured_ = stream;
  else
    last_.emplace(Last{stream, done});
  return done;
}

c10::intrusive_ptr<c10d::Work> Streams::run(const Call& call, const Body& body,
                                            StreamLane::Compare compare) {
  const c10::Device device = call.tensors.at(0).device();
  use(device);
  const c10::Stream caller = guard_of(device).getStream(device);
  const c10::Stream stream = call.is_async ? own_stream(device, kNoPeer, false) : caller;
  if (stream != caller) wait_for(caller, stream);
  keep_order(stream);
  const c10::StreamGuard current(stream);
  StreamLane lane(group_, device, stream.native_handle(), n_buffers_, std::move(compare));
  if (stream != caller) keep_until_done(call.tensors, stream);
  try {
    body(lane);
  } catch (...) {
    end_operation(stream);  // the next one comes behind what this one has begun
    throw;
  }
  auto done = end_operation(stream);
  return c10::make_intrusive<StreamWork>(group_.me, call.type, call.name, stream, std::move(done),
                                         call.outputs);
}

c10::Stream Streams::begin_message(const at::Tensor& tensor, int peer, bool is_send) {
  use(tensor.device());
  const c10::Stream caller = guard_of(tensor.device()).getStream(tensor.device());
  const c10::Stream stream = own_stream(tensor.device(), peer, is_send);
  wait_for(caller, stream);
  keep_until_done({tensor}, stream);
  return stream;
}

c10::intrusive_ptr<c10d::Work> Streams::send(const at::Tensor& tensor, int peer) {
  const c10::Stream stream = begin_message(tensor, peer, true);
  send_on_stream(group_, span_of(tensor), peer, stream.native_handle());
  return c10::make_intrusive<StreamWork>(group_.me, c10d::OpType::SEND, "meshmem:send", stream,
                                         record(stream), std::vector{tensor});
}

c10::intrusive_ptr<c10d::Work> Streams::receive(const at::Tensor& tensor, int peer) {
  const c10::Stream stream = begin_message(tensor, peer, false);
  receive_on_stream(group_, span_of(tensor), peer, stream.native_handle());
  return c10::make_intrusive<StreamWork>(group_.me, c10d::OpType::RECV, "meshmem:recv", stream,
                                         record(stream), std::vector{tensor});
}

void Streams::synchronize_caller() const {
  const auto device = [this] {
    const std::lock_guard lock(mutex_);
    return device_;
  }();
  if (!device) return;
  const c10::Stream caller = guard_of(*device).getStream(*device);
  TORCH_CHECK(!is_captured(caller), group_.text(),
              ": barrier: a graph cannot capture it; call all_reduce instead");
  caller.synchronize();
}

}  // namespace meshmem::pytorch
