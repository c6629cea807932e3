// SPDX-License-Identifier: Apache-2.0
//
// The parts of the extension module. Each adds its own names to the module.
// Called by module.cpp.
#pragma once
#include <torch/csrc/utils/pybind.h>

namespace meshmem::pytorch {

void register_job(pybind11::module& module);
void register_backend(pybind11::module& module);
void register_symm_mem(pybind11::module& module);
void register_team_objects(pybind11::module& module);

}  // namespace meshmem::pytorch
