// SPDX-License-Identifier: Apache-2.0
//
// Turns HIP's errors into the library's.
// Invariant: HIP's last error is cleared, so that a program that asks for it sees only its own
// errors. Called wherever src/ calls HIP.
#ifndef MESHMEM_GPU_HIP_ERROR_HPP_
#define MESHMEM_GPU_HIP_ERROR_HPP_

#include <hip/hip_runtime_api.h>

#include <cstddef>

#include "base/error.hpp"

namespace meshmem {

// Returns text to add to the reason. HIP and CUDA have these numbers in common: a bad address, an
// assertion, a bad instruction, a bad address space, a trap.
inline const char* hint_for(hipError_t error) {
  for (const int of_kernels : {700, 710, 715, 717, 719}) {
    if (static_cast<int>(error) == of_kernels)
      return "; a mistake has ended a kernel: compile it with oshhip --check, which names the "
             "mistake";
  }
  return "";
}

// Ends the job with "cannot <what>: <reason>" unless the call has succeeded.
template <typename... Args>
void check(hipError_t result, fmt::format_string<Args...> what, Args&&... args) {
  if (result != hipSuccess) [[unlikely]] {
    fatal("cannot {}: {}{}", fmt::format(what, std::forward<Args>(args)...),
          hipGetErrorString(result), hint_for(result));
  }
}

// For a call whose failure is an answer and not an error. Returns whether it has succeeded.
inline bool succeeds(hipError_t result) {
  if (result == hipSuccess) return true;
  (void)hipGetLastError();
  return false;
}

// hipSuccess if the work before the event is done, hipErrorNotReady if not, or an error.
inline hipError_t state_of(hipEvent_t event) {
  const hipError_t state = hipEventQuery(event);
  if (state == hipErrorNotReady) (void)hipGetLastError();
  return state;
}
// Makes an event of the current device, which is `device`.
inline hipEvent_t make_event(int device) {
  hipEvent_t event = nullptr;
  check(hipEventCreateWithFlags(&event, hipEventDisableTiming), "make an event on device {}",
        device);
  return event;
}

// Takes host memory whose pages stay where they are. On AMD GPUs kernels store there, and only
// hipHostMallocMapped makes it coherent.
inline std::byte* pin_memory(std::size_t bytes,
                             unsigned flags = hipHostMallocPortable | hipHostMallocMapped) {
  void* memory = nullptr;
  check(hipHostMalloc(&memory, bytes, flags), "pin {} bytes of host memory", bytes);
  return static_cast<std::byte*>(memory);
}

// Makes a device current for as long as this lives: programs may use others, and a thread that has
// never called HIP has device 0.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    if (hipGetDevice(&before_) != hipSuccess || before_ == device) {
      before_ = device;
    } else {
      check(hipSetDevice(device), "use device {}", device);
      changed_ = true;
    }
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() {
    if (changed_) (void)hipSetDevice(before_);
  }

 private:
  int before_ = 0;
  bool changed_ = false;
};

// Lets this thread wait for events and take memory while the program captures a stream in a mode
// that forbids that. The library's work on its own streams does not become part of the graph.
class RelaxedCapture {
 public:
  RelaxedCapture() { (void)hipThreadExchangeStreamCaptureMode(&mode_); }
  ~RelaxedCapture() { (void)hipThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  hipStreamCaptureMode mode_ = hipStreamCaptureModeRelaxed;
};

}  // namespace meshmem

#endif  // MESHMEM_GPU_HIP_ERROR_HPP_
