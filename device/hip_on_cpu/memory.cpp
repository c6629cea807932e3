// SPDX-License-Identifier: Apache-2.0
// Device memory, pinned and registered host memory, and the attributes of a pointer.
// Invariant: an allocation enters the table before its pointer is handed out, and leaves it before
// its memory is freed.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "allocations.hpp"
#include "devices.hpp"
#include "errors.hpp"
#include "streams.hpp"

namespace hip_on_cpu {
namespace {

// Bytes; smaller allocations are not worth reading /proc/meminfo.
constexpr std::size_t kAskTheMachineFrom = 16 << 20;

// HIP's flags that hip_runtime_api.h does not name.
constexpr unsigned kSignalMemory = 0x2, kContiguous = 0x4;                  // device memory
constexpr unsigned kHostUncached = 0x10000000, kHostNumaUser = 0x20000000;  // pinned memory
constexpr unsigned kRegisterIoMemory = 0x4, kRegisterCoarseGrained = 0x8;

bool write_header(int descriptor, off_t offset, const AllocationHeader& header) {
  return pwrite(descriptor, &header, sizeof(header), offset) == sizeof(header);
}

hipError_t map_device_memory(Allocation& allocation) {
  MemoryFile& file = MemoryFile::get();
  const std::size_t length = whole_pages(allocation.size);
  const auto offset = file.take(kPage + length);
  if (!offset) return hipErrorOutOfMemory;
  const AllocationHeader header{kAllocationMagic, file.next_serial(), allocation.size};
  void* memory = MAP_FAILED;
  if (write_header(file.descriptor(), *offset, header)) {
    memory = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor(),
                  *offset + static_cast<off_t>(kPage));
  }
  if (memory == MAP_FAILED) {
    file.give_back(*offset, kPage + length);
    return hipErrorOutOfMemory;
  }
  allocation.base = reinterpret_cast<std::uintptr_t>(memory);
  allocation.offset = *offset;
  return hipSuccess;
}

hipError_t check_device_flags(unsigned flags) {
  if (flags == kSignalMemory || flags == kContiguous) return hipErrorNotSupported;
  const bool is_known = flags == hipDeviceMallocDefault || flags == hipDeviceMallocFinegrained ||
                        flags == hipDeviceMallocUncached;
  return is_known ? hipSuccess : hipErrorInvalidValue;
}

hipError_t allocate_on(int device, void** pointer, std::size_t size, unsigned flags) {
  *pointer = nullptr;
  if (size == 0) return hipSuccess;
  if (size >= kAskTheMachineFrom && size > free_memory_of_device()) return hipErrorOutOfMemory;
  Allocation allocation(nullptr, size, MemoryKind::kDevice, device, flags);
  if (const hipError_t error = map_device_memory(allocation); error != hipSuccess) return error;
  Allocations::get().add(allocation);
  *pointer = allocation.pointer();
  return hipSuccess;
}

hipError_t allocate(void** pointer, std::size_t size, unsigned flags) {
  if (pointer == nullptr) return hipErrorInvalidValue;
  if (const hipError_t error = check_device_flags(flags); error != hipSuccess) return error;
  if (device_count() == 0) return hipErrorNoDevice;
  if (const hipError_t error = refuse_while_capturing(); error != hipSuccess) return error;
  return allocate_on(current_device(), pointer, size, flags);
}

// Submitted work may still use the memory, so freeing waits, as in HIP: for the device that has the
// memory, or for all devices if it is not device memory.
hipError_t await_users(const Allocation& allocation) {
  if (allocation.is_device()) return synchronize_device(allocation.device);
  hipError_t result = hipSuccess;
  for (int device = 0; device < device_count(); ++device)
    if (const hipError_t error = synchronize_device(device); error != hipSuccess) result = error;
  return result;
}

template <typename Release>
hipError_t release(void* pointer, MemoryKind kind, Release release_memory) {
  if (pointer == nullptr) return hipSuccess;
  if (const hipError_t error = refuse_while_capturing(); error != hipSuccess) return error;
  const auto found = Allocations::get().find(pointer);
  if (!found || found->pointer() != pointer || found->kind != kind) return hipErrorInvalidValue;
  const hipError_t error = await_users(*found);
  if (!Allocations::get().remove(pointer, kind))
    return hipErrorInvalidValue;  // another thread was faster
  release_memory(*found);
  return error;
}

void unmap_device_memory(const Allocation& allocation) {
  const std::size_t length = whole_pages(allocation.size);
  munmap(allocation.pointer(), length);
  MemoryFile::get().give_back(allocation.offset, kPage + length);
}
void free_host_memory(const Allocation& allocation) { std::free(allocation.pointer()); }

// For hipMallocAsync and hipFreeAsync: memory can be used at once, and is freed in the stream's
// order. A captured stream is refused: a graph would have to allocate anew at each launch.
hipError_t device_of_stream(hipStream_t handle, int* device) {
  return with_stream(handle, [&](const Streams&, const auto& stream) {
    if (stream->capture != nullptr)
      return stream->capture->invalidate(hipErrorStreamCaptureUnsupported);
    *device = stream->device();
    return hipSuccess;
  });
}

hipError_t allocate_in_stream(void** pointer, std::size_t size, hipStream_t stream) {
  if (pointer == nullptr) return hipErrorInvalidValue;
  if (device_count() == 0) return hipErrorNoDevice;
  int device = 0;
  if (const hipError_t error = device_of_stream(stream, &device); error != hipSuccess) return error;
  return allocate_on(device, pointer, size, hipDeviceMallocDefault);
}

hipError_t free_in_stream(void* pointer, hipStream_t stream) {
  if (device_count() == 0) return hipErrorNoDevice;
  int device = 0;
  if (const hipError_t error = device_of_stream(stream, &device); error != hipSuccess) return error;
  if (pointer == nullptr) return hipErrorInvalidValue;
  const auto removed = Allocations::get().remove(pointer, MemoryKind::kDevice);
  if (!removed) return hipErrorInvalidValue;
  const hipError_t error = submit(stream, [allocation = *removed] {
    unmap_device_memory(allocation);
    return hipSuccess;
  });
  if (error != hipSuccess) Allocations::get().add(*removed);  // nothing else can be there yet
  return error;
}

// All memory is coherent, and mapped for every device, as the known flags ask.
hipError_t check_host_flags(unsigned flags) {
  constexpr unsigned kEither = hipHostMallocCoherent | hipHostMallocNonCoherent;
  constexpr unsigned kKnown =
      hipHostMallocPortable | hipHostMallocMapped | hipHostMallocWriteCombined | kEither;
  if ((flags & kEither) == kEither) return hipErrorInvalidValue;
  return check_flags(flags, kKnown, kHostUncached | kHostNumaUser);
}

hipError_t allocate_on_host(void** pointer, std::size_t size, MemoryKind kind, unsigned flags) {
  if (device_count() == 0) return hipErrorNoDevice;
  if (const hipError_t error = refuse_while_capturing(); error != hipSuccess) return error;
  *pointer = nullptr;
  if (size == 0) return hipSuccess;
  const std::size_t length = whole_pages(size);  // 0 for the largest sizes, which it cannot hold
  void* memory = length < size ? nullptr : std::aligned_alloc(kPage, length);
  if (memory == nullptr) return hipErrorOutOfMemory;
  Allocations::get().add({memory, size, kind, current_device(), flags});
  *pointer = memory;
  return hipSuccess;
}

hipError_t register_host_memory(void* pointer, std::size_t size, unsigned flags) {
  if (pointer == nullptr || size == 0 || size > -reinterpret_cast<std::uintptr_t>(pointer))
    return hipErrorInvalidValue;
  const hipError_t error = check_flags(flags, hipHostRegisterPortable | hipHostRegisterMapped,
                                       kRegisterIoMemory | kRegisterCoarseGrained);
  if (error != hipSuccess) return error;
  if (device_count() == 0) return hipErrorNoDevice;
  const Allocation allocation(pointer, size, MemoryKind::kRegistered, current_device(), flags);
  return Allocations::get().add(allocation) ? hipSuccess : hipErrorHostMemoryAlreadyRegistered;
}

}  // namespace

