// SPDX-License-Identifier: Apache-2.0
//
// How NumPy and other libraries share an array's memory: Python's buffer protocol, NumPy's array
// interface and DLPack.
// Invariant: an array's layout never changes, so exported buffers may point into it.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "array.hpp"

namespace meshmem::python {
namespace {

nb::object copy_of_pe(nb::handle self, int pe, const char* copy) {
  const auto& array = nb::cast<const Array&>(self);
  if (!copy) return nb::none();
  // Another PE's memory, which stays as long as this one's.
  const auto there = nb::cast(new Array{array.allocation, const_cast<char*>(copy), array.layout,
                                        array.dtype, array.code, false, pe == job.my_pe},
                              nb::rv_policy::take_ownership);
  return array.allocation->device.is_host() ? as_numpy(there) : there;
}

nb::object array_interface(nb::handle self) {
  const auto& array = nb::cast<const Array&>(self);
  array.require_usable("array");
  if (!array.allocation->device.is_host()) fail(PyExc_AttributeError, "array: in a GPU's memory");
  return as_numpy(self).attr("__array_interface__");
}

const Array& array_on_gpu(nb::handle self) {
  const auto& array = nb::cast<const Array&>(self);
  require_active();
  if (!array.allocation->is_there()) fail(PyExc_ValueError, "array: it was freed");
  if (array.allocation->device.is_host())
    fail(PyExc_AttributeError, "array: not in a GPU's memory");
  return array;
}

nb::object cuda_array_interface(nb::handle self) {
  const Array& array = array_on_gpu(self);
  nb::dict interface;
  interface["version"] = 3;
  interface["typestr"] = array.dtype.attr("str");
  interface["shape"] = shape_of(array);
  interface["strides"] = nb::tuple(nb::cast(array.layout.strides));
  interface["data"] = nb::make_tuple(reinterpret_cast<std::uintptr_t>(array.data), false);
  return interface;
}

nb::dlpack::dtype dlpack_type_of(const Array& array) {
  const auto bits = static_cast<uint8_t>(8 * array.layout.itemsize);
  using Code = nb::dlpack::dtype_code;
  const auto kind = nb::cast<std::string>(array.dtype.attr("kind"));
  const std::pair<char, Code> all[] = {{'i', Code::Int},
                                       {'u', Code::UInt},
                                       {'f', Code::Float},
                                       {'c', Code::Complex},
                                       {'b', Code::Bool}};
  for (const auto& [letter, code] : all)
    if (kind[0] == letter) return {static_cast<uint8_t>(code), bits, 1};
  fail(PyExc_BufferError, "array: DLPack has no such dtype");
}

// A capsule of DLPack, which counts as an export until its user drops it.
nb::object dlpack_on_gpu(nb::handle self) {
  const Array& array = array_on_gpu(self);
  const LooksAtLayout looks;
  const nb::object holder = nb::steal(PyMemoryView_FromObject(self.ptr()));
  if (!holder.is_valid()) throw nb::python_error();
  const auto& [format, itemsize, shape, strides] = array.layout;
  const std::vector<std::size_t> sizes(shape.begin(), shape.end());
  std::vector<int64_t> steps;
  for (const auto stride : strides) steps.push_back(stride / itemsize);
  const auto& device = array.allocation->device;
  return nb::cast(nb::ndarray<>(array.data, sizes.size(), sizes.data(), holder, steps.data(),
                                dlpack_type_of(array), device.kind, device.number));
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  auto& array = *nb::inst_ptr<Array>(self);
  *view = {};
  if (!nb::inst_ready(self) || !array.allocation->is_there() || job.is_child || !job.is_active) {
    PyErr_SetString(PyExc_BufferError, "array: it was freed, or meshmem is not initialized");
    return -1;
  }
  if (!array.allocation->device.is_host() && !LooksAtLayout::is_here()) {
    PyErr_SetString(PyExc_BufferError, "array: in a GPU's memory");
    return -1;
  }
  auto& layout = array.layout;
  const auto asks_for = [&](int flag) { return (flags & flag) == flag; };
  const bool needs_fortran = asks_for(PyBUF_F_CONTIGUOUS) && layout.shape.size() > 1;
  const bool needs_order = !asks_for(PyBUF_STRIDES) || asks_for(PyBUF_C_CONTIGUOUS) ||
                           asks_for(PyBUF_F_CONTIGUOUS) || asks_for(PyBUF_ANY_CONTIGUOUS);
  if (needs_fortran || (needs_order && !layout.is_contiguous())) {
    PyErr_SetString(PyExc_BufferError, "array: not contiguous");
    return -1;
  }
  view->buf = array.data;
  view->obj = nb::handle(self).inc_ref().ptr();
  view->itemsize = layout.itemsize;
  view->len = static_cast<Py_ssize_t>(layout.size()) * layout.itemsize;
  view->ndim = static_cast<int>(layout.shape.size());
  view->format = flags & PyBUF_FORMAT ? layout.format.data() : nullptr;
  view->shape = flags & PyBUF_ND ? layout.shape.data() : nullptr;
  view->strides = asks_for(PyBUF_STRIDES) ? layout.strides.data() : nullptr;
  ++array.allocation->n_exports;
  ++job.n_exports;
  return 0;
}
void release_buffer(PyObject* self, Py_buffer*) {
  --nb::inst_ptr<Array>(self)->allocation->n_exports;
  --job.n_exports;
}

PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
                       {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
                       {0, nullptr}};

}  // namespace

PyType_Slot* slots_of_export() { return slots; }

void bind_export(nb::class_<Array>& array) {
  array.def_prop_ro(
      "local",
      [](nb::handle self) {
        nb::cast<const Array&>(self).require_host("array");
        return as_numpy(self);
      },
      nb::sig("def local(self) -> numpy.typing.NDArray[typing.Any]"),
      "This PE's own part as a NumPy array that shares the memory.");
  array.def_prop_ro("__array_interface__", &array_interface,
                    nb::sig("def __array_interface__(self) -> dict[str, typing.Any]"),
                    "For libraries without the buffer protocol. free() does not see their views.");
  array.def_prop_ro("__cuda_array_interface__", &cuda_array_interface,
                    nb::sig("def __cuda_array_interface__(self) -> dict[str, typing.Any]"),
                    "For CuPy, Numba and others, of arrays in a GPU's memory. free() does not see "
                    "their views.");
  array.def(
      "__array__",
      [](nb::handle self, nb::object dtype, nb::object copy) {
        nb::cast<const Array&>(self).require_host("array");
        nb::object local = as_numpy(self);
        if (!dtype.is_none() && !dtype.equal(local.attr("dtype")))
          return local.attr("astype")(dtype);
        if (!copy.is_none() && nb::cast<bool>(copy)) return local.attr("copy")();
        return local;
      },
      nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none(),
      nb::sig("def __array__(self, dtype: typing.Any = None, copy: bool | None = None) -> "
              "numpy.typing.NDArray[typing.Any]"));
  array.def(
      "__dlpack__",
      [](nb::handle self, nb::kwargs options) -> nb::object {
        if (!nb::cast<const Array&>(self).allocation->device.is_host()) return dlpack_on_gpu(self);
        return as_numpy(self).attr("__dlpack__")(**options);
      },
      nb::sig("def __dlpack__(self, **options: typing.Any) -> typing.Any"),
      "DLPack, as numpy.from_dlpack and others call it.");
  array.def(
      "__dlpack_device__",
      [](const Array& a) {
        const auto& device = a.allocation->device;
        return nb::make_tuple(static_cast<int>(device.kind), device.number);
      },
      nb::sig("def __dlpack_device__(self) -> tuple[int, int]"));
  array.def(
      "ptr",
      [](nb::handle self, int pe) {
        const auto& a = nb::cast<const Array&>(self);
        a.require_usable("array");
        require_pe(pe, job.n_pes);
        return copy_of_pe(self, pe, static_cast<char*>(shmem_ptr(a.data, pe)));
      },
      nb::arg("pe"), nb::sig("def ptr(self, pe: int) -> numpy.typing.NDArray[typing.Any] | None"),
      "PE pe's part as a NumPy array that shares its memory, or None if the PE is on another "
      "machine (9.3, shmem_ptr).");
}

}  // namespace meshmem::python
