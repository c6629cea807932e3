// SPDX-License-Identifier: Apache-2.0
//
// The rows as functions of the host, and as calls that put the work on a stream. Each has a loop of
// its own, so that nothing stands between two calls of the library.
#include "bench/operations.hpp"

#include <shmemx.h>

#include <algorithm>
#include <iterator>

namespace meshmem::bench {
namespace {

// A routine with its last argument, the stream.
template <typename Routine>
auto on(hipStream_t stream, Routine routine) {
  return [=](auto... arguments) { return routine(arguments..., stream); };
}

#define BODY(quiet, ...)                                                                           \
  const std::size_t skip = 0, bytes = at.bytes;                                                    \
  std::uint64_t round = rounds.first;                                                              \
  for (int i = 0; i < rounds.rounds; ++i) {                                                        \
    for (const std::uint64_t end = round + static_cast<std::uint64_t>(rounds.window); round < end; \
         ++round) {                                                                                \
      __VA_ARGS__;                                                                                 \
    }                                                                                              \
    quiet;                                                                                         \
  }                                                                                                \
  (void)skip, (void)bytes

#define DO(name) shmem_##name
#define XDO(name) shmemx_##name
#define MOVE(name) shmem_##name
#define AFTER_quiet shmem_quiet()
#define AFTER_nothing static_cast<void>(0)
#define ROW(name, who, size, answer, window, after, groups, grid, stream, ...) \
  void name##_on_host(const At& at, const Rounds& rounds) { BODY(AFTER_##after, __VA_ARGS__); }
#include "bench/operations.def"
#undef ROW
#undef AFTER_nothing
#undef AFTER_quiet
#undef MOVE
#undef XDO
#undef DO

#define DO(name) on(the_stream, shmemx_##name##_on_stream)
#define XDO(name) DO(name)
#define MOVE(name) DO(name)
#define AFTER_quiet shmemx_quiet_on_stream(the_stream)
#define AFTER_nothing static_cast<void>(0)
#define STREAM_no(...)
#define STREAM_yes(...) __VA_ARGS__
#define ROW(name, who, size, answer, window, after, groups, grid, stream, ...)            \
  STREAM_##stream(                                                                        \
      void name##_on_stream(const At& at, const Rounds& rounds, hipStream_t the_stream) { \
        BODY(AFTER_##after, __VA_ARGS__);                                                 \
      })
#include "bench/operations.def"
#undef ROW
#undef STREAM_yes
#undef STREAM_no
#undef AFTER_nothing
#undef AFTER_quiet
#undef MOVE
#undef XDO
#undef DO
#undef BODY

constexpr std::string_view kCallerNames[kCallers] = {"host",  "thread", "wave",
                                                     "block", "grid",   "stream"};

}  // namespace

const std::vector<Operation>& operations() {
#define GROUPS_no false
#define GROUPS_yes true
#define GRID_none false
#define GRID_slices true
#define GRID_whole true
#define STREAM_no(name) nullptr
#define STREAM_yes(name) name
#define ROW(name, who, size, answer, window, after, groups, grid, stream, ...) \
  {#name,                                                                      \
   Who::who,                                                                   \
   Size::size,                                                                 \
   Answer::answer,                                                             \
   window,                                                                     \
   name##_on_host,                                                             \
   STREAM_##stream(name##_on_stream),                                          \
   GROUPS_##groups,                                                            \
   GRID_##grid},
  static const std::vector<Operation> kOperations = {
#include "bench/operations.def"
  };
#undef ROW
#undef STREAM_yes
#undef STREAM_no
#undef GRID_whole
#undef GRID_slices
#undef GRID_none
#undef GROUPS_yes
#undef GROUPS_no
  return kOperations;
}

bool Operation::has(Caller caller) const {
  switch (caller) {
    case Caller::wave:
    case Caller::block:
      return by_groups;
    case Caller::grid:
      return by_grid;
    case Caller::stream:
      return on_stream != nullptr;
    default:
      return true;
  }
}

int Operation::number() const { return static_cast<int>(std::distance(operations().data(), this)); }

const Operation* find_operation(std::string_view name) {
  const auto found = std::find_if(operations().begin(), operations().end(),
                                  [&](const Operation& row) { return row.name == name; });
  return found == operations().end() ? nullptr : &*found;
}

std::string_view name_of(Caller caller) { return kCallerNames[static_cast<int>(caller)]; }

std::vector<std::string> caller_names() {
  return {std::begin(kCallerNames), std::end(kCallerNames)};
}

Caller caller_of(std::string_view name) {
  const auto found = std::find(std::begin(kCallerNames), std::end(kCallerNames), name);
  return static_cast<Caller>(found - std::begin(kCallerNames));
}

}  // namespace meshmem::bench
