// SPDX-License-Identifier: Apache-2.0
//
// Symmetric arrays: allocation (OpenSHMEM 1.6, 9.3), views, Python's buffer protocol, and values.
// Invariant: an array's layout never changes, so exported buffers may point into it.
#include "array.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>

namespace meshmem::python {
namespace {

Code code_of_format(const std::string& format) {
  static const std::pair<const char*, Code> codes[] = {
      {"b", Code::int8},       {"h", Code::int16},      {"i", Code::int32},
      {"l", Code::int64},      {"B", Code::uint8},      {"H", Code::uint16},
      {"I", Code::uint32},     {"L", Code::uint64},     {"f", Code::float32},
      {"d", Code::float64},    {"g", Code::longdouble}, {"Zf", Code::complex64},
      {"Zd", Code::complex128}};
  for (const auto& [text, code] : codes)
    if (format == text) return code;
  return Code::none;
}

const char* without_order(const char* format) {
  if (!format) return "B";
  return *format == '@' || *format == '=' || *format == '<' ? format + 1 : format;
}
// C's long and long long are one type here.
char as_long(char letter) { return letter == 'q' ? 'l' : letter == 'Q' ? 'L' : letter; }
bool is_format(const char* format, const std::string& wanted) {
  format = without_order(format);
  if (wanted.size() == 1) return as_long(format[0]) == wanted[0] && format[1] == 0;
  return wanted == format;
}

std::string text_of(const std::vector<Py_ssize_t>& shape) {
  std::string text = "(";
  for (const auto n : shape) text += std::to_string(n) + ",";
  return text + ")";
}

nb::object as_numpy(nb::handle array) { return numpy().attr("asarray")(array); }

void find_near_pes(const void* symmetric) {
  job.is_near.resize(job.n_pes);
  for (int pe = 0; pe < job.n_pes; ++pe) job.is_near[pe] = shmem_ptr(symmetric, pe) != nullptr;
}

// `sample` is a NumPy array of the dtype.
Array* allocate(const std::vector<Py_ssize_t>& shape, nb::handle sample, bool is_cleared,
                std::size_t alignment, long hints) {
  require_active();
  if (alignment & (alignment - 1)) fail(PyExc_ValueError, "align: not a power of two");
  if (hints & ~(SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE))
    fail(PyExc_ValueError, "hints: neither MALLOC_ATOMICS_REMOTE nor MALLOC_SIGNAL_REMOTE");
  Layout layout = layout_of(Buffer(sample, "dtype", false).view());
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
  void* data;
  {
    const Unlocked unlocked;
    const std::size_t at_least = std::max<std::size_t>(bytes, 1);
    data = shmemx_align_with_hints(std::max<std::size_t>(alignment, 64), at_least,
                                   hints | SHMEMX_MALLOC_HOST);
    if (data && is_cleared) std::memset(data, 0, at_least);
    if (is_cleared) shmem_barrier_all();
  }
  if (!data) {
    fail(PyExc_MemoryError, "shape: no " + std::to_string(bytes) +
                                " bytes are left in the symmetric heap (SHMEM_SYMMETRIC_SIZE)");
  }
  if (job.is_near.empty()) find_near_pes(data);
  const Code code = code_of_format(layout.format);
  auto* memory = static_cast<char*>(data);
  return new Array{std::make_shared<Allocation>(Allocation{memory, bytes}), memory,
                   std::move(layout), sample.attr("dtype"), code};
}

void free_allocation(Array& array) {
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
  void* const data = std::exchange(array.allocation->data, nullptr);
  const Unlocked unlocked;
  shmem_free(data);
}

Array* view(nb::handle self, nb::handle key) {
  const auto& array = nb::cast<const Array&>(self);
  array.require_usable("array");
  // An ellipsis makes NumPy give a view of one element, too, and not its value.
  nb::object all = nb::borrow(key);
  bool has_ellipsis = key.ptr() == Py_Ellipsis;
  if (nb::isinstance<nb::tuple>(key))
    for (const auto part : nb::borrow<nb::tuple>(key)) has_ellipsis |= part.ptr() == Py_Ellipsis;
  if (!has_ellipsis) {
    const nb::tuple first =
        nb::isinstance<nb::tuple>(key) ? nb::borrow<nb::tuple>(key) : nb::make_tuple(key);
    all = first + nb::make_tuple(nb::ellipsis());
  }
  const nb::object chosen = as_numpy(self)[all];
  const Buffer buffer(chosen, "key", false);
  const char* begin = array.allocation->data;
  if (buffer.data() < begin || buffer.data() > begin + array.allocation->bytes)
    fail(PyExc_TypeError, "key: only numbers, slices, None and ... give a view");
  Layout layout = layout_of(buffer.view());
  layout.format = array.layout.format;  // NumPy's for a struct depends on the strides
  return new Array{array.allocation, buffer.data(), std::move(layout), array.dtype,
                   array.code,       false,         array.is_symmetric};
}

nb::object copy_of_pe(nb::handle self, int pe, const char* copy) {
  const auto& array = nb::cast<const Array&>(self);
  if (!copy) return nb::none();
  // Another PE's memory, which stays as long as this one's.
  return as_numpy(nb::cast(new Array{array.allocation, const_cast<char*>(copy), array.layout,
                                     array.dtype, array.code, false, pe == job.my_pe},
                           nb::rv_policy::take_ownership));
}

nb::object array_interface(nb::handle self) {
  nb::cast<const Array&>(self).require_usable("array");
  return as_numpy(self).attr("__array_interface__");
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  auto& array = *nb::inst_ptr<Array>(self);
  *view = {};
  if (!nb::inst_ready(self) || !array.allocation->is_there() || job.is_child || !job.is_active) {
    PyErr_SetString(PyExc_BufferError, "array: it was freed, or meshmem is not initialized");
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

nb::tuple shape_of(const Array& array) { return nb::tuple(nb::cast(array.layout.shape)); }
const nb::module_& numpy() {
  static const auto& module = *new nb::module_(nb::module_::import_("numpy"));
  return module;
}

std::size_t Layout::size() const {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}
bool Layout::is_contiguous() const {
  if (size() == 0) return true;
  Py_ssize_t stride = itemsize;
  for (auto i = shape.size(); i-- > 0; stride *= shape[i])
    if (shape[i] != 1 && strides[i] != stride) return false;
  return true;
}

Layout layout_of(const Py_buffer& view) {
  Layout layout{without_order(view.format), view.itemsize, {}, {}};
  if (layout.format.size() == 1) layout.format[0] = as_long(layout.format[0]);
  layout.shape.assign(view.shape, view.shape + view.ndim);
  layout.strides.assign(view.strides, view.strides + view.ndim);
  return layout;
}

void Array::require_usable(const char* name) const {
  require_active();
  if (!allocation->is_there()) fail(PyExc_ValueError, std::string(name) + ": it was freed");
  if (!is_symmetric) fail(PyExc_ValueError, std::string(name) + ": another PE's memory");
}
void Array::require_contiguous(const char* name) const {
  require_usable(name);
  if (!layout.is_contiguous()) fail(PyExc_ValueError, std::string(name) + ": not contiguous");
}
char* Array::element(std::size_t index, const char* name) const {
  require_contiguous(name);
  if (index >= layout.size()) {
    fail(PyExc_IndexError,
         "index: " + std::to_string(index) + " is not below " + std::to_string(layout.size()));
  }
  return data + index * layout.itemsize;
}
Function Array::routine(Op op, const char* name) const {
  if (const auto function = find(op, code)) return function;
  fail(PyExc_TypeError,
       std::string(name) + ": OpenSHMEM has no such routine for dtype " + nb::str(dtype).c_str());
}

Buffer::Buffer(nb::handle object, const char* name, bool is_written) {
  const int flags = PyBUF_FORMAT | PyBUF_STRIDES | (is_written ? PyBUF_WRITABLE : 0);
  if (!PyObject_GetBuffer(object.ptr(), &view_, flags)) return;
  const nb::python_error error;
  fail(PyExc_TypeError, std::string(name) + ": needs an array of NumPy or another buffer: " +
                            nb::str(error.value()).c_str());
}
void Buffer::require_type_of(const Array& array, const char* name) const {
  const auto& [format, itemsize, shape, strides] = array.layout;
  if (view_.itemsize == itemsize) {
    if (is_format(view_.format, format)) return;
    if (format[0] == 'T' && as_numpy(view_.obj).attr("dtype").equal(array.dtype)) return;
  }
  fail(PyExc_TypeError, std::string(name) + ": its format is " + without_order(view_.format) +
                            ", but the array's dtype is " + nb::str(array.dtype).c_str());
}
void Buffer::require_shape_of(const Array& array, const char* name) const {
  require_type_of(array, name);
  const auto& shape = array.layout.shape;
  if (static_cast<std::size_t>(view_.ndim) == shape.size() &&
      std::equal(shape.begin(), shape.end(), view_.shape))
    return;
  fail(PyExc_ValueError, std::string(name) + ": its shape is " +
                             text_of({view_.shape, view_.shape + view_.ndim}) + ", not " +
                             text_of(shape));
}
void Buffer::require_contiguous(const char* name) const {
  if (!PyBuffer_IsContiguous(&view_, 'C'))
    fail(PyExc_ValueError, std::string(name) + ": not contiguous");
}

Context& checked_context(Context* context, int pe) {
  if (!context) {
    require_pe(pe, job.n_pes);
    return default_context;
  }
  context->require_usable();
  require_pe(pe, context->n_pes);
  return *context;
}

bool Context::is_there() const {
  return !team || (handle != SHMEM_CTX_INVALID && made_in_init == job.n_inits &&
                   *team != SHMEM_TEAM_INVALID);
}
void Context::require_usable() const {
  require_active();
  if (!is_there()) fail(PyExc_ValueError, "ctx: it was destroyed");
}
// A context that was dropped, and not destroyed, may still read and write what it has. In this
// library every quiet completes the operations of all contexts.
Context::~Context() {
  for (auto& buffer : pending) default_context.pending.push_back(std::move(buffer));
}
void quiet(Context& context) {
  context.require_usable();
  const auto done = std::exchange(context.pending, {});
  const Unlocked unlocked;
  shmem_ctx_quiet(context.handle);
}

Mover mover(Op op, const Array& array, std::size_t n, const char* name) {
  const auto itemsize = static_cast<std::size_t>(array.layout.itemsize);
  if (const auto function = find(op, array.code)) return {function, n};
  for (const auto code : {Code::uint8, Code::uint16, Code::uint32, Code::uint64, Code::bits128})
    if (itemsize == (code == Code::bits128 ? 16U : 1U << (int(code) - int(Code::uint8))))
      if (const auto function = find(op, code)) return {function, n};
  if (const auto function = find(op, Code::bytes); function && op != Op::alltoalls)
    return {function, n * itemsize};
  fail(PyExc_TypeError, std::string(name) + ": elements of " + std::to_string(itemsize) +
                            " bytes cannot be moved so (dtype " + nb::str(array.dtype).c_str() +
                            ")");
}

namespace {

// Calls use() with a zero of the C type, if it is one of those that Python's int and float stand
// for. Returns whether it is.
template <class Use>
bool with_number(Code code, const Use& use) {
  switch (code) {
    case Code::int8:
      return use(int8_t{}), true;
    case Code::int16:
      return use(int16_t{}), true;
    case Code::int32:
      return use(int32_t{}), true;
    case Code::int64:
      return use(int64_t{}), true;
    case Code::uint8:
      return use(uint8_t{}), true;
    case Code::uint16:
      return use(uint16_t{}), true;
    case Code::uint32:
      return use(uint32_t{}), true;
    case Code::uint64:
      return use(uint64_t{}), true;
    case Code::float32:
      return use(float{}), true;
    case Code::float64:
      return use(double{}), true;
    default:
      return false;
  }
}

// Replaces a TypeError. The object's own errors stay.
[[noreturn]] void fail_for_type(const char* name, const char* wanted) {
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw nb::python_error();
  PyErr_Clear();
  fail(PyExc_TypeError, std::string(name) + ": needs " + wanted);
}
[[noreturn]] void fail_for_size(const char* name) {
  PyErr_Clear();
  fail(PyExc_OverflowError, std::string(name) + ": does not fit into the array's dtype");
}

template <class T>
T checked_number(nb::handle object, const char* name) {
  if constexpr (std::is_floating_point_v<T>) {
    const double wide = PyFloat_AsDouble(object.ptr());
    if (PyErr_Occurred()) fail_for_type(name, "a number");
    const auto narrow = static_cast<T>(wide);
    if (std::isinf(narrow) && !std::isinf(wide)) fail_for_size(name);
    return narrow;
  } else {
    const auto integer = nb::steal(PyNumber_Index(object.ptr()));
    if (!integer.is_valid()) fail_for_type(name, "an integer");
    std::conditional_t<std::is_signed_v<T>, long long, unsigned long long> wide;
    if constexpr (std::is_signed_v<T>)
      wide = PyLong_AsLongLong(integer.ptr());
    else
      wide = PyLong_AsUnsignedLongLong(integer.ptr());
    const auto narrow = static_cast<T>(wide);
    if (!PyErr_Occurred() && static_cast<decltype(wide)>(narrow) == wide) return narrow;
    fail_for_size(name);
  }
}

}  // namespace

Value value_of(nb::handle object, const Array& array, const char* name) {
  Value value;
  const bool is_number = with_number(array.code, [&](auto zero) {
    const auto number = checked_number<decltype(zero)>(object, name);
    std::memcpy(value.bytes, &number, sizeof number);
  });
  if (is_number) return value;
  if (array.layout.itemsize > static_cast<Py_ssize_t>(sizeof value.bytes))
    fail(PyExc_TypeError, std::string(name) + ": the array's elements are too large; use put");
  const Buffer buffer(numpy().attr("array")(object, array.dtype), name, false);
  if (buffer.view().ndim) fail(PyExc_TypeError, std::string(name) + ": needs one number");
  std::memcpy(value.bytes, buffer.data(), array.layout.itemsize);
  return value;
}

nb::object object_of(const Value& value, const Array& array) {
  nb::object object;
  const bool is_number = with_number(array.code, [&](auto number) {
    std::memcpy(&number, value.bytes, sizeof number);
    if constexpr (std::is_floating_point_v<decltype(number)>)
      object = nb::float_(number);
    else
      object = nb::int_(number);
  });
  if (is_number) return object;
  const nb::bytes bytes(reinterpret_cast<const char*>(value.bytes), array.layout.itemsize);
  return numpy().attr("frombuffer")(bytes, array.dtype)[0];
}

int comparison(const std::string& text) {
  static const std::pair<const char*, int> all[] = {{"==", SHMEM_CMP_EQ}, {"!=", SHMEM_CMP_NE},
                                                    {">", SHMEM_CMP_GT},  {"<=", SHMEM_CMP_LE},
                                                    {"<", SHMEM_CMP_LT},  {">=", SHMEM_CMP_GE}};
  for (const auto& [name, number] : all)
    if (text == name) return number;
  fail(PyExc_ValueError, "cmp: '" + text + "' is not one of == != > <= < >=");
}

void bind_arrays(nb::module_& module) {
  nb::class_<Array> array(module, "Array", nb::type_slots(slots),
                          "An array of the same shape and dtype on every PE, in symmetric memory "
                          "(OpenSHMEM 1.6, section 9.3).\n\n"
                          "zeros(), empty() and full() make arrays. numpy.asarray(array) and "
                          "array.local share its memory. array[key] is a view, whose methods move "
                          "only that part. Only free() releases the memory.");
  module.def("allocate", &allocate, nb::arg("shape"), nb::arg("sample"), nb::arg("is_cleared"),
             nb::arg("align"), nb::arg("hints"));
  array.def("free", &free_allocation,
            "Releases the memory (9.3, shmem_free). Collective: all PEs free the same arrays in "
            "the same order.\n\nRaises BufferError while a NumPy array or a memoryview of the "
            "array exists, and ValueError for a view or an array that was freed.");
  bind_with(array, [](Array& self, bool is_error) {
    if (!is_error && self.allocation->is_there()) free_allocation(self);
  });
  array.def("__getitem__", &view, nb::arg("key"),
            "A view of a part, by NumPy's basic indexing. Of one element it has no dimension.");
  array.def(
      "__setitem__",
      [](nb::handle self, nb::handle key, nb::handle value) {
        nb::cast<const Array&>(self).require_usable("array");
        as_numpy(self)[key] = value;
      },
      nb::arg("key"), nb::arg("value"), "Sets a part of this PE's own array, as NumPy does.");
  array.def("__len__", [](const Array& self) {
    if (self.layout.shape.empty()) fail(PyExc_TypeError, "array: it has no dimension");
    return self.layout.shape[0];
  });
  array.def("__repr__", [](nb::handle self) {
    const auto& a = nb::cast<const Array&>(self);
    return std::string("meshmem.Array(shape=") + text_of(a.layout.shape) +
           ", dtype=" + nb::str(a.dtype).c_str() + (a.allocation->is_there() ? ")" : ", freed)");
  });
  array.def_prop_ro(
      "local", [](nb::handle self) { return as_numpy(self); },
      nb::sig("def local(self) -> numpy.typing.NDArray[typing.Any]"),
      "This PE's own part as a NumPy array that shares the memory.");
  array.def_prop_ro("shape", &shape_of, nb::sig("def shape(self) -> tuple[int, ...]"),
                    "As NumPy's.");
  array.def_prop_ro(
      "dtype", [](const Array& a) { return a.dtype; },
      nb::sig("def dtype(self) -> numpy.dtype[typing.Any]"), "As NumPy's.");
  array.def_prop_ro(
      "size", [](const Array& a) { return a.layout.size(); }, "The number of elements.");
  array.def_prop_ro("__array_interface__", &array_interface,
                    nb::sig("def __array_interface__(self) -> dict[str, typing.Any]"),
                    "For libraries without the buffer protocol. free() does not see their views.");
  array.def(
      "__array__",
      [](nb::handle self, nb::object dtype, nb::object copy) {
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
      [](nb::handle self, nb::kwargs options) {
        return as_numpy(self).attr("__dlpack__")(**options);
      },
      nb::sig("def __dlpack__(self, **options: typing.Any) -> typing.Any"),
      "DLPack, as numpy.from_dlpack and others call it.");
  array.def(
      "__dlpack_device__", [](nb::handle) { return nb::make_tuple(1, 0); },
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
  array.def(
      "is_accessible",
      [](const Array& a, int pe) {
        a.require_usable("array");
        require_pe(pe, job.n_pes);
        return shmem_addr_accessible(a.data, pe) != 0;
      },
      nb::arg("pe"), "Whether PE pe's part can be reached (9.2, shmem_addr_accessible).");
  bind_one_sided(array);
  bind_waits(array);
}

}  // namespace meshmem::python
