// SPDX-License-Identifier: Apache-2.0
//
// A wrapper for each row of the tables.
// Invariant: as tools/interpose/interpose.hpp says, with a Call for a record.
#include <utility>

#include "tools/interpose/arguments.hpp"
#include "tools/interpose/interpose.hpp"
#include "tools/races/call.hpp"

namespace meshmem::tracing {
namespace {

class CheckedCall {
 public:
  explicit CheckedCall(races::Call call) : call_(std::move(call)) { races::begin(call_); }
  ~CheckedCall() { races::end(call_); }
  CheckedCall(const CheckedCall&) = delete;
  CheckedCall& operator=(const CheckedCall&) = delete;
  void note_result(std::uint64_t result) { call_.result = result; }

 private:
  races::Call call_;
};

// (routine(...), call): the routine's result, noted if there is one.
template <typename R>
R operator,(R result, CheckedCall& call) {
  call.note_result(bits_of(result));
  return result;
}

template <typename Team>
shmem_team_t team_of(Team team_of_call) {
  if constexpr (std::is_same_v<Team, shmem_team_t>) {
    return team_of_call;
  } else {
    return SHMEM_TEAM_WORLD;
  }
}

// The tables leave out those of routines with arrays of counts, which dest then tells.
template <typename Dest>
std::size_t bytes_of_element(Number number, Dest) {
  const std::size_t bytes = routine(number).element_bytes;
  using Element = std::remove_pointer_t<Dest>;
  if constexpr (std::is_pointer_v<Dest> && !std::is_void_v<Element>)
    return bytes ? bytes : sizeof(Element);
  return bytes ? bytes : 1;
}

template <typename Array>
const std::size_t* counts(Array array) {
  if constexpr (is_none<Array>) {
    return nullptr;
  } else {
    return array;
  }
}

// Handles requests to the heap: no bytes allocate nothing, and a null block frees nothing. Then the
// PEs do not meet.
template <typename Block, typename Count, typename Size>
bool is_empty_request(Number number, Block block, Count elements, Size element) {
  if (routine(number).kind != Kind::allocation || (is_none<Block> && is_none<Size>)) return false;
  const bool has_bytes =
      !is_none<Size> && word(element) != 0 && (is_none<Count> || word(elements) != 0);
  return word(block) == 0 && !has_bytes;
}

// A root counts in its team.
template <typename Team, typename Context, typename Pe, typename Root>
int pe_of_call(Team team_of_pe, Context context, Pe number, Root root) {
  if constexpr (!is_none<Root>) {
    return root;
  } else {
    return pe_of_world(team_of_pe, context, number);
  }
}

}  // namespace

#define WRAP(whole_name, op_, type, params, args)                                               \
  static type checked_##whole_name params {                                                     \
    [[maybe_unused]] const NewTeams new_teams(first_of(new_team, xaxis_team),                   \
                                              first_of(yaxis_team));                            \
    CheckedCall call(                                                                           \
        {.number = k_##whole_name,                                                              \
         .op = #op_,                                                                            \
         .caller = __builtin_return_address(0),                                                 \
         .dest = word(first_of(dest, ptr)),                                                     \
         .source = word(source),                                                                \
         .fetch = word(fetch),                                                                  \
         .variables = word(first_of(ivar, ivars)),                                              \
         .lock = word(lock),                                                                    \
         .signal_address = word(sig_addr),                                                      \
         .dest_stride = static_cast<std::int64_t>(word(dst)),                                   \
         .source_stride = static_cast<std::int64_t>(word(sst)),                                 \
         .elements = product(nelems, nreduce, bsize),                                           \
         .blocks = product(nblocks),                                                            \
         .element_bytes = bytes_of_element(k_##whole_name, dest),                               \
         .dest_counts = {counts(dest_nelems), counts(dest_displs)},                             \
         .source_counts = {counts(source_nelems), counts(source_displs)},                       \
         .value = word(first_of(value, signal)),                                                \
         .condition = word(cond),                                                               \
         .signal_op = static_cast<int>(word(sig_op)),                                           \
         .context = word(first_of(ctx, SHMEM_CTX_DEFAULT)),                                     \
         .options = static_cast<long>(word(options)),                                           \
         .pe = pe_of_call(first_of(team), first_of(ctx), first_of(pe), first_of(PE_root)),      \
         .is_empty_request = is_empty_request(k_##whole_name, ptr, count, size),                \
         .team_key = key_of_call(first_of(team, parent_team), PE_start, logPE_stride, PE_size), \
         .team = team_of(first_of(team, parent_team)),                                          \
         .start = static_cast<int>(word(PE_start)),                                             \
         .log_stride = static_cast<int>(word(logPE_stride)),                                    \
         .size = static_cast<int>(word(PE_size)),                                               \
         .result = 0,                                                                           \
         .number_in_team = 0,                                                                   \
         .members = {}});                                                                       \
    return static_cast<type>((p##whole_name args, call));                                       \
  }
MESHMEM_WRAP_ALL_ROUTINES
#undef WRAP

#define WRAP(name, op, result, params, args) {#name, (void*)&checked_##name, (void*)&p##name},
static const Entry kEntries[] = {MESHMEM_WRAP_ALL_ROUTINES};
#undef WRAP

std::span<const Entry> entries() { return kEntries; }

void keep_team_name(std::uint64_t, const std::string&) {}

}  // namespace meshmem::tracing
