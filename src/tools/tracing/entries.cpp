// SPDX-License-Identifier: Apache-2.0
//
// A wrapper for each row of the tables of routines.
// Invariant: as interpose.hpp says. A call locks or allocates only if it makes a team, names one
// other than SHMEM_TEAM_WORLD, goes on a stream, or finds its thread's window full.
#include "tools/interpose/arguments.hpp"
#include "tools/interpose/interpose.hpp"
#include "tools/interpose/routines.hpp"
#include "tools/interpose/teams.hpp"
#include "tools/tracing/recorder.hpp"
#include "tools/tracing/streams.hpp"

namespace meshmem::tracing {
namespace {

template <typename Level>
void obey(Level wanted) {
  if constexpr (!is_none<Level>) record_calls(wanted > 0);
}

constexpr bool is_on_stream(std::string_view name) { return name.ends_with("_on_stream"); }
template <bool is_on_stream>
using OnStreamOr = std::conditional_t<is_on_stream, OnStream, NotOnStream>;

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
    record.pe = pe_of_world(first_of(team), first_of(ctx),                                      \
                            first_of(pe, root_of(PE_root, PE_start, logPE_stride)));            \
    if constexpr (polls) {                                                                      \
      record.other = 0;                                                                         \
    } else if constexpr (!is_none<decltype(sig_addr)>) {                                        \
      record.other = word(sig_addr);                                                            \
    } else {                                                                                    \
      record.other = key_of_call(first_of(team, parent_team), PE_start, logPE_stride, PE_size); \
    }                                                                                           \
    constexpr bool has_stream = is_on_stream(#whole_name) && !is_none<decltype(stream)>;        \
    [[maybe_unused]] const OnStreamOr<has_stream> on_stream(stream, record);                    \
    return static_cast<result>((p##whole_name args, call));                                     \
  }
MESHMEM_WRAP_ALL_ROUTINES
#undef WRAP

// It has no row in the tables, since it does not return.
[[noreturn]] static void traced_shmem_global_exit(int status) {
  Call<false, true> call(k_shmem_global_exit);
  call.record().value = static_cast<std::uint64_t>(status);
  say_what_is_left();
  pshmem_global_exit(status);
}

#define WRAP(name, op, result, params, args) {#name, (void*)&traced_##name, (void*)&p##name},
static const Entry kEntries[] = {MESHMEM_WRAP_ALL_ROUTINES WRAP(shmem_global_exit, , , , )};
#undef WRAP

std::span<const Entry> entries() { return kEntries; }

}  // namespace meshmem::tracing
