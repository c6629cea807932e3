// SPDX-License-Identifier: Apache-2.0
//
// The parts of their arguments that wrappers of routines read. Rows of the tables have the same
// names for the same parameters. A wrapper reads the names below: each is its own parameter if it
// has one of that name, and otherwise `None`.
// Invariant: only files that define wrappers in this namespace include this.
#ifndef MESHMEM_TOOLS_INTERPOSE_ARGUMENTS_HPP_
#define MESHMEM_TOOLS_INTERPOSE_ARGUMENTS_HPP_

#include <cstdint>
#include <type_traits>

#include "tools/interpose/routines.hpp"
#include "tools/interpose/teams.hpp"

namespace meshmem::tracing {

// A result or an argument as a word; 0 if it does not fit.
template <typename R>
std::uint64_t bits_of(R value) {
  std::uint64_t bits = 0;
  if constexpr (std::is_pointer_v<R>) {
    bits = reinterpret_cast<std::uint64_t>(value);
  } else if constexpr (std::is_integral_v<R>) {
    bits = static_cast<std::uint64_t>(value);
  } else if constexpr (sizeof(R) <= sizeof bits) {
    __builtin_memcpy(&bits, &value, sizeof value);
  }
  return bits;
}

struct None {};
inline constexpr None dest, source, cond, ivar, ivars, lock, ptr, sig_addr, pe, PE_root, team,
    parent_team, PE_start, logPE_stride, PE_size, value, signal, cmp_value, cmp, sig_op, dst, sst,
    nelems, nreduce, bsize, nblocks, size, count, bytes, level, ctx, options, fetch, status,
    new_team, xaxis_team, yaxis_team, stream, dest_nelems, dest_displs, source_nelems,
    source_displs;

template <typename T>
constexpr bool is_none = std::is_same_v<std::remove_cvref_t<T>, None>;

// The first of the arguments that is a parameter; None if there is none.
constexpr None first_of() { return {}; }
template <typename T, typename... Rest>
constexpr auto first_of(T first, Rest... rest) {
  if constexpr (is_none<T>) {
    return first_of(rest...);
  } else {
    return first;
  }
}

template <typename T>
constexpr std::uint64_t word(T argument) {
  if constexpr (is_none<T>) {
    return 0;
  } else {
    return bits_of(argument);
  }
}

template <typename... Factors>
std::uint64_t product(Factors... factors) {
  return ((is_none<Factors> ? 1 : word(factors)) * ...);
}

template <typename Team, typename Context, typename Pe>
int pe_of_world(Team team_of_pe, Context context, Pe number) {
  if constexpr (is_none<Pe>) {
    return -1;
  } else if constexpr (std::is_same_v<Team, shmem_team_t>) {
    return world_pe(team_of_pe, number);
  } else if constexpr (std::is_same_v<Context, shmem_ctx_t>) {
    return world_pe(context, number);
  } else {
    return number;
  }
}

// The root of an active set's collective is the number of a PE in the set.
template <typename Root, typename Start, typename LogStride>
auto root_of(Root root, Start start, LogStride log_stride) {
  if constexpr (is_none<Root> || is_none<Start>) {
    return root;
  } else {
    return start + (root << log_stride);
  }
}

// The key of a collective's team or active set; that of all PEs if the routine names neither.
template <typename Team, typename Start, typename Stride, typename Size>
std::uint64_t key_of_call(Team handle, Start start, Stride log_stride, Size n) {
  if constexpr (std::is_same_v<Team, shmem_team_t>) {
    return key_of(handle);
  } else if constexpr (!is_none<Start>) {
    return key_of_active_set(start, log_stride, n);
  } else {
    return kWorldKey;
  }
}

// Names the teams that a split has made. They are known once it has returned.
template <typename First, typename Second>
class NewTeams {
 public:
  NewTeams(First first, Second second) : first_(first), second_(second) {}
  ~NewTeams() {
    if constexpr (!is_none<First>)
      if (first_) name_team(*first_);
    if constexpr (!is_none<Second>)
      if (second_) name_team(*second_);
  }

 private:
  First first_;
  Second second_;
};

// WRAP(whole name, op, result, parameters, arguments) for each routine. The user defines WRAP.
#define ROUTINE(name, op, E, result, params, args) WRAP(name, op, result, params, args)
#define MESHMEM_WRAP_ALL_ROUTINES MESHMEM_TRACED_ROUTINES

}  // namespace meshmem::tracing

#endif  // MESHMEM_TOOLS_INTERPOSE_ARGUMENTS_HPP_
