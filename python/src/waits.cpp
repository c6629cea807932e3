// SPDX-License-Identifier: Apache-2.0
//
// Waits and tests on this PE's own elements (OpenSHMEM 1.6, 9.11), as methods of Array.
// Invariant: a wait is the library's own, so that oshrun can show it; Python's lock is released.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <optional>

#include "stream.hpp"

namespace meshmem::python {
namespace {

// The arguments of a wait for several elements.
struct Many {
  Many(const Array& array, const std::string& cmp, nb::handle given, nb::handle status)
      : nelems(array.layout.size()), comparison(python::comparison(cmp)) {
    array.require_contiguous("array");
    const nb::object shape = nb::getattr(given, "shape", nb::make_tuple());
    if (nb::len(shape) > 0) {
      vector.emplace(given, "values", false);
      vector->require_shape_of(array, "values");
      vector->require_contiguous("values");
    } else {
      array.routine(Op::test, "array");
      value = value_of(given, array, "values");
    }
    if (status.is_none()) return;
    mask.emplace(status, "status", false);
    mask->require_contiguous("status");
    if (std::strcmp(mask->view().format, "i") != 0)
      fail(PyExc_TypeError, "status: its dtype is not int32");
    if (mask->view().len != static_cast<Py_ssize_t>(nelems * sizeof(int)))
      fail(PyExc_ValueError, "status: needs a number for each element");
  }

