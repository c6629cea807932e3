// SPDX-License-Identifier: Apache-2.0
//
// The typed routines of the library as one table: a row for each operation, a column for each type.
// The table is made from the rows of include/shmem/types.h and ops.h, so nothing is listed twice.
// Invariant: arguments are handed over by address, as exactly the types that ops.h declares.
// Called by the bindings in this folder.
#pragma once
#include <shmemx.h>

#include <type_traits>

namespace meshmem::python {

// The operations that are typed, in the order of ops.h.
enum class Op {
#define MESHMEM_NAME(name, op, E, result, params, args) op,
  MESHMEM_TYPED_ROW(, char, 2, 2, 2, 2, 2, 2, MESHMEM_NAME, MESHMEM_NAME, MESHMEM_IN)
      MESHMEM_EXTENSION_ROW(, char, 2, 2, 2, 2, 2, 2, MESHMEM_NAME, MESHMEM_IN)
          MESHMEM_ALLTOALLV_ROW(, char, 2, 2, 2, 2, 2, 2, MESHMEM_NAME, MESHMEM_IN)
#undef MESHMEM_NAME
              maxloc_reduce,
  minloc_reduce,
  count
};

// C's types as the library tells them apart; several names (int, int32_t) share one.
enum class Code {
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float32,
  float64,
  longdouble,
  complex64,
  complex128,
  bits128,  // elements of 16 bytes that are only moved
  bytes,    // nelems counts bytes
  none,     // a type without typed routines, as bool or a struct
  count
};

template <class T>
constexpr Code code_of() {
  if constexpr (std::is_same_v<T, float>)
    return Code::float32;
  else if constexpr (std::is_same_v<T, double>)
    return Code::float64;
  else if constexpr (std::is_same_v<T, long double>)
    return Code::longdouble;
  else if constexpr (std::is_same_v<T, meshmem_complexf>)
    return Code::complex64;
  else if constexpr (std::is_same_v<T, meshmem_complexd>)
    return Code::complex128;
  else if constexpr (std::is_same_v<T, meshmem_bits128>)
    return Code::bits128;
  else {
    constexpr int log2 = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return static_cast<Code>(log2 + (std::is_signed_v<T> ? 0 : 4));
  }
}

// Calls a routine. `result` is the address of what it returns; arguments[i] is that of argument i.
using Function = void (*)(void* result, void* const* arguments);

// Whether the call does the work, or a stream, which is then the last argument.
enum class On { call, stream, count };

// The routine, or nullptr if there is none for the type.
Function find(Op op, Code code, On on = On::call);

// An element's value, of any type.
struct alignas(16) Value {
  unsigned char bytes[16] = {};
};

template <class... Arguments>
void call(Function function, void* result, Arguments... arguments) {
  void* const list[] = {&arguments...};
  function(result, list);
}

}  // namespace meshmem::python
