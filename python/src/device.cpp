// SPDX-License-Identifier: Apache-2.0
//
// Asks the driver of a GPU which device has an address.
#include "device.hpp"

#include <dlfcn.h>

#include <initializer_list>

namespace meshmem::python {
namespace {

// Returns -1 if the driver is not loaded, or does not know the address.
int number_of_device(const char* library, const char* routine, const void* data) {
  constexpr int kDeviceOrdinal = 9;  // CU_ and HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL
  using GetAttribute = int (*)(void* value, int attribute, const void* address);
  void* const driver = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  if (!driver) return -1;
  const auto get = reinterpret_cast<GetAttribute>(dlsym(driver, routine));
  int number = -1;
  if (get && get(&number, kDeviceOrdinal, data) != 0) number = -1;
  dlclose(driver);
  return number;
}

}  // namespace

Device device_of(const void* data) {
  if (const int number = number_of_device("libcuda.so.1", "cuPointerGetAttribute", data);
      number >= 0)
    return {Device::cuda, number};
  for (const char* library : {"libamdhip64.so.5", "libamdhip64.so.6", "libamdhip64.so.7"})
    if (const int number = number_of_device(library, "hipPointerGetAttribute", data); number >= 0)
      return {Device::rocm, number};
  return {};
}

}  // namespace meshmem::python
