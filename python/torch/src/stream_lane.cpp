// SPDX-License-Identifier: Apache-2.0
//
// Steps by the stage, and whole collectives of tensors where they are.
// Invariant: which of the two ways a collective goes depends only on what all members know.
#include "stream_lane.hpp"

#include <ATen/ATen.h>

namespace meshmem::pytorch {
namespace {

at::Tensor bytes_at(const void* data, std::size_t bytes, c10::Device device) {
  return at::from_blob(const_cast<void*>(data), {static_cast<std::int64_t>(bytes)},
                       at::TensorOptions().dtype(at::kByte).device(device));
}

}  // namespace

// ---- By the stage

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

// ---- Of tensors where they are

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

}  // namespace meshmem::pytorch
