// SPDX-License-Identifier: Apache-2.0
//
// The choice of a device: what the user says, what the program has made current, or in turn.
// Invariant: a program that has made a device current before shmem_init keeps it.
#include "gpu/device_choice.hpp"

#include <cstdlib>

#include "gpu/hip_error.hpp"

namespace meshmem {
namespace {

// Sets variables that the runtime reads before its first call only; the user's values stand.
void prepare_runtime() {
#if defined(MESHMEM_TARGET_CUDA)
  // CUDA loads a kernel when it is first launched, and may wait then for those that run; if they
  // wait for that one, for ever.
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
#elif defined(MESHMEM_TARGET_HIP)
  // AMD's runtime has fine-grained memory on GPUs without xGMI only if told. Before 5.7 there is no
  // other coherent memory; from 6.3 on a GPU without uncached memory would get coarse instead.
  setenv("HSA_FORCE_FINE_GRAIN_PCIE", "1", 0);
#endif
}

}  // namespace

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

}  // namespace meshmem
