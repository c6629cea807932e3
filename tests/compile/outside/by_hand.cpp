// SPDX-License-Identifier: Apache-2.0
//
// by_hand MODULE WITHOUT_LIBRARY OF_OTHER_HEADERS
// A program without kernels of its own, which loads modules (by_hand_kernels.hip) by the calls of
// HIP, or on cuda by the driver's. Their kernels know the job as long as it has been told of them.
// Prints what is wrong, and of PE 0 that all is done; exit status 1 if anything is wrong.
// Compiled by compile.cuda, run by amd_gpu.job.
#include <hip/hip_runtime_api.h>
#if defined(USE_CUDA)
#include <cuda.h>
#endif
#include <meshmem/compat/nvshmemx.h>
#include <shmemx.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <meshmem/compat/rocshmem.hpp>
#include <string>
#include <vector>

namespace {

int failures = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("PE %d: %s\n", shmem_my_pe(), what);
  ++failures;
}

#if defined(USE_CUDA)
using Module = CUmodule;
using Function = CUfunction;
void must(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s: error %d\n", what, static_cast<int>(result));
  std::exit(1);
}
Module load(const char* path) {
  Module module = nullptr;
  must(cuModuleLoad(&module, path), path);
  return module;
}
Module load_data(const void* image) {
  Module module = nullptr;
  must(cuModuleLoadData(&module, image), "load from memory");
  return module;
}
void unload(Module module) { must(cuModuleUnload(module), "unload"); }
void launch(Module module, const char* name, unsigned threads, void** arguments) {
  Function function = nullptr;
  must(cuModuleGetFunction(&function, module, name), name);
  must(cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, nullptr, arguments, nullptr), name);
}
#else
using Module = hipModule_t;
using Function = hipFunction_t;
void must(hipError_t result, const char* what);
Module load(const char* path) {
  Module module = nullptr;
  must(hipModuleLoad(&module, path), path);
  return module;
}
Module load_data(const void* image) {
  Module module = nullptr;
  must(hipModuleLoadData(&module, image), "load from memory");
  return module;
}
void unload(Module module) { must(hipModuleUnload(module), "unload"); }
void launch(Module module, const char* name, unsigned threads, void** arguments) {
  Function function = nullptr;
  must(hipModuleGetFunction(&function, module, name), name);
  must(hipModuleLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, nullptr, arguments, nullptr),
       name);
}
#endif
void must(hipError_t result, const char* what) {
  if (result == hipSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, hipGetErrorString(result));
  std::exit(1);
}

