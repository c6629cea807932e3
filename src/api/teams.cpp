// SPDX-License-Identifier: Apache-2.0
//
// Teams and contexts (OpenSHMEM 1.6, sections 9.4 and 9.5.1). A context is only a handle
// (core/call.hpp), so its options change nothing.
// Invariant: a routine that makes a team or context first sets its result to the invalid handle.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <set>
#include <vector>

#include "api/entry.hpp"
#include "base/error.hpp"
#include "collectives/device/on_stream.hpp"
#include "library/splits.hpp"
#include "one_sided/completion.hpp"

namespace meshmem {
namespace {

shmem_team_config_t masked(const shmem_team_config_t* config, long mask) {
  shmem_team_config_t result{};
  if (config && (mask & SHMEM_TEAM_NUM_CONTEXTS)) result.num_contexts = config->num_contexts;
  return result;
}

// Contexts are never given the same number twice.
shmem_ctx_t make_context(shmem_team_t team) {
  static std::atomic<std::uintptr_t> last_number{0};
  const std::uintptr_t number = last_number.fetch_add(1, std::memory_order_relaxed) + 1;
  return reinterpret_cast<shmem_ctx_t>((number << kContextTeamBits) + number_of(team));
}

// Ends the job unless `pes` are different PEs of the world with this PE among them.
void require_list(const std::vector<int>& pes, const char* routine) {
  std::set<int> different;
  for (const int pe : pes) {
    if (pe < 0 || static_cast<unsigned>(pe) >= address_map.n_pes)
      fatal("{}: pes has {}, which is not in 0..{}", routine, pe, address_map.n_pes - 1);
    if (!different.insert(pe).second) fatal("{}: pes has PE {} twice", routine, pe);
  }
  if (!different.contains(address_map.my_pe)) fatal("{}: pes is without this PE", routine);
}

void require_context(shmem_ctx_t ctx, const char* routine) {
  if (ctx == SHMEM_CTX_INVALID) return;
  require_active(routine);
  if (!runtime().teams().find(team_handle_of(ctx))) CallInContext{routine, ctx}.refuse_context();
}

}  // namespace

MESHMEM_ENTRY(int, team_my_pe, (shmem_team_t handle)) {
  const Team* team = team_of(handle, "shmem_team_my_pe");
  return team ? team->me : -1;
}
MESHMEM_ENTRY(int, team_n_pes, (shmem_team_t handle)) {
  const Team* team = team_of(handle, "shmem_team_n_pes");
  return team ? team->n : -1;
}

MESHMEM_ENTRY(int, team_get_config,
              (shmem_team_t handle, long config_mask, shmem_team_config_t* config)) {
  const Team* team = team_of(handle, "shmem_team_get_config");
  if (!team) return 1;
  if (config && (config_mask & SHMEM_TEAM_NUM_CONTEXTS))
    config->num_contexts = team->config.num_contexts;
  return 0;
}

MESHMEM_ENTRY(int, team_translate_pe, (shmem_team_t src_team, int src_pe, shmem_team_t dest_team)) {
  constexpr const char* kRoutine = "shmem_team_translate_pe";
  const Team* from = team_of(src_team, kRoutine);
  const Team* to = team_of(dest_team, kRoutine);
  if (!from || !to || static_cast<unsigned>(src_pe) >= static_cast<unsigned>(from->n)) return -1;
  return to->find_world_pe(from->world_pe(src_pe));
}

MESHMEM_ENTRY(int, team_split_strided,
              (shmem_team_t parent_team, int start, int stride, int size,
               const shmem_team_config_t* config, long config_mask, shmem_team_t* new_team)) {
  *new_team = SHMEM_TEAM_INVALID;
  Team* parent = begin_call_on(parent_team, "shmem_team_split_strided");
  return parent
             ? split_strided(*parent, {start, stride, size}, masked(config, config_mask), new_team)
             : 1;
}

MESHMEM_ENTRY(int, team_split_2d,
              (shmem_team_t parent_team, int xrange, const shmem_team_config_t* xaxis_config,
               long xaxis_mask, shmem_team_t* xaxis_team, const shmem_team_config_t* yaxis_config,
               long yaxis_mask, shmem_team_t* yaxis_team)) {
  *xaxis_team = *yaxis_team = SHMEM_TEAM_INVALID;
  Team* parent = begin_call_on(parent_team, "shmem_team_split_2d");
  if (!parent) return 1;
  const Split2d split{xrange, masked(xaxis_config, xaxis_mask), masked(yaxis_config, yaxis_mask)};
  return split_2d(*parent, split, xaxis_team, yaxis_team);
}

MESHMEM_EXTENSION_ENTRY(int, team_of_pes, (const int* pes, int npes, shmem_team_t* new_team)) {
  constexpr const char* kRoutine = "shmemx_team_of_pes";
  require_active(kRoutine);
  const std::vector<int> list(pes, pes + std::max(npes, 0));
  require_list(list, kRoutine);
  return make_team_of_pes(list, kRoutine, new_team);
}

MESHMEM_EXTENSION_ENTRY(int, team_of_id,
                        (uint64_t id, int npes, int my_pe, shmem_team_t* new_team)) {
  constexpr const char* kRoutine = "shmemx_team_of_id";
  require_active(kRoutine);
  *new_team = SHMEM_TEAM_INVALID;
  if (id == 0 || id > kMaxJoiningId)
    fatal("{}: id is {}, which is not in 1..{}", kRoutine, id, kMaxJoiningId);
  if (npes < 1 || static_cast<unsigned>(npes) > address_map.n_pes)
    fatal("{}: npes is {}, which is not in 1..{}", kRoutine, npes, address_map.n_pes);
  if (my_pe < 0 || my_pe >= npes)
    fatal("{}: my_pe is {}, which is not in 0..{}", kRoutine, my_pe, npes - 1);
  return join_team({id, npes, my_pe}, kRoutine, new_team);
}

MESHMEM_EXTENSION_ENTRY(int, team_take_any_memory, (shmem_team_t handle)) {
  Team* team = begin_call_on(handle, "shmemx_team_take_any_memory");
  if (!team || !on_stream::can_go_by_rows(*team)) return 1;
  team->takes_any_memory = true;
  return 0;
}

MESHMEM_EXTENSION_ENTRY(int, team_fix_reduce_order, (shmem_team_t handle)) {
  Team* team = begin_call_on(handle, "shmemx_team_fix_reduce_order");
  if (!team) return 1;
  fix_reduce_order(*team);
  return 0;
}

MESHMEM_ENTRY(void, team_destroy, (shmem_team_t handle)) {
  if (Team* team = begin_call_on(handle, "shmem_team_destroy")) destroy_team(*team);
}

MESHMEM_ENTRY(int, team_create_ctx, (shmem_team_t handle, long, shmem_ctx_t* ctx)) {
  *ctx = SHMEM_CTX_INVALID;
  if (!team_of(handle, "shmem_team_create_ctx")) return 1;
  *ctx = make_context(handle);
  return 0;
}

MESHMEM_ENTRY(int, ctx_create, (long, shmem_ctx_t* ctx)) {
  require_active("shmem_ctx_create");
  *ctx = make_context(SHMEM_TEAM_WORLD);
  return 0;
}

MESHMEM_ENTRY(void, ctx_destroy, (shmem_ctx_t ctx)) {
  require_active("shmem_ctx_destroy");
  if (ctx == SHMEM_CTX_INVALID) return;
  if (ctx == SHMEM_CTX_DEFAULT) fatal("shmem_ctx_destroy: the default context cannot be destroyed");
  complete_transfers("shmem_ctx_destroy");
}

MESHMEM_ENTRY(int, ctx_get_team, (shmem_ctx_t ctx, shmem_team_t* team)) {
  require_active("shmem_ctx_get_team");
  *team = team_handle_of(ctx);  // SHMEM_TEAM_INVALID for SHMEM_CTX_INVALID
  return ctx == SHMEM_CTX_INVALID ? 1 : 0;
}

// Sessions (section 9.9) are hints and change no result. Their batch option would let the library
// delay transfers, to send several at once. Stores gain nothing by that, and the transport combines
// small records without a hint (transport/network/flow.cpp). shmem_pcontrol (section 10) does
// nothing here: a tool that wraps the routines may define it.
MESHMEM_ENTRY(void, ctx_session_start,
              (shmem_ctx_t ctx, long, const shmem_ctx_session_config_t*, long)) {
  require_context(ctx, "shmem_ctx_session_start");
}
MESHMEM_ENTRY(void, ctx_session_stop, (shmem_ctx_t ctx)) {
  require_context(ctx, "shmem_ctx_session_stop");
}

MESHMEM_ENTRY(void, pcontrol, (int, ...)) {}

}  // namespace meshmem
