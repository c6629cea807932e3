// SPDX-License-Identifier: Apache-2.0
//
// Makes a buffer that the program allocated itself symmetric: exchanges what each PE says of its
// buffer, and decides for all.
// Invariant: every PE looks at the same answers of all PEs, so all map the buffer or none keeps it.
#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "collectives/by_messages.hpp"
#include "collectives/device/executor.hpp"
#include "collectives/same_call.hpp"
#include "collectives/sync.hpp"
#include "core/runtime.hpp"
#include "gpu/hip_error.hpp"
#include "gpu/user_buffer.hpp"
#include "library/allocation.hpp"
#include "one_sided/completion.hpp"

namespace meshmem {
namespace {

// The buffer of a PE, as that PE describes it.
enum class Buffer {
  unknown,      // not of the PE's device, or sharing it has failed
  device,       // memory of the device that can be registered
  symmetric,    // symmetric already
  overlapping,  // symmetric already in part
  unshared,     // memory of the device that other processes cannot map
};

// A PE's message about its buffer.
struct Offer {
  SharedRange range;
  std::uintptr_t address;
  std::size_t bytes;
  Buffer kind;
};

// A PE's message once it has tried to map the others' buffers.
struct Mapped {
  bool all;
  bool for_kernels;
};

// True if a part of the buffer is symmetric already. An address there would then belong to two
// buffers.
bool overlaps_another(const void* address, std::size_t bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(address);
  const std::vector<DeviceSegment> segments = device_segments().all();
  return std::any_of(segments.begin(), segments.end(), [&](const DeviceSegment& segment) {
    return first < segment.base + segment.bytes && segment.base < first + bytes;
  });
}

Buffer kind_of(Sharing sharing) {
  if (sharing == Sharing::unknown) return Buffer::unknown;
  return sharing == Sharing::possible ? Buffer::device : Buffer::unshared;
}

Offer describe(void* address, std::size_t bytes) {
  Offer offer{};
  offer.address = reinterpret_cast<std::uintptr_t>(address);
  offer.bytes = bytes;
  if (is_symmetric(address_map, address, bytes)) {
    offer.kind = Buffer::symmetric;
  } else if (overlaps_another(address, bytes)) {
    offer.kind = Buffer::overlapping;
  } else if (runtime().has_devices()) {
    offer.kind =
        kind_of(share_user_buffer(runtime().device_memory(), address, bytes, &offer.range));
  }
  return offer;
}

// Why the buffers cannot be registered; nullptr if they can.
const char* objection(const std::vector<Offer>& offers) {
  for (const Offer& offer : offers) {
    if (offer.kind == Buffer::unknown) return "one of the buffers is not of the PE's device";
    if (offer.kind == Buffer::unshared)
      return "memory of a device cannot be given to other processes; on processors that needs "
             "/proc";
    if (offer.kind == Buffer::overlapping)
      return "a part of one of the buffers is symmetric already";
    if (offer.bytes != offers[0].bytes) return "the buffers are not of the same length";
    if (offer.kind != offers[0].kind) return "some of the buffers are symmetric already";
  }
  if (offers[0].bytes == 0) return "the buffers are empty";
  const std::size_t most = std::size_t{DeviceState::kMaxBuffers} + 1;  // and the heap
  return device_segments().all().size() >= most ? "too many buffers are registered" : nullptr;
}

DeviceSegment map(void* address, const std::vector<Offer>& offers) {
  std::vector<SharedRange> ranges;
  for (const int pe : runtime().devices().pes())
    ranges.push_back(offers[static_cast<std::size_t>(pe)].range);
  DeviceSegment segment =
      map_user_buffers(runtime().device_memory(), address, offers[0].bytes, ranges);
  runtime().devices().find_copies_of(segment);
  return segment;
}

// Returns whether all PEs have mapped all buffers, and whether kernels of all PEs reach them.
Mapped agree_on(Team& world, const DeviceSegment& segment) {
  Mapped mine{true, true};
  for (std::size_t index = 0; index < segment.mapped.size(); ++index) {
    const int pe = runtime().devices().pes()[index];
    mine.all = mine.all && segment.mapped[index];
    mine.for_kernels = mine.for_kernels && segment.route_of[pe].for_kernels;
  }
  for (const Mapped& one : by_messages::gather(world, mine)) {
    mine.all = mine.all && one.all;
    mine.for_kernels = mine.for_kernels && one.for_kernels;
  }
  return mine;
}

// An address that is to be unregistered stands for the number of the buffer that begins there, or
// for one of these.
constexpr int kNotRegistered = 0;
constexpr int kSymmetric = -1;  // in another way

int registration_at(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (const DeviceSegment& segment : device_segments().all()) {
    if (at - segment.base >= segment.bytes) continue;
    if (segment.base == runtime().device_state().state().device_heap.base) return kSymmetric;
    return at == segment.base ? segment.number : kNotRegistered;
  }
  return is_symmetric(address_map, address, 1) ? kSymmetric : kNotRegistered;
}

// Returns `mine` if all PEs have found the same, else kNotRegistered.
int agree_on(Team& world, int mine) {
  const auto all = by_messages::gather(world, mine);
  const bool same = std::all_of(all.begin(), all.end(), [&](int one) { return one == all[0]; });
  return same ? mine : kNotRegistered;
}

int refuse(const Team& world, const char* why) {
  debug("{}: {}", world.routine(), why);
  return 1;
}

}  // namespace

int register_buffer(Team& world, void* address, std::size_t bytes) {
  expect_same_call(world, "");
  const RelaxedCapture allowed;
  const Offer mine = describe(address, bytes);
  const auto offers = by_messages::gather(world, mine);
  if (const char* why = objection(offers)) return refuse(world, why);
  if (mine.kind == Buffer::symmetric) return 0;

  DeviceSegment segment = map(address, offers);
  const Mapped mapped = agree_on(world, segment);
  if (!mapped.all) {
    runtime().device_memory().unmap(segment);
    return refuse(world, "a buffer cannot be mapped into all PEs");
  }
  segment.all_for_kernels = mapped.for_kernels;
  device_segments().add(std::move(segment));
  runtime().device_state().update_buffers();
  if (!world.is_on_one_node()) sync(world);  // any PE of this node may execute puts of other nodes
  return 0;
}

int unregister_buffer(Team& world, void* address) {
  expect_same_call(world, "");
  const RelaxedCapture allowed;
  complete_transfers(world.routine());
  sync(world);  // no PE puts to it any more
  const int found = agree_on(world, registration_at(address));
  if (found == kNotRegistered)
    return refuse(world, "no buffer is registered that begins there, or not the same on all PEs");
  if (found == kSymmetric) return 0;
  const auto segment = device_segments().remove(address);
  runtime().device_state().update_buffers();
  runtime().device_memory().unmap(*segment);
  sync(world);  // no PE frees it while another still maps it
  return 0;
}

bool is_reached_on_stream(const void* address, std::size_t bytes) {
  return runtime().has_devices() && on_device::kernels_reach(address) &&
         is_symmetric(address_map, address, std::max(bytes, std::size_t{1}));
}

}  // namespace meshmem
