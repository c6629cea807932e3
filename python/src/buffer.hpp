// SPDX-License-Identifier: Apache-2.0
//
// Python's buffers: the memory of other objects that arrays exchange data with.
// Invariant: bad input raises an exception that begins with the argument's name.
// Used by all bindings.
#pragma once
#include <string>
#include <vector>

#include "job.hpp"
#include "routines.hpp"

namespace meshmem::python {

struct Array;

// The type, shape and strides of elements, of an array or of an object with Python's buffer.
struct Layout {
  std::string format;  // as the struct module has it, without order; int64 is l
  Py_ssize_t itemsize = 1;
  std::vector<Py_ssize_t> shape;
  std::vector<Py_ssize_t> strides;  // in bytes

  std::size_t size() const;
  bool is_contiguous() const;
};
Layout layout_of(const Py_buffer& view);

// The type of elements of this format, or Code::none.
Code code_of_format(const std::string& format);
std::string text_of(const std::vector<Py_ssize_t>& shape);

// Holds an object's buffer.
class Buffer {
 public:
  Buffer(nb::handle object, const char* name, bool is_written);
  Buffer(Buffer&& other) noexcept : view_(other.view_) {
    if (view_.shape == &other.view_.len)
      view_.shape = &view_.len;  // as PyBuffer_FillInfo() sets them
    if (view_.strides == &other.view_.itemsize) view_.strides = &view_.itemsize;
    other.view_.obj = nullptr;
  }
  Buffer& operator=(Buffer&&) = delete;
  ~Buffer() { PyBuffer_Release(&view_); }

  char* data() const { return static_cast<char*>(view_.buf); }
  const Py_buffer& view() const { return view_; }
  // Raises an exception unless the elements have this type.
  void require_type_of(const Array& array, const char* name) const;
  // And this shape.
  void require_shape_of(const Array& array, const char* name) const;
  void require_contiguous(const char* name) const;

 private:
  Py_buffer view_;
};

const nb::module_& numpy();
nb::object as_numpy(nb::handle array);

}  // namespace meshmem::python
