// SPDX-License-Identifier: Apache-2.0
// The functions that hipcc's code calls: registration of fat binaries, kernels and variables, and
// launches. They have the names and the ABI of ROCm's libamdhip64.so.5.
// Invariant: all other functions of HIP are those of device/hip_on_cpu, except functions whose
// structures differ in ROCm (rocm_face.cpp) and the module API (by_hand.cpp).
#include <cstdio>
#include <cstdlib>

#include "devices.hpp"
#include "errors.hpp"
#include "faults.hpp"
#include "launched.hpp"
#include "module.hpp"

namespace amd_gpu {
namespace {

constexpr std::uint32_t kWrapperMagic = 0x48495046;  // "HIPF"

// The argument of clang's code to __hipRegisterFatBinary.
struct Wrapper {
  std::uint32_t magic, version;
  const void* bundle;
  void* unused;
};

struct Configuration {
  dim3 grid, block;
  std::size_t shared;
  hipStream_t stream;
};
std::vector<Configuration>& pushed() {
  thread_local std::vector<Configuration> stack;
  return stack;
}

void no_call(const void*) {}
void destroy(void* arguments) { delete static_cast<Dispatch*>(arguments); }

hipError_t launch(const void* function, const dim3& grid, const dim3& block, void** arguments,
                  std::size_t shared, hipStream_t stream, bool is_cooperative) {
  const Kernel* const kernel = find_kernel(function, hip_on_cpu::current_device());
  if (kernel == nullptr) return hipErrorInvalidDeviceFunction;
  return launch_kernel(*kernel, grid, block, arguments, shared, stream, is_cooperative);
}

}  // namespace

hipError_t launch_kernel(const Kernel& kernel, const dim3& grid, const dim3& block,
                         void** arguments, std::size_t shared, hipStream_t stream,
                         bool is_cooperative) {
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  if (threads > kernel.most_threads) return hipErrorLaunchFailure;
  auto dispatch = make_dispatch(kernel, grid, block, static_cast<std::uint32_t>(shared), arguments);
  if (dispatch == nullptr) return hipErrorInvalidConfiguration;
  dispatch->device = hip_on_cpu::current_device();
  catch_faults();
  const hip_on_cpu::BoundKernel bound{kernel.name.c_str(), no_call, destroy, dispatch.release()};
  return hip_on_cpu::submit_launch(bound, grid, block, shared, stream, is_cooperative, run_block,
                                   run_kernel);
}

}  // namespace amd_gpu

using namespace amd_gpu;
using hip_on_cpu::remember;

#pragma GCC visibility push(default)
extern "C" {

void** __hipRegisterFatBinary(const void* data) {
  const auto* const wrapper = static_cast<const Wrapper*>(data);
  if (wrapper->magic != kWrapperMagic || wrapper->version != 1) {
    std::fprintf(stderr, "meshmem: a fat binary is of an unknown kind\n");
    std::abort();
  }
  return reinterpret_cast<void**>(add_module(wrapper->bundle));
}
void __hipUnregisterFatBinary(void** module) { remove_module(reinterpret_cast<Module*>(module)); }

void __hipRegisterFunction(void** module, const void* function, char*, const char* name, unsigned,
                           void*, void*, dim3*, dim3*, int*) {
  add_kernel(reinterpret_cast<Module*>(module), function, name);
}
void __hipRegisterVar(void** module, void* variable, char*, char* name, int, std::size_t, int,
                      int) {
  add_variable(reinterpret_cast<Module*>(module), variable, name);
}

hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared,
                                      hipStream_t stream) {
  pushed().push_back({grid, block, shared, stream});
  return hipSuccess;
}
hipError_t __hipPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared,
                                     hipStream_t* stream) {
  const Configuration top = pushed().back();
  pushed().pop_back();
  *grid = top.grid;
  *block = top.block;
  *shared = top.shared;
  *stream = top.stream;
  return hipSuccess;
}

// These functions have HIP's names only as symbols: hip_on_cpu has C++ functions of these names.
hipError_t launch_kernel(const void* function, dim3 grid, dim3 block, void** arguments,
                         std::size_t shared, hipStream_t stream) __asm__("hipLaunchKernel");
hipError_t launch_kernel(const void* function, dim3 grid, dim3 block, void** arguments,
                         std::size_t shared, hipStream_t stream) {
  return remember(launch(function, grid, block, arguments, shared, stream, false));
}
hipError_t launch_cooperative_kernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                     unsigned shared,
                                     hipStream_t stream) __asm__("hipLaunchCooperativeKernel");
hipError_t launch_cooperative_kernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                     unsigned shared, hipStream_t stream) {
  return remember(launch(function, grid, block, arguments, shared, stream, true));
}

hipError_t hipGetSymbolAddress(void** address, const void* symbol) {
  if (address == nullptr) return remember(hipErrorInvalidValue);
  *address = find_variable(symbol, hip_on_cpu::current_device(), nullptr);
  return remember(*address == nullptr ? hipErrorInvalidSymbol : hipSuccess);
}
hipError_t hipGetSymbolSize(std::size_t* size, const void* symbol) {
  const void* found = find_variable(symbol, hip_on_cpu::current_device(), size);
  return remember(found == nullptr ? hipErrorInvalidSymbol : hipSuccess);
}
hipError_t hipMemcpyToSymbol(const void* symbol, const void* source, std::size_t bytes,
                             std::size_t offset, hipMemcpyKind kind) {
  std::size_t size = 0;
  auto* const to = static_cast<char*>(find_variable(symbol, hip_on_cpu::current_device(), &size));
  if (to == nullptr) return remember(hipErrorInvalidSymbol);
  if (offset > size || bytes > size - offset) return remember(hipErrorInvalidValue);
  return hipMemcpy(to + offset, source, bytes, kind);
}
hipError_t hipMemcpyFromSymbol(void* dest, const void* symbol, std::size_t bytes,
                               std::size_t offset, hipMemcpyKind kind) {
  std::size_t size = 0;
  auto* const from = static_cast<char*>(find_variable(symbol, hip_on_cpu::current_device(), &size));
  if (from == nullptr) return remember(hipErrorInvalidSymbol);
  if (offset > size || bytes > size - offset) return remember(hipErrorInvalidValue);
  return hipMemcpy(dest, from + offset, bytes, kind);
}

hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                        int threads, std::size_t shared) {
  if (find_kernel(function, hip_on_cpu::current_device()) == nullptr)
    return remember(hipErrorInvalidDeviceFunction);
  return hip_on_cpu::blocks_per_multiprocessor(blocks, threads, shared);
}

}  // extern "C"
#pragma GCC visibility pop
