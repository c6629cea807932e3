// SPDX-License-Identifier: Apache-2.0
//
// The slabs: agreed sizes and kind of memory, allocation, mapping.
// Invariant: every step ends with agree(), so all PEs are always in the same one.
#include "gpu/device_memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string_view>

#include "base/error.hpp"
#include "base/hooks/memory_checker.hpp"
#include "base/machine/shared_file.hpp"
#include "base/settings/foreign_variables.hpp"
#include "base/waiting/wait.hpp"
#include "device/state.hpp"
#include "gpu/device_target.hpp"
#include "gpu/hip_error.hpp"

// Older headers lack the name.
#ifndef hipDeviceMallocUncached
#define hipDeviceMallocUncached 0x3
#endif

namespace meshmem {
namespace {

// Blocks that fit into the default heap of NVSHMEM and of rocSHMEM fit here.
constexpr std::size_t kMostByDefault = (std::size_t{1} << 30) + kOnTop;

// AMD GPUs need more for sharing: Linux's own driver has no calls for it.
constexpr const char* kAmdSharing =
    "; the kernel needs AMD's driver (amdgpu-dkms), or ROCm 6.3 or newer with "
    "HSA_ENABLE_IPC_MODE_LEGACY=0";

constexpr std::size_t kFreeUnderValgrind = std::size_t{128} << 20;

std::string name_of_device(int device) {
  hipDeviceProp_t properties{};
  return succeeds(hipGetDeviceProperties(&properties, device)) ? properties.name : "?";
}

// Sets variables that the runtime reads before its first call only; the user's values stand.
void prepare_runtime() {
#if defined(MESHMEM_TARGET_CUDA)
  // By default CUDA loads a kernel at its first launch, and may wait then for kernels that run. If
  // these wait for the new one, they wait for ever.
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
#elif defined(MESHMEM_TARGET_HIP)
  // AMD's runtime has fine-grained memory on GPUs without xGMI only with this variable. Before 5.7
  // there is no other coherent memory; from 6.3 on, a GPU without uncached memory would get
  // coarse-grained memory.
  setenv("HSA_FORCE_FINE_GRAIN_PCIE", "1", 0);
#endif
}

// Returns the device that the user names; otherwise the one that the program has made current
// before shmem_init, unless it is device 0; otherwise PEs take the devices in turn. Returns
// nullopt, and a reason in *why, if this PE has no device. `pe_of_machine` counts the PEs of all
// nodes that share a machine.
std::optional<int> choose_device(const Environment& environment, int pe_of_machine,
                                 std::string* why) {
  if (environment.device_heap_size == std::size_t{0}) {
    *why = "MESHMEM_DEVICE_HEAP_SIZE is 0";
    return std::nullopt;
  }
  prepare_runtime();
  int count = 0;
  const hipError_t error = hipGetDeviceCount(&count);
  if (!succeeds(error) || count < 1) {
    *why = error == hipSuccess ? "there is no device" : hipGetErrorString(error);
    return std::nullopt;
  }
  if (environment.device) {
    if (*environment.device >= static_cast<unsigned>(count)) {
      fatal("MESHMEM_DEVICE={}, but this process sees only {} device{}, numbered from 0",
            *environment.device, count, count == 1 ? "" : "s");
    }
    return static_cast<int>(*environment.device);
  }
  int current = 0;
  if (succeeds(hipGetDevice(&current)) && current != 0) return current;
  return pe_of_machine % count;
}

}  // namespace

// A PE that has failed prints why and ends the job; the others wait for the end, but only until the
// timeout. A PE that is ahead may fail in the next step while others still look for failures of
// this one.
void DeviceMemory::agree(const std::optional<std::string>& failure, const char* step) {
  ++steps_;
  if (failure) mine().failed_step = steps_;
  peers_.meet(step);
  if (failure) fatal_message(*failure);
  for (int pe = 0; pe < peers_.n; ++pe) {
    if (peers_.offer(pe).failed_step != steps_) continue;
    wait_until_ready([] { return false; },
                     [&] {
                       return fmt::format("PE {}, which cannot {}, to end the job", world_pe_of(pe),
                                          step);
                     });
  }
}

std::string DeviceMemory::architecture() const {
  if (!is_open()) return "";
  hipDeviceProp_t properties;
  check(hipGetDeviceProperties(&properties, device_), "ask device {} for its properties", device_);
  const std::string name = properties.gcnArchName;  // such as gfx90a:sramecc+:xnack-
  return name.substr(0, name.find(':'));
}

bool DeviceMemory::choose(const Environment& environment, const NodePeers& peers, int pes_before) {
  peers_ = peers;
  std::string why;
  const std::optional<int> device = choose_device(environment, pes_before + peers_.me, &why);
  DeviceOffer& offer = mine();
  offer.heap_wish = environment.device_heap_size.value_or(SIZE_MAX);
  may_store_ = environment.large_bar;
  if (device) {
    device_ = *device;
    check(hipSetDevice(device_), "use device {}", device_);
    check(hipDeviceGetPCIBusId(offer.bus_id, sizeof offer.bus_id, device_),
          "ask for the address of device {}", device_);
    std::size_t total = 0;
    check(hipMemGetInfo(&offer.free_bytes, &total), "ask device {} for its free memory", device_);
    // Valgrind looks for lost memory in all that a process maps.
    if (memory_checker() == MemoryChecker::valgrind)
      offer.free_bytes = std::min(offer.free_bytes, kFreeUnderValgrind);
    offer.present = true;
  }
  peers_.meet("choose devices");
  for (int pe = 0; pe < peers_.n; ++pe) {
    if (peers_.offer(pe).present) continue;
    const std::string note =
        fmt::format("there is no device memory: {}",
                    device ? fmt::format("PE {} has no device", world_pe_of(pe)) : why);
    if (!kDevicesAreProcessors && peers_.me == 0 && environment.device_heap_size != std::size_t{0})
      print_line(note);
    else
      debug("{}", note);
    device_ = -1;
    return false;
  }
  return true;
}

void DeviceMemory::open(hipStream_t stream, std::size_t heap_bytes) {
  heap_bytes_ = heap_bytes;
  const OnDevice current(device_);
  if constexpr (kDevicesAreProcessors) {
    find_routes();
    share_slabs();
  } else {
    allocate_slabs();
    find_routes();
    map_slabs();
  }
  verify(stream);
  find_host_stores(stream);
  bus_ids_ = std::vector<std::string>();  // a PE keeps little memory for each other PE
  debug("device {} ({}, {}), {} MiB of {} device heap{}", device_, name_of_device(device_),
        mine().bus_id, data_.bytes >> 20, uncached_ ? "uncached" : "fine-grained",
        all_reach_all_ ? "" : "; some devices cannot reach each other");
}

std::optional<std::string> DeviceMemory::differing_wish() const {
  if (mine().heap_wish == peers_.offer(0).heap_wish) return std::nullopt;
  return fmt::format(
      "MESHMEM_DEVICE_HEAP_SIZE is not the same here as in PE {}; give all PEs the same",
      world_pe_of(0));
}

// The bytes that the user asks for; else half of what is free on a device, divided among the PEs
// that share it. The same on all PEs, since all compute it from the same offers.
std::size_t DeviceMemory::most_heap_bytes() const {
  const auto whole = [](std::size_t bytes) {
    return std::max(bytes / kRegionAlignment, std::size_t{1}) * kRegionAlignment;
  };
  const std::size_t wish = peers_.offer(0).heap_wish;
  if (wish != SIZE_MAX) return whole(wish + kRegionAlignment - 1);
  std::map<std::string_view, std::size_t> sharing;  // PEs by device
  for (int pe = 0; pe < peers_.n; ++pe) ++sharing[peers_.offer(pe).bus_id];
  std::size_t least = kMostByDefault;
  for (int pe = 0; pe < peers_.n; ++pe) {
    const DeviceOffer& offer = peers_.offer(pe);
    least = std::min(least, offer.free_bytes / 2 / sharing[offer.bus_id]);
  }
  return whole(least);
}

// Behind what kernels use of a sync slab there is a marker for each PE (HostPath).
std::size_t DeviceMemory::markers_offset() const {
  constexpr std::size_t kLine = 64;
  return round_up(device::SyncLayout::of(peers_.n, kHasWideLines).total_bytes(), kLine);
}
std::size_t DeviceMemory::sync_bytes() const {
  return markers_offset() + static_cast<std::size_t>(peers_.n) * sizeof(std::uint64_t);
}

std::optional<std::string> DeviceMemory::allocate(Slab& slab, std::size_t bytes,
                                                  SharedRange& range) {
  const std::size_t room = bytes + kRegionAlignment;  // aligned like a region of the arena
  void* memory = nullptr;
  const hipError_t error = hipExtMallocWithFlags(
      &memory, room, uncached_ ? hipDeviceMallocUncached : hipDeviceMallocFinegrained);
  if (error != hipSuccess) {
    (void)hipGetLastError();
    if (uncached_) {  // AMD's runtime says "out of memory" too where the kind is missing
      uncached_ = false;
      return std::nullopt;
    }
    return fmt::format(
        "cannot take {} MiB of memory of device {}: {}; set MESHMEM_DEVICE_HEAP_SIZE to less",
        room >> 20, device_, hipGetErrorString(error));
  }
  const auto start = reinterpret_cast<std::uintptr_t>(memory);
  const std::size_t skip = (kRegionAlignment - start % kRegionAlignment) % kRegionAlignment;
  slab.base = static_cast<std::byte*>(memory) + skip;
  slab.bytes = bytes;
  if (peers_.n == 1) return std::nullopt;  // not every driver can share
  if (const hipError_t refused = share(slab.base, bytes, &range); refused != hipSuccess) {
    return fmt::format(
        "cannot share the memory of device {} with the other PEs: {}; a container needs "
        "the host's IPC and process namespaces{}",
        device_, hipGetErrorString(refused), kDevicesAreAmd ? kAmdSharing : "");
  }
  return std::nullopt;
}

bool DeviceMemory::all_uncached() const {
  for (int pe = 0; pe < peers_.n; ++pe) {
    if (!peers_.offer(pe).uncached) return false;
  }
  return true;
}

void DeviceMemory::allocate_slabs() {
  std::optional<std::string> failure = differing_wish();
  const std::size_t heap = heap_bytes_;
  const std::size_t sync = sync_bytes();
  const auto allocate_both = [&] {
    if (!failure) failure = allocate(data_, heap, mine().data);
    if (!failure && data_.base) failure = allocate(sync_, sync, mine().sync);
  };
  allocate_both();
  mine().uncached = uncached_;
  agree(failure, "take device memory");
  if (all_uncached()) return;

  debug("not all devices have uncached memory; taking fine-grained memory");
  uncached_ = false;
  for (Slab* slab : {&data_, &sync_}) {
    void* base = nullptr;
    std::size_t bytes = 0;
    if (slab->base && hipMemGetAddressRange(&base, &bytes, slab->base) == hipSuccess)
      (void)hipFree(base);
    *slab = {};
  }
  allocate_both();
  agree(failure, "take fine-grained device memory");
}

static std::vector<std::string> find_bus_ids() {
  int count = 0;
  (void)hipGetDeviceCount(&count);
  std::vector<std::string> bus_ids;
  bus_ids.reserve(static_cast<std::size_t>(count));
  for (int device = 0; device < count; ++device) {
    char id[sizeof DeviceOffer::bus_id] = "";
    const bool has_id = succeeds(hipDeviceGetPCIBusId(id, sizeof id, device));
    bus_ids.emplace_back(has_id ? id : "no address");
  }
  return bus_ids;
}

int DeviceMemory::local_number_of(const char* bus_id) {
  if (bus_ids_.empty()) bus_ids_ = find_bus_ids();
  const auto found = std::find(bus_ids_.begin(), bus_ids_.end(), bus_id);
  return found == bus_ids_.end() ? -1 : static_cast<int>(found - bus_ids_.begin());
}

// Returns the device of this process from which memory of device `theirs` is reached, and whether
// it is this PE's own device. If this process does not see the other device (`theirs` < 0), only
// opening its memory shows whether it is reached.
static DeviceRoute route_to(int own, int theirs) {
  if (theirs == own || theirs < 0) return {own, true};
  int can = 0;
  if (!succeeds(hipDeviceCanAccessPeer(&can, own, theirs)) || !can) return {theirs, false};
  if (kOpeningGivesAccess) return {own, true};
  const hipError_t error = hipDeviceEnablePeerAccess(theirs, 0);
  const bool enabled = succeeds(error) || error == hipErrorPeerAccessAlreadyEnabled;
  return enabled ? DeviceRoute{own, true} : DeviceRoute{theirs, false};
}

hipError_t DeviceMemory::map(const SharedRange& range, int index, std::byte** out) {
  const OnDevice current(route_of_[static_cast<std::size_t>(index)].device);
  const hipError_t error = ranges_.open(range, index, out);
  if (error != hipSuccess) (void)hipGetLastError();
  return error;
}

void DeviceMemory::unmap(const DeviceSegment& segment) {
  for (int peer = 0; peer < static_cast<int>(segment.ranges.size()); ++peer) {
    const auto index = static_cast<std::size_t>(peer);
    if (peer != peers_.me && segment.mapped[index]) ranges_.close(segment.ranges[index], peer);
  }
}

std::optional<std::string> DeviceMemory::map_slab(Slab& slab, SharedRange DeviceOffer::*range) {
  slab.copies.assign(static_cast<std::size_t>(peers_.n), slab.base);
  for (int pe = 0; pe < peers_.n; ++pe) {
    if (pe == peers_.me) continue;  // opening one's own handle is an error by design
    const auto index = static_cast<std::size_t>(pe);
    const auto open = [&] { return map(peers_.offer(pe).*range, pe, &slab.copies[index]); };
    hipError_t error = open();
    if (error != hipSuccess && kOpeningGivesAccess && leave_to_copies(pe)) error = open();
    if (error != hipSuccess) {
      return fmt::format("cannot map the memory of PE {}'s device ({}) on device {} ({}): {}",
                         world_pe_of(pe), peers_.offer(pe).bus_id, device_, mine().bus_id,
                         hipGetErrorString(error));
    }
  }
  return std::nullopt;
}

// From now on, copies reach the memory of PE `pe` from the device that it is on. Returns false if
// that was so already, or if the device is this PE's own or one that this process does not see.
bool DeviceMemory::leave_to_copies(int pe) {
  DeviceRoute& route = route_of_[static_cast<std::size_t>(pe)];
  const int theirs = local_number_of(peers_.offer(pe).bus_id);
  if (!route.for_kernels || theirs < 0 || theirs == device_) return false;
  route = {theirs, false};
  return true;
}

void DeviceMemory::find_routes() {
  route_of_.reserve(static_cast<std::size_t>(peers_.n));
  for (int pe = 0; pe < peers_.n; ++pe) {
    const DeviceOffer& offer = peers_.offer(pe);
    const bool same = std::strcmp(offer.bus_id, mine().bus_id) == 0;
    route_of_.push_back(route_to(device_, same ? device_ : local_number_of(offer.bus_id)));
  }
}

void DeviceMemory::map_slabs() {
  std::optional<std::string> failure = map_slab(data_, &DeviceOffer::data);
  if (!failure) failure = map_slab(sync_, &DeviceOffer::sync);
  agree_on_reach(failure);
}

std::size_t DeviceMemory::heap_alignment() const {
  std::size_t least = mine().heap_alignment;
  for (int pe = 0; pe < peers_.n; ++pe) least = std::min(least, peers_.offer(pe).heap_alignment);
  return least;
}

void DeviceMemory::agree_on_reach(const std::optional<std::string>& failure) {
  bool reaches_all = true;
  for (int pe = 0; pe < peers_.n; ++pe) {
    if (route_of_[static_cast<std::size_t>(pe)].for_kernels) continue;
    reaches_all = false;
    debug("device {} cannot reach the device {} of PE {}: copies only", device_,
          peers_.offer(pe).bus_id, world_pe_of(pe));
  }
  mine().reaches_all = reaches_all;
  mine().heap_alignment = alignment_of(data_.base);
  agree(failure, "map the device memory of the other PEs");
  all_reach_all_ = true;
  std::set<std::string_view> devices;
  for (int pe = 0; pe < peers_.n; ++pe) {
    all_reach_all_ = all_reach_all_ && peers_.offer(pe).reaches_all;
    devices.insert(peers_.offer(pe).bus_id);
  }
  pes_share_devices_ = devices.size() < static_cast<std::size_t>(peers_.n);
}

}  // namespace meshmem
