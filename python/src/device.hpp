// SPDX-License-Identifier: Apache-2.0
//
// Where an array's memory is, as DLPack tells it: on the host, or on which GPU.
// Invariant: the driver is only asked if the library has loaded it; the package links none.
// Used by the bindings of arrays.
#pragma once

namespace meshmem::python {

struct Device {
  // DLPack's numbers.
  enum Kind { host = 1, cuda = 2, rocm = 10 };

  Kind kind = host;
  int number = 0;

  bool is_host() const { return kind == host; }
};

// The device of memory from the device heap. Of the target cpu it is the host.
Device device_of(const void* data);

}  // namespace meshmem::python
