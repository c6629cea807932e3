// SPDX-License-Identifier: Apache-2.0
//
// Each row as a function that calls the routine from the host, and as one that puts it on a stream.
// Each function has its own loop, so that nothing comes between two calls of the library.
#include "bench/operations.hpp"

#include <shmemx.h>

#include <algorithm>
#include <iterator>

namespace meshmem::bench {
namespace {

template <typename Call, typename Quiet>
inline void repeat(const Rounds& rounds, Call call, Quiet quiet) {
  std::uint64_t number = rounds.first;
  for (int i = 0; i < rounds.rounds; ++i) {
    const std::uint64_t end = number + static_cast<std::uint64_t>(rounds.window);
    for (; number < end; ++number) call(number);
    quiet();
  }
}

// Returns the routine with its last argument, the stream, filled in.
template <typename Routine>
auto on(hipStream_t stream, Routine routine) {
  return [=](auto... arguments) { return routine(arguments..., stream); };
}

#define BODY(quiet, ...)                                               \
  repeat(                                                              \
      rounds,                                                          \
      [&]([[maybe_unused]] std::uint64_t call) {                       \
        [[maybe_unused]] const std::size_t skip = 0, bytes = at.bytes; \
        __VA_ARGS__;                                                   \
      },                                                               \
      [&] { quiet; })

#define DO(name) shmem_##name
#define XDO(name) shmemx_##name
#define MOVE(name) shmem_##name
#define AFTER_quiet shmem_quiet()
#define AFTER_nothing
#define ROW(name, who, size, answer, window, after, groups, grid, stream, ...) \
  void name##_on_host(const At& at, const Rounds& rounds) { BODY(AFTER_##after, __VA_ARGS__); }
#include "bench/rows.def"
#undef ROW
#undef AFTER_quiet
#undef MOVE
#undef XDO
#undef DO

#define DO(name) on(the_stream, shmemx_##name##_on_stream)
#define XDO(name) DO(name)
#define MOVE(name) DO(name)
#define AFTER_quiet shmemx_quiet_on_stream(the_stream)
#define STREAM_no(...)
#define STREAM_yes(...) __VA_ARGS__
#define ROW(name, who, size, answer, window, after, groups, grid, stream, ...)            \
  STREAM_##stream(                                                                        \
      void name##_on_stream(const At& at, const Rounds& rounds, hipStream_t the_stream) { \
        BODY(AFTER_##after, __VA_ARGS__);                                                 \
      })
#include "bench/rows.def"
#undef ROW
#undef STREAM_yes
#undef STREAM_no
#undef AFTER_nothing
#undef AFTER_quiet
#undef MOVE
#undef XDO
#undef DO
#undef BODY

// `E` is what the routine's parameters point to: void for the 16-bit types, which hosts lack.
template <auto routine, std::size_t elem_bytes, typename E, typename... Stream>
void all_reduce(const At& at, const Rounds& rounds, Stream... stream) {
  void* const dest = at.dest;
  const void* const source = at.source;
  repeat(
      rounds,
      [&](std::uint64_t) {
        routine(at.team, static_cast<E*>(dest), static_cast<const E*>(source),
                at.bytes / elem_bytes, stream...);
      },
      [] {});
}

constexpr Operation all_reduce_of(std::string_view type, std::string_view op,
                                  decltype(Operation::on_host) on_host,
                                  decltype(Operation::on_stream) on_stream) {
  return {"allreduce", Who::all, Size::elems, Answer::sum, 1, on_host, on_stream, type, op};
}

#define ON_STREAM(type, op, elem_bytes, E) \
  all_reduce<shmemx_##type##_##op##_reduce_on_stream, elem_bytes, E, hipStream_t>
#define HOST_ROW(type, op, routine)                                  \
  all_reduce_of(#type, #op, all_reduce<routine, sizeof(type), type>, \
                ON_STREAM(type, op, sizeof(type), type)),
#define HOST_TYPE(type)                            \
  HOST_ROW(type, sum, shmem_##type##_sum_reduce)   \
  HOST_ROW(type, prod, shmem_##type##_prod_reduce) \
  HOST_ROW(type, min, shmem_##type##_min_reduce)   \
  HOST_ROW(type, max, shmem_##type##_max_reduce)   \
  HOST_ROW(type, avg, shmemx_##type##_avg_reduce)
#define KERNEL_ROW(type, op) all_reduce_of(#type, #op, nullptr, ON_STREAM(type, op, 2, void)),
#define KERNEL_TYPE(type) \
  KERNEL_ROW(type, sum)   \
  KERNEL_ROW(type, prod)  \
  KERNEL_ROW(type, min)   \
  KERNEL_ROW(type, max)   \
  KERNEL_ROW(type, avg)
constexpr Operation kAllReduces[] = {HOST_TYPE(float) HOST_TYPE(double) HOST_TYPE(int)
                                         HOST_TYPE(long) KERNEL_TYPE(half) KERNEL_TYPE(bfloat16)};
#undef KERNEL_TYPE
#undef KERNEL_ROW
#undef HOST_TYPE
#undef HOST_ROW
#undef ON_STREAM

std::vector<std::string> distinct(std::string_view Operation::*member) {
  std::vector<std::string> names;
  for (const Operation& row : kAllReduces)
    if (std::find(names.begin(), names.end(), row.*member) == names.end())
      names.emplace_back(row.*member);
  return names;
}

constexpr std::string_view kCallerNames[] = {"host", "thread", "wave", "block", "grid", "stream"};

}  // namespace

const std::vector<Operation>& operations() {
#define STREAM_no(name) nullptr
#define STREAM_yes(name) name
#define ROW(name, who, size, answer, window, after, groups, grid, stream, ...) \
  {#name,                                                                      \
   Who::who,                                                                   \
   Size::size,                                                                 \
   Answer::answer,                                                             \
   window,                                                                     \
   name##_on_host,                                                             \
   STREAM_##stream(name##_on_stream)},
  static const std::vector<Operation> kOperations = {
#include "bench/rows.def"
  };
#undef ROW
#undef STREAM_yes
#undef STREAM_no
  return kOperations;
}

bool Operation::has(Caller caller) const {
  if (caller == Caller::host) return on_host != nullptr;
  if (caller == Caller::stream) return on_stream != nullptr;
  return !is_typed() && has_kernel(number(), caller);
}

int Operation::number() const { return static_cast<int>(std::distance(operations().data(), this)); }

const Operation* find_operation(std::string_view name) {
  const auto found = std::find_if(operations().begin(), operations().end(),
                                  [&](const Operation& row) { return row.name == name; });
  return found == operations().end() ? nullptr : &*found;
}

const Operation* find_allreduce(std::string_view type, std::string_view op) {
  return std::find_if(std::begin(kAllReduces), std::end(kAllReduces),
                      [&](const Operation& row) { return row.type == type && row.op == op; });
}

std::vector<std::string> type_names() { return distinct(&Operation::type); }
std::vector<std::string> op_names() { return distinct(&Operation::op); }

std::string_view name_of(Caller caller) { return kCallerNames[static_cast<int>(caller)]; }

std::vector<std::string> caller_names() {
  return {std::begin(kCallerNames), std::end(kCallerNames)};
}

Caller caller_of(std::string_view name) {
  const auto found = std::find(std::begin(kCallerNames), std::end(kCallerNames), name);
  return static_cast<Caller>(found - std::begin(kCallerNames));
}

}  // namespace meshmem::bench
