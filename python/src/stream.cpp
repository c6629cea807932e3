// SPDX-License-Identifier: Apache-2.0
//
// Puts and gets on a stream, and what all on-stream forms ask of their arguments.
// Invariant: the memory of a GPU is never read here.
#include "stream.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <initializer_list>
#include <vector>

namespace meshmem::python {
namespace {

// The address of a GPU's memory that another library has.
char* address_on_gpu(nb::handle interface, const Array& array, const char* name) {
  if (!interface["typestr"].equal(array.dtype.attr("str")))
    fail(PyExc_TypeError, std::string(name) + ": its dtype is not that of the array");
  if (!interface["shape"].equal(shape_of(array)))
    fail(PyExc_ValueError, std::string(name) + ": its shape is not that of the array");
  const nb::object strides = interface.attr("get")("strides");
  if (!strides.is_none()) {
    Layout layout = array.layout;
    layout.strides = nb::cast<std::vector<Py_ssize_t>>(strides);
    if (!layout.is_contiguous()) fail(PyExc_ValueError, std::string(name) + ": not contiguous");
  }
  return reinterpret_cast<char*>(nb::cast<std::uintptr_t>(interface["data"][0]));
}

// The address of the end of a put or get that is not symmetric.
char* local_address(nb::handle object, const Array& array, const char* name, bool is_written) {
  if (nb::isinstance<Array>(object)) {
    const auto& local = nb::cast<const Array&>(object);
    local.require_contiguous(name);
    if (local.layout.format != array.layout.format)
      fail(PyExc_TypeError, std::string(name) + ": its dtype is not that of the array");
    if (local.layout.shape != array.layout.shape)
      fail(PyExc_ValueError, std::string(name) + ": its shape is not that of the array");
    return local.data;
  }
  if (nb::hasattr(object, "__cuda_array_interface__"))
    return address_on_gpu(object.attr("__cuda_array_interface__"), array, name);
  if (!array.allocation->device.is_host())
    fail(PyExc_TypeError, std::string(name) + ": not in a GPU's memory");
  const Buffer buffer(object, name, is_written);
  buffer.require_shape_of(array, name);
  buffer.require_contiguous(name);
  return buffer.data();
}

}  // namespace

Stream stream_of(nb::handle object) {
  if (object.is_none()) return std::nullopt;
  nb::object address = nb::borrow(object);
  for (const char* name : {"cuda_stream", "ptr"})  // torch's and CuPy's
    if (nb::hasattr(object, name)) address = object.attr(name);
  if (!nb::isinstance<nb::int_>(address))
    fail(PyExc_TypeError, "stream: needs a stream of torch or CuPy, or its address");
  return reinterpret_cast<shmemx_stream_t>(nb::cast<std::uintptr_t>(address));
}

void require_reached(const Array& array, const char* name) {
  if (shmemx_reached_on_stream(array.data, array.layout.size() * array.layout.itemsize)) return;
  fail(PyExc_ValueError,
       std::string(name) + ": kernels do not reach it; make it on device \"gpu\"");
}

void move_on_stream(const Array& array, Op op, int pe, nb::handle object, shmemx_stream_t stream) {
  const bool is_put = op == Op::put;
  const char* const name = is_put ? "values" : "out";
  array.require_contiguous("array");
  require_pe(pe, job.n_pes);
  require_reached(array, "array");
  void* const local = local_address(object, array, name, !is_put);
  void* const there = array.data;
  const Mover mover = python::mover(op, array, array.layout.size(), "array", On::stream);
  const Unlocked unlocked;
  call(mover.function, nullptr, is_put ? there : local, is_put ? local : there, mover.nelems, pe,
       stream);
}

void put_signal_on_stream(const Array& array, int pe, nb::handle values, uint64_t* signal,
                          uint64_t value, int signal_op, shmemx_stream_t stream) {
  array.require_contiguous("array");
  require_pe(pe, job.n_pes);
  require_reached(array, "array");
  void* const local = local_address(values, array, "values", false);
  const Mover mover =
      python::mover(Op::put_signal, array, array.layout.size(), "array", On::stream);
  const Unlocked unlocked;
  call(mover.function, nullptr, static_cast<void*>(array.data), local, mover.nelems,
       static_cast<void*>(signal), value, signal_op, pe, stream);
}

}  // namespace meshmem::python