std::vector<char> contents(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The number of PEs as the module's kernels see it.
int pes_of(Module module) {
  int* there = nullptr;
  must(hipMalloc(reinterpret_cast<void**>(&there), sizeof(int)), "hipMalloc");
  void* arguments[] = {&there};
  launch(module, "count_pes", 1, arguments);
  int n = -1;
  must(hipMemcpy(&n, there, sizeof n, hipMemcpyDeviceToHost), "hipMemcpy");
  must(hipFree(there), "hipFree");
  return n;
}

// `inbox` has room for nelems + 1.
void pass_on(Module module, int* inbox, int nelems) {
  auto* outbox = static_cast<int*>(shmem_malloc_with_hints(
      sizeof(int) * static_cast<std::size_t>(nelems), SHMEMX_MALLOC_DEVICE));
  auto* arrived =
      static_cast<uint64_t*>(shmem_malloc_with_hints(sizeof(uint64_t), SHMEMX_MALLOC_DEVICE));
  if (!outbox || !arrived) shmem_global_exit(2);
  must(hipMemset(arrived, 0, sizeof *arrived), "hipMemset");
  must(hipDeviceSynchronize(), "hipMemset");
  shmem_barrier_all();
  void* arguments[] = {&inbox, &outbox, &arrived, &nelems};
  launch(module, "pass_on", 64, arguments);
  std::vector<int> found(static_cast<std::size_t>(nelems) + 1);
  must(hipMemcpy(found.data(), inbox, found.size() * sizeof(int), hipMemcpyDeviceToHost), "copy");
  const int previous = (shmem_my_pe() + shmem_n_pes() - 1) % shmem_n_pes();
  bool is_right = found.back() == previous;
  for (int i = 0; i < nelems; ++i)
    is_right = is_right && found[static_cast<std::size_t>(i)] == 1000 * previous + i;
  expect(is_right, "what a kernel has put has not arrived");
  shmem_barrier_all();
  shmem_free(arrived);
  shmem_free(outbox);
}

void in_job(Module module, Module of_memory, char** files) {
  constexpr int kNelems = 70;
  constexpr std::size_t kBytes = (kNelems + 1) * sizeof(int);
  const int n = shmem_n_pes();
  expect(pes_of(module) == 0, "a module that nobody has told of the job knows it");
  expect(rocshmem::rocshmem_hipmodule_init(module) == 0, "hipmodule_init");
  expect(nvshmemx_cumodule_init(module) == 0, "a module cannot be initialized again");
  expect(pes_of(module) == n, "the number of PEs");
  auto* inbox = static_cast<int*>(shmem_malloc_with_hints(kBytes, SHMEMX_MALLOC_DEVICE));
  if (!inbox) shmem_global_exit(2);
  pass_on(module, inbox, kNelems);
  shmem_free(inbox);

  expect(nvshmemx_cumodule_init(of_memory) == 0, "a module that was loaded from memory");
  // The module also learns of buffers that become symmetric later.
  void* own = nullptr;
  must(hipMalloc(&own, kBytes), "hipMalloc");
  if (shmemx_buffer_register(own, kBytes) == 0) {
    pass_on(module, static_cast<int*>(own), kNelems);
    pass_on(of_memory, static_cast<int*>(own), kNelems);
    shmemx_buffer_unregister(own);
  } else {
    std::puts("a buffer of the program cannot be registered here");
  }
  must(hipFree(own), "hipFree");

  Module without = load(files[2]), of_other_headers = load(files[3]);
  expect(shmemx_loaded_module_init(without) != 0, "a module without the library is taken");
  expect(shmemx_loaded_module_init(of_other_headers) != 0, "a module of another version is taken");
  expect(shmemx_loaded_module_init(nullptr) != 0, "NULL is taken for a module");
  expect(shmemx_loaded_module_finalize(without) != 0, "a module that is not known ends");
  unload(without);
  unload(of_other_headers);

  expect(nvshmemx_cumodule_finalize(module) == 0, "cumodule_finalize");
  expect(pes_of(module) == 0, "a module knows the job after its end");
  expect(shmemx_loaded_module_finalize(module) != 0, "a module ends twice");
  expect(shmemx_loaded_module_init(module) == 0, "a module does not come back");
  expect(pes_of(module) == n, "the number of PEs, of a module that has come back");
}

}  // namespace

int main(int, char** files) {
  must(hipSetDevice(0), "hipSetDevice");
  must(hipFree(nullptr), "hipFree");  // the driver's context is there
  const std::vector<char> image = contents(files[1]);
  Module module = load(files[1]), of_memory = load_data(image.data());
  expect(shmemx_loaded_module_init(module) != 0, "a module is taken before shmem_init");
  expect(shmemx_loaded_module_finalize(module) == 0, "an end before shmem_init");
  shmem_init();
  const int me = shmem_my_pe();
  in_job(module, of_memory, files);
  shmem_barrier_all();
  shmem_finalize();
  expect(pes_of(module) == 0, "a module knows the job after shmem_finalize");
  expect(shmemx_loaded_module_finalize(module) == 0, "an end after shmem_finalize");
  shmem_init();
  expect(pes_of(module) == 0, "a module is told of a later job without being asked");
  expect(shmemx_loaded_module_init(module) == 0, "a module of a later job");
  expect(pes_of(module) == shmem_n_pes(), "the number of PEs of a later job");
#if !defined(USE_CUDA)
  unload(of_memory);  // as rocSHMEM has no call to end what it has begun
  unload(module);
#else
  shmemx_loaded_module_finalize(module);
  unload(of_memory);
  unload(module);
#endif
  void* more = shmem_malloc_with_hints(64, SHMEMX_MALLOC_DEVICE);
  shmem_free(more);
  shmem_barrier_all();
  shmem_finalize();
  if (me == 0 && failures == 0) std::puts("modules by hand: all is right");
  return failures == 0 ? 0 : 1;
}
