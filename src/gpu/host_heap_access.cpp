// SPDX-License-Identifier: Apache-2.0
//
// Registration of the host heaps. Invariant: all PEs register all heaps, or none is registered. A
// heap that cannot be registered is not an error, since the host's own routines reach it anyway.
#include "base/error.hpp"
#include "gpu/device_memory.hpp"
#include "gpu/hip_error.hpp"

namespace meshmem {
namespace {

// The most bytes of all heaps together that are registered without MESHMEM_REGISTER_HOST_HEAP=1.
constexpr std::size_t kMostPinnedBytes = std::size_t{4} << 30;

std::vector<std::byte*> try_register(const std::vector<std::byte*>& heaps, std::size_t bytes) {
  std::vector<std::byte*> mapped;
  for (std::byte* heap : heaps) {
    void* on_device = nullptr;
    hipError_t error =
        hipHostRegister(heap, bytes, hipHostRegisterPortable | hipHostRegisterMapped);
    if (succeeds(error) || error == hipErrorHostMemoryAlreadyRegistered)
      error = hipHostGetDevicePointer(&on_device, heap, 0);
    if (!succeeds(error)) {
      debug("kernels do not reach the host heaps: {}", hipGetErrorString(error));
      return {};
    }
    mapped.push_back(static_cast<std::byte*>(on_device));
  }
  return mapped;
}

}  // namespace

std::vector<std::byte*> map_host_heaps(const std::vector<std::byte*>& heaps, std::size_t bytes,
                                       const Environment& environment, const NodePeers& peers) {
  std::vector<std::byte*> mapped;
  if (bytes <= kMostPinnedBytes / heaps.size() || environment.register_host_heap) {
    mapped = try_register(heaps, bytes);
  } else {
    debug(
        "kernels do not reach the host heaps, which are more than 4 GiB together; "
        "MESHMEM_REGISTER_HOST_HEAP=1 makes them");
  }
  peers.offer(peers.me).host_heaps_mapped = !mapped.empty();
  peers.meet("make the host heaps reachable for kernels");
  for (int pe = 0; pe < peers.n; ++pe) {
    if (peers.offer(pe).host_heaps_mapped) continue;
    for (std::byte* heap : heaps) succeeds(hipHostUnregister(heap));
    return {};
  }
  return mapped;
}

void register_host_heaps(void* base, std::size_t bytes) {
  const hipError_t error =
      hipHostRegister(base, bytes, hipHostRegisterPortable | hipHostRegisterMapped);
  if (error != hipErrorHostMemoryAlreadyRegistered) check(error, "register the host heaps");
}

}  // namespace meshmem
