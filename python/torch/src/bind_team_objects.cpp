// SPDX-License-Identifier: Apache-2.0
//
// Experts, AllReduceNorm and Quantized as classes of Python. _experts.py and _fused.py have those
// that programs use.
#include "experts.hpp"
#include "fused.hpp"
#include "parts.hpp"

namespace meshmem::pytorch {

namespace py = pybind11;

namespace {

c10::Device device_of(const void* address) {
  constexpr int kHost = 1;  // DLPack's number
  const py::gil_scoped_acquire locked;
  const auto [kind, number] = py::module::import("meshmem._core")
                                  .attr("device_of")(reinterpret_cast<std::uintptr_t>(address))
                                  .cast<std::pair<int, int>>();
  if (kind == kHost) return c10::kCPU;
  return {c10::kCUDA, static_cast<c10::DeviceIndex>(number)};  // PyTorch calls AMD's so too
}

using Unlocked = py::call_guard<py::gil_scoped_release>;

void register_experts(py::module& module) {
  py::class_<Experts, TeamObject> experts(module, "Experts");
  experts.def(py::init([](const std::vector<int>& pes, c10::ScalarType dtype,
                          std::optional<c10::ScalarType> result_dtype, int hidden, int top_k,
                          int n_experts, int max_tokens, int capacity, int max_blocks) {
                const py::gil_scoped_release unlocked;
                shmemx_moe_shape_t shape{};
                shape.hidden = hidden;
                shape.top_k = top_k;
                shape.experts = n_experts;
                shape.max_tokens = max_tokens;
                shape.capacity = capacity;
                shape.max_blocks = max_blocks;
                return std::make_unique<Experts>(pes, Experts::Types{dtype, result_dtype}, shape,
                                                 device_of);
              }),
              py::arg("pes"), py::arg("dtype"), py::arg("result_dtype"), py::arg("hidden"),
              py::arg("top_k"), py::arg("experts"), py::arg("max_tokens"), py::arg("capacity"),
              py::arg("max_blocks"));
  experts.def("plan", &Experts::plan, Unlocked());
  experts.def("dispatch", &Experts::dispatch, Unlocked());
  experts.def("combine", &Experts::combine, Unlocked());
  experts.def("first_expert", &Experts::first_expert);
  for (const auto& [name, tensor] : {std::pair{"rows", &Experts::rows},
                                     {"row_scales", &Experts::row_scales},
                                     {"results", &Experts::results},
                                     {"counts", &Experts::counts},
                                     {"offsets", &Experts::offsets},
                                     {"dropped", &Experts::dropped},
                                     {"status", &Experts::status}})
    experts.def(name, tensor);
}

template <typename Class>
py::class_<Class, TeamObject> register_fused(py::module& module, const char* name) {
  py::class_<Class, TeamObject> registered(module, name);
  registered.def(py::init([](std::vector<int> pes, std::int64_t stage_bytes, std::string library) {
    const py::gil_scoped_release unlocked;
    return std::make_unique<Class>(
        Fused::Options{std::move(pes), stage_bytes, std::move(library), device_of});
  }));
  return registered;
}

}  // namespace

void register_team_objects(py::module& module) {
  py::class_<TeamObject>(module, "TeamObject")
      .def("close", &TeamObject::close, py::arg("is_of_this_job"), Unlocked())
      .def("is_open", &TeamObject::is_open);
  register_experts(module);
  register_fused<AllReduceNorm>(module, "AllReduceNorm")
      .def("execute", &AllReduceNorm::execute, Unlocked());
  auto quantized = register_fused<Quantized>(module, "Quantized");
  for (const auto& [name, move] : {std::pair{"all_reduce", Move::all_reduce},
                                   {"reduce_scatter", Move::reduce_scatter},
                                   {"all_gather", Move::all_gather}})
    quantized.def(
        name,
        [move = move](Quantized& self, const at::Tensor& tensor, const std::string& wire,
                      const std::optional<at::Tensor>& out) {
          return self.execute(move, tensor, wire, out);
        },
        Unlocked());
}

}  // namespace meshmem::pytorch
