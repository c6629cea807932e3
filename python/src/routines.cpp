// SPDX-License-Identifier: Apache-2.0
//
// Fills the table of routines. A template makes a function of one shape from each routine.
#include "routines.hpp"

#include <cstddef>
#include <utility>

namespace meshmem::python {
namespace {

template <class T>
T argument(void* address) {
  if constexpr (std::is_pointer_v<T> && !std::is_same_v<T, shmem_ctx_t> &&
                !std::is_same_v<T, shmem_team_t>)
    return static_cast<T>(*static_cast<void**>(address));
  else
    return *static_cast<T*>(address);
}

template <auto routine>
struct Erased;
template <class R, class... P, R (*routine)(P...)>
struct Erased<routine> {
  static void call(void* result, void* const* arguments) {
    run(result, arguments, std::index_sequence_for<P...>());
  }
  template <std::size_t... I>
  static void run([[maybe_unused]] void* result, void* const* arguments,
                  std::index_sequence<I...>) {
    if constexpr (std::is_void_v<R>)
      routine(argument<P>(arguments[I])...);
    else
      *static_cast<R*>(result) = routine(argument<P>(arguments[I])...);
  }
};

struct Table {
  using OfCodes = Function[static_cast<int>(Code::count)];
  OfCodes functions[static_cast<int>(On::count)][static_cast<int>(Op::count)] = {};

  void set(Op op, Code code, Function function, On on = On::call) {
    functions[static_cast<int>(on)][static_cast<int>(op)][static_cast<int>(code)] = function;
  }

  Table() {
#define MESHMEM_SET(name, op, E, result, params, args) \
  set(Op::op, code_of<E>(), &Erased<&shmem_##name>::call);
#define MESHMEM_SET_CTX(name, op, E, result, params, args) \
  set(Op::op, code_of<E>(), &Erased<&shmem_ctx_##name>::call);
#define MESHMEM_SET_EXTENSION(name, op, E, result, params, args) \
  set(Op::op, code_of<E>(), &Erased<&shmemx_##name>::call);
#define MESHMEM_SET_BYTES(name, op, E, result, params, args) \
  set(Op::op, Code::bytes, &Erased<&shmem_##name>::call);
#define MESHMEM_SET_BYTES_CTX(name, op, E, result, params, args) \
  set(Op::op, Code::bytes, &Erased<&shmem_ctx_##name>::call);
#define MESHMEM_SET_BYTES_EXTENSION(name, op, E, result, params, args) \
  set(Op::op, Code::bytes, &Erased<&shmemx_##name>::call);
#define MESHMEM_SET_LOCATED(NAME, TYPE, INDEX, ...)                                       \
  set(Op::maxloc_reduce, code_of<TYPE>(), &Erased<&shmemx_##NAME##_maxloc_reduce>::call); \
  set(Op::minloc_reduce, code_of<TYPE>(), &Erased<&shmemx_##NAME##_minloc_reduce>::call);
#define MESHMEM_SET_STREAM(name, op, E, result, params, args) \
  set(Op::op, code_of<E>(), &Erased<&shmemx_##name##_on_stream>::call, On::stream);
#define MESHMEM_SET_BYTES_STREAM(name, op, E, result, params, args) \
  set(Op::op, Code::bytes, &Erased<&shmemx_##name##_on_stream>::call, On::stream);
#define MESHMEM_SET_LOCATED_STREAM(NAME, TYPE, INDEX, ...)                                         \
  set(Op::maxloc_reduce, code_of<TYPE>(), &Erased<&shmemx_##NAME##_maxloc_reduce_on_stream>::call, \
      On::stream);                                                                                 \
  set(Op::minloc_reduce, code_of<TYPE>(), &Erased<&shmemx_##NAME##_minloc_reduce_on_stream>::call, \
      On::stream);
    MESHMEM_TYPED(MESHMEM_SET_CTX, MESHMEM_SET, MESHMEM_GENERIC)
    MESHMEM_EXTENSIONS(MESHMEM_SET_EXTENSION, MESHMEM_GENERIC)
    MESHMEM_ALLTOALLV(MESHMEM_SET_EXTENSION, MESHMEM_GENERIC)
    MESHMEM_ALLTOALLV_ON_HOST(MESHMEM_SET_EXTENSION, MESHMEM_GENERIC)
    MESHMEM_SIZED_ROW(128, meshmem_bits128, MESHMEM_SET_CTX)
    MESHMEM_OPS_RMA(MESHMEM_SET_BYTES_CTX, , mem, char, void)
    MESHMEM_OPS_COLLECTIVE(MESHMEM_SET_BYTES, , mem, char, void)
    MESHMEM_OP_ALLTOALLV(MESHMEM_SET_BYTES_EXTENSION, , mem, char, void)
    MESHMEM_LOCATED_TYPES(MESHMEM_SET_LOCATED, )
    MESHMEM_COMPUTED_ON_STREAM(MESHMEM_SET_STREAM, MESHMEM_GENERIC)
    MESHMEM_MOVED_ON_STREAM(MESHMEM_SET_STREAM, MESHMEM_GENERIC)
    MESHMEM_SIZES(MESHMEM_SIZED_MOVED_ROW, MESHMEM_SET_STREAM)
    MESHMEM_SIZED_MOVED_ROW(mem, char, MESHMEM_SET_BYTES_STREAM)
    MESHMEM_OPS_MOVE(MESHMEM_SET_BYTES_STREAM, , mem, char, void)
    MESHMEM_LOCATED_TYPES(MESHMEM_SET_LOCATED_STREAM, )
  }
};

}  // namespace

Function find(Op op, Code code, On on) {
  static const Table table;
  return table.functions[static_cast<int>(on)][static_cast<int>(op)][static_cast<int>(code)];
}

}  // namespace meshmem::python
