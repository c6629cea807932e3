// SPDX-License-Identifier: Apache-2.0
//
// Collectives of a team (OpenSHMEM 1.6, 9.10).
// Invariant: sizes are checked against the team before a collective begins.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "stream.hpp"
#include "team.hpp"

namespace meshmem::python {
namespace {

void require_room(std::size_t is, std::size_t wanted, const char* name) {
  if (is == wanted) return;
  fail(PyExc_ValueError, std::string(name) + ": its size is " + std::to_string(is) + ", not " +
                             std::to_string(wanted));
}

// Arrays of one type that may be used together. They lie apart, or dest begins at `in_place`.
void require_pair(const Team& team, const Array& dest, const Array& source,
                  const char* in_place = nullptr) {
  team.require_usable();
  dest.require_contiguous("dest");
  source.require_contiguous("source");
  if (dest.layout.format != source.layout.format)
    fail(PyExc_TypeError, "source: its dtype is not that of dest");
  const auto dest_bytes = dest.layout.size() * dest.layout.itemsize;
  const auto source_bytes = source.layout.size() * source.layout.itemsize;
  const bool is_apart = dest.data + dest_bytes <= source.data ||
                        source.data + source_bytes <= dest.data || !dest_bytes || !source_bytes;
  if (!is_apart && dest.data != in_place) fail(PyExc_ValueError, "source: overlaps dest");
}

On on(const Stream& stream) { return stream ? On::stream : On::call; }

template <class... Arguments>
void run(Function function, const Stream& stream, const Team& team, const Array& dest,
         const Array& source, Arguments... arguments) {
  int status = 0;
  void *const to = dest.data, *const from = source.data;
  if (stream) {
    require_reached(dest, "dest");
    require_reached(source, "source");
  }
  {
    const Unlocked unlocked;
    if (stream)
      call(function, &status, team.handle(), to, from, arguments..., *stream);
    else
      call(function, &status, team.handle(), to, from, arguments...);
  }
  if (status) fail(PyExc_RuntimeError, "team: the collective failed");
}

void broadcast(const Team& team, const Array& dest, const Array& source, int root,
               nb::handle stream_object) {
  const Stream stream = stream_of(stream_object);
  require_pair(team, dest, source);
  require_pe(root, team.n_pes(), "root");
  require_room(dest.layout.size(), source.layout.size(), "dest");
  const Mover mover =
      python::mover(Op::broadcast, source, source.layout.size(), "source", on(stream));
  run(mover.function, stream, team, dest, source, mover.nelems, root);
}

void collect(const Team& team, const Array& dest, const Array& source, nb::handle stream_object) {
  const Stream stream = stream_of(stream_object);
  require_pair(team, dest, source);
  if (dest.layout.size() < source.layout.size()) fail(PyExc_ValueError, "dest: too small");
  const Mover mover =
      python::mover(Op::collect, source, source.layout.size(), "source", on(stream));
  run(mover.function, stream, team, dest, source, mover.nelems);
}

void fcollect(const Team& team, const Array& dest, const Array& source, nb::handle stream_object) {
  const Stream stream = stream_of(stream_object);
  require_pair(team, dest, source);
  require_room(dest.layout.size(), source.layout.size() * team.n_pes(), "dest");
  const Mover mover =
      python::mover(Op::fcollect, source, source.layout.size(), "source", on(stream));
  run(mover.function, stream, team, dest, source, mover.nelems);
}

void alltoall(const Team& team, const Array& dest, const Array& source, nb::handle stream_object) {
  const Stream stream = stream_of(stream_object);
  require_pair(team, dest, source);
  const std::size_t n = team.n_pes();
  require_room(dest.layout.size(), source.layout.size(), "dest");
  if (source.layout.size() % n)
    fail(PyExc_ValueError, "source: its size is no multiple of " + std::to_string(n) + " PEs");
  const Mover mover =
      python::mover(Op::alltoall, source, source.layout.size() / n, "source", on(stream));
  run(mover.function, stream, team, dest, source, mover.nelems);
}

void alltoalls(const Team& team, const Array& dest, const Array& source, ptrdiff_t dst,
               ptrdiff_t sst, std::size_t nelems) {
  require_pair(team, dest, source);
  const auto require_fit = [&](const Array& array, ptrdiff_t stride, const char* name) {
    if (stride < 1) fail(PyExc_ValueError, std::string(name) + ": its stride is less than 1");
    const std::size_t size = array.layout.size(), n_pes = team.n_pes(), n = nelems * n_pes;
    if (nelems > size / n_pes || (n > 1 && std::size_t(stride) > (size - 1) / (n - 1)))
      fail(PyExc_ValueError, std::string(name) + ": too small for nelems and the stride");
  };
  require_fit(dest, dst, "dest");
  require_fit(source, sst, "source");
  const Mover mover = python::mover(Op::alltoalls, source, nelems, "source");
  run(mover.function, std::nullopt, team, dest, source, dst, sst, mover.nelems);
}

// Counts and displacements of one side of alltoallv, in elements of the routine.
struct Blocks {
  Blocks(const Team& team, const Array& array, std::vector<std::size_t> given_counts,
         std::optional<std::vector<std::size_t>> given, std::size_t scale, const char* name)
      : counts(std::move(given_counts)) {
    const std::size_t n = team.n_pes();
    const std::string text = name;
    if (counts.size() != n) fail(PyExc_ValueError, text + "_counts: needs a number for each PE");
    if (given) {
      displs = std::move(*given);
    } else {
      std::size_t sum = 0;
      for (const auto count : counts) displs.push_back(std::exchange(sum, sum + count));
    }
    if (displs.size() != n) fail(PyExc_ValueError, text + "_displs: needs a number for each PE");
    for (std::size_t i = 0; i < n; ++i) {
      if (counts[i] > array.layout.size() || displs[i] > array.layout.size() - counts[i])
        fail(PyExc_ValueError, text + ": too small for the block of PE " + std::to_string(i));
      counts[i] *= scale;
      displs[i] *= scale;
    }
  }
  std::vector<std::size_t> counts, displs;
};

void alltoallv(const Team& team, const Array& dest, std::vector<std::size_t> dest_counts,
               const Array& source, std::vector<std::size_t> source_counts,
               std::optional<std::vector<std::size_t>> dest_displs,
               std::optional<std::vector<std::size_t>> source_displs) {
  require_pair(team, dest, source);
  const Mover mover = python::mover(Op::alltoallv, source, 1, "source");
  Blocks to(team, dest, std::move(dest_counts), std::move(dest_displs), mover.nelems, "dest");
  Blocks from(team, source, std::move(source_counts), std::move(source_displs), mover.nelems,
              "source");
  int status = 0;
  {
    const Unlocked unlocked;
    call(mover.function, &status, team.handle(), static_cast<void*>(dest.data),
         static_cast<void*>(to.counts.data()), static_cast<void*>(to.displs.data()),
         static_cast<void*>(source.data), static_cast<void*>(from.counts.data()),
         static_cast<void*>(from.displs.data()));
  }
  if (status) fail(PyExc_RuntimeError, "team: the collective failed");
}

void reduce(const Team& team, Op op, const Array& dest, const Array& source, const Stream& stream) {
  require_pair(team, dest, source, source.data);
  require_room(dest.layout.size(), source.layout.size(), "dest");
  run(source.routine(op, "source", on(stream)), stream, team, dest, source, source.layout.size());
}

void reduce_scatter(const Team& team, const Array& dest, const Array& source,
                    const std::string& name, nb::handle stream_object) {
  const Stream stream = stream_of(stream_object);
  static const std::pair<const char*, Op> all[] = {
      {"sum", Op::sum_reduce_scatter},       {"prod", Op::prod_reduce_scatter},
      {"min", Op::min_reduce_scatter},       {"max", Op::max_reduce_scatter},
      {"avg", Op::avg_reduce_scatter},       {"bitwise_and", Op::and_reduce_scatter},
      {"bitwise_or", Op::or_reduce_scatter}, {"bitwise_xor", Op::xor_reduce_scatter}};
  for (const auto& [text, op] : all) {
    if (name != text) continue;
    team.require_usable();
    const std::size_t n = dest.layout.size();
    const char* my_block =
        source.data + shmem_team_my_pe(team.handle()) * n * source.layout.itemsize;
    require_pair(team, dest, source, my_block);
    require_room(source.layout.size(), n * team.n_pes(), "source");
    return run(source.routine(op, "source", on(stream)), stream, team, dest, source, n);
  }
  fail(PyExc_ValueError,
       "op: '" + name + "' is not one of sum prod min max avg bitwise_and bitwise_or bitwise_xor");
}

// Elements that are structs of a value and an index of the same size.
void reduce_located(const Team& team, Op op, const Array& dest, const Array& source,
                    const Stream& stream) {
  require_pair(team, dest, source, source.data);
  require_room(dest.layout.size(), source.layout.size(), "dest");
  static const std::pair<const char*, Code> all[] = {
      {"T{f:value:i:index:}", Code::float32}, {"T{d:value:l:index:}", Code::float64},
      {"T{i:value:i:index:}", Code::int32},   {"T{l:value:l:index:}", Code::int64},
      {"T{I:value:i:index:}", Code::uint32},  {"T{L:value:l:index:}", Code::uint64}};
  for (const auto& [format, code] : all)
    if (source.layout.format == format)
      return run(find(op, code, on(stream)), stream, team, dest, source, source.layout.size());
  fail(PyExc_TypeError, "source: its dtype is not made by located_dtype()");
}

}  // namespace

void bind_collectives(nb::class_<Team>& team) {
  const auto dest = nb::arg("dest");
  const auto source = nb::arg("source");
  const auto stream = nb::arg("stream") = nb::none();
  team.def(
      "sync",
      [](const Team& t, nb::handle stream_object) {
        t.require_usable();
        const Stream on = stream_of(stream_object);
        const Unlocked unlocked;
        on ? shmemx_team_sync_on_stream(t.handle(), *on) : shmem_team_sync(t.handle());
      },
      nb::kw_only(), stream, "Waits for all PEs of the team, not for outstanding updates (9.10).");
  team.def("broadcast", &broadcast, dest, source, nb::arg("root"), nb::kw_only(), stream,
           "Copies PE root's source to every dest of the same size (9.10). root counts in the "
           "team.");
  team.def("collect", &collect, dest, source, nb::kw_only(), stream,
           "Joins the sources, whose sizes may differ, in the order of the PEs (9.10). dest must "
           "have room for all of them, which only MESHMEM_CHECK=1 checks.");
  team.def("fcollect", &fcollect, dest, source, nb::kw_only(), stream,
           "Joins the sources, all of one size, in the order of the PEs (9.10).");
  team.def("alltoall", &alltoall, dest, source, nb::kw_only(), stream,
           "Block i of a source goes to PE i; there it is the block of the PE that it came from "
           "(9.10). A block is size / n_pes elements.");
  team.def("alltoalls", &alltoalls, dest, source, nb::arg("dst"), nb::arg("sst"), nb::arg("nelems"),
           "alltoall of blocks of nelems elements that are dst elements apart in dest and sst in "
           "source (9.10).");
  team.def("alltoallv", &alltoallv, dest, nb::arg("dest_counts"), source, nb::arg("source_counts"),
           nb::arg("dest_displs") = nb::none(), nb::arg("source_displs") = nb::none(),
           "alltoall of blocks that differ in length (an extension): source_counts[i] elements "
           "go to PE i, dest_counts[i] come from it. Without displacements the blocks lie one "
           "behind another.");
  struct Row {
    const char* name;
    Op op;
    const char* text;
  };
  for (const Row row :
       {Row{"sum", Op::sum_reduce, "The sums of the elements of all sources (9.10)."},
        {"prod", Op::prod_reduce, "The products (9.10)."},
        {"min", Op::min_reduce, "The least elements (9.10)."},
        {"max", Op::max_reduce, "The greatest elements (9.10)."},
        {"bitwise_and", Op::and_reduce, "Bitwise and, of unsigned or fixed-width integers (9.10)."},
        {"bitwise_or", Op::or_reduce, "Bitwise or (9.10)."},
        {"bitwise_xor", Op::xor_reduce, "Bitwise exclusive or (9.10)."},
        {"sum_inscan", Op::sum_inscan, "The sums of the sources of PEs 0 to this one (9.10)."},
        {"sum_exscan", Op::sum_exscan, "The sums of the sources of the PEs before this (9.10)."},
        {"avg", Op::avg_reduce, "The sums divided by the number of PEs (an extension)."}})
    team.def(
        row.name,
        [op = row.op](const Team& t, const Array& d, const Array& s, nb::handle on) {
          reduce(t, op, d, s, stream_of(on));
        },
        dest, source, nb::kw_only(), stream,
        (std::string(row.text) + " dest has the size of source and may be source.").c_str());
  team.def("reduce_scatter", &reduce_scatter, dest, source, nb::arg("op") = "sum", nb::kw_only(),
           stream,
           nb::sig("def reduce_scatter(self, dest: Array, source: Array, op: typing.Literal['sum', "
                   "'prod', 'min', 'max', 'avg', 'bitwise_and', 'bitwise_or', 'bitwise_xor'] = "
                   "'sum', *, stream: typing.Any = None) -> None"),
           "PE i's dest becomes the combination of the blocks i of all sources (an extension). "
           "dest may be that block of source.");
  for (const Row row : {Row{"maxloc", Op::maxloc_reduce, "The greatest values"},
                        {"minloc", Op::minloc_reduce, "The least values"}})
    team.def(
        row.name,
        [op = row.op](const Team& t, const Array& d, const Array& s, nb::handle on) {
          reduce_located(t, op, d, s, stream_of(on));
        },
        dest, source, nb::kw_only(), stream,
        (std::string(row.text) + " with their indices (an extension). The dtype is of "
                                 "located_dtype(). Among equal values the least index wins.")
            .c_str());
}

}  // namespace meshmem::python
