// SPDX-License-Identifier: Apache-2.0
//
// Modules of device code that come while the job runs.
// Invariant: a module is loaded, and told again, by each PE for itself; only the checks are
// collective.
#include <dlfcn.h>

#include "device_array.hpp"
#include "own_stream.hpp"

namespace meshmem {
namespace {

using PutByLateModule = void (*)(long* dest, long value, int pe);

TEST(Modules, ALibraryThatIsLoadedLaterKnowsTheJob) {
  DeviceArray<long> word(1, 0);
  shmem_barrier_all();
  void* const library = dlopen(MESHMEM_LATE_MODULE, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  shmemx_module_init();
  const auto put = reinterpret_cast<PutByLateModule>(dlsym(library, "put_by_late_module"));
  ASSERT_NE(put, nullptr);
  put(word.data(), 100 + my_pe(), next_pe());
  meet_after_kernels();
  EXPECT_EQ(word.first(), 100 + previous_pe());
  shmem_barrier_all();
  EXPECT_EQ(dlclose(library), 0);
  shmemx_module_init();  // tells those that are left
}

void* late_place = nullptr;
void* place_of_late() { return late_place; }

// As HIP's compiler for AMD GPUs orders the initializers of a library that is loaded later.
TEST(Modules, GetTheirStateAtInitIfTheDeviceLoadsThemLate) {
  void* memory = nullptr;
  must(hipMalloc(&memory, sizeof(device::State)), "hipMalloc");
  shmemx_register_module(sizeof(device::State), &place_of_late);
  late_place = memory;
  shmemx_module_init();
  device::State state{};
  must(hipMemcpy(&state, memory, sizeof state, hipMemcpyDeviceToHost), "hipMemcpy");
  EXPECT_EQ(state.me, my_pe());
  EXPECT_EQ(state.n_pes, n_pes());
  shmemx_unregister_module(&place_of_late);
  must(hipFree(memory), "hipFree");
}

// Modules that are loaded by hand: amd_gpu.job has some. On processors there are none.
TEST(Modules, OtherPointersAreRefused) {
  int other = 0;
  EXPECT_NE(shmemx_loaded_module_init(nullptr), 0);
  EXPECT_NE(shmemx_loaded_module_finalize(&other), 0);
#if defined(MESHMEM_TARGET_IS_CPU)
  EXPECT_NE(shmemx_loaded_module_init(&other), 0);
#endif
}

__global__ void wait_for_one(long* flag) { shmem_long_wait_until(flag, SHMEM_CMP_EQ, 1); }

TEST(Modules, AreToldWhileAKernelOfTheDefaultStreamWaitsForTheHost) {
  DeviceArray<long> flag(1, 0);
  launch(&wait_for_one, 1, 1, flag.data());
  shmemx_module_init();
  shmem_long_p(flag.data(), 1, my_pe());
  shmem_quiet();
  synchronize();
}

}  // namespace
}  // namespace meshmem
