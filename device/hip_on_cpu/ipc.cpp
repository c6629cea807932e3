// SPDX-License-Identifier: Apache-2.0
// Maps device memory of another process, through that process's descriptor in /proc.
// Invariant: a handle is trusted only if its file is a memory file of this user, and the very file
// that the handle names. The page before the allocation must also still name that allocation. Any
// other handle is an error, never a wrong mapping.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "allocations.hpp"
#include "devices.hpp"
#include "errors.hpp"
#include "streams.hpp"

namespace hip_on_cpu {
namespace {

struct Handle {
  std::uint64_t magic;
  std::uint64_t inode;
  std::uint64_t serial;
  std::uint64_t size;
  std::uint64_t offset;
  std::int32_t process;
  std::int32_t descriptor;
  std::int32_t device;
  std::uint32_t flags;
};
static_assert(sizeof(Handle) <= sizeof(hipIpcMemHandle_t));
constexpr std::uint64_t kHandleMagic = 0x6d6573686d495043;

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  const int number_;
};

// This process's number in /proc; 0 where there is no /proc. It differs from getpid() in a process
// namespace that has no /proc of its own.
std::int32_t number_in_proc() {
  char number[32] = "";
  const ssize_t length = readlink("/proc/self", number, sizeof(number) - 1);
  return length > 0 ? static_cast<std::int32_t>(std::atol(number)) : 0;
}

bool is_private_file_of_this_user(const struct stat& status) {
  return S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
         (status.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

// Whether the open file is the memory file that the handle names. Handles may come from anywhere,
// so everything is checked again on the file itself.
bool is_the_memory_file(int descriptor, const Handle& handle) {
  struct stat status;
  const int seals = fcntl(descriptor, F_GET_SEALS);
  return fstat(descriptor, &status) == 0 && status.st_ino == handle.inode &&
         is_private_file_of_this_user(status) && seals >= 0 &&
         (seals & kMemoryFileSeals) == kMemoryFileSeals;
}

std::uint64_t inode_of(int descriptor) {
  struct stat status;
  return fstat(descriptor, &status) == 0 ? status.st_ino : 0;
}

bool read_header(int descriptor, std::uint64_t offset, AllocationHeader* header) {
  return pread(descriptor, header, sizeof(*header), static_cast<off_t>(offset)) ==
             sizeof(*header) &&
         header->magic == kAllocationMagic;
}

hipError_t make_handle(hipIpcMemHandle_t* result, void* base) {
  const auto found = Allocations::get().find(base);
  // Only the base of an allocation is taken: a handle opens at the base, so an address inside would
  // come out as another one.
  if (!found || found->kind != MemoryKind::kDevice || found->pointer() != base)
    return hipErrorInvalidValue;
  const int descriptor = MemoryFile::get().descriptor();
  AllocationHeader header;
  const auto offset = static_cast<std::uint64_t>(found->offset);
  const std::int32_t process = number_in_proc();
  if (process == 0) return hipErrorNotSupported;
  if (!read_header(descriptor, offset, &header)) return hipErrorUnknown;
  const Handle handle{kHandleMagic, inode_of(descriptor), header.serial, found->size, offset,
                      process,      descriptor,           found->device, found->flags};
  *result = {};
  std::memcpy(result, &handle, sizeof(handle));
  return hipSuccess;
}

int open_file_of(const Handle& handle) {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/%d/fd/%d", handle.process, handle.descriptor);
  struct stat status;
  // Checked before it is opened: a stale handle may name a device or a pipe by now, and opening one
  // may block or have effects.
  if (stat(path, &status) != 0 || status.st_ino != handle.inode ||
      !is_private_file_of_this_user(status))
    return -1;
  return open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
}

hipError_t open_handle(const Handle& handle, void** pointer) {
  const Descriptor file(open_file_of(handle));
  AllocationHeader header;
  if (file.number() < 0 || !is_the_memory_file(file.number(), handle))
    return hipErrorInvalidResourceHandle;
  if (!read_header(file.number(), handle.offset, &header)) return hipErrorInvalidResourceHandle;
  if (header.serial != handle.serial || header.size != handle.size)
    return hipErrorInvalidResourceHandle;
  void* memory = mmap(nullptr, whole_pages(handle.size), PROT_READ | PROT_WRITE, MAP_SHARED,
                      file.number(), static_cast<off_t>(handle.offset + kPage));
  if (memory == MAP_FAILED) return hipErrorMapFailed;
  // The other process may have more devices than this one.
  const int device = is_device(handle.device) ? handle.device : current_device();
  Allocations::get().add({memory, handle.size, MemoryKind::kImported, device, handle.flags});
  *pointer = memory;
  return hipSuccess;
}

hipError_t import(void** pointer, const hipIpcMemHandle_t& bytes, unsigned flags) {
  if (pointer == nullptr || flags != hipIpcMemLazyEnablePeerAccess) return hipErrorInvalidValue;
  if (device_count() == 0) return hipErrorNoDevice;
  if (const hipError_t error = refuse_while_capturing(); error != hipSuccess) return error;
  Handle handle;
  std::memcpy(&handle, &bytes, sizeof(handle));
  if (handle.magic != kHandleMagic) return hipErrorInvalidValue;
  if (handle.process == number_in_proc())
    return hipErrorInvalidContext;  // as HIP: its own memory needs no handle
  return open_handle(handle, pointer);
}

hipError_t close_import(void* pointer) {
  if (const hipError_t error = refuse_while_capturing(); error != hipSuccess) return error;
  const auto found = Allocations::get().find(pointer);
  if (!found || found->kind != MemoryKind::kImported || found->pointer() != pointer)
    return hipErrorInvalidValue;
  const hipError_t error = synchronize_device(current_device());
  if (!Allocations::get().remove(pointer, MemoryKind::kImported)) return hipErrorInvalidValue;
  munmap(pointer, whole_pages(found->size));
  return error;
}

}  // namespace
}  // namespace hip_on_cpu

using namespace hip_on_cpu;

extern "C" {

hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t* handle, void* base) {
  host_only();
  return remember(handle == nullptr ? hipErrorInvalidValue : make_handle(handle, base));
}
hipError_t hipIpcOpenMemHandle(void** pointer, hipIpcMemHandle_t handle, unsigned flags) {
  host_only();
  return remember(import(pointer, handle, flags));
}
hipError_t hipIpcCloseMemHandle(void* pointer) {
  host_only();
  return remember(close_import(pointer));
}

}  // extern "C"
