// SPDX-License-Identifier: Apache-2.0
//
// Fills the tables that kernels read: team views, the PEs of teams, far copies, registered buffers.
// They are one allocation on the device.
// Invariant: a table is written before anything points to it. While a buffer is registered, its row
// in the table of buffers does not change, because running kernels may have the row in caches.
#include "gpu/device_state.hpp"

#include <algorithm>

#include "base/waiting/wait.hpp"
#include "device/launch.hpp"
#include "gpu/device_target.hpp"
#include "gpu/device_transfer.hpp"
#include "gpu/modules.hpp"

namespace meshmem {
namespace {

enum Which { kDeviceHeap, kHostHeap, kSync, kSegments };

// Returns the copies, with null in the place of those that kernels do not reach.
std::vector<std::byte*> for_kernels(std::vector<std::byte*> copies, const DeviceRoute* route_of) {
  for (std::size_t pe = 0; pe < copies.size(); ++pe)
    if (!route_of[pe].for_kernels) copies[pe] = nullptr;
  return copies;
}

// Returns n such that kernels reach the copies of PEs 0 to n - 1; at most kNearPes.
int near_pes_of(const std::vector<std::byte*>& copies) {
  const auto end = copies.begin() + std::min<std::ptrdiff_t>(std::ssize(copies), device::kNearPes);
  return static_cast<int>(std::find(copies.begin(), end, nullptr) - copies.begin());
}

}  // namespace

void DeviceState::make_tables(int n_pes) {
  const auto n = static_cast<std::size_t>(n_pes);
  std::size_t total = 0;
  const auto room_for = [&](std::size_t bytes) {
    const std::size_t offset = total;
    total += (bytes + 255) / 256 * 256;
    return offset;
  };
  const std::size_t views = room_for(sizeof(device::TeamView) * device::kTeamSlots);
  const std::size_t pes = room_for(sizeof(int) * n * device::kTeamSlots);
  const std::size_t far = room_for(sizeof(std::byte*) * n * kSegments);
  const std::size_t buffers = room_for(sizeof(device::RegisteredBuffer) * kMaxBuffers);
  const std::size_t copies = room_for(sizeof(std::byte*) * n * kMaxBuffers);
  void* memory = nullptr;
  const OnDevice current(device_);
  check(hipMalloc(&memory, total), "take {} bytes of memory of device {}", total, device_);
  tables_ = static_cast<std::byte*>(memory);
  views_ = reinterpret_cast<device::TeamView*>(tables_ + views);
  team_pes_ = reinterpret_cast<int*>(tables_ + pes);
  far_ = reinterpret_cast<std::byte**>(tables_ + far);
  buffers_ = reinterpret_cast<device::RegisteredBuffer*>(tables_ + buffers);
  buffer_copies_ = reinterpret_cast<std::byte**>(tables_ + copies);
  check(device::load_kernels(), "load the library's kernels on device {}", device_);
}

device::KernelSegment DeviceState::segment_of(int which, const void* base, std::size_t bytes,
                                              const std::vector<std::byte*>& copies) const {
  device::KernelSegment segment{};
  segment.base = reinterpret_cast<std::uintptr_t>(base);
  segment.bytes = bytes;
  std::copy_n(copies.begin(), std::min(copies.size(), std::size_t{device::kNearPes}),
              segment.near_copy);
  std::byte** far = far_ + static_cast<std::size_t>(which) * copies.size();
  write_for_kernels(far, copies.data(), sizeof(std::byte*) * copies.size());
  segment.far_copy = far;
  return segment;
}

void DeviceState::open(const DeviceMemory& memory, const KernelReach& reach,
                       std::uint64_t first_epoch) {
  const int n = static_cast<int>(reach.data.size());
  device_ = memory.device();
  first_epoch_ = first_epoch;
  slot_was_used_.resize(device::kTeamSlots);
  if (!tables_) make_tables(n);
  state_ = {};
  state_.me = reach.me;
  state_.n_pes = n;
  state_.device_heap = segment_of(kDeviceHeap, memory.data().base, memory.data().bytes,
                                  for_kernels(reach.data, reach.routes.data()));
  state_.host_heap = segment_of(kHostHeap, reach.heap, reach.heap_bytes, reach.heaps);
  state_.sync_layout = device::SyncLayout::of(memory.n_peers(), kHasWideLines);
  if (memory.all_reach_all()) {
    const auto slabs = for_kernels(reach.sync, reach.routes.data());
    state_.near_pes = near_pes_of(slabs);
    state_.sync = segment_of(kSync, memory.sync().base, memory.sync().bytes, slabs);
    const bool is_whole = std::find(slabs.begin(), slabs.end(), nullptr) == slabs.end();
    if (is_whole) state_.set_arrivals_after(slabs.data());
  }
  state_.longest_wait =
      static_cast<std::uint64_t>(wait_policy.timeout_seconds * wall_clock_rate(device_));
  state_.teams = views_;
  state_.registered = buffers_;
  rows_.clear();
  const std::vector<device::TeamView> none(device::kTeamSlots, device::TeamView{-1, 0, nullptr});
  write_for_kernels(views_, none.data(), sizeof none[0] * none.size());
  is_open_ = true;
}

void DeviceState::limit_reductions(const device::KernelReduceLimits& limits) {
  if (!is_open_) return;
  state_.reduce_limits = limits;
  publish();
}

void DeviceState::publish() {
  if (is_open_) modules().publish(state_, device_);
}

void DeviceState::close() {
  if (!is_open_) return;
  modules().withdraw();
  is_open_ = false;
}

// Flags begin at the first epoch, so that no later number counts as reached.
void DeviceState::reset_flags(int slot, int channel, int channels) {
  const device::ChannelSpace space = state_.sync_layout.space(slot, channel);
  std::vector<device::Flag> all(space.flags_of_channel() * static_cast<std::size_t>(channels));
  for (std::size_t at = 0; at < all.size(); at += space.flags_of_channel())
    space.set_flags(all.data() + at, first_epoch_);
  auto* slab = reinterpret_cast<std::byte*>(state_.sync.base);
  write_for_kernels(slab + space.flags, all.data(), all.size() * sizeof all[0]);
}

void DeviceState::clear_packets(int slot, int channel, int channels) {
  const device::ChannelSpace space = state_.sync_layout.space(slot, channel);
  const std::size_t rows = static_cast<std::size_t>(channels) * space.rows();
  auto* slab = reinterpret_cast<std::byte*>(state_.sync.base);
  clear_for_kernels(slab + space.packets, rows * space.packet_row);
  if (space.wide_row > 0) clear_for_kernels(slab + space.wide, rows * space.wide_row);
}

// At first the slab is zero, so a fresh slot needs at most its flags. On the cpu target the host
// can read the slab, and skips channels that no team has used: clearing them would make all their
// pages take memory.
void DeviceState::clear_slot(int slot) {
  if (state_.sync.base == 0) return;
  const bool is_fresh = !slot_was_used_[static_cast<std::size_t>(slot)];
  slot_was_used_[static_cast<std::size_t>(slot)] = true;
  const device::SyncLayout& layout = state_.sync_layout;
  const int channels = layout.channels_of(slot);
  if (is_fresh) {
    if (first_epoch_ != 0) reset_flags(slot, 0, channels);
  } else if constexpr (kDevicesAreProcessors) {
    for (int channel = 0; channel < channels; ++channel) {
      const std::uintptr_t flags = state_.sync.base + layout.space(slot, channel).flags;
      if (reinterpret_cast<const device::Flag*>(flags)->value == first_epoch_) continue;
      reset_flags(slot, channel, 1);
      clear_packets(slot, channel, 1);
    }
  } else {
    reset_flags(slot, 0, channels);
    clear_packets(slot, 0, channels);
  }
}

void DeviceState::add_team(int slot, int me, std::span<const int> pes) {
  if (!is_open_) return;
  const std::lock_guard lock(mutex_);
  clear_slot(slot);
  int* const there = place_of_pes(slot, pes);
  if (there) write_for_kernels(there, pes.data(), pes.size_bytes());
  const device::TeamView view{me, static_cast<int>(pes.size()), there};
  write_for_kernels(views_ + slot, &view, sizeof view);
}

int* DeviceState::place_of_pes(int slot, std::span<const int> pes) const {
  const bool is_world = std::is_sorted(pes.begin(), pes.end()) && pes.front() == 0 &&
                        pes.back() == static_cast<int>(pes.size()) - 1;
  if (is_world) return nullptr;
  return team_pes_ + static_cast<std::ptrdiff_t>(slot) * state_.n_pes;
}

device::TeamHandle DeviceState::kernel_handle(int slot, int me, std::span<const int> pes) const {
  const device::SyncLayout& layout = state_.sync_layout;
  const int n = static_cast<int>(pes.size());
  device::TeamHandle handle{
      {me, n, place_of_pes(slot, pes)}, layout.channels_of(slot), layout.space(slot), {}};
  for (int pe = 0; pe < std::min(n, device::kNearMembers); ++pe) {
    const int world_pe = pes[static_cast<std::size_t>(pe)];
    if (world_pe < device::kNearPes) handle.slab[pe] = state_.sync.near_copy[world_pe];
  }
  return handle;
}

void DeviceState::remove_team(int slot) {
  if (!is_open_) return;
  const std::lock_guard lock(mutex_);
  const device::TeamView none{-1, 0, nullptr};
  write_for_kernels(views_ + slot, &none, sizeof none);
}

void DeviceState::free_rows(const std::vector<DeviceSegment>& segments) {
  const device::RegisteredBuffer none{};
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    const auto is_its = [&](const DeviceSegment& segment) { return segment.base == rows_[row]; };
    if (rows_[row] == 0 || std::any_of(segments.begin(), segments.end(), is_its)) continue;
    write_for_kernels(buffers_ + row, &none, sizeof none);
    rows_[row] = 0;
  }
  while (!rows_.empty() && rows_.back() == 0) rows_.pop_back();
}

