// SPDX-License-Identifier: Apache-2.0
//
// The extension module, and how processes that no launcher has started become PEs of a job.
// Invariant: the module is for exactly the version of PyTorch that it was compiled for; the name of
// its file says so. Loaded by meshmem/torch/_compiled.py.
#include <shmemx.h>

#include <cstring>
#include <string>

#include "parts.hpp"

namespace meshmem::pytorch {

namespace py = pybind11;

void register_job(py::module& module) {
  module.def("make_unique_id", [] {
    shmemx_uniqueid_t id;
    if (shmemx_get_uniqueid(&id)) throw std::runtime_error("meshmem: there is no unique id");
    return py::bytes(reinterpret_cast<const char*>(id.bytes), sizeof id.bytes);
  });
  module.def("start_by_unique_id", [](int rank, int size, const std::string& bytes) {
    shmemx_uniqueid_t id;
    if (bytes.size() != sizeof id.bytes)
      throw std::invalid_argument("meshmem: the store has another unique id");
    std::memcpy(id.bytes, bytes.data(), sizeof id.bytes);
    const py::gil_scoped_release unlocked;
    if (shmemx_init_attr(SHMEMX_INIT_WITH_UNIQUEID, rank, size, &id))
      throw std::runtime_error("meshmem: the job did not start; the line above says why");
  });
  // meshmem.init() has counted a second use of the library.
  module.def("end_extra_start", [] { shmem_finalize(); });
}

}  // namespace meshmem::pytorch

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  meshmem::pytorch::register_job(module);
  meshmem::pytorch::register_backend(module);
  meshmem::pytorch::register_symm_mem(module);
  meshmem::pytorch::register_team_objects(module);
}