  std::size_t nelems;
  int comparison;
  Value value;
  std::optional<Buffer> vector;  // of values, one for each element
  std::optional<Buffer> mask;
};

struct ManyOps {
  Op of_value, of_vector;
};

template <class Result>
void run(const Array& array, ManyOps ops, const Many& many, bool may_wait, Result* result,
         std::size_t* indices = nullptr) {
  const auto function = array.routine(many.vector ? ops.of_vector : ops.of_value, "array");
  void* const ivars = array.data;
  void* const mask = many.mask ? many.mask->data() : nullptr;
  void* const values = many.vector ? many.vector->data() : nullptr;
  const Unlocked unlocked(may_wait);
  const auto run_with = [&](auto value) {
    if (indices)
      call(function, result, ivars, many.nelems, static_cast<void*>(indices), mask, many.comparison,
           value);
    else
      call(function, result, ivars, many.nelems, mask, many.comparison, value);
  };
  values ? run_with(values) : run_with(many.value);
}

nb::object any(const Array& array, ManyOps ops, const std::string& cmp, nb::handle values,
               nb::handle status, bool may_wait) {
  const Many many(array, cmp, values, status);
  std::size_t index = SIZE_MAX;
  run(array, ops, many, may_wait, &index);
  return index == SIZE_MAX ? nb::none() : nb::object(nb::int_(index));
}

nb::object some(const Array& array, ManyOps ops, const std::string& cmp, nb::handle values,
                nb::handle status, bool may_wait) {
  const Many many(array, cmp, values, status);
  const nb::object indices = numpy().attr("empty")(many.nelems, "uintp");
  const Buffer buffer(indices, "indices", true);
  std::size_t n = 0;
  run(array, ops, many, may_wait, &n, reinterpret_cast<std::size_t*>(buffer.data()));
  return indices[nb::slice(static_cast<Py_ssize_t>(n))];
}

template <class Result>
void one(const Array& array, Op op, const std::string& cmp, nb::handle value, std::size_t index,
         bool may_wait, Result* result) {
  const auto function = array.routine(op, "array");
  void* const ivar = array.element(index, "array");
  const int comparison = python::comparison(cmp);
  const Value wanted = value_of(value, array, "value");
  const Unlocked unlocked(may_wait);
  call(function, result, ivar, comparison, wanted);
}

void wait_on_stream(const Array& array, const std::string& cmp, nb::handle value, std::size_t index,
                    shmemx_stream_t stream) {
  const auto function = array.routine(Op::wait_until, "array", On::stream);
  void* const ivar = array.element(index, "array");
  require_reached(array, "array");
  const int comparison = python::comparison(cmp);
  const Value wanted = value_of(value, array, "value");
  const Unlocked unlocked;
  call(function, nullptr, ivar, comparison, wanted, stream);
}

}  // namespace

void bind_waits(nb::class_<Array>& array) {
  const auto cmp = nb::arg("cmp");
  const auto values = nb::arg("values");
  const auto status = nb::arg("status") = nb::none();
#define MESHMEM_CMP "cmp: typing.Literal['==', '!=', '>', '<=', '<', '>='], "
#define MESHMEM_ONE "(self, " MESHMEM_CMP "value: typing.Any, index: int = 0) -> "
#define MESHMEM_MANY "(self, " MESHMEM_CMP "values: typing.Any, status: typing.Any = None) -> "
#define MESHMEM_MANY_TEXT                                                                      \
  " values is one value or an array with one for each element; status, int32, is nonzero for " \
  "elements to leave out (9.11)."
  array.def(
      "wait_until",
      [](const Array& a, const std::string& c, nb::handle value, std::size_t index, nb::handle on) {
        if (const Stream stream = stream_of(on)) return wait_on_stream(a, c, value, index, *stream);
        one(a, Op::wait_until, c, value, index, true, static_cast<int*>(nullptr));
      },
      cmp, nb::arg("value"), nb::arg("index") = 0, nb::kw_only(), nb::arg("stream") = nb::none(),
      nb::sig("def wait_until(self, " MESHMEM_CMP
              "value: typing.Any, index: int = 0, *, stream: typing.Any = None) -> None"),
      "Waits until this PE's element compares with value as cmp says (9.11).");
  array.def(
      "test",
      [](const Array& a, const std::string& c, nb::handle value, std::size_t index) {
        int result = 0;
        one(a, Op::test, c, value, index, false, &result);
        return result != 0;
      },
      cmp, nb::arg("value"), nb::arg("index") = 0, nb::sig("def test" MESHMEM_ONE "bool"),
      "Whether this PE's element compares with value as cmp says (9.11).");
  array.def(
      "wait_until_all",
      [](const Array& a, const std::string& c, nb::handle v, nb::handle s) {
        run(a, {Op::wait_until_all, Op::wait_until_all_vector}, Many(a, c, v, s), true,
            static_cast<int*>(nullptr));
      },
      cmp, values, status, nb::sig("def wait_until_all" MESHMEM_MANY "None"),
      "Waits until all elements compare so." MESHMEM_MANY_TEXT);
  array.def(
      "test_all",
      [](const Array& a, const std::string& c, nb::handle v, nb::handle s) {
        int result = 0;
        run(a, {Op::test_all, Op::test_all_vector}, Many(a, c, v, s), false, &result);
        return result != 0;
      },
      cmp, values, status, nb::sig("def test_all" MESHMEM_MANY "bool"),
      "Whether all elements compare so." MESHMEM_MANY_TEXT);
  array.def(
      "wait_until_any",
      [](const Array& a, const std::string& c, nb::handle v, nb::handle s) {
        return any(a, {Op::wait_until_any, Op::wait_until_any_vector}, c, v, s, true);
      },
      cmp, values, status, nb::sig("def wait_until_any" MESHMEM_MANY "int | None"),
      "Waits until an element compares so, and returns its index; None if all are left "
      "out." MESHMEM_MANY_TEXT);
  array.def(
      "test_any",
      [](const Array& a, const std::string& c, nb::handle v, nb::handle s) {
        return any(a, {Op::test_any, Op::test_any_vector}, c, v, s, false);
      },
      cmp, values, status, nb::sig("def test_any" MESHMEM_MANY "int | None"),
      "The index of an element that compares so, or None." MESHMEM_MANY_TEXT);
  array.def(
      "wait_until_some",
      [](const Array& a, const std::string& c, nb::handle v, nb::handle s) {
        return some(a, {Op::wait_until_some, Op::wait_until_some_vector}, c, v, s, true);
      },
      cmp, values, status,
      nb::sig("def wait_until_some" MESHMEM_MANY "numpy.typing.NDArray[numpy.uintp]"),
      "Waits until at least one element compares so, and returns the indices of those that "
      "do." MESHMEM_MANY_TEXT);
  array.def(
      "test_some",
      [](const Array& a, const std::string& c, nb::handle v, nb::handle s) {
        return some(a, {Op::test_some, Op::test_some_vector}, c, v, s, false);
      },
      cmp, values, status,
      nb::sig("def test_some" MESHMEM_MANY "numpy.typing.NDArray[numpy.uintp]"),
      "The indices of the elements that compare so." MESHMEM_MANY_TEXT);
}

}  // namespace meshmem::python
