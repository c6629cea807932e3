// SPDX-License-Identifier: Apache-2.0
//
// Steps on streams, and the events between streams.
// Invariant: what is captured depends only on what was captured with it. So an operation waits for
// the group's last one only if both are captured, or none is.
#include "stream_lane.hpp"

#include <ATen/ATen.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/StreamGuard.h>
#include <dlfcn.h>

#include <algorithm>
#include <mutex>

#include "collectives.hpp"

namespace meshmem::pytorch {
namespace {

constexpr int kNoPeer = -1;  // the stream of collectives
constexpr std::uint64_t kFree = 0, kFull = 1;

c10::impl::VirtualGuardImpl guard_of(c10::Device device) {
  return c10::impl::VirtualGuardImpl(device.type());
}

// A function of the runtime that PyTorch has loaded, by its name without "cuda" or "hip".
template <typename Function>
Function* runtime_function(const std::string& name) {
  void* found = dlsym(RTLD_DEFAULT, ("cuda" + name).c_str());
  if (!found) found = dlsym(RTLD_DEFAULT, ("hip" + name).c_str());
  return reinterpret_cast<Function*>(found);
}

bool is_captured(c10::Stream stream) {
  static const auto query = runtime_function<int(void* stream, int* status)>("StreamIsCapturing");
  int status = 0;
  return query && query(stream.native_handle(), &status) == 0 && status != 0;
}

// Another stream of this thread may be captured, in a mode that forbids to make one.
class RelaxedCapture {
 public:
  RelaxedCapture() { exchange(); }
  ~RelaxedCapture() { exchange(); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  void exchange() {
    static const auto call = runtime_function<int(int* mode)>("ThreadExchangeStreamCaptureMode");
    if (call) call(&mode_);
  }
  int mode_ = 2;  // cudaStreamCaptureModeRelaxed
};

// PyTorch's own pool gives the same stream to several users, so a waiting message would block their
// work.
c10::Stream make_stream(c10::Device device) {
  constexpr unsigned kNonBlocking = 1;
  static const auto create =
      runtime_function<int(void** stream, unsigned flags)>("StreamCreateWithFlags");
  const c10::DeviceGuard current(device);
  const RelaxedCapture relaxed;
  void* handle = nullptr;
  TORCH_CHECK(create && create(&handle, kNonBlocking) == 0, "meshmem: no new stream on ", device);
  // An external stream of PyTorch has its handle as its number.
  const c10::Stream stream(c10::Stream::UNSAFE, device, reinterpret_cast<c10::StreamId>(handle));
  TORCH_CHECK(stream.native_handle() == handle,
              "meshmem: this PyTorch numbers streams differently");
  return stream;
}

// Streams are never destroyed, since PyTorch may still ask them. Groups that have ended leave them
// to later ones.
struct FreeStreams {
  std::mutex mutex;
  std::vector<c10::Stream> all;
};
FreeStreams& free_streams() {
  static FreeStreams& instance = *new FreeStreams;
  return instance;
}
c10::Stream take_stream(c10::Device device) {
  FreeStreams& free = free_streams();
  const std::lock_guard lock(free.mutex);
  const auto found = std::find_if(free.all.begin(), free.all.end(),
                                  [&](c10::Stream stream) { return stream.device() == device; });
  if (found == free.all.end()) return make_stream(device);
  const c10::Stream stream = *found;
  free.all.erase(found);
  return stream;
}

std::shared_ptr<c10::Event> record(c10::Stream stream) {
  auto event = std::make_shared<c10::Event>(stream.device_type());
  event->record(stream);
  return event;
}

void wait_for(c10::Stream first, c10::Stream then) { record(first)->block(then); }

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

// ---- Lane, of tensors where they are

namespace {

// Returns whether each span begins where the one before it ends.
bool are_consecutive(const std::vector<Span>& spans) {
  for (std::size_t i = 1; i < spans.size(); ++i)
    if (spans[i].data != spans[i - 1].data + spans[i - 1].bytes) return false;
  return true;
}

}  // namespace

at::Tensor StreamLane::new_bytes(std::size_t bytes) const {
  return at::empty({static_cast<std::int64_t>(bytes)},
                   at::TensorOptions().dtype(at::kByte).device(device_));
}

void StreamLane::all_gather_directly(const Exchange& plan) {
  const Span& source = plan.sources[0];
  const bool is_one = are_consecutive(plan.dests);
  const at::Tensor whole = is_one ? at::Tensor() : new_bytes(plan.dests.size() * source.bytes);
  char* const all = is_one ? plan.dests[0].data : static_cast<char*>(whole.data_ptr());
  shmemx_fcollectmem_on_stream(group.team, all, source.data, source.bytes, stream_);
  for (std::size_t i = 0; !is_one && i < plan.dests.size(); ++i)
    copy(plan.dests[i].data, all + i * source.bytes, source.bytes);
}

bool StreamLane::exchange_directly(const Exchange& plan) {
  if (!group.takes_any_memory || plan.pattern == Pattern::any) return false;
  if (plan.pattern == Pattern::all_gather) {
    all_gather_directly(plan);
  } else if (plan.pattern == Pattern::broadcast) {
    const bool is_root = plan.root == group.me;
    const Span& data = is_root ? plan.sources[0] : plan.dests[static_cast<std::size_t>(plan.root)];
    shmemx_broadcastmem_on_stream(group.team, data.data, data.data, data.bytes, plan.root, stream_);
  } else {
    shmemx_alltoallmem_on_stream(group.team, plan.dests[0].data, plan.sources[0].data,
                                 plan.sources[0].bytes, stream_);
  }
  return true;
}

bool StreamLane::reduce_directly(const Reduction& reduction, void* to, const void* from,
                                 std::size_t n) {
  if (!group.takes_any_memory) return false;
  const at::Tensor unwanted = to ? at::Tensor() : new_bytes(n * reduction.staged_bytes);
  reduction.reduce_on_stream(group.team, to ? to : unwanted.data_ptr(), from, n, stream_);
  return true;
}

bool StreamLane::reduce_scatter_directly(const Reduction& reduction, const at::Tensor& to,
                                         const std::vector<at::Tensor>& from) {
  if (!group.takes_any_memory) return false;
  std::vector<Span> spans;
  std::vector<at::Tensor> flat;
  for (const at::Tensor& block : from) {
    spans.push_back(span_of(block));
    flat.push_back(block.detach().view({-1}));
  }
  const at::Tensor whole = are_consecutive(spans) ? from[0] : at::cat(flat);
  const auto n = static_cast<std::size_t>(to.numel()) * reduction.per_element;
  reduction.reduce_scatter_on_stream(group.team, to.data_ptr(), whole.data_ptr(), n, stream_);
  return true;
}

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

c10::Stream Streams::own_stream(c10::Device device, int peer, bool is_send) {
  const auto key = std::make_pair(peer, is_send);
  const auto found = streams_.find(key);
  if (found != streams_.end()) return found->second;
  return streams_.emplace(key, take_stream(device)).first->second;
}

Streams::~Streams() {
  FreeStreams& free = free_streams();
  const std::lock_guard lock(free.mutex);
  const RelaxedCapture relaxed;
  for (const auto& [key, stream] : streams_)  // a message that nobody answers keeps its stream
    if (!is_captured(stream) && stream.query()) free.all.push_back(stream);
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
  try {
    body(lane);
  } catch (...) {
    end_operation(stream);  // the next one comes behind what this one has begun
    throw;
  }
  auto done = end_operation(stream);
  if (stream != caller) keep_until_done(call.tensors, stream);
  return c10::make_intrusive<StreamWork>(group_.me, call.type, call.name, stream, std::move(done),
                                         call.outputs);
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
                                         record(stream), std::vector{tensor});
}

c10::intrusive_ptr<c10d::Work> Streams::receive(const at::Tensor& tensor, int peer) {
  const c10::Stream stream = begin_message(tensor, peer, false);
  receive_on_stream(group_, span_of(tensor), peer, stream.native_handle());
  return c10::make_intrusive<StreamWork>(group_.me, c10d::OpType::RECV, "meshmem:recv", stream,
                                         record(stream), std::vector{tensor});
}

void Streams::synchronize_caller() const {
  if (!device_) return;
  const c10::Stream caller = guard_of(*device_).getStream(*device_);
  if (!is_captured(caller)) caller.synchronize();
}

}  // namespace meshmem::pytorch
