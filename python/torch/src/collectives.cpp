// SPDX-License-Identifier: Apache-2.0
//
// Pieces: what fits into a buffer of the stage at a time.
// Invariant: a piece is in a buffer before the members meet, and is read behind it.
#include "collectives.hpp"

#include <ATen/ATen.h>

#include <algorithm>

namespace meshmem::pytorch {
namespace {

constexpr std::size_t kAlignment = 64;

// The part of a block that a piece has.
Span piece_of(const Span& block, std::size_t first, std::size_t most) {
  if (first >= block.bytes) return {};
  return {block.data + first, std::min(most, block.bytes - first)};
}

void copy_own_block(Lane& lane, const Exchange& plan) {
  const auto me = static_cast<std::size_t>(lane.group.me);
  const Span& to = plan.dests[me];
  if (to.bytes == 0 || plan.sources.empty()) return;
  const Span& from = plan.sources[plan.is_same_for_all ? 0 : me];
  if (from.data != to.data) lane.copy(to.data, from.data, to.bytes);
}

void publish(Lane& lane, const Exchange& plan, char* buffer, std::size_t first, std::size_t most) {
  for (std::size_t i = 0; i < plan.sources.size(); ++i) {
    if (!plan.is_same_for_all && static_cast<int>(i) == lane.group.me) continue;
    const Span piece = piece_of(plan.sources[i], first, most);
    if (piece.bytes > 0) lane.copy(buffer + i * most, piece.data, piece.bytes);
  }
}

// From the next member on, so that not all read from the same one.
void collect(Lane& lane, const Exchange& plan, const char* buffer, std::size_t first,
             std::size_t most) {
  const int me = lane.group.me, n = lane.group.n();
  const char* mine = buffer + (plan.is_same_for_all ? 0 : static_cast<std::size_t>(me) * most);
  for (int i = 1; i < n; ++i) {
    const int rank = (me + i) % n;
    const Span piece = piece_of(plan.dests[static_cast<std::size_t>(rank)], first, most);
    if (piece.bytes > 0) lane.get(piece.data, mine, piece.bytes, rank);
  }
  lane.finish_gets();
}

// Elements of a tensor, and where they are in the stage, perhaps as another type.
struct Elements {
  const Reduction& reduction;
  char* stage;
  std::int64_t n;

