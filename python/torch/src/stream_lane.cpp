// SPDX-License-Identifier: Apache-2.0
//
// Steps on streams, and the events between streams.
// Invariant: what is captured depends only on what was captured with it. So an operation waits for
// the group's last one only if both are captured, or none is.
#include "stream_lane.hpp"

#include <ATen/ATen.h>
#include <c10/core/StreamGuard.h>
#include <dlfcn.h>

#include <algorithm>

#include "collectives.hpp"

namespace meshmem::pytorch {
namespace {

constexpr int kNoPeer = -1;  // the stream of collectives
constexpr std::uint64_t kFree = 0, kFull = 1;

c10::impl::VirtualGuardImpl guard_of(c10::Device device) {
  return c10::impl::VirtualGuardImpl(device.type());
}

// Asks the runtime that PyTorch has loaded.
bool is_captured(c10::Stream stream) {
  using Query = int (*)(void* stream, int* status);
  static const auto query = reinterpret_cast<Query>(dlsym(RTLD_DEFAULT, "cudaStreamIsCapturing"));
  int status = 0;
  return query && query(stream.native_handle(), &status) == 0 && status != 0;
}

void wait_for(c10::Stream first, c10::Stream then) {
  c10::Event event(first.device_type());
  event.record(first);
  event.block(then);
}

// The allocator does not give a tensor's memory away before the stream has done its work.
void keep_until_done(const std::vector<at::Tensor>& tensors, c10::Stream stream) {
  const auto guard = guard_of(stream.device());
  for (const at::Tensor& tensor : tensors)
    guard.recordDataPtrOnStream(tensor.storage().data_ptr(), stream);
}

at::Tensor bytes_at(const void* data, std::size_t bytes, c10::Device device) {
  return at::from_blob(const_cast<void*>(data), {static_cast<std::int64_t>(bytes)},
                       at::TensorOptions().dtype(at::kByte).device(device));
}

void require_stage(const Group& group, c10::Device device) {
  TORCH_CHECK(group.device_stage, group.text(), " has no memory on ", device,
              ": the library is not for this GPU (meshmem-info), or there are too many groups, or "
              "MESHMEM_DEVICE_HEAP_SIZE is too small");
}

}  // namespace

// ---- Lane

void StreamLane::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  bytes_at(to, bytes, device_).copy_(bytes_at(from, bytes, device_), true);
}

void StreamLane::meet() { shmemx_team_sync_on_stream(group.team, stream_); }

std::size_t StreamLane::meet_and_compare(std::size_t value) {
  const std::size_t greatest = compare_(value);
  meet();
  return greatest;
}

void StreamLane::get(void* to, const void* there, std::size_t bytes, int rank) {
  shmemx_getmem_on_stream(to, there, bytes, group.pe(rank), stream_);
}

void StreamLane::reduce(const Reduction& reduction, void* buffer, std::size_t n) {
  reduction.reduce_on_stream(group.team, buffer, buffer, n, stream_);
}

void StreamLane::reduce_scatter(const Reduction& reduction, void* buffer, std::size_t n) {
  char* mine =
      static_cast<char*>(buffer) + static_cast<std::size_t>(group.me) * n * reduction.staged_bytes;
  reduction.reduce_scatter_on_stream(group.team, mine, buffer, n, stream_);
}

// ---- Work

StreamWork::StreamWork(int rank, c10d::OpType type, const char* name, c10::Stream stream,
                       std::vector<at::Tensor> outputs)
    : Work(rank, type, name),
      stream_(stream),
      done_(std::make_shared<c10::Event>(stream.device_type())),
      outputs_(std::move(outputs)),
      future_(c10::make_intrusive<c10::ivalue::Future>(
          c10::ListType::create(c10::TensorType::get()), std::vector{stream.device()})) {
  done_->record(stream_);
  const c10::StreamGuard current(stream_);
  future_->markCompleted(outputs_);
  if (recordFunctionEndCallback_) recordFunctionEndCallback_();
}

bool StreamWork::isCompleted() { return is_captured(stream_) || done_->query(); }

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

c10::Stream Streams::own_stream(c10::Device device, int peer, bool is_send) {
  const auto key = std::make_pair(peer, is_send);
  const auto found = streams_.find(key);
  if (found != streams_.end()) return found->second;
  const bool has_priority = peer == kNoPeer;
  const c10::Stream made = guard_of(device).getStreamFromGlobalPool(device, has_priority);
  return streams_.emplace(key, made).first->second;
}

void Streams::keep_order(c10::Stream stream) {
  if (!last_ || last_->stream == stream) return;
  const bool both_captured = last_->is_captured && is_captured(last_->stream);
  if (is_captured(stream) ? both_captured : !last_->is_captured) last_->event.block(stream);
}

c10::intrusive_ptr<c10d::Work> Streams::run(const Call& call, const Body& body,
                                            StreamLane::Compare compare) {
  const c10::Device device = call.tensors.at(0).device();
  require_stage(group_, device);
  TORCH_CHECK_VALUE(!device_ || *device_ == device, "tensor: on ", device,
                    ", but the group has used ", device_ ? device_->str() : "");
  device_ = device;
  const c10::Stream caller = guard_of(device).getStream(device);
  const c10::Stream stream = call.is_async ? own_stream(device, kNoPeer, false) : caller;
  if (stream != caller) wait_for(caller, stream);
  keep_order(stream);
  const c10::StreamGuard current(stream);
  StreamLane lane(group_, device, stream.native_handle(), n_buffers_, std::move(compare));
  body(lane);
  last_.emplace(Last{stream, c10::Event(device.type()), is_captured(stream)});
  last_->event.record(stream);
  if (stream != caller) keep_until_done(call.tensors, stream);
  return c10::make_intrusive<StreamWork>(group_.me, call.type, call.name, stream, call.outputs);
}

c10::Stream Streams::begin_message(const at::Tensor& tensor, int peer, bool is_send) {
  require_stage(group_, tensor.device());
  device_ = tensor.device();
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
                                         std::vector{tensor});
}

c10::intrusive_ptr<c10d::Work> Streams::receive(const at::Tensor& tensor, int peer) {
  const c10::Stream stream = begin_message(tensor, peer, false);
  receive_on_stream(group_, span_of(tensor), peer, stream.native_handle());
  return c10::make_intrusive<StreamWork>(group_.me, c10d::OpType::RECV, "meshmem:recv", stream,
                                         std::vector{tensor});
}

void Streams::synchronize_caller() const {
  if (!device_) return;
  const c10::Stream caller = guard_of(*device_).getStream(*device_);
  if (!is_captured(caller)) caller.synchronize();
}

}  // namespace meshmem::pytorch
