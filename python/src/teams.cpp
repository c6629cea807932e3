// SPDX-License-Identifier: Apache-2.0
//
// Contexts, teams, collectives and locks (OpenSHMEM 1.6, 9.4, 9.5, 9.9, 9.10 and 9.13).
// Invariant: sizes are checked against the team before a collective begins.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "array.hpp"

namespace meshmem::python {
namespace {

struct Team {
  std::shared_ptr<shmem_team_t> shared;  // with its contexts; invalid after destroy
  int made_in_init = job.n_inits;

  shmem_team_t handle() const { return *shared; }
  bool is_there() const {
    return is_predefined() || (handle() != SHMEM_TEAM_INVALID && made_in_init == job.n_inits);
  }
  bool is_predefined() const {
    return handle() == SHMEM_TEAM_WORLD || handle() == SHMEM_TEAM_SHARED;
  }
  void require_usable(const char* name = "team") const {
    require_active();
    if (!is_there()) fail(PyExc_ValueError, std::string(name) + ": it was destroyed");
  }
  int n_pes() const { return shmem_team_n_pes(handle()); }
};
Team team_of(shmem_team_t handle) { return {std::make_shared<shmem_team_t>(handle)}; }

void pe_quiet(Context& context, const std::vector<int>& pes) {
  context.require_usable();
  for (const int pe : pes)
    require_pe(pe, context.handle == SHMEM_CTX_DEFAULT ? job.n_pes : context.n_pes, "pes");
  const Unlocked unlocked;
  shmem_ctx_pe_quiet(context.handle, pes.data(), pes.size());
}

void fence(Context& context) {
  context.require_usable();
  const Unlocked unlocked;
  shmem_ctx_fence(context.handle);
}

Context* make_context(Team* given, bool is_serialized, bool is_private, bool has_no_stores) {
  require_active();
  const Team team = given ? *given : team_of(SHMEM_TEAM_WORLD);
  team.require_usable();
  const long options = (is_serialized ? SHMEM_CTX_SERIALIZED : 0) |
                       (is_private ? SHMEM_CTX_PRIVATE : 0) |
                       (has_no_stores ? SHMEM_CTX_NOSTORE : 0);
  Context made;
  if (shmem_team_create_ctx(team.handle(), options, &made.handle))
    fail(PyExc_RuntimeError, "Context: the library has no more contexts");
  made.team = team.shared;
  made.n_pes = team.n_pes();
  return new Context(std::move(made));
}

void destroy_context(Context& context) {
  quiet(context);
  const auto handle = std::exchange(context.handle, SHMEM_CTX_INVALID);
  const Unlocked unlocked;
  shmem_ctx_destroy(handle);
}

nb::object team_or_none(shmem_team_t team) {
  return team == SHMEM_TEAM_INVALID ? nb::none() : nb::cast(team_of(team));
}

nb::object split_strided(const Team& team, int start, int stride, int size, int num_contexts) {
  team.require_usable();
  const int n = team.n_pes();
  require_pe(start, n, "start");
  const long last = start + static_cast<long>(size - 1) * stride;
  if (size < 1 || last < 0 || last >= n || (stride == 0 && size > 1)) {
    fail(PyExc_ValueError,
         "size: a stride of " + std::to_string(stride) + " leaves the team, or repeats a PE");
  }
  shmem_team_config_t config{num_contexts};
  shmem_team_t made;
  int status;
  {
    const Unlocked unlocked;
    status = shmem_team_split_strided(team.handle(), start, stride, size, &config,
                                      SHMEM_TEAM_NUM_CONTEXTS, &made);
  }
  if (status) fail(PyExc_RuntimeError, "team: the library has no more teams");
  return team_or_none(made);
}

nb::object split_2d(const Team& team, int xrange, int num_contexts) {
  team.require_usable();
  if (xrange < 1) fail(PyExc_ValueError, "xrange: less than 1");
  shmem_team_config_t config{num_contexts};
  shmem_team_t x, y;
  int status;
  {
    const Unlocked unlocked;
    status = shmem_team_split_2d(team.handle(), xrange, &config, SHMEM_TEAM_NUM_CONTEXTS, &x,
                                 &config, SHMEM_TEAM_NUM_CONTEXTS, &y);
  }
  if (status) fail(PyExc_RuntimeError, "team: the library has no more teams");
  return nb::make_tuple(team_or_none(x), team_or_none(y));
}

void destroy_team(Team& team) {
  team.require_usable();
  if (team.is_predefined()) fail(PyExc_ValueError, "team: TEAM_WORLD and TEAM_SHARED stay");
  const auto handle = std::exchange(*team.shared, SHMEM_TEAM_INVALID);
  const Unlocked unlocked;
  shmem_team_destroy(handle);
}

// ---- Collectives

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

template <class... Arguments>
void run(Function function, const Team& team, const Array& dest, const Array& source,
         Arguments... arguments) {
  int status = 0;
  {
    const Unlocked unlocked;
    call(function, &status, team.handle(), static_cast<void*>(dest.data),
         static_cast<void*>(source.data), arguments...);
  }
  if (status) fail(PyExc_RuntimeError, "team: the collective failed");
}

void broadcast(const Team& team, const Array& dest, const Array& source, int root) {
  require_pair(team, dest, source);
  require_pe(root, team.n_pes(), "root");
  require_room(dest.layout.size(), source.layout.size(), "dest");
  const Mover mover = python::mover(Op::broadcast, source, source.layout.size(), "source");
  run(mover.function, team, dest, source, mover.nelems, root);
}

void collect(const Team& team, const Array& dest, const Array& source) {
  require_pair(team, dest, source);
  if (dest.layout.size() < source.layout.size()) fail(PyExc_ValueError, "dest: too small");
  const Mover mover = python::mover(Op::collect, source, source.layout.size(), "source");
  run(mover.function, team, dest, source, mover.nelems);
}

void fcollect(const Team& team, const Array& dest, const Array& source) {
  require_pair(team, dest, source);
  require_room(dest.layout.size(), source.layout.size() * team.n_pes(), "dest");
  const Mover mover = python::mover(Op::fcollect, source, source.layout.size(), "source");
  run(mover.function, team, dest, source, mover.nelems);
}

void alltoall(const Team& team, const Array& dest, const Array& source) {
  require_pair(team, dest, source);
  const std::size_t n = team.n_pes();
  require_room(dest.layout.size(), source.layout.size(), "dest");
  if (source.layout.size() % n)
    fail(PyExc_ValueError, "source: its size is no multiple of " + std::to_string(n) + " PEs");
  const Mover mover = python::mover(Op::alltoall, source, source.layout.size() / n, "source");
  run(mover.function, team, dest, source, mover.nelems);
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
  run(mover.function, team, dest, source, dst, sst, mover.nelems);
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

void reduce(const Team& team, Op op, const Array& dest, const Array& source) {
  require_pair(team, dest, source, source.data);
  require_room(dest.layout.size(), source.layout.size(), "dest");
  run(source.routine(op, "source"), team, dest, source, source.layout.size());
}

void reduce_scatter(const Team& team, const Array& dest, const Array& source,
                    const std::string& name) {
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
    return run(source.routine(op, "source"), team, dest, source, n);
  }
  fail(PyExc_ValueError,
       "op: '" + name + "' is not one of sum prod min max avg bitwise_and bitwise_or bitwise_xor");
}

// Elements that are structs of a value and an index of the same size.
void reduce_located(const Team& team, Op op, const Array& dest, const Array& source) {
  require_pair(team, dest, source, source.data);
  require_room(dest.layout.size(), source.layout.size(), "dest");
  static const std::pair<const char*, Code> all[] = {
      {"T{f:value:i:index:}", Code::float32}, {"T{d:value:l:index:}", Code::float64},
      {"T{i:value:i:index:}", Code::int32},   {"T{l:value:l:index:}", Code::int64},
      {"T{I:value:i:index:}", Code::uint32},  {"T{L:value:l:index:}", Code::uint64}};
  for (const auto& [format, code] : all)
    if (source.layout.format == format)
      return run(find(op, code), team, dest, source, source.layout.size());
  fail(PyExc_TypeError, "source: its dtype is not made by located_dtype()");
}

void bind_collectives(nb::class_<Team>& team) {
  const auto dest = nb::arg("dest");
  const auto source = nb::arg("source");
  team.def(
      "sync",
      [](const Team& t) {
        t.require_usable();
        const Unlocked unlocked;
        shmem_team_sync(t.handle());
      },
      "Waits for all PEs of the team, not for outstanding updates (9.10).");
  team.def("broadcast", &broadcast, dest, source, nb::arg("root"),
           "Copies PE root's source to every dest of the same size (9.10). root counts in the "
           "team.");
  team.def("collect", &collect, dest, source,
           "Joins the sources, whose sizes may differ, in the order of the PEs (9.10). dest must "
           "have room for all of them, which only MESHMEM_CHECK=1 checks.");
  team.def("fcollect", &fcollect, dest, source,
           "Joins the sources, all of one size, in the order of the PEs (9.10).");
  team.def("alltoall", &alltoall, dest, source,
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
        [op = row.op](const Team& t, const Array& d, const Array& s) { reduce(t, op, d, s); }, dest,
        source,
        (std::string(row.text) + " dest has the size of source and may be source.").c_str());
  team.def("reduce_scatter", &reduce_scatter, dest, source, nb::arg("op") = "sum",
           nb::sig("def reduce_scatter(self, dest: Array, source: Array, op: typing.Literal['sum', "
                   "'prod', 'min', 'max', 'avg', 'bitwise_and', 'bitwise_or', 'bitwise_xor'] = "
                   "'sum') -> None"),
           "PE i's dest becomes the combination of the blocks i of all sources (an extension). "
           "dest may be that block of source.");
  for (const Row row : {Row{"maxloc", Op::maxloc_reduce, "The greatest values"},
                        {"minloc", Op::minloc_reduce, "The least values"}})
    team.def(
        row.name,
        [op = row.op](const Team& t, const Array& d, const Array& s) {
          reduce_located(t, op, d, s);
        },
        dest, source,
        (std::string(row.text) + " with their indices (an extension). The dtype is of "
                                 "located_dtype(). Among equal values the least index wins.")
            .c_str());
}

}  // namespace

void bind_contexts(nb::module_& module) {
  nb::class_<Context> context(
      module, "Context",
      "A stream of puts, gets and atomics that are ordered and completed on their own (9.5). PE "
      "numbers count in its team. with Context() as ctx destroys it at the end.");
  context.def(nb::new_(&make_context), nb::arg("team").none() = nb::none(), nb::kw_only(),
              nb::arg("serialized") = false, nb::arg("private") = false, nb::arg("nostore") = false,
              "serialized: one thread at a time uses it; private: only the calling thread; "
              "nostore: no puts and no atomics that store.");
  bind_with(context, [](Context& self, bool) {
    if (self.is_there()) destroy_context(self);
  });
  context.def("destroy", &destroy_context,
              "Completes its operations and gives it back (9.5). Not collective.");
  context.def("fence", &fence, "Orders its puts to each PE (9.12).");
  context.def("quiet", &quiet, "Waits until all its operations are done (9.12).");
  context.def("pe_quiet", &pe_quiet, nb::arg("pes"),
              "Waits until its operations on these PEs are done (9.12).");
  context.def(
      "team",
      [](Context& self) {
        self.require_usable();
        return Team{self.team};
      },
      "The team that its PE numbers count in (9.5, shmem_ctx_get_team).");
  context.def(
      "session_start",
      [](Context& self, std::size_t total_ops, bool is_batch) {
        self.require_usable();
        shmem_ctx_session_config_t config{total_ops};
        shmem_ctx_session_start(self.handle, is_batch ? SHMEM_CTX_SESSION_BATCH : 0, &config,
                                total_ops ? SHMEM_CTX_SESSION_TOTAL_OPS : 0);
      },
      nb::arg("total_ops") = 0, nb::arg("batch") = false,
      "Begins a session: a hint that up to total_ops operations follow (9.9).");
  context.def(
      "session_stop",
      [](Context& self) {
        self.require_usable();
        shmem_ctx_session_stop(self.handle);
      },
      "Ends the session (9.9).");
  module.def(
      "quiet", [] { quiet(default_context); },
      "Waits until all operations of the default context are done (9.12).");
  module.def(
      "fence", [] { fence(default_context); },
      "Orders the puts of the default context to each PE (9.12).");
  module.def(
      "pe_quiet", [](const std::vector<int>& pes) { pe_quiet(default_context, pes); },
      nb::arg("pes"), "Waits until the default context's operations on these PEs are done (9.12).");
}

void bind_teams(nb::module_& module) {
  nb::class_<Team> team(module, "Team",
                        "An ordered set of PEs that call collectives together (9.4). TEAM_WORLD "
                        "has all, TEAM_SHARED those of this machine.");
  team.def(
      "my_pe",
      [](const Team& t) {
        t.require_usable();
        return shmem_team_my_pe(t.handle());
      },
      "This PE's number in the team (9.4).");
  team.def(
      "n_pes",
      [](const Team& t) {
        t.require_usable();
        return t.n_pes();
      },
      "The number of PEs of the team (9.4).");
  team.def(
      "translate_pe",
      [](const Team& t, int pe, const Team& other) -> std::optional<int> {
        t.require_usable();
        other.require_usable("other");
        require_pe(pe, t.n_pes());
        const int there = shmem_team_translate_pe(t.handle(), pe, other.handle());
        if (there < 0) return std::nullopt;
        return there;
      },
      nb::arg("pe"), nb::arg("other"),
      "The number that PE pe of this team has in the other, or None (9.4).");
  team.def("split_strided", &split_strided, nb::arg("start"), nb::arg("stride"), nb::arg("size"),
           nb::arg("num_contexts") = 0,
           nb::sig("def split_strided(self, start: int, stride: int, "
                   "size: int, num_contexts: int = 0) -> Team | None"),
           "A team of PEs start, start + stride, ... (9.4). Collective over this team; None on PEs "
           "that are not in the new one.");
  team.def("split_2d", &split_2d, nb::arg("xrange"), nb::arg("num_contexts") = 0,
           nb::sig("def split_2d(self, xrange: int, num_contexts: int = 0) -> tuple[Team, Team]"),
           "Two teams, this PE's row and column, as if the PEs lay in rows of xrange (9.4). "
           "Collective over this team.");
  team.def(
      "num_contexts",
      [](const Team& t) {
        t.require_usable();
        shmem_team_config_t config{};
        shmem_team_get_config(t.handle(), SHMEM_TEAM_NUM_CONTEXTS, &config);
        return config.num_contexts;
      },
      "The number of contexts that the split asked for (9.4, shmem_team_get_config).");
  team.def("destroy", &destroy_team,
           "Ends the team (9.4). Collective over it. Its contexts end too.");
  team.def(
      "ptr",
      [](const Team& t, nb::handle array, int pe) {
        t.require_usable();
        require_pe(pe, t.n_pes());
        return array.attr("ptr")(shmem_team_translate_pe(t.handle(), pe, SHMEM_TEAM_WORLD));
      },
      nb::arg("array"), nb::arg("pe"),
      nb::sig("def ptr(self, array: Array, pe: int) -> numpy.typing.NDArray[typing.Any] | "
              "None"),
      "As array.ptr, with a PE number of the team (9.4, shmem_team_ptr).");
  bind_with(team, [](Team& self, bool is_error) {
    if (!is_error && self.is_there()) destroy_team(self);
  });
  bind_collectives(team);
  module.attr("TEAM_WORLD") = team_of(SHMEM_TEAM_WORLD);
  module.attr("TEAM_SHARED") = team_of(SHMEM_TEAM_SHARED);
  const auto bind_lock = [&](const char* name, auto routine) {
    module.def(
        name,
        [routine](const Array& lock) {
          if (lock.code != Code::int64) fail(PyExc_TypeError, "lock: its dtype is not int64");
          auto* const address = reinterpret_cast<long*>(lock.element(0, "lock"));
          const Unlocked unlocked;
          return routine(address);
        },
        nb::arg("lock"));
  };
  bind_lock("set_lock", &shmem_set_lock);
  bind_lock("clear_lock", &shmem_clear_lock);
  bind_lock("test_lock", [](long* lock) { return shmem_test_lock(lock) == 0; });
}

}  // namespace meshmem::python
