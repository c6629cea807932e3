// SPDX-License-Identifier: Apache-2.0
//
// Puts, gets and signals (OpenSHMEM 1.6, 9.6 and 9.8), as methods of Array.
// Invariant: what a nonblocking call uses is held by its context until quiet.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>

#include "context.hpp"
#include "stream.hpp"

namespace meshmem::python {
namespace {

enum class Way { put, get };

// dest and source of a call that moves `local` to or from the array.
struct Ends {
  Ends(Way way, char* array, char* local)
      : dest(way == Way::put ? array : local), source(way == Way::put ? local : array) {}
  void* dest;
  void* source;
};

void move(const Array& array, Op op, Way way, int pe, Buffer local, Context* given,
          bool is_blocking) {
  auto& context = checked_context(given, pe);
  const Mover mover = python::mover(op, array, array.layout.size(), "array");
  const Ends ends(way, array.data, local.data());
  {
    const Unlocked unlocked(may_wait(context, pe, array.layout.size() * array.layout.itemsize));
    call(mover.function, nullptr, context.handle, ends.dest, ends.source, mover.nelems, pe);
  }
  if (!is_blocking) context.pending.add(std::move(local));
}

Buffer local_buffer(const Array& array, nb::handle object, const char* name, bool is_written) {
  array.require_contiguous("array");
  Buffer buffer(object, name, is_written);
  buffer.require_shape_of(array, name);
  buffer.require_contiguous(name);
  return buffer;
}

template <Op op, bool is_blocking>
void put(const Array& array, int pe, nb::handle values, Context* context) {
  move(array, op, Way::put, pe, local_buffer(array, values, "values", false), context, is_blocking);
}

nb::object empty_like(const Array& array) {
  return numpy().attr("empty")(shape_of(array), array.dtype);
}

template <Op op, bool is_blocking>
nb::object get(const Array& array, int pe, nb::object out, Context* context) {
  array.require_contiguous("array");
  if (out.is_none()) out = empty_like(array);
  move(array, op, Way::get, pe, local_buffer(array, out, "out", true), context, is_blocking);
  return out;
}

// A blocking call, or its form on a stream.
void refuse_context(const Context* context) {
  if (context) fail(PyExc_ValueError, "ctx: a stream has no contexts");
}

void put_or_on_stream(const Array& array, int pe, nb::handle values, Context* context,
                      nb::handle stream_object) {
  const Stream stream = stream_of(stream_object);
  if (!stream) return put<Op::put, true>(array, pe, values, context);
  refuse_context(context);
  move_on_stream(array, Op::put, pe, values, *stream);
}

nb::object get_or_on_stream(const Array& array, int pe, nb::object out, Context* context,
                            nb::handle stream_object) {
  const Stream stream = stream_of(stream_object);
  if (!stream) return get<Op::get, true>(array, pe, std::move(out), context);
  refuse_context(context);
  if (out.is_none()) fail(PyExc_ValueError, "out: a stream needs it");
  move_on_stream(array, Op::get, pe, out, *stream);
  return out;
}

uint64_t* signal_address(const Array& signal, std::size_t index) {
  if (signal.code != Code::uint64) fail(PyExc_TypeError, "signal: its dtype is not uint64");
  return reinterpret_cast<uint64_t*>(signal.element(index, "signal"));
}

int signal_op_of(const std::string& how) {
  if (how != "set" && how != "add") fail(PyExc_ValueError, "op: '" + how + "' is not set or add");
  return how == "set" ? SHMEM_SIGNAL_SET : SHMEM_SIGNAL_ADD;
}

template <Op op, bool is_blocking>
void put_signal(const Array& array, int pe, nb::handle values, const Array& signal, uint64_t value,
                const std::string& how, std::size_t index, Context* given) {
  const int signal_op = signal_op_of(how);
  auto local = local_buffer(array, values, "values", false);
  auto& context = checked_context(given, pe);
  const Mover mover = python::mover(op, array, array.layout.size(), "array");
  void* const address = signal_address(signal, index);
  {
    const Unlocked unlocked(may_wait(context, pe, array.layout.size() * array.layout.itemsize));
    call(mover.function, nullptr, context.handle, static_cast<void*>(array.data),
         static_cast<void*>(local.data()), mover.nelems, address, value, signal_op, pe);
  }
  if (!is_blocking) context.pending.add(std::move(local));
}

void put_signal_or_on_stream(const Array& array, int pe, nb::handle values, const Array& signal,
                             uint64_t value, const std::string& how, std::size_t index,
                             Context* context, nb::handle stream_object) {
  const Stream stream = stream_of(stream_object);
  if (!stream)
    return put_signal<Op::put_signal, true>(array, pe, values, signal, value, how, index, context);
  refuse_context(context);
  require_reached(signal, "signal");
  put_signal_on_stream(array, pe, values, signal_address(signal, index), value, signal_op_of(how),
                       *stream);
}

// A stride in elements.
ptrdiff_t stride_of(Py_ssize_t n, Py_ssize_t bytes, Py_ssize_t itemsize, Py_ssize_t at_least,
                    const char* name) {
  if (n <= 1) return at_least;
  if (bytes % itemsize || bytes < at_least * itemsize)
    fail(PyExc_ValueError, std::string(name) + ": a stride is not positive or too small");
  return bytes / itemsize;
}

// With one dimension each element has a stride. With two each row does, and is a block.
template <Op op, Way way, int n_dimensions>
void move_strided(const Array& array, int pe, nb::handle object, Context* given) {
  constexpr const char* name = way == Way::put ? "values" : "out";
  array.require_usable("array");
  const Buffer local(object, name, way == Way::get);
  local.require_shape_of(array, name);
  auto& context = checked_context(given, pe);
  const auto& [format, itemsize, shape, strides] = array.layout;
  if (shape.size() != n_dimensions) {
    fail(PyExc_ValueError,
         n_dimensions == 1 ? "array: needs one dimension" : "array: needs two dimensions");
  }
  const auto rows = shape[0], columns = n_dimensions == 2 ? shape[1] : 1;
  if (columns > 1 && strides[1] != itemsize)
    fail(PyExc_ValueError, "array: its rows are not contiguous");
  if (columns > 1 && local.view().strides[1] != itemsize)
    fail(PyExc_ValueError, std::string(name) + ": its rows are not contiguous");
  const auto there = stride_of(rows, strides[0], itemsize, columns, "array");
  const auto here = stride_of(rows, local.view().strides[0], itemsize, columns, name);
  const auto function = python::mover(op, array, columns, "array").function;
  const Ends ends(way, array.data, local.data());
  const auto dst = way == Way::put ? there : here, sst = way == Way::put ? here : there;
  const auto n_rows = static_cast<std::size_t>(rows), n_columns = static_cast<std::size_t>(columns);
  const Unlocked unlocked(may_wait(context, pe, n_rows * n_columns * itemsize));
  if constexpr (n_dimensions == 1)
    call(function, nullptr, context.handle, ends.dest, ends.source, dst, sst, n_rows, pe);
  else
    call(function, nullptr, context.handle, ends.dest, ends.source, dst, sst, n_columns, n_rows,
         pe);
}

void p_on_stream(const Array& array, int pe, nb::handle object, std::size_t index,
                 shmemx_stream_t stream) {
  void* const dest = array.element(index, "array");
  require_pe(pe, job.n_pes);
  require_reached(array, "array");
  const auto function = array.routine(Op::p, "array", On::stream);
  const Value value = value_of(object, array, "value");
  const Unlocked unlocked;
  call(function, nullptr, dest, value, pe, stream);
}

void p(const Array& array, int pe, nb::handle object, std::size_t index, Context* given,
       nb::handle stream_object) {
  if (const Stream stream = stream_of(stream_object)) {
    refuse_context(given);
    return p_on_stream(array, pe, object, index, *stream);
  }
  void* const dest = array.element(index, "array");
  auto& context = checked_context(given, pe);
  const Value value = value_of(object, array, "value");
  const std::size_t itemsize = array.layout.itemsize;
  const auto function = find(Op::p, array.code);
  const Unlocked unlocked(may_wait(context, pe, itemsize));
  if (function)
    call(function, nullptr, context.handle, dest, value, pe);
  else
    shmem_ctx_putmem(context.handle, dest, value.bytes, itemsize, pe);
}

nb::object g(const Array& array, int pe, std::size_t index, Context* given) {
  void* const source = array.element(index, "array");
  auto& context = checked_context(given, pe);
  Value value;
  if (array.layout.itemsize > static_cast<Py_ssize_t>(sizeof value.bytes))
    fail(PyExc_TypeError, "array: its elements are too large; use get");
  const auto function = find(Op::g, array.code);
  {
    const Unlocked unlocked(may_wait(context, pe, array.layout.itemsize));
    if (function)
      call(function, value.bytes, context.handle, source, pe);
    else
      shmem_ctx_getmem(context.handle, value.bytes, source, array.layout.itemsize, pe);
  }
  return object_of(value, array);
}

void bind_signals(nb::class_<Array>& array) {
  const auto index = nb::arg("index") = 0;
  const auto context = nb::arg("ctx") = nb::none();
  array.def(
      "signal_fetch",
      [](const Array& a, std::size_t at) { return shmem_signal_fetch(signal_address(a, at)); },
      index, "This PE's own signal, read atomically. The array's dtype is uint64 (9.8).");
  const auto stream = nb::arg("stream") = nb::none();
  const auto update = [&](const char* name, auto routine, int op, const char* text) {
    array.def(
        name,
        [routine, op](const Array& a, int pe, uint64_t value, std::size_t at, Context* given,
                      nb::handle stream_object) {
          auto* const address = signal_address(a, at);
          if (const Stream on = stream_of(stream_object)) {
            refuse_context(given);
            require_pe(pe, job.n_pes);
            require_reached(a, "array");
            const Unlocked unlocked;
            return shmemx_signal_op_on_stream(address, value, op, pe, *on);
          }
          auto& ctx = checked_context(given, pe);
          const Unlocked unlocked(may_wait(ctx, pe, sizeof value));
          routine(ctx.handle, address, value, pe);
        },
        nb::arg("pe"), nb::arg("value"), index, nb::kw_only(), context, stream, text);
  };
  // Lambdas: see locks.cpp.
  update(
      "signal_set", [](auto... a) { shmem_ctx_signal_set(a...); }, SHMEM_SIGNAL_SET,
      "Sets PE pe's signal, behind this PE's earlier puts to it (9.8).");
  update(
      "signal_add", [](auto... a) { shmem_ctx_signal_add(a...); }, SHMEM_SIGNAL_ADD,
      "Adds to PE pe's signal, behind this PE's earlier puts to it (9.8).");
  array.def(
      "signal_wait_until",
      [](const Array& a, const std::string& cmp, uint64_t value, std::size_t at,
         nb::handle stream_object) -> std::optional<uint64_t> {
        auto* const address = signal_address(a, at);
        const int comparison = python::comparison(cmp);
        const Stream on = stream_of(stream_object);
        if (on) require_reached(a, "array");
        const Unlocked unlocked;
        if (!on) return shmem_signal_wait_until(address, comparison, value);
        shmemx_signal_wait_until_on_stream(address, comparison, value, *on);
        return std::nullopt;
      },
      nb::arg("cmp"), nb::arg("value"), index, nb::kw_only(), stream,
      nb::sig("def signal_wait_until(self, cmp: str, value: int, index: int = 0, *, stream: "
              "typing.Any = None) -> int"),
      "Waits until this PE's signal compares with value as cmp says (\"==\", \"!=\", \">\", "
      "\"<=\", \"<\", \">=\"), and returns it (9.8).");
}

#define MESHMEM_BUFFER "Array | numpy.typing.NDArray[typing.Any] | typing_extensions.Buffer"
#define MESHMEM_END_OF_SIG "*, ctx: Context | None = None) -> "
#define MESHMEM_STREAM_SIG "*, ctx: Context | None = None, stream: typing.Any = None) -> "

}  // namespace

void bind_one_sided(nb::class_<Array>& array) {
  const auto pe = nb::arg("pe");
  const auto values = nb::arg("values");
  const auto context = nb::arg("ctx") = nb::none();
  const auto out = nb::arg("out") = nb::none();
  const auto stream = nb::arg("stream") = nb::none();
  array.def(
      "put", &put_or_on_stream, pe, values, nb::kw_only(), context, stream,
      nb::sig("def put(self, pe: int, values: " MESHMEM_BUFFER ", " MESHMEM_STREAM_SIG "None"),
      "Copies values into PE pe's part of the array (9.6). On return values may change; the "
      "data has arrived after quiet or a barrier.\n\nvalues has the array's shape and dtype "
      "and is contiguous, else ValueError or TypeError. With stream, keep it and do not change "
      "it until the stream has done the work.");
  array.def(
      "put_nbi", &put<Op::put_nbi, false>, pe, values, nb::kw_only(), context,
      nb::sig("def put_nbi(self, pe: int, values: " MESHMEM_BUFFER ", " MESHMEM_END_OF_SIG "None"),
      "As put, but values must not change before quiet (9.6). They are kept alive.");
  array.def(
      "get", &get_or_on_stream, pe, out, nb::kw_only(), context, stream,
      nb::sig("def get(self, pe: int, out: typing.Any = None, " MESHMEM_STREAM_SIG "typing.Any"),
      "Copies PE pe's part of the array into out, or a new NumPy array, and returns it "
      "(9.6). out has the array's shape and dtype and is contiguous. With stream, keep it until "
      "the stream has done the work.");
  array.def("get_nbi", &get<Op::get_nbi, false>, pe, out, nb::kw_only(), context,
            nb::sig("def get_nbi(self, pe: int, out: typing.Any = None, " MESHMEM_END_OF_SIG
                    "typing.Any"),
            "As get, but the data is there after quiet (9.6).");
  const auto put_signal_arguments = [&](const char* name, auto function, const char* sig,
                                        const char* text, const auto&... more) {
    array.def(name, function, pe, values, nb::arg("signal"), nb::arg("value"),
              nb::arg("op") = "set", nb::arg("index") = 0, nb::kw_only(), context, more...,
              nb::sig(sig), text);
  };
  put_signal_arguments(
      "put_signal", &put_signal_or_on_stream,
      "def put_signal(self, pe: int, values: " MESHMEM_BUFFER
      ", signal: Array, value: int, op: typing.Literal['set', 'add'] = 'set', index: int = "
      "0, " MESHMEM_STREAM_SIG "None",
      "As put, and then sets PE pe's signal[index] to value, or adds it (9.8). A PE that sees the "
      "signal sees the data. signal is an array of uint64.",
      stream);
  put_signal_arguments(
      "put_signal_nbi", &put_signal<Op::put_signal_nbi, false>,
      "def put_signal_nbi(self, pe: int, values: " MESHMEM_BUFFER
      ", signal: Array, value: int, op: typing.Literal['set', 'add'] = 'set', index: int = "
      "0, " MESHMEM_END_OF_SIG "None",
      "As put_signal, but values must not change before quiet (9.8).");
  const auto strided = [&](const char* name, auto function, const char* buffer,
                           const std::string& sig, const char* text) {
    array.def(name, function, pe, nb::arg(buffer), nb::kw_only(), context, nb::sig(sig.c_str()),
              text);
  };
  const std::string puts = "(self, pe: int, values: " MESHMEM_BUFFER ", " MESHMEM_END_OF_SIG "None";
  const std::string gets = "(self, pe: int, out: " MESHMEM_BUFFER ", " MESHMEM_END_OF_SIG "None";
  strided("iput", &move_strided<Op::iput, Way::put, 1>, "values", "def iput" + puts,
          "A put whose ends have one dimension and any positive strides (9.6), as "
          "grid[:, 0].iput(pe, column).");
  strided("iget", &move_strided<Op::iget, Way::get, 1>, "out", "def iget" + gets,
          "A get whose ends have one dimension and any positive strides (9.6).");
  strided("ibput", &move_strided<Op::ibput, Way::put, 2>, "values", "def ibput" + puts,
          "A put of blocks: the ends have two dimensions, and their rows are contiguous (9.6), as "
          "grid[:, :2].ibput(pe, columns).");
  strided("ibget", &move_strided<Op::ibget, Way::get, 2>, "out", "def ibget" + gets,
          "A get of blocks: the ends have two dimensions, and their rows are contiguous (9.6).");
  array.def(
      "p", &p, pe, nb::arg("value"), nb::arg("index") = 0, nb::kw_only(), context, stream,
      nb::sig("def p(self, pe: int, value: typing.Any, index: int = 0, " MESHMEM_STREAM_SIG "None"),
      "Puts one value into element index of PE pe's part (9.6). OverflowError if it does "
      "not fit.");
  array.def("g", &g, pe, nb::arg("index") = 0, nb::kw_only(), context,
            nb::sig("def g(self, pe: int, index: int = 0, " MESHMEM_END_OF_SIG "typing.Any"),
            "Gets element index of PE pe's part, as a number (9.6).");
  bind_atomics(array);
  bind_signals(array);
}

}  // namespace meshmem::python
