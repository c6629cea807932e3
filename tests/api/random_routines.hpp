// SPDX-License-Identifier: Apache-2.0
//
// The collectives that random_collectives_test.cpp draws from, each with a serial model: what a PE
// brings, how the routine is called, and what it must leave in dest.
// Invariant: the value of an element follows from the step, the PE and the index alone, so that
// every PE knows all sources without asking.
#ifndef MESHMEM_TESTS_API_RANDOM_ROUTINES_HPP
#define MESHMEM_TESTS_API_RANDOM_ROUTINES_HPP

#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "reduction_model.hpp"
#include "symmetric_array.hpp"
#include "team_views.hpp"
#include "typed_routines.hpp"

namespace meshmem {

enum class Kind { meeting, broadcast, fcollect, collect, alltoall, alltoalls, reduce, scan };

struct Routine;

// A collective call, which all PEs draw alike. Offsets count elements from the beginning of the
// step's arena.
struct Step {
  const Routine* routine = nullptr;
  size_t count = 0;
  int root = 0;
  size_t dest_stride = 1, source_stride = 1;
  bool in_place = false;
  bool in_statics = false;
  size_t dest_at = 0, source_at = 0;
  int sleeper = -1;   // PE of the team that comes late
  uint64_t salt = 0;  // of the data

