// SPDX-License-Identifier: Apache-2.0
//
// The symmetric memory's part of the extension module.
#include "parts.hpp"
#include "symm_mem.hpp"

namespace meshmem::pytorch {

void register_symm_mem(pybind11::module& module) {
  module.def("register_symm_mem", [](const pybind11::function& start) {
    // Not freed: the end of the process comes after that of Python.
    symm_mem::set_start([kept = new pybind11::function(start)] {
      const pybind11::gil_scoped_acquire locked;
      (*kept)();
    });
    symm_mem::register_cpu();
    symm_mem::register_cuda();
  });
}

}  // namespace meshmem::pytorch