// Writes the number of bytes last: while it is 0, a kernel finds no address in this row.
void DeviceState::fill_row(const DeviceSegment& segment) {
  const auto free_row = std::find(rows_.begin(), rows_.end(), 0);
  const auto row = static_cast<std::size_t>(free_row - rows_.begin());
  if (free_row == rows_.end()) rows_.push_back(0);
  rows_[row] = segment.base;
  std::byte** copies = buffer_copies_ + row * segment.copies.size();
  write_for_kernels(copies, for_kernels(segment.copies, segment.route_of).data(),
                    sizeof(std::byte*) * segment.copies.size());
  device::RegisteredBuffer buffer{segment.base, 0, copies};
  write_for_kernels(buffers_ + row, &buffer, sizeof buffer);
  buffer.bytes = segment.bytes;
  write_for_kernels(buffers_ + row, &buffer, sizeof buffer);
}

void DeviceState::update_buffers() {
  if (!is_open_) return;
  const std::lock_guard lock(mutex_);
  const std::vector<DeviceSegment> segments = device_segments().all();
  free_rows(segments);
  for (const DeviceSegment& segment : segments) {
    const bool has_row = std::find(rows_.begin(), rows_.end(), segment.base) != rows_.end();
    if (segment.base != state_.device_heap.base && !has_row) fill_row(segment);
  }
  state_.n_registered = static_cast<int>(rows_.size());
  publish();
}

}  // namespace meshmem
