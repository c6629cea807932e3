// SPDX-License-Identifier: Apache-2.0
//
// Symmetric arrays, and the buffers of other objects that they exchange data with.
// Invariant: only free() frees an allocation, and only while no NumPy array or memoryview uses it.
// Python's garbage collector frees none, since shmem_free is collective.
// Used by all bindings.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "job.hpp"
#include "routines.hpp"

namespace meshmem::python {

// An allocation, which its views share.
struct Allocation {
  char* data;
  std::size_t bytes;
  long n_exports = 0;  // NumPy arrays and memoryviews
  int made_in_init = job.n_inits;

  bool is_there() const { return data && made_in_init == job.n_inits; }
};

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

struct Array {
  std::shared_ptr<Allocation> allocation;
  char* data;
  Layout layout;
  nb::object dtype;
  Code code;
  bool is_whole = true;      // not a view
  bool is_symmetric = true;  // not another PE's memory

  // These raise exceptions that begin with `name`.
  void require_usable(const char* name) const;
  void require_contiguous(const char* name) const;
  char* element(std::size_t index, const char* name) const;
  // The routine for elements of this type.
  Function routine(Op op, const char* name) const;
};

// Holds an object's buffer.
class Buffer {
 public:
  Buffer(nb::handle object, const char* name, bool is_written);
  Buffer(Buffer&& other) noexcept : view_(other.view_) { other.view_.obj = nullptr; }
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

struct Context {
  Context() = default;
  Context(Context&&) = default;  // only: nanobind asks whether it can copy one
  ~Context();

  bool is_there() const;
  // Raises an exception if it was destroyed.
  void require_usable() const;

  shmem_ctx_t handle = SHMEM_CTX_DEFAULT;
  std::shared_ptr<shmem_team_t> team;  // as in Team; none for the default context
  int n_pes = 0;
  int made_in_init = job.n_inits;
  std::vector<Buffer> pending;  // what nonblocking calls use until quiet
};
inline Context& default_context = *new Context;  // without a destructor at the end of the process
void quiet(Context& context);

// The context to use, after checks of it and of pe.
Context& checked_context(Context* context, int pe);
// Whether an operation of this size on PE `pe` may wait, so that other threads should run.
inline bool may_wait(const Context& context, int pe, std::size_t bytes) {
  constexpr std::size_t kAtOnce = 4096;
  return context.handle != SHMEM_CTX_DEFAULT || bytes > kAtOnce || !job.is_near[pe];
}

// The routine that moves elements as this array's, and the number of its elements in n of these.
struct Mover {
  Function function;
  std::size_t nelems;
};
Mover mover(Op op, const Array& array, std::size_t n, const char* name);

Value value_of(nb::handle object, const Array& array, const char* name);
nb::object object_of(const Value& value, const Array& array);
int comparison(const std::string& text);
nb::tuple shape_of(const Array& array);
const nb::module_& numpy();

}  // namespace meshmem::python
