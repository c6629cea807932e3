// SPDX-License-Identifier: Apache-2.0
// Names and texts of errors, and each thread's last one.
// Invariant: hipGetLastError takes the error away, hipPeekAtLastError leaves it.
#include "errors.hpp"

namespace hip_on_cpu {
namespace {

thread_local hipError_t last_error = hipSuccess;

struct ErrorRow {
  hipError_t error;
  const char *name, *text;
};
constexpr ErrorRow kErrors[] = {
#define HIP_ON_CPU_ERROR(name, value, text) {name, #name, text},
#include "hip/on_cpu/errors.def"
#undef HIP_ON_CPU_ERROR
};

const ErrorRow& row_of(hipError_t error) {
  for (const ErrorRow& row : kErrors) {
    if (row.error == error) return row;
  }
  return row_of(hipErrorUnknown);
}

}  // namespace

hipError_t remember(hipError_t error) {
  if (error != hipSuccess && error != hipErrorNotReady) last_error = error;
  return error;
}

}  // namespace hip_on_cpu

using namespace hip_on_cpu;

extern "C" {

const char* hipGetErrorName(hipError_t error) {
  host_only();
  return row_of(error).name;
}
const char* hipGetErrorString(hipError_t error) {
  host_only();
  return row_of(error).text;
}

hipError_t hipPeekAtLastError(void) {
  host_only();
  return last_error;
}

hipError_t hipGetLastError(void) {
  host_only();
  const hipError_t error = last_error;
  last_error = hipSuccess;
  return error;
}

}  // extern "C"