  std::size_t staged() const { return static_cast<std::size_t>(n) * reduction.per_element; }
  at::Tensor on_stage(const at::Tensor& like) const {
    return at::from_blob(stage, {static_cast<std::int64_t>(staged())},
                         like.options().dtype(reduction.staged).requires_grad(false));
  }
  bool is_converted(const at::Tensor& tensor) const {
    return at::elementSize(tensor.scalar_type()) != reduction.staged_bytes * reduction.per_element;
  }
};

void copy_in(Lane& lane, const Elements& piece, const at::Tensor& flat, std::int64_t first) {
  if (piece.is_converted(flat)) {
    piece.on_stage(flat).copy_(flat.narrow(0, first, piece.n));
  } else {
    const std::size_t size = flat.element_size();
    lane.copy(piece.stage,
              static_cast<char*>(flat.data_ptr()) + static_cast<std::size_t>(first) * size,
              static_cast<std::size_t>(piece.n) * size);
  }
  if (const at::Tensor& factor = piece.reduction.factor; factor.defined()) {
    const at::Tensor stage = piece.on_stage(flat);
    const bool is_number = factor.is_cpu() && factor.dim() == 0;  // not copied to the device
    stage.mul_(is_number ? factor : factor.to(stage.options()));
  }
}

void copy_out(Lane& lane, const Elements& piece, const at::Tensor& flat, std::int64_t first) {
  if (piece.is_converted(flat)) {
    flat.narrow(0, first, piece.n).copy_(piece.on_stage(flat));
  } else {
    const std::size_t size = flat.element_size();
    lane.copy(static_cast<char*>(flat.data_ptr()) + static_cast<std::size_t>(first) * size,
              piece.stage, static_cast<std::size_t>(piece.n) * size);
  }
}

// Elements of a tensor of which `n_blocks` blocks fit into a buffer, in whole units of alignment.
std::int64_t most_elements(const Lane& lane, const Reduction& reduction, std::size_t n_blocks) {
  const std::size_t block = lane.buffer_bytes() / n_blocks / kAlignment * kAlignment;
  return static_cast<std::int64_t>(block / (reduction.staged_bytes * reduction.per_element));
}

at::Tensor flat_view(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.detach().view({-1}) : tensor;
}

}  // namespace

Span span_of(const at::Tensor& tensor) {
  return {static_cast<char*>(tensor.data_ptr()), tensor.nbytes()};
}

void exchange(Lane& lane, const Exchange& plan) {
  if (lane.exchange_directly(plan)) return;
  copy_own_block(lane, plan);
  if (lane.group.n() == 1) return;
  const auto n_blocks = plan.is_same_for_all ? 1 : static_cast<std::size_t>(lane.group.n());
  const std::size_t most = lane.buffer_bytes() / n_blocks / kAlignment * kAlignment;
  bool is_known = plan.is_longest_known;
  std::size_t longest = plan.longest;
  for (std::size_t first = 0; first < longest || !is_known; first += most) {
    char* buffer = lane.next_buffer();
    publish(lane, plan, buffer, first, most);
    if (is_known)
      lane.meet();
    else
      longest = lane.meet_and_compare(longest);
    is_known = true;
    collect(lane, plan, buffer, first, most);
  }
  lane.finish_exchange();
}

void all_reduce_in_place(Lane& lane, const Reduction& reduction, const at::Tensor& tensor) {
  const Elements whole{reduction, static_cast<char*>(tensor.data_ptr()), tensor.numel()};
  const bool may_stay = reduction.takes_as_it_is(tensor.scalar_type());
  if (may_stay && lane.is_same_on_all(whole.stage, tensor.nbytes()))
    lane.reduce(reduction, whole.stage, whole.staged());
  else
    all_reduce(lane, reduction, tensor, tensor);
}

void all_reduce(Lane& lane, const Reduction& reduction, const at::Tensor& from,
                const at::Tensor& to) {
  const at::Tensor source = flat_view(from), dest = flat_view(to);
  const auto n = static_cast<std::size_t>(source.numel()) * reduction.per_element;
  void* const result = dest.defined() ? dest.data_ptr() : nullptr;
  if (reduction.takes_as_it_is(source.scalar_type()) &&
      lane.reduce_directly(reduction, result, source.data_ptr(), n))
    return;
  const std::int64_t most = most_elements(lane, reduction, 1);
  for (std::int64_t first = 0; first < source.numel(); first += most) {
    const Elements piece{reduction, lane.next_buffer(), std::min(most, source.numel() - first)};
    copy_in(lane, piece, source, first);
    lane.reduce(reduction, piece.stage, piece.staged());
    if (dest.defined()) copy_out(lane, piece, dest, first);
  }
}

void reduce_scatter(Lane& lane, const Reduction& reduction, const std::vector<at::Tensor>& from,
                    const at::Tensor& to) {
  const at::Tensor dest = flat_view(to);
  if (reduction.takes_as_it_is(dest.scalar_type()) &&
      lane.reduce_scatter_directly(reduction, dest, from))
    return;
  const std::int64_t most = most_elements(lane, reduction, from.size());
  for (std::int64_t first = 0; first < dest.numel(); first += most) {
    char* buffer = lane.next_buffer();
    Elements piece{reduction, buffer, std::min(most, dest.numel() - first)};
    const std::size_t block = piece.staged() * reduction.staged_bytes;
    for (std::size_t i = 0; i < from.size(); ++i) {
      piece.stage = buffer + i * block;
      copy_in(lane, piece, flat_view(from[i]), first);
    }
    lane.reduce_scatter(reduction, buffer, piece.staged());
    piece.stage = buffer + static_cast<std::size_t>(lane.group.me) * block;
    copy_out(lane, piece, dest, first);
  }
}

}  // namespace meshmem::pytorch
