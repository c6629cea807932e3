// SPDX-License-Identifier: Apache-2.0
//
// Symmetric arrays.
// Invariant: only free() frees an allocation, and only while no NumPy array or memoryview uses it.
// Python's garbage collector frees none, since shmem_free is collective.
// Used by all bindings.
#pragma once
#include <atomic>
#include <memory>
#include <string>

#include "buffer.hpp"
#include "device.hpp"

namespace meshmem::python {

// An allocation, which its views share.
struct Allocation {
  Allocation(char* memory, std::size_t size, Device where)
      : data(memory), bytes(size), device(where) {}

  char* data;
  std::size_t bytes;
  Device device;
  std::atomic<long> n_exports = 0;  // NumPy arrays and memoryviews
  int made_in_init = job.n_inits;

  bool is_there() const { return data && made_in_init == job.n_inits; }
};

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
  // Raises an exception if the processor cannot load and store there.
  void require_host(const char* name) const;
  char* element(std::size_t index, const char* name) const;
  // The routine for elements of this type.
  Function routine(Op op, const char* name, On on = On::call) const;
};

// The routine that moves elements as this array's, and the number of its elements in n of these.
struct Mover {
  Function function;
  std::size_t nelems;
};
Mover mover(Op op, const Array& array, std::size_t n, const char* name, On on = On::call);

// Elements as objects of Python.
Value value_of(nb::handle object, const Array& array, const char* name);
nb::object object_of(const Value& value, const Array& array);
int comparison(const std::string& text);
nb::tuple shape_of(const Array& array);

// While it lives, this thread's exports may be of device memory. Nobody may load or store there.
class LooksAtLayout {
 public:
  LooksAtLayout() { ++n_; }
  ~LooksAtLayout() { --n_; }
  LooksAtLayout(const LooksAtLayout&) = delete;
  LooksAtLayout& operator=(const LooksAtLayout&) = delete;
  static bool is_here() { return n_ > 0; }

 private:
  inline static thread_local int n_ = 0;
};

// How other libraries use an array's memory.
PyType_Slot* slots_of_export();
void bind_export(nb::class_<Array>& array);

}  // namespace meshmem::python