hipError_t adopt_device_memory(void* base, std::size_t size, int device) {
  if (base == nullptr || size == 0) return remember(hipErrorInvalidValue);
  if (!is_device(device)) return remember(hipErrorInvalidDevice);
  const Allocation allocation(base, size, MemoryKind::kAdopted, device, hipDeviceMallocUncached);
  return remember(Allocations::get().add(allocation) ? hipSuccess : hipErrorInvalidValue);
}

}  // namespace hip_on_cpu

using namespace hip_on_cpu;

extern "C" {

hipError_t hipMalloc(void** pointer, std::size_t size) {
  host_only();
  return remember(allocate(pointer, size, hipDeviceMallocDefault));
}
hipError_t hipExtMallocWithFlags(void** pointer, std::size_t size, unsigned flags) {
  host_only();
  return remember(allocate(pointer, size, flags));
}
hipError_t hipFree(void* pointer) {
  host_only();
  const auto found = Allocations::get().find(pointer);
  if (found && found->kind == MemoryKind::kManaged)
    return remember(release(pointer, MemoryKind::kManaged, free_host_memory));
  return remember(release(pointer, MemoryKind::kDevice, unmap_device_memory));
}

hipError_t hipMallocManaged(void** pointer, std::size_t size, unsigned flags) {
  host_only();
  if (pointer == nullptr || size == 0) return remember(hipErrorInvalidValue);
  if (flags != hipMemAttachGlobal && flags != hipMemAttachHost)
    return remember(hipErrorInvalidValue);
  return remember(allocate_on_host(pointer, size, MemoryKind::kManaged, flags));
}

hipError_t hipMallocAsync(void** pointer, std::size_t size, hipStream_t stream) {
  host_only();
  return remember(allocate_in_stream(pointer, size, stream));
}
hipError_t hipFreeAsync(void* pointer, hipStream_t stream) {
  host_only();
  return remember(free_in_stream(pointer, stream));
}

hipError_t hipHostMalloc(void** pointer, std::size_t size, unsigned flags) {
  host_only();
  if (pointer == nullptr) return remember(hipErrorInvalidValue);
  if (const hipError_t error = check_host_flags(flags); error != hipSuccess) return remember(error);
  return remember(allocate_on_host(pointer, size, MemoryKind::kHost, flags));
}
hipError_t hipHostFree(void* pointer) {
  host_only();
  return remember(release(pointer, MemoryKind::kHost, free_host_memory));
}

hipError_t hipHostRegister(void* pointer, std::size_t size, unsigned flags) {
  host_only();
  return remember(register_host_memory(pointer, size, flags));
}
hipError_t hipHostUnregister(void* pointer) {
  host_only();
  const auto removed = Allocations::get().remove(pointer, MemoryKind::kRegistered);
  return remember(removed ? hipSuccess : hipErrorHostMemoryNotRegistered);
}

hipError_t hipHostGetDevicePointer(void** device_pointer, void* host_pointer, unsigned flags) {
  host_only();
  if (device_pointer == nullptr || flags != 0) return remember(hipErrorInvalidValue);
  const auto found = Allocations::get().find(host_pointer);
  if (!found || found->is_device()) return remember(hipErrorInvalidValue);
  *device_pointer = host_pointer;
  return hipSuccess;
}

hipError_t hipMemGetAddressRange(hipDeviceptr_t* base, std::size_t* size, hipDeviceptr_t pointer) {
  host_only();
  const auto found = Allocations::get().find(pointer);
  if (!found || !(found->is_device() || found->kind == MemoryKind::kManaged))
    return remember(hipErrorNotFound);
  if (base != nullptr) *base = found->pointer();
  if (size != nullptr) *size = found->size;
  return hipSuccess;
}

hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* pointer) {
  host_only();
  if (attributes == nullptr) return remember(hipErrorInvalidValue);
  const auto found = Allocations::get().find(pointer);
  if (!found) return remember(hipErrorInvalidValue);
  *attributes = {};
  attributes->isManaged = found->kind == MemoryKind::kManaged;
  attributes->type = found->is_device()      ? hipMemoryTypeDevice
                     : attributes->isManaged ? hipMemoryTypeManaged
                                             : hipMemoryTypeHost;
  attributes->device = found->device;
  attributes->devicePointer = const_cast<void*>(pointer);
  attributes->hostPointer = found->is_device() ? nullptr : const_cast<void*>(pointer);
  attributes->allocationFlags = found->flags;
  return hipSuccess;
}

}  // extern "C"