  // The elements that PE `pe` of the team brings to a collect.
  size_t collected(size_t pe) const { return (count + pe * (salt % 97)) % (count + 1); }
};

struct Routine {
  const char* name;
  Kind kind;
  size_t elem_bytes;
  bool world_only;
  std::function<void(const Step&, const TeamView&, void* source)> fill;
  std::function<int(const Step&, const TeamView&, void* dest, const void* source)> call;
  // Index of the first wrong element of dest; -1 if all is right.
  std::function<long(const Step&, const TeamView&, const void* dest)> first_wrong;
};

// The number of elements from the first to the last of a PE's source, and of its dest.
inline size_t source_elems(const Step& step, const TeamView& view, size_t pe) {
  switch (step.routine->kind) {
    case Kind::meeting:
      return 0;
    case Kind::collect:
      return step.collected(pe);
    case Kind::alltoall:
    case Kind::alltoalls:
      return step.count * view.size() * step.source_stride;
    default:
      return step.count;
  }
}
inline size_t dest_elems(const Step& step, const TeamView& view) {
  switch (step.routine->kind) {
    case Kind::meeting:
      return 0;
    case Kind::collect: {
      size_t total = 0;
      for (size_t pe = 0; pe < view.size(); ++pe) total += step.collected(pe);
      return total;
    }
    case Kind::fcollect:
    case Kind::alltoall:
    case Kind::alltoalls:
      return step.count * view.size() * step.dest_stride;
    default:
      return step.count;
  }
}

// With MESHMEM_DETERMINISTIC sums of any floating-point values are those of the model, which adds
// in PE order; else only exact sums are.
inline bool adds_in_pe_order() {
  static const bool given = std::getenv("MESHMEM_DETERMINISTIC") != nullptr;
  return given;
}

template <typename E>
E operand(Op op, bool any_value, uint64_t bits) {
  if constexpr (std::is_integral_v<E>) {
    return static_cast<E>(bits);
  } else {
    if (op == Op::kProd) return factor<E>(bits);
    const double small = static_cast<double>(bits % 2001) - 1000;
    if constexpr (is_complex<E>) {
      return make_complex<E>(small, static_cast<double>(bits / 2001 % 2001) - 1000);
    } else if (any_value && op == Op::kSum) {
      return static_cast<E>(static_cast<int64_t>(bits)) / 1009;
    } else {
      return static_cast<E>(small) / 4;
    }
  }
}

inline uint64_t bits_of(const Step& step, const TeamView& view, size_t pe, size_t i) {
  return scramble(step.salt + static_cast<uint64_t>(view.world(pe)) * 0x100000001b3u + i);
}

// Data movement: what belongs at dest[i] is element `index` of PE `pe`; pe of kNobody: it stays.
struct Origin {
  size_t pe, index;
};
constexpr size_t kNobody = ~size_t{0};

inline std::vector<size_t> collect_ends(const Step& step, const TeamView& view) {
  std::vector<size_t> ends;
  size_t end = 0;
  for (size_t pe = 0; pe < view.size(); ++pe) ends.push_back(end += step.collected(pe));
  return ends;
}

inline Origin origin(const Step& step, const TeamView& view, const std::vector<size_t>& ends,
                     size_t i) {
  switch (step.routine->kind) {
    case Kind::broadcast:
      return {static_cast<size_t>(step.root), i};
    case Kind::fcollect:
      return {i / step.count, i % step.count};
    case Kind::collect: {
      size_t pe = 0;
      while (i >= ends[pe]) ++pe;
      return {pe, i - (pe == 0 ? 0 : ends[pe - 1])};
    }
    default: {
      if (i % step.dest_stride != 0) return {kNobody, 0};
      const size_t element = i / step.dest_stride;
      const size_t mine = static_cast<size_t>(view.me) * step.count;
      return {element / step.count, (mine + element % step.count) * step.source_stride};
    }
  }
}

constexpr unsigned char kUntouched = 0xa5;

template <typename E>
Routine move_routine(const char* name, Kind kind,
                     std::function<int(const Step&, const TeamView&, E*, const E*)> call) {
  Routine routine{name, kind, sizeof(E), false, {}, {}, {}};
  routine.fill = [](const Step& step, const TeamView& view, void* source) {
    const auto me = static_cast<size_t>(view.me);
    const size_t n = source_elems(step, view, me);
    for (size_t i = 0; i < n; ++i)
      static_cast<E*>(source)[i] = static_cast<E>(bits_of(step, view, me, i));
  };
  routine.call = [call](const Step& step, const TeamView& view, void* dest, const void* source) {
    return call(step, view, static_cast<E*>(dest), static_cast<const E*>(source));
  };
  routine.first_wrong = [](const Step& step, const TeamView& view, const void* dest) {
    const std::vector<size_t> ends =
        step.routine->kind == Kind::collect ? collect_ends(step, view) : std::vector<size_t>{};
    const size_t n = dest_elems(step, view);
    E untouched;
    std::memset(&untouched, kUntouched, sizeof untouched);
    for (size_t i = 0; i < n; ++i) {
      const Origin from = origin(step, view, ends, i);
      const E expected =
          from.pe == kNobody ? untouched : static_cast<E>(bits_of(step, view, from.pe, from.index));
      if (static_cast<const E*>(dest)[i] != expected) return static_cast<long>(i);
    }
    return -1L;
  };
  return routine;
}

// The five that move data, as routines on E; T is what their prototypes say.
template <typename E, typename T>
void add_moves(std::vector<Routine>& all, const Collective<E, T>& row) {
  const auto add = [&](const char* name, Kind kind, auto call) {
    all.push_back(move_routine<E>(name, kind, call));
  };
  add("broadcast", Kind::broadcast, [=](const Step& s, const TeamView& v, E* to, const E* from) {
    return row.broadcast(v.team, to, from, s.count, s.root);
  });
  add("fcollect", Kind::fcollect, [=](const Step& s, const TeamView& v, E* to, const E* from) {
    return row.fcollect(v.team, to, from, s.count);
  });
  add("collect", Kind::collect, [=](const Step& s, const TeamView& v, E* to, const E* from) {
    return row.collect(v.team, to, from, s.collected(static_cast<size_t>(v.me)));
  });
  add("alltoall", Kind::alltoall, [=](const Step& s, const TeamView& v, E* to, const E* from) {
    return row.alltoall(v.team, to, from, s.count);
  });
  add("alltoalls", Kind::alltoalls, [=](const Step& s, const TeamView& v, E* to, const E* from) {
    return row.alltoalls(v.team, to, from, static_cast<ptrdiff_t>(s.dest_stride),
                         static_cast<ptrdiff_t>(s.source_stride), s.count);
  });
}

enum class Terms { all, with_me, before_me };  // of a reduction and the two scans

template <typename E>
Routine combine_routine(const char* name, Op op, Terms terms,
                        int (*call)(shmem_team_t, E*, const E*, size_t)) {
  Routine routine{name, terms == Terms::all ? Kind::reduce : Kind::scan, sizeof(E), false, {}, {},
                  {}};
  const bool any_value = adds_in_pe_order() || terms != Terms::all;
  const auto value = [=](const Step& step, const TeamView& view, size_t pe, size_t i) {
    return operand<E>(op, any_value, bits_of(step, view, pe, i));
  };
  routine.fill = [=](const Step& step, const TeamView& view, void* source) {
    for (size_t i = 0; i < step.count; ++i)
      static_cast<E*>(source)[i] = value(step, view, static_cast<size_t>(view.me), i);
  };
  routine.call = [=](const Step& step, const TeamView& view, void* dest, const void* source) {
    return call(view.team, static_cast<E*>(dest), static_cast<const E*>(source), step.count);
  };
  routine.first_wrong = [=](const Step& step, const TeamView& view, const void* dest) {
    const size_t n = terms == Terms::all
                         ? view.size()
                         : static_cast<size_t>(view.me) + (terms == Terms::with_me ? 1 : 0);
    for (size_t i = 0; i < step.count; ++i) {
      E expected = n == 0 ? E(0) : value(step, view, 0, i);
      for (size_t pe = 1; pe < n; ++pe) expected = combine(op, expected, value(step, view, pe, i));
      if (!same(static_cast<const E*>(dest)[i], expected)) return static_cast<long>(i);
    }
    return -1L;
  };
  return routine;
}

inline Routine meeting(const char* name, bool world_only, int (*call)(shmem_team_t)) {
  return {name,
          Kind::meeting,
          1,
          world_only,
          [](const Step&, const TeamView&, void*) {},
          [=](const Step&, const TeamView& view, void*, const void*) { return call(view.team); },
          [](const Step&, const TeamView&, const void*) { return -1L; }};
}

}  // namespace meshmem

#endif
