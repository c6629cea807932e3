// SPDX-License-Identifier: Apache-2.0
// The module API of HIP: code objects that programs load by hand, from a file or from memory, their
// kernels and variables. They have the names and the ABI of ROCm's libamdhip64.so.5.
// Invariant: a handle counts for the device that it was loaded for, until it is unloaded; an
// unloaded module stays in memory, since kernels may still run. Called by programs.
#include <elf.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>

#include "devices.hpp"
#include "errors.hpp"
#include "fat_binary.hpp"
#include "launched.hpp"
#include "module.hpp"

namespace amd_gpu {
namespace {

struct ByHand {
  const CodeObject* code;  // lives for ever
  int device;
};
struct Loaded {
  std::mutex mutex;
  std::uintptr_t last = 0;  // handle; none is used twice
  std::map<void*, ByHand> modules;
};
Loaded& loaded() {
  static auto* const all = new Loaded;
  return *all;
}

// Numbers of HIP's that the runtime on processors never gives.
constexpr auto kInvalidImage = static_cast<hipError_t>(200),
               kNoBinaryForGpu = static_cast<hipError_t>(209),
               kFileNotFound = static_cast<hipError_t>(301);

// A code object ends with its table of sections.
std::span<const std::uint8_t> whole_code_object(const std::uint8_t* begin) {
  Elf64_Ehdr head;
  std::memcpy(&head, begin, sizeof head);
  return {begin, head.e_shoff + std::size_t{head.e_shnum} * head.e_shentsize};
}

hipError_t load(void** module, const std::uint8_t* image) {
  std::span<const std::uint8_t> file;
  if (std::memcmp(image, ELFMAG, SELFMAG) == 0) {
    file = whole_code_object(image);
  } else if (std::memcmp(image, kBundleMagic.data(), kBundleMagic.size()) == 0) {
    file = find_code(image, architecture());
    if (file.empty()) return kNoBinaryForGpu;
  }
  std::string why;
  auto code = file.empty() ? nullptr : CodeObject::load(file, why);
  if (code == nullptr) return kInvalidImage;
  const int device = hip_on_cpu::current_device();
  hip_on_cpu::adopt_device_memory(code->memory(), code->size(), device);
  const CodeObject* const kept = code.release();
  const std::lock_guard lock(loaded().mutex);
  *module = reinterpret_cast<void*>(++loaded().last);
  loaded().modules[*module] = {kept, device};
  return hipSuccess;
}

const CodeObject* find(void* module) {
  const std::lock_guard lock(loaded().mutex);
  const auto found = loaded().modules.find(module);
  if (found == loaded().modules.end() || found->second.device != hip_on_cpu::current_device())
    return nullptr;
  return found->second.code;
}

}  // namespace
}  // namespace amd_gpu

using namespace amd_gpu;
using hip_on_cpu::remember;

#pragma GCC visibility push(default)
extern "C" {

hipError_t hipModuleLoadData(void** module, const void* image) {
  if (module == nullptr || image == nullptr) return remember(hipErrorInvalidValue);
  return remember(load(module, static_cast<const std::uint8_t*>(image)));
}

hipError_t hipModuleLoad(void** module, const char* path) {
  if (module == nullptr || path == nullptr) return remember(hipErrorInvalidValue);
  std::ifstream file(path, std::ios::binary);
  if (!file) return remember(kFileNotFound);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  bytes.resize(bytes.size() + sizeof(Elf64_Ehdr));  // load() reads a header
  return remember(load(module, reinterpret_cast<const std::uint8_t*>(bytes.data())));
}

hipError_t hipModuleUnload(void* module) {
  const std::lock_guard lock(loaded().mutex);
  return remember(loaded().modules.erase(module) == 0 ? hipErrorNotFound : hipSuccess);
}

hipError_t hipModuleGetGlobal(void** place, std::size_t* bytes, void* module, const char* name) {
  if (place == nullptr || bytes == nullptr || name == nullptr)
    return remember(hipErrorInvalidValue);
  const CodeObject* const code = find(module);
  *place = code == nullptr ? nullptr : code->variable(name, bytes);
  return remember(*place == nullptr ? hipErrorNotFound : hipSuccess);
}

hipError_t hipModuleGetFunction(const void** function, void* module, const char* name) {
  if (function == nullptr || name == nullptr) return remember(hipErrorInvalidValue);
  const CodeObject* const code = find(module);
  *function = code == nullptr ? nullptr : code->kernel(name);
  return remember(*function == nullptr ? hipErrorNotFound : hipSuccess);
}

hipError_t hipModuleLaunchKernel(const void* function, unsigned blocks_x, unsigned blocks_y,
                                 unsigned blocks_z, unsigned threads_x, unsigned threads_y,
                                 unsigned threads_z, unsigned shared, hipStream_t stream,
                                 void** arguments, void** buffer) {
  if (function == nullptr) return remember(hipErrorInvalidHandle);
  if (buffer != nullptr) return remember(hipErrorNotSupported);
  return remember(
      launch_kernel(*static_cast<const Kernel*>(function), dim3(blocks_x, blocks_y, blocks_z),
                    dim3(threads_x, threads_y, threads_z), arguments, shared, stream, false));
}

}  // extern "C"
#pragma GCC visibility pop
