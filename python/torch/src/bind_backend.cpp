// SPDX-License-Identifier: Apache-2.0
//
// The backend as a class of Python, which _process_group.py makes.
#include <torch/csrc/utils/pybind.h>

#include <torch/csrc/distributed/c10d/python_callback_work.hpp>

#include "backend.hpp"
#include "parts.hpp"

namespace meshmem::pytorch {

namespace py = pybind11;

void register_backend(py::module& module) {
  py::module::import("torch.distributed");  // has registered its base
  py::class_<Backend, c10d::Backend, c10::intrusive_ptr<Backend>>(module, "Backend")
      .def(py::init([](int rank, std::vector<int> pes, double timeout, const std::string& name,
                       bool has_gpus) {
             const py::gil_scoped_release unlocked;
             return c10::make_intrusive<Backend>(rank, std::move(pes), timeout, name, has_gpus);
           }),
           py::arg("rank"), py::arg("pes"), py::arg("timeout"), py::arg("name"),
           py::arg("has_gpus"));
  module.def("leave_python", &leave_python, py::call_guard<py::gil_scoped_release>());
}

}  // namespace meshmem::pytorch
