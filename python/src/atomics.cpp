// SPDX-License-Identifier: Apache-2.0
//
// Atomics (OpenSHMEM 1.6, 9.7), as methods of Array.
// Invariant: a context keeps the buffers of its nonblocking calls alive until quiet.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "array.hpp"
#include "context.hpp"

namespace meshmem::python {
namespace {

// An atomic routine on an element of PE pe. Its arguments are (ctx, dest, values..., pe), or (ctx,
// fetch, dest, values..., pe) if it is nonblocking.
struct Atomic {
  Atomic(Op op, const Array& array, int pe, std::size_t index, Context* given)
      : array(array),
        pe(pe),
        function(array.routine(op, "array")),
        address(array.element(index, "array")),
        context(checked_context(given, pe)) {}

  // Returns the value that the element had before, if the routine fetches it.
  template <class... Values>
  Value run(const Values&... values) const {
    Value before;
    const Unlocked unlocked(may_wait(context, pe, array.layout.itemsize));
    call(function, &before, context.handle, address, values..., pe);
    return before;
  }

  template <class... Values>
  void run_nbi(nb::handle fetch, const Values&... values) const {
    Buffer buffer(fetch, "fetch", true);
    buffer.require_type_of(array, "fetch");
    if (buffer.view().len != array.layout.itemsize)
      fail(PyExc_ValueError, "fetch: needs one element");
    {
      const Unlocked unlocked(may_wait(context, pe, array.layout.itemsize));
      call(function, nullptr, context.handle, static_cast<void*>(buffer.data()), address, values...,
           pe);
    }
    context.pending.add(std::move(buffer));
  }

  const Array& array;
  int pe;
  Function function;
  void* address;
  Context& context;
};

// The values that an atomic routine takes.
enum class Takes { nothing, value, cond_and_value };

struct AtomicRow {
  const char* name;
  Takes takes;
  Op op;
  Op nbi;  // the nonblocking form; equal to op if the routine fetches nothing and has none
  const char* text;
};
constexpr AtomicRow kAtomics[] = {
    {"fetch", Takes::nothing, Op::atomic_fetch, Op::atomic_fetch_nbi, "Returns the value."},
    {"set", Takes::value, Op::atomic_set, Op::atomic_set, "Sets the value."},
    {"swap", Takes::value, Op::atomic_swap, Op::atomic_swap_nbi,
     "Sets the value and returns the one before."},
    {"compare_swap", Takes::cond_and_value, Op::atomic_compare_swap, Op::atomic_compare_swap_nbi,
     "Sets value if the element is cond, and returns what it was."},
    {"inc", Takes::nothing, Op::atomic_inc, Op::atomic_inc, "Adds 1."},
    {"fetch_inc", Takes::nothing, Op::atomic_fetch_inc, Op::atomic_fetch_inc_nbi,
     "Adds 1 and returns the value before."},
    {"add", Takes::value, Op::atomic_add, Op::atomic_add, "Adds value; integers wrap."},
    {"fetch_add", Takes::value, Op::atomic_fetch_add, Op::atomic_fetch_add_nbi,
     "Adds value and returns the value before; integers wrap."},
    {"and", Takes::value, Op::atomic_and, Op::atomic_and, "Bitwise and with value."},
    {"fetch_and", Takes::value, Op::atomic_fetch_and, Op::atomic_fetch_and_nbi,
     "Bitwise and with value; returns the value before."},
    {"or", Takes::value, Op::atomic_or, Op::atomic_or, "Bitwise or with value."},
    {"fetch_or", Takes::value, Op::atomic_fetch_or, Op::atomic_fetch_or_nbi,
     "Bitwise or with value; returns the value before."},
    {"xor", Takes::value, Op::atomic_xor, Op::atomic_xor, "Bitwise exclusive or with value."},
    {"fetch_xor", Takes::value, Op::atomic_fetch_xor, Op::atomic_fetch_xor_nbi,
     "Bitwise exclusive or with value; returns the value before."}};

// Binds use(atomic, first..., values...) as a method that takes the values of `row`.
template <class... First, class Use, class... Names>
void bind_values(nb::class_<Array>& array, const std::string& name, const AtomicRow& row, Op op,
                 Use use, const std::string& text, const Names&... names) {
  const auto bind = [&](auto function, const auto&... taken) {
    array.def(name.c_str(), function, names..., nb::arg("pe"), taken..., nb::arg("index") = 0,
              nb::kw_only(), nb::arg("ctx") = nb::none(), text.c_str());
  };
  if (row.takes == Takes::nothing)
    bind([=](const Array& a, First... first, int pe, std::size_t index, Context* ctx) {
      return use(Atomic(op, a, pe, index, ctx), first...);
    });
  else if (row.takes == Takes::value)
    bind(
        [=](const Array& a, First... first, int pe, nb::handle value, std::size_t index,
            Context* ctx) {
          const Atomic atomic(op, a, pe, index, ctx);
          return use(atomic, first..., value_of(value, a, "value"));
        },
        nb::arg("value"));
  else
    bind(
        [=](const Array& a, First... first, int pe, nb::handle cond, nb::handle value,
            std::size_t index, Context* ctx) {
          const Atomic atomic(op, a, pe, index, ctx);
          return use(atomic, first..., value_of(cond, a, "cond"), value_of(value, a, "value"));
        },
        nb::arg("cond"), nb::arg("value"));
}

void bind_atomic(nb::class_<Array>& array, const AtomicRow& row) {
  const std::string name = std::string("atomic_") + row.name;
  const std::string text = std::string(row.text) +
                           " Atomic on element index of PE pe's part (9.7). TypeError if the "
                           "standard has no such atomic for the dtype.";
  if (row.op == row.nbi) {
    bind_values<>(
        array, name, row, row.op,
        [](const Atomic& atomic, const auto&... values) { atomic.run(values...); }, text);
    return;
  }
  bind_values<>(
      array, name, row, row.op,
      [](const Atomic& atomic, const auto&... values) {
        return nb::borrow<nb::any>(object_of(atomic.run(values...), atomic.array));
      },
      text);
  bind_values<nb::handle>(
      array, name + "_nbi", row, row.nbi,
      [](const Atomic& atomic, nb::handle fetch, const auto&... values) {
        atomic.run_nbi(fetch, values...);
      },
      "As " + name +
          ", but the value before is in fetch, an array of one element, after quiet (9.7).",
      nb::arg("fetch"));
}

}  // namespace

void bind_atomics(nb::class_<Array>& array) {
  for (const auto& row : kAtomics) bind_atomic(array, row);
}

}  // namespace meshmem::python
