// SPDX-License-Identifier: Apache-2.0
//
// The slabs where devices are processors: one file of the node, which each PE maps once. If each PE
// mapped every other slab, start-up would grow with the square of the PEs.
//
//   [ data of PE 0 | sync of PE 0 ] [ data of PE 1 | sync of PE 1 ] ...
//
// Invariant: every step ends with agree(), as it does where each PE allocates its own.
#include <unistd.h>

#include <cstring>

#include "base/error.hpp"
#include "base/machine/file_handover.hpp"
#include "base/machine/shared_file.hpp"
#include "gpu/device_memory.hpp"
#include "gpu/device_target.hpp"
#include "gpu/hip_error.hpp"

namespace meshmem {

// The bytes of the file that belong to one PE.
static std::size_t stride_of(std::size_t heap, std::size_t sync) {
  return heap + round_up(sync, kRegionAlignment);
}

// PE 0 makes the file and says where it is.
std::optional<std::string> DeviceMemory::offer_file_for(std::size_t bytes, int* file) {
  *file = try_make_shared_file("meshmem-device-memory", bytes);
  if (*file < 0)
    return fmt::format(
        "cannot make {} MiB of device memory for {} PEs: {}; set MESHMEM_DEVICE_HEAP_SIZE to less",
        bytes >> 20, peers_.n, errno_text());
  const std::string ticket = offer_file(*file);
  if (ticket.size() >= sizeof DeviceOffer::ticket)
    return fmt::format("the name of the socket for the device memory is too long: {}", ticket);
  std::memcpy(mine().ticket, ticket.c_str(), ticket.size() + 1);
  return std::nullopt;
}

std::optional<std::string> DeviceMemory::place_slabs(int file, std::size_t heap, std::size_t sync) {
  const auto n = static_cast<std::size_t>(peers_.n);
  const std::size_t stride = stride_of(heap, sync);
  const auto me = static_cast<std::size_t>(peers_.me);
  std::byte* base = map_shared_file(file, n * stride, me * stride, wanted_heap_alignment(heap));
  if (!base)
    return fmt::format(
        "cannot reserve {} MiB of address space for the device memory of {} PEs: {}; set "
        "MESHMEM_DEVICE_HEAP_SIZE to less or raise `ulimit -v`",
        n * stride >> 20, n, errno_text());
  for (std::size_t pe = 0; pe < n; ++pe) {
    // A device that this process does not see counts as its own.
    const int theirs = local_number_of(peers_.offer(static_cast<int>(pe)).bus_id);
    const int device = theirs < 0 ? device_ : theirs;
    data_.copies.push_back(base + pe * stride);
    sync_.copies.push_back(base + pe * stride + heap);
    check(adopt_as_device_memory(data_.copies[pe], heap, device), "take the data slab of PE {}",
          world_pe_of(static_cast<int>(pe)));
    check(adopt_as_device_memory(sync_.copies[pe], sync, device), "take the sync slab of PE {}",
          world_pe_of(static_cast<int>(pe)));
  }
  data_.base = data_.copies[me];
  data_.bytes = heap;
  sync_.base = sync_.copies[me];
  sync_.bytes = sync;
  return std::nullopt;
}

void DeviceMemory::share_slabs() {
  const std::size_t heap = heap_bytes_, sync = sync_bytes();
  const std::size_t stride = stride_of(heap, sync);
  std::optional<std::string> failure = differing_wish();
  if (!failure && heap > mine().free_bytes)
    failure = fmt::format(
        "cannot take {} MiB of memory of device {}, which has {} MiB free; set "
        "MESHMEM_DEVICE_HEAP_SIZE to less",
        heap >> 20, device_, mine().free_bytes >> 20);
  int file = -1;
  if (!failure && peers_.me == 0)
    failure = offer_file_for(stride * static_cast<std::size_t>(peers_.n), &file);
  agree(failure, "make the device memory");
  if (peers_.me != 0) file = take_file(peers_.offer(0).ticket);
  agree_on_reach(place_slabs(file, heap, sync));
  if (peers_.me == 0) end_offer();
  close(file);
}

}  // namespace meshmem
