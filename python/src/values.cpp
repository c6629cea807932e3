// SPDX-License-Identifier: Apache-2.0
//
// Single values: what Python's numbers are as elements of an array, and the other way round.
// Invariant: a number that does not fit raises OverflowError; nothing is rounded to an integer.
#include <cmath>
#include <cstring>

#include "array.hpp"

namespace meshmem::python {
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

}  // namespace meshmem::python
