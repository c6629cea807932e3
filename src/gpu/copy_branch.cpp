// SPDX-License-Identifier: Apache-2.0
//
// Branches of streams and of graphs. Invariant: a side has work of one stream at a time. Otherwise
// copies that wait for collectives on different streams would wait for each other, in an order that
// differs between PEs.
#include "gpu/copy_branch.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "gpu/hip_error.hpp"
#include "gpu/launch_on_stream.hpp"

namespace meshmem {

struct CopyBranch::Side {
  hipStream_t stream = nullptr;
  unsigned long long last_for = 0;  // the id of a stream: one handle may be that of several
  hipEvent_t begins = nullptr, ends = nullptr;
  int device = -1;

  hipError_t make(int of_device) {
    device = of_device;
    hipError_t error = make_library_stream(&stream);
    for (hipEvent_t* const event : {&begins, &ends})
      if (error == hipSuccess) error = hipEventCreateWithFlags(event, hipEventDisableTiming);
    return error;
  }
  bool may_serve(unsigned long long other, int of_device) const {
    if (device != of_device) return false;
    if (last_for == other) return true;
    return state_of(ends) == hipSuccess;
  }
};

namespace {

// Side streams that no call uses now. They live for ever, as streams must.
struct SideStreams {
  std::mutex mutex;
  std::vector<std::unique_ptr<CopyBranch::Side>> free;
};
SideStreams& side_streams() {
  static SideStreams& instance = *new SideStreams;
  return instance;
}

hipError_t take_side(hipStream_t stream, std::unique_ptr<CopyBranch::Side>& taken) {
  int device = 0;
  if (const hipError_t error = hipGetDevice(&device)) return error;
  const RelaxedCapture allowed;  // other streams may be captured
  unsigned long long id = 0;
  if (const hipError_t error = get_stream_id(stream, &id)) return error;
  {
    const std::lock_guard lock(side_streams().mutex);
    auto& free = side_streams().free;
    const auto found = std::find_if(free.begin(), free.end(),
                                    [&](const auto& side) { return side->may_serve(id, device); });
    if (found != free.end()) {
      taken = std::move(*found);
      free.erase(found);
      taken->last_for = id;
      return hipSuccess;
    }
  }
  taken = std::make_unique<CopyBranch::Side>();
  taken->last_for = id;
  return taken->make(device);
}

}  // namespace

CopyBranch::CopyBranch(hipStream_t stream) : stream_(stream) {}
CopyBranch::~CopyBranch() {
  if (!side_) return;
  const std::lock_guard lock(side_streams().mutex);
  side_streams().free.push_back(std::move(side_));
}

hipError_t CopyBranch::fork() {
  if (const hipError_t error = take_side(stream_, side_)) {
    side_.reset();
    return error;
  }
  if (const hipError_t error = hipEventRecord(side_->begins, stream_)) return error;
  return hipStreamWaitEvent(side_->stream, side_->begins, 0);
}

hipError_t CopyBranch::begin(void* to, const void* from, std::size_t bytes) {
  if (!kHasCopyEngines) return hipMemcpyAsync(to, from, bytes, hipMemcpyDefault, stream_);
  if (is_captured(stream_)) return add_copy_node(stream_, to, from, bytes, &nodes_.emplace_back());
  if (!side_)
    if (const hipError_t error = fork()) return error;
  return hipMemcpyAsync(to, from, bytes, hipMemcpyDefault, side_->stream);
}

hipError_t CopyBranch::join() {
  hipError_t error = hipSuccess;
  if (side_) {
    error = hipEventRecord(side_->ends, side_->stream);
    if (error == hipSuccess) error = hipStreamWaitEvent(stream_, side_->ends, 0);
  }
  for (const CopyNode node : nodes_)
    if (error == hipSuccess) error = join_copy_node(stream_, node);
  return error;
}

}  // namespace meshmem
