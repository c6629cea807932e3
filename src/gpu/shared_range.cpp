// SPDX-License-Identifier: Apache-2.0
//
// Makes and opens handles of device memory. Invariant: the mutex guards the mappings, since several
// threads may register buffers. A mapping ends with its last user.
#include "gpu/shared_range.hpp"

#include <cstring>

namespace meshmem {

hipError_t share(void* address, std::size_t bytes, SharedRange* out) {
  void* base = nullptr;
  std::size_t whole = 0;
  if (const hipError_t error = hipMemGetAddressRange(&base, &whole, address); error != hipSuccess)
    return error;
  out->offset =
      static_cast<std::size_t>(static_cast<std::byte*>(address) - static_cast<std::byte*>(base));
  if (bytes > whole - out->offset) return hipErrorInvalidValue;
  return hipIpcGetMemHandle(&out->handle, base);
}

OpenRanges::Mapping* OpenRanges::find(const SharedRange& range, int pe) {
  for (Mapping& mapping : mappings_) {
    if (mapping.pe == pe && std::memcmp(&mapping.handle, &range.handle, sizeof range.handle) == 0)
      return &mapping;
  }
  return nullptr;
}

hipError_t OpenRanges::open(const SharedRange& range, int pe, std::byte** out) {
  const std::lock_guard lock(mutex_);
  Mapping* mapping = find(range, pe);
  if (!mapping) {
    void* base = nullptr;
    const hipError_t error =
        hipIpcOpenMemHandle(&base, range.handle, hipIpcMemLazyEnablePeerAccess);
    if (error != hipSuccess) return error;
    mapping = &mappings_.emplace_back(Mapping{pe, range.handle, static_cast<std::byte*>(base), 0});
  }
  ++mapping->users;
  *out = mapping->base + range.offset;
  return hipSuccess;
}

void OpenRanges::close(const SharedRange& range, int pe) {
  const std::lock_guard lock(mutex_);
  Mapping* mapping = find(range, pe);
  if (!mapping || --mapping->users > 0) return;
  (void)hipIpcCloseMemHandle(mapping->base);
  mappings_.remove_if([&](const Mapping& candidate) { return &candidate == mapping; });
}

}  // namespace meshmem
