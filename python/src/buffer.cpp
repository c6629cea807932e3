// SPDX-License-Identifier: Apache-2.0
//
// Checks of buffers: formats as the struct module has them, shapes and strides.
// Invariant: C's long and long long are one type.
#include "buffer.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "array.hpp"

namespace meshmem::python {
namespace {

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

}  // namespace

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

std::string text_of(const std::vector<Py_ssize_t>& shape) {
  std::string text = "(";
  for (const auto n : shape) text += std::to_string(n) + ",";
  return text + ")";
}

const nb::module_& numpy() {
  static const auto& module = *new nb::module_(nb::module_::import_("numpy"));
  return module;
}
nb::object as_numpy(nb::handle array) { return numpy().attr("asarray")(array); }

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

}  // namespace meshmem::python
