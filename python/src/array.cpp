// SPDX-License-Identifier: Apache-2.0
//
// Symmetric arrays: allocation (OpenSHMEM 1.6, 9.3), views, and what they ask before a call.
// Invariant: the arrays that share an allocation see its end.
#include "array.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "context.hpp"

namespace meshmem::python {
namespace {

void find_near_pes(const void* symmetric) {
  job.is_near.resize(job.n_pes);
  for (int pe = 0; pe < job.n_pes; ++pe) job.is_near[pe] = shmem_ptr(symmetric, pe) != nullptr;
}

// Sets the shape, and strides without gaps. Returns the number of bytes.
std::size_t set_shape(Layout& layout, const std::vector<Py_ssize_t>& shape) {
  layout.shape = shape;
  layout.strides.resize(shape.size());
  std::size_t bytes = layout.itemsize;
  for (auto i = shape.size(); i-- > 0;) {
    layout.strides[i] = static_cast<Py_ssize_t>(bytes);
    if (shape[i] < 0) fail(PyExc_ValueError, "shape: a negative number in " + text_of(shape));
    if (shape[i] && bytes > std::numeric_limits<Py_ssize_t>::max() / std::size_t(shape[i]))
      fail(PyExc_ValueError, "shape: too large: " + text_of(shape));
    bytes *= shape[i];
  }
  return bytes;
}

constexpr std::size_t kLeastAlignment = 64;

[[noreturn]] void fail_for_room(std::size_t bytes, std::size_t alignment, bool is_on_device) {
  const bool is_aligned = alignment > kLeastAlignment;
  fail(PyExc_MemoryError,
       (is_aligned ? "align: no " : "shape: no ") + std::to_string(bytes) + " bytes are left " +
           (is_aligned ? "at a multiple of " + std::to_string(alignment) + " " : "") + "in the " +
           (is_on_device ? "device heap (MESHMEM_DEVICE_HEAP_SIZE), or a PE has no device"
                         : "symmetric heap (SHMEM_SYMMETRIC_SIZE)"));
}

void clear(char* data, std::size_t bytes, const Device& device) {
  if (device.is_host()) {
    std::memset(data, 0, bytes);
    return;
  }
  static const std::vector<char> zeros(1 << 20);
  for (std::size_t at = 0; at < bytes; at += zeros.size())
    shmem_putmem(data + at, zeros.data(), std::min(zeros.size(), bytes - at), job.my_pe);
}

// `sample` is a NumPy array of the dtype.
Array* allocate(const std::vector<Py_ssize_t>& shape, nb::handle sample, bool is_cleared,
                std::size_t alignment, long hints, bool is_on_device) {
  require_active();
  if (alignment & (alignment - 1)) fail(PyExc_ValueError, "align: not a power of two");
  if (hints & ~(SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE))
    fail(PyExc_ValueError, "hints: neither MALLOC_ATOMICS_REMOTE nor MALLOC_SIGNAL_REMOTE");
  Layout layout = layout_of(Buffer(sample, "dtype", false).view());
  const std::size_t bytes = set_shape(layout, shape);
  char* data;
  Device device;
  {
    const Unlocked unlocked;
    data = static_cast<char*>(shmemx_align_with_hints(
        std::max(alignment, kLeastAlignment), std::max<std::size_t>(bytes, 1),
        hints | (is_on_device ? SHMEMX_MALLOC_DEVICE : SHMEMX_MALLOC_HOST)));
    if (data && is_on_device) device = device_of(data);
    if (data && is_cleared) clear(data, bytes, device);
    if (is_cleared) shmem_barrier_all();
  }
  if (!data) fail_for_room(bytes, alignment, is_on_device);
  if (job.is_near.empty()) find_near_pes(data);
  const Code code = code_of_format(layout.format);
  return new Array{std::make_shared<Allocation>(data, bytes, device), data, std::move(layout),
                   sample.attr("dtype"), code};
}

// Ends the array's use of its allocation and returns its memory.
void* take_memory(Array& array) {
  require_active();
  array.require_usable("array");
  if (!array.is_whole) fail(PyExc_ValueError, "array: a view; free the array that it belongs to");
  if (array.allocation->n_exports) {
    quiet(default_context);  // shmem_free waits for the same
    PyGC_Collect();
  }
  if (const long n = array.allocation->n_exports) {
    fail(PyExc_BufferError,
         "array: " + std::to_string(n) + " NumPy arrays or memoryviews of it are still in use");
  }
  return std::exchange(array.allocation->data, nullptr);
}

void free_allocation(Array& array) {
  void* const data = take_memory(array);
  const Unlocked unlocked;
  shmem_free(data);
}

Array* reallocate(Array& array, const std::vector<Py_ssize_t>& shape) {
  Layout layout = array.layout;
  const std::size_t bytes = set_shape(layout, shape);
  char* const before = static_cast<char*>(take_memory(array));
  char* data;
  {
    const Unlocked unlocked;
    data = static_cast<char*>(shmem_realloc(before, std::max<std::size_t>(bytes, 1)));
  }
  if (!data) {
    array.allocation->data = before;
    fail_for_room(bytes, 0, !array.allocation->device.is_host());
  }
  return new Array{std::make_shared<Allocation>(data, bytes, array.allocation->device), data,
                   std::move(layout), array.dtype, array.code};
}

// Any other key makes NumPy copy elements, which may be in a GPU's memory.
void require_basic_index(nb::handle part) {
  if (part.is_none() || part.ptr() == Py_Ellipsis || PySlice_Check(part.ptr())) return;
  if (!PyBool_Check(part.ptr()) && nb::steal(PyNumber_Index(part.ptr())).is_valid()) return;
  PyErr_Clear();
  fail(PyExc_TypeError, "key: only numbers, slices, None and ... give a view");
}

Array* view(nb::handle self, nb::handle key) {
  const auto& array = nb::cast<const Array&>(self);
  array.require_usable("array");
  nb::tuple all = nb::isinstance<nb::tuple>(key) ? nb::borrow<nb::tuple>(key) : nb::make_tuple(key);
  bool has_ellipsis = false;
  for (const auto part : all) {
    require_basic_index(part);
    has_ellipsis |= part.ptr() == Py_Ellipsis;
  }
  // An ellipsis makes NumPy give a view of one element, too, and not its value.
  if (!has_ellipsis) all = nb::tuple(all + nb::make_tuple(nb::ellipsis()));
  const LooksAtLayout looks;
  const nb::object chosen = as_numpy(self)[all];
  const Buffer buffer(chosen, "key", false);
  Layout layout = layout_of(buffer.view());
  char* const begin = array.allocation->data;
  char* const data = layout.size() == 0 ? begin : buffer.data();  // NumPy's may lie anywhere
  layout.format = array.layout.format;  // NumPy's for a struct depends on the strides
  return new Array{array.allocation, data,  std::move(layout), array.dtype,
                   array.code,       false, array.is_symmetric};
}

}  // namespace

nb::tuple shape_of(const Array& array) { return nb::tuple(nb::cast(array.layout.shape)); }

void Array::require_usable(const char* name) const {
  require_active();
  if (!allocation->is_there()) fail(PyExc_ValueError, std::string(name) + ": it was freed");
  if (!is_symmetric) fail(PyExc_ValueError, std::string(name) + ": another PE's memory");
}
void Array::require_contiguous(const char* name) const {
  require_usable(name);
  if (!layout.is_contiguous()) fail(PyExc_ValueError, std::string(name) + ": not contiguous");
}
void Array::require_host(const char* name) const {
  if (allocation->device.is_host()) return;
  fail(PyExc_TypeError,
       std::string(name) + ": in a GPU's memory; get(pe) copies it, and torch and CuPy share it");
}
char* Array::element(std::size_t index, const char* name) const {
  require_contiguous(name);
  if (index >= layout.size()) {
    fail(PyExc_IndexError,
         "index: " + std::to_string(index) + " is not below " + std::to_string(layout.size()));
  }
  return data + index * layout.itemsize;
}
Function Array::routine(Op op, const char* name, On on) const {
  if (const auto function = find(op, code, on)) return function;
  fail(PyExc_TypeError,
       std::string(name) + ": OpenSHMEM has no such routine for dtype " + nb::str(dtype).c_str());
}

Mover mover(Op op, const Array& array, std::size_t n, const char* name, On on) {
  const auto itemsize = static_cast<std::size_t>(array.layout.itemsize);
  if (const auto function = find(op, array.code, on)) return {function, n};
  for (const auto code : {Code::uint8, Code::uint16, Code::uint32, Code::uint64, Code::bits128})
    if (itemsize == (code == Code::bits128 ? 16U : 1U << (int(code) - int(Code::uint8))))
      if (const auto function = find(op, code, on)) return {function, n};
  if (const auto function = find(op, Code::bytes, on); function && op != Op::alltoalls)
    return {function, n * itemsize};
  fail(PyExc_TypeError, std::string(name) + ": elements of " + std::to_string(itemsize) +
                            " bytes cannot be moved so (dtype " + nb::str(array.dtype).c_str() +
                            ")");
}

void bind_arrays(nb::module_& module) {
  nb::class_<Array> array(module, "Array", nb::type_slots(slots_of_export()),
                          "An array of the same shape and dtype on every PE, in symmetric memory "
                          "(OpenSHMEM 1.6, section 9.3).\n\n"
                          "zeros(), empty() and full() make arrays. numpy.asarray(array) and "
                          "array.local share its memory. array[key] is a view, whose methods move "
                          "only that part. Only free() releases the memory.");
  module.def("allocate", &allocate, nb::arg("shape"), nb::arg("sample"), nb::arg("is_cleared"),
             nb::arg("align"), nb::arg("hints"), nb::arg("is_on_device"));
  module.def("reallocate", &reallocate, nb::arg("array"), nb::arg("shape"));
  module.def(
      "device_of",
      [](std::uintptr_t address) {
        const Device device = device_of(reinterpret_cast<const void*>(address));
        return nb::make_tuple(static_cast<int>(device.kind), device.number);
      },
      nb::arg("address"), nb::sig("def device_of(address: int) -> tuple[int, int]"),
      "As __dlpack_device__ of an array at this address of the device heap.");
  array.def("free", &free_allocation,
            "Releases the memory (9.3, shmem_free). Collective: all PEs free the same arrays in "
            "the same order.\n\nRaises BufferError while a NumPy array or a memoryview of the "
            "array exists, and ValueError for a view or an array that was freed. The other PEs "
            "wait until this PE calls it again.");
  bind_with(array, [](Array& self, bool is_error) {
    if (!is_error && self.allocation->is_there()) free_allocation(self);
  });
  array.def("__getitem__", &view, nb::arg("key").none(),
            "A view of a part, by NumPy's basic indexing. Of one element it has no dimension.");
  array.def(
      "__setitem__",
      [](nb::handle self, nb::handle key, nb::handle value) {
        const auto& a = nb::cast<const Array&>(self);
        a.require_usable("array");
        a.require_host("array");
        as_numpy(self)[key] = value;
      },
      nb::arg("key").none(), nb::arg("value"),
      "Sets a part of this PE's own array, as NumPy does.");
  array.def("__len__", [](const Array& self) {
    if (self.layout.shape.empty()) fail(PyExc_TypeError, "array: it has no dimension");
    return self.layout.shape[0];
  });
  array.def("__repr__", [](nb::handle self) {
    const auto& a = nb::cast<const Array&>(self);
    return std::string("meshmem.Array(shape=") + text_of(a.layout.shape) +
           ", dtype=" + nb::str(a.dtype).c_str() + (a.allocation->is_there() ? ")" : ", freed)");
  });
  array.def_prop_ro("shape", &shape_of, nb::sig("def shape(self) -> tuple[int, ...]"),
                    "As NumPy's.");
  array.def_prop_ro(
      "dtype", [](const Array& a) { return a.dtype; },
      nb::sig("def dtype(self) -> numpy.dtype[typing.Any]"), "As NumPy's.");
  array.def_prop_ro(
      "size", [](const Array& a) { return a.layout.size(); }, "The number of elements.");
  array.def(
      "is_accessible",
      [](const Array& a, int pe) {
        a.require_usable("array");
        require_pe(pe, job.n_pes);
        return shmem_addr_accessible(a.data, pe) != 0;
      },
      nb::arg("pe"), "Whether PE pe's part can be reached (9.2, shmem_addr_accessible).");
  bind_export(array);
  bind_one_sided(array);
  bind_waits(array);
}

}  // namespace meshmem::python
