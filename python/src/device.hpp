// SPDX-License-Identifier: Apache-2.0
//
// Finds where an array's memory is, on the host or on which GPU, in the numbers of DLPack.
// Invariant: asks a GPU's driver only if the process has loaded it already. The package links no
// driver. Used by the bindings of arrays.
#pragma once

namespace meshmem::python {

struct Device {
  // DLPack's numbers.
  enum Kind { host = 1, cuda = 2, rocm = 10 };

  Kind kind = host;
  int number = 0;

  bool is_host() const { return kind == host; }
};

// Returns the device of memory from the device heap. On the target cpu this is the host.
Device device_of(const void* data);

}  // namespace meshmem::python
