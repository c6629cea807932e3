// SPDX-License-Identifier: Apache-2.0
//
// Checks all mappings of the slabs: a handle may open the wrong memory and report success, as in
// containers. Each PE's device (a kernel, or this thread where devices are processors) writes a
// word into its slabs, and every device reads it through its kernels' mapping. If all slabs are in
// one file, a PE reads only the next PE's words. Then the processor stores words through the
// mappings that it may use, and a kernel reads them. Invariant: a wrong word ends the job, with a
// line that names both PEs; if only the processor's words are wrong, kernels do its stores.
#include "base/error.hpp"
#include "device/launch.hpp"
#include "gpu/device_memory.hpp"
#include "gpu/device_target.hpp"
#include "gpu/hip_error.hpp"
#include "gpu/pinned_room.hpp"

namespace meshmem {
namespace {

constexpr int kDataWord = 1, kSyncWord = 2;

std::uint64_t word_of(int pe, int which) {
  return 0x6d6573686d656d00u + (static_cast<std::uint64_t>(pe) << 8 ^ static_cast<unsigned>(which));
}

// Whether a kernel reads what the processor has stored into a slab, at a place that only PE `me`
// uses. Stores two words, since the first may have been there before.
bool stores_arrive(std::byte* slab, int me, HostPath path, hipStream_t stream) {
  auto* const place = reinterpret_cast<std::uint64_t*>(slab) + 1 + me;
  for (std::uint64_t* const asked : {place, path.marker}) {
    if (!is_accessible(reinterpret_cast<std::byte*>(asked), sizeof *asked)) return false;
  }
  HostStores trial;
  trial.add(reinterpret_cast<std::byte*>(place), sizeof *place, path);
  const PinnedRoom pinned(2 * sizeof(std::uint64_t));
  auto** const places = reinterpret_cast<std::uint64_t**>(pinned.get());
  auto* const found = reinterpret_cast<std::uint64_t*>(places + 1);
  *places = place;
  for (const std::uint64_t stored : {word_of(me, kDataWord), std::uint64_t{0}}) {
    trial.try_store(reinterpret_cast<std::byte*>(place), &stored, sizeof stored);
    trial.complete();
    check(device::launch_read_words(places, found, 1, stream), "read what the host has stored");
    check(hipStreamSynchronize(stream), "read what the host has stored");
    if (*found != stored) return false;
  }
  return true;
}

}  // namespace

std::optional<std::string> DeviceMemory::check_word(int pe, int which, std::uint64_t found) const {
  if (found == word_of(pe, which)) return std::nullopt;
  return fmt::format(
      "the {} memory of PE {}'s device ({}) is mapped wrong on the device of PE {} ({}): "
      "{:#x} is where {:#x} should be",
      which == kDataWord ? "data" : "sync", world_pe_of(pe), peers_.offer(pe).bus_id,
      world_pe_of(peers_.me), mine().bus_id, found, word_of(pe, which));
}

// If a PE has mapped another file than the others, or at another place, it or the PE before it
// reads a wrong word. Each further word would cost a page of page tables.
std::optional<std::string> DeviceMemory::read_next(const Slab& slab, int which) const {
  const int next = (peers_.me + 1) % peers_.n;
  const std::byte* place = slab.copies[static_cast<std::size_t>(next)];
  return check_word(next, which, *reinterpret_cast<const std::uint64_t*>(place));
}

std::optional<std::string> DeviceMemory::read_all(const Slab& slab, int which,
                                                  hipStream_t stream) const {
  const auto n = static_cast<std::size_t>(peers_.n);
  const PinnedRoom pinned(2 * n * sizeof(std::uint64_t));
  auto** places = reinterpret_cast<std::uint64_t**>(pinned.get());
  auto* found = reinterpret_cast<std::uint64_t*>(places + n);
  const auto is_checked = [&](int pe) {
    return route_of_[static_cast<std::size_t>(pe)].for_kernels;
  };
  for (int pe = 0; pe < peers_.n; ++pe) {
    std::byte* place = slab.copies[static_cast<std::size_t>(is_checked(pe) ? pe : peers_.me)];
    places[pe] = reinterpret_cast<std::uint64_t*>(place);
  }
  check(device::launch_read_words(places, found, peers_.n, stream), "start a kernel on device {}",
        device_);
  check(hipStreamSynchronize(stream), "run a kernel on device {}", device_);
  for (int pe = 0; pe < peers_.n; ++pe) {
    if (!is_checked(pe)) continue;
    if (auto failure = check_word(pe, which, found[pe])) return failure;
  }
  return std::nullopt;
}

void DeviceMemory::verify(hipStream_t stream) {
  const auto write = [&](const Slab& slab, std::uint64_t word) {
    auto* place = reinterpret_cast<std::uint64_t*>(slab.base);
    if constexpr (kDevicesAreProcessors) {
      *place = word;
    } else {
      check(device::launch_write_word(place, word, stream), "start a kernel on device {}", device_);
    }
  };
  const auto finish = [&] {
    if (!kDevicesAreProcessors)
      check(hipStreamSynchronize(stream), "run a kernel on device {}", device_);
  };
  write(data_, word_of(peers_.me, kDataWord));
  write(sync_, word_of(peers_.me, kSyncWord));
  finish();
  agree(std::nullopt, "write to device memory");
  const auto read = [&](const Slab& slab, int which) {
    return kDevicesAreProcessors ? read_next(slab, which) : read_all(slab, which, stream);
  };
  std::optional<std::string> failure = read(data_, kDataWord);
  if (!failure) failure = read(sync_, kSyncWord);
  agree(failure, "read the device memory of the other PEs");
  write(data_, 0);
  if (kDevicesAreProcessors) {
    write(sync_, 0);  // the rest has never been touched
  } else {
    check(hipMemsetAsync(sync_.base, 0, sync_.bytes, stream), "clear the sync slab");
  }
  finish();
}

// Adds the slabs to which the processor may store. The driver says which; on a GPU a trial has to
// confirm it.
void DeviceMemory::find_host_stores(hipStream_t stream) {
  int n = 0;
  for (int pe = 0; may_store_ && pe < peers_.n; ++pe) {
    const auto index = static_cast<std::size_t>(pe);
    const int owner = local_number_of(peers_.offer(pe).bus_id);
    if (!route_of_[index].for_kernels || owner < 0) continue;
    std::byte* const markers = sync_.copies[index] + markers_offset();
    const std::optional<HostPath> path =
        host_path_to(owner, reinterpret_cast<std::uint64_t*>(markers) + peers_.me);
    std::byte* const slab = data_.copies[index];
    if (!path || (!kDevicesAreProcessors && !stores_arrive(slab, peers_.me, *path, stream)))
      continue;
    host_stores().add(slab, data_.bytes, *path);
    ++n;
  }
  if (n > 0) debug("the host stores into the device heaps of {} of {} PEs", n, peers_.n);
}

}  // namespace meshmem
