// SPDX-License-Identifier: Apache-2.0
//
// A wrapper for each row of the tables. The rows name their parameters alike: a wrapper reads the
// names below, which are its own parameters where it has such, and else `none`.
// Invariant: as entries.hpp says; a wrapper takes no lock and no memory, but for teams.
#include "tracing/entries.hpp"

#include "tracing/recorder.hpp"
#include "tracing/routines.hpp"
#include "tracing/teams.hpp"

namespace meshmem::tracing {
namespace {

struct None {};
[[maybe_unused]] constexpr None dest, source, ivar, ivars, lock, ptr, sig_addr, pe, PE_root, team,
    parent_team, PE_start, logPE_stride, PE_size, value, signal, cmp_value, cmp, sig_op, dst, sst,
    nelems, nreduce, bsize, nblocks, size, count, bytes, level, ctx, new_team, xaxis_team,
    yaxis_team;

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

// The key of a collective's team; that of all PEs where the routine names none.
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

// What a split has made is known once it has returned.
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

template <typename Level>
void obey(Level wanted) {
  if constexpr (!is_none<Level>) record_calls(wanted > 0);
}

constexpr bool is_control(Number routine) { return routine == k_shmem_pcontrol; }

}  // namespace

#define WRAP(whole_name, op, result, params, args)                                              \
  static result traced_##whole_name params {                                                    \
    if constexpr (is_control(k_##whole_name)) obey(level);                                      \
    constexpr bool polls = is_polled(#op), has_source = !is_none<decltype(source)> && !polls;   \
    [[maybe_unused]] const NewTeams new_teams(first_of(new_team, xaxis_team),                   \
                                              first_of(yaxis_team));                            \
    Call<polls, !has_source> call(k_##whole_name);                                              \
    Record& record = call.record();                                                             \
    record.dest = word(first_of(dest, ivar, ivars, lock, ptr, sig_addr, source));               \
    record.source = word(source);                                                               \
    record.count = product(nelems, nreduce, bsize, nblocks, count, size, bytes);                \
    record.value = word(first_of(value, signal, cmp_value));                                    \
    record.comparison = static_cast<std::uint8_t>(word(first_of(cmp, sig_op)));                 \
    record.has_result = 0;                                                                      \
    record.pe = pe_of_world(first_of(team), first_of(ctx), first_of(pe, PE_root));              \
    if constexpr (polls) {                                                                      \
      record.other = 0;                                                                         \
    } else if constexpr (!is_none<decltype(sig_addr)>) {                                        \
      record.other = word(sig_addr);                                                            \
    } else {                                                                                    \
      record.other = key_of_call(first_of(team, parent_team), PE_start, logPE_stride, PE_size); \
    }                                                                                           \
    return static_cast<result>((p##whole_name args, call));                                     \
  }
#define ROW(name, op, E, result, params, args) WRAP(shmem_##name, op, result, params, args)
#define ROW_CTX(name, op, E, result, params, args) \
  WRAP(shmem_##name, op, result, params, args)     \
  WRAP(shmem_ctx_##name, op, result, MESHMEM_WITH_CTX params, MESHMEM_PASS_CTX args)
#define ROW_NAMED(name, op, E, result, params, args) WRAP(name, op, result, params, args)
#define ROW_EXTENSION(name, op, E, result, params, args) \
  WRAP(shmemx_##name, op, result, params, args)
#define ROW_ON_STREAM(name, op, E, result, params, args) \
  WRAP(shmemx_##name##_on_stream, op, result, MESHMEM_WITH_STREAM params, MESHMEM_PASS_STREAM args)
MESHMEM_TRACED_ROUTINES(ROW, ROW_CTX, ROW_NAMED, ROW_EXTENSION, ROW_ON_STREAM)

#undef ROW
#undef ROW_CTX
#undef ROW_NAMED
#undef ROW_EXTENSION
#undef ROW_ON_STREAM

// Of no row, since it does not return.
[[noreturn]] static void traced_shmem_global_exit(int status) {
  Call<false, true> call(k_shmem_global_exit);
  call.record().value = static_cast<std::uint64_t>(status);
  say_what_is_left();
  pshmem_global_exit(status);
}

#define ENTRY(name) {#name, (void*)&traced_##name, (void*)&p##name},
#define ROW(name, op, E, result, params, args) ENTRY(shmem_##name)
#define ROW_CTX(name, op, E, result, params, args) ENTRY(shmem_##name) ENTRY(shmem_ctx_##name)
#define ROW_NAMED(name, op, E, result, params, args) ENTRY(name)
#define ROW_EXTENSION(name, op, E, result, params, args) ENTRY(shmemx_##name)
#define ROW_ON_STREAM(name, op, E, result, params, args) ENTRY(shmemx_##name##_on_stream)
static const Entry kEntries[] = {MESHMEM_TRACED_ROUTINES(ROW, ROW_CTX, ROW_NAMED, ROW_EXTENSION,
                                                         ROW_ON_STREAM) ENTRY(shmem_global_exit)};
#undef ENTRY
#undef ROW
#undef ROW_CTX
#undef ROW_NAMED
#undef ROW_EXTENSION
#undef ROW_ON_STREAM

std::span<const Entry> entries() { return kEntries; }

}  // namespace meshmem::tracing
