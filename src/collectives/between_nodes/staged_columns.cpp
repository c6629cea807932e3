// SPDX-License-Identifier: Apache-2.0
//
// Chunks take turns in a few places in pinned memory, for terms and for results. Each place has an
// event that says when its copies are done.
// Invariant: results are finished and narrowed where they are, after they have been sent on.
#include "collectives/between_nodes/staged_columns.hpp"

#include "base/status/slow_ways.hpp"
#include "collectives/device/executor.hpp"
#include "core/runtime.hpp"
#include "device/launch.hpp"
#include "device/located.hpp"
#include "memory/address_map.hpp"

namespace meshmem::between_nodes {
namespace {

using schedule::Range;

std::byte* place_at(const NodeTeam& near, const void* address, std::size_t bytes, int member) {
  const auto there = device_segments().find(address, bytes, near.world_pe(member));
  if (there && there->address) return there->address;
  return near.translate(address, bytes, member);
}

// Whether these bytes are device memory on all members, and this PE's device reaches all copies.
bool are_for_kernels(const void* address, std::size_t bytes) {
  return device_segments().all_for_kernels(address, bytes) &&
         on_device::kernels_reach(address, bytes);
}

// Whether a kernel of this PE can combine what the node's members have.
bool kernel_combines(const Team& team, const Reduction& op, const ColumnPlan& plan,
                     const void* source) {
  const int n = team.node.n;
  const bool would_with_type = plan.order == Order::nodes && n > 1 && n <= device::Sources::kMost &&
                               !team.kernel_waits &&
                               !runtime().device_memory().pes_share_devices() &&
                               are_for_kernels(source, plan.share.end * op.elem_bytes);
  const bool has_type = op.kernel_type != device::ElemType::none;
  if (would_with_type && !has_type) note_slow_way(SlowWay::type_without_kernels, team.routine());
  return would_with_type && has_type && !device::is_located(op.kernel_type);
}

std::size_t pinned_bytes(int places, std::size_t elems, std::size_t elem_bytes) {
  return static_cast<std::size_t>(places) * elems * elem_bytes;
}

}  // namespace

bool can_be_staged(const Team& team, const void* dest, const void* source, std::size_t bytes) {
  return device_transfer().is_open() && is_symmetric(team, dest, bytes) &&
         is_symmetric(team, source, bytes);
}

void await_own_copies(const char* routine) { device_transfer().complete(routine); }

StagedColumn::StagedColumn(const Team& team, const Reduction& op, const ColumnPlan& plan,
                           void* dest, const void* source)
    : routine_(team.routine()),
      op_(op),
      combined_(as_combined(op)),
      n_(team.n),
      members_(static_cast<std::size_t>(team.node.n)),
      n_terms_(kernel_combines(team, op, plan, source) ? 1 : members_),
      term_bytes_(has_total() ? combined_.elem_bytes : op.elem_bytes),
      chunk_(std::min(plan.most_of_chunk, plan.share.size())),
      devices_copy_(!team.kernel_waits && are_for_kernels(dest, plan.share.end * op.elem_bytes)),
      me_(static_cast<std::size_t>(team.node.me)),
      terms_room_(pinned_bytes(kTermsKept, n_terms_ * chunk_, term_bytes_)),
      results_room_(pinned_bytes(kResultsKept, chunk_, combined_.elem_bytes)) {
  if (widens())
    wide_room_ = make_room(pinned_bytes(kTermsKept, members_ * chunk_, combined_.elem_bytes));
  const std::size_t bytes = plan.share.end * op_.elem_bytes;
  for (int i = 0; i < team.node.n; ++i) {
    dests_.push_back(place_at(team.node, dest, bytes, i));
    sources_.push_back(place_at(team.node, source, bytes, i));
  }
}

void StagedColumn::open(int index, const Range& chunk, const Range& next) {
  if (index == 0) fetch(0, chunk);
  await(terms_[static_cast<std::size_t>(index % kTermsKept)]);
  if (next.size() > 0) fetch(index + 1, next);
  if (widens()) widen(index, chunk);
  await(results_[static_cast<std::size_t>(index % kResultsKept)]);
  begin_of_[static_cast<std::size_t>(index % kResultsKept)] = chunk.begin;
}

void StagedColumn::fetch(int index, const Range& chunk) {
  std::byte* const to = terms_room_.get() + place_of_term(index, 0, term_bytes_);
  if (has_total()) {
    fetch_total(to, chunk);
  } else {
    for (std::size_t i = 0; i < members_; ++i)
      fetching()->begin_copy(to + i * chunk_ * term_bytes_,
                             sources_[i] + chunk.begin * op_.elem_bytes,
                             chunk.size() * op_.elem_bytes);
  }
  mark(terms_[static_cast<std::size_t>(index % kTermsKept)], fetching());
}

void StagedColumn::fetch_total(std::byte* to, const Range& chunk) {
  device::Sources sources{};
  for (const std::byte* source : sources_)
    sources.at[sources.n++] = source + chunk.begin * op_.elem_bytes;
  const OnDevice current(device_transfer().device());
  const RelaxedCapture allowed;
  check(device::launch_combine({sources, op_.kernel_op, to, chunk.size(), op_.carrier != nullptr,
                                fetching()->stream()},
                               op_.kernel_type),
        "start the kernel of {}", routine_);
}

void StagedColumn::widen(int index, const Range& chunk) {
  for (std::size_t i = 0; i < members_; ++i)
    op_.carrier->widen(wide_room_.get() + place_of_term(index, i, combined_.elem_bytes),
                       terms_room_.get() + place_of_term(index, i, op_.elem_bytes), chunk.size());
}

const std::byte* StagedColumn::term(int index, const Range& range, int number) {
  const std::byte* const base = widens() ? wide_room_.get() : terms_room_.get();
  return base + place_of_term(index, static_cast<std::size_t>(number), combined_.elem_bytes) +
         within_chunk(index, range) * combined_.elem_bytes;
}

std::byte* StagedColumn::result(int index, const Range& range) {
  const auto kept = static_cast<std::size_t>(index % kResultsKept);
  return results_room_.get() + (kept * chunk_ + within_chunk(index, range)) * combined_.elem_bytes;
}

void StagedColumn::show(int index, const Range& range) {
  std::byte* const mine = result(index, range);
  finish(combined_, mine, range.size(), n_);
  if (op_.carrier) op_.carrier->narrow(mine, mine, range.size());
  const std::byte* from = mine;
  for (std::size_t i = 0; i < members_; ++i) {
    std::byte* const to = dests_[(me_ + i) % members_] + range.begin * op_.elem_bytes;
    showing()->begin_copy(to, from, range.size() * op_.elem_bytes);
    if (devices_copy_) from = to;  // once over the bus, then from device to device
  }
  mark(results_[static_cast<std::size_t>(index % kResultsKept)], showing());
}

void StagedColumn::close() {
  for (Copies& copies : results_) await(copies);
}

void StagedColumn::mark(Copies& copies, const Lane& behind) {
  copies.lane->mark(behind->stream(), device_transfer().device());
  copies.are_under_way = true;
}

void StagedColumn::await(Copies& copies) {
  if (!copies.are_under_way) return;
  copies.lane->wait_for_mark(routine_);
  copies.are_under_way = false;
}

}  // namespace meshmem::between_nodes
