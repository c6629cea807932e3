// SPDX-License-Identifier: Apache-2.0
//
// A kernel that a header launches by <<<...>>>, which C++ compilers do not know.
#include "outside_launch.h"

bool device_takes(long value) {
  long *memory, found = 0;
  if (hipMalloc(&memory, sizeof(long)) != hipSuccess) return false;
  launch_set(memory, value);
  const bool copied = hipMemcpy(&found, memory, sizeof found, hipMemcpyDeviceToHost) == hipSuccess;
  return hipFree(memory) == hipSuccess && copied && found == value;
}
