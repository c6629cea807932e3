// SPDX-License-Identifier: Apache-2.0
//
// Teams and contexts (OpenSHMEM 1.6, sections 9.4 and 9.5.1).
// Invariant: a split is a collective of the parent, and ends alike on all its PEs: all get their
// team (or are no members), or all get nonzero and SHMEM_TEAM_INVALID.
#include <algorithm>
#include <optional>
#include <thread>
#include <vector>

#include "api/entry.hpp"
#include "base/error.hpp"
#include "collectives/reduction.hpp"
#include "collectives/same_call.hpp"
#include "collectives/sync.hpp"
#include "transport/completion.hpp"

namespace meshmem {
namespace {

shmem_team_config_t masked(const shmem_team_config_t* config, long mask) {
  shmem_team_config_t result{};
  if (config && (mask & SHMEM_TEAM_NUM_CONTEXTS)) result.num_contexts = config->num_contexts;
  return result;
}

// World PEs of the parent's PEs start, start + stride, ...
std::vector<int> strided_pes(const Team& parent, int start, int stride, int size) {
  std::vector<int> pes;
  for (int i = 0; i < size; ++i) pes.push_back(parent.world_pe(start + i * stride));
  return pes;
}

bool is_valid_triplet(const Team& parent, int start, int stride, int size) {
  if (size < 1 || size > parent.n || start < 0 || start >= parent.n) return false;
  if (stride == 0) return size == 1;
  const long last = start + static_cast<long>(size - 1) * stride;
  return last >= 0 && last < parent.n;
}

// Makes the team of `pes`, or several that have no PE in common, by agreement of all PEs of the
// parent on a slot and on where its sequence numbers begin. `valid` is what this PE thinks of its
// arguments. nullopt if one PE thinks ill of them, or if there is no slot: on all PEs alike. The
// team may be used at once: its areas only ever count up from where they are.
std::optional<shmem_team_t> try_make(Team& parent, bool valid, const std::vector<int>& pes,
                                     const shmem_team_config_t& config) {
  TeamTable& teams = runtime().teams();
  for (;;) {
    TeamTable::Offer offer = teams.offer(parent.slot);
    offer.invalid = valid ? 0 : 1;
    TeamTable::Offer agreed = offer;
    if (parent.n > 1)
      reduce_one_shot(parent, {&TeamTable::combine_offers, sizeof offer}, &agreed, &offer, 1);
    if (agreed.busy && !agreed.invalid) {
      teams.end_offer(parent.slot, false);
      std::this_thread::yield();
      continue;
    }
    const int slot = agreed.invalid ? -1 : TeamTable::first_free(agreed);
    Team* team = nullptr;
    if (slot >= 0 && std::find(pes.begin(), pes.end(), address_map.my_pe) != pes.end()) {
      team = &runtime().add_team(pes, slot, agreed.highest_sequence, config);
    }
    teams.end_offer(parent.slot, true);
    if (slot >= 0) {
      // No kernel of a member writes to another's flags before they are cleared.
      if (team && runtime().has_devices()) sync(*team);
      return team ? handle_of(slot) : SHMEM_TEAM_INVALID;
    }
    debug("{}: no team: {}", parent.routine,
          agreed.invalid ? "invalid arguments" : "all slots for teams are taken");
    return std::nullopt;
  }
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
  Team* parent = team_of(parent_team, "shmem_team_split_strided");
  if (!parent) return 1;
  parent->routine = "shmem_team_split_strided";
  expect_same_call(*parent, "start {}, stride {}, size {}", start, stride, size);
  const bool valid = is_valid_triplet(*parent, start, stride, size);
  const std::vector<int> pes =
      valid ? strided_pes(*parent, start, stride, size) : std::vector<int>{};
  const auto made = try_make(*parent, valid, pes, masked(config, config_mask));
  if (!made) return 1;
  *new_team = *made;
  return 0;
}

MESHMEM_ENTRY(int, team_split_2d,
              (shmem_team_t parent_team, int xrange, const shmem_team_config_t* xaxis_config,
               long xaxis_mask, shmem_team_t* xaxis_team, const shmem_team_config_t* yaxis_config,
               long yaxis_mask, shmem_team_t* yaxis_team)) {
  *xaxis_team = *yaxis_team = SHMEM_TEAM_INVALID;
  Team* parent = team_of(parent_team, "shmem_team_split_2d");
  if (!parent) return 1;
  parent->routine = "shmem_team_split_2d";
  expect_same_call(*parent, "xrange {}", xrange);
  const bool valid = xrange >= 1;
  const int width = valid ? std::min(xrange, parent->n) : 1;
  const int x = parent->me % width;
  const int y = parent->me / width;
  const std::vector<int> row =
      strided_pes(*parent, y * width, 1, std::min(width, parent->n - y * width));
  const std::vector<int> column =
      strided_pes(*parent, x, width, (parent->n - x + width - 1) / width);
  const auto x_team = try_make(*parent, valid, row, masked(xaxis_config, xaxis_mask));
  if (!x_team) return 1;
  const auto y_team = try_make(*parent, valid, column, masked(yaxis_config, yaxis_mask));
  if (!y_team) {
    if (Team* made = runtime().teams().find(*x_team)) runtime().remove_team(*made);
    return 1;
  }
  *xaxis_team = *x_team;
  *yaxis_team = *y_team;
  return 0;
}

MESHMEM_ENTRY(void, team_destroy, (shmem_team_t handle)) {
  constexpr const char* kRoutine = "shmem_team_destroy";
  Team* team = team_of(handle, kRoutine);
  if (!team) return;
  if (handle == SHMEM_TEAM_WORLD || handle == SHMEM_TEAM_SHARED)
    fatal("{}: a predefined team cannot be destroyed", kRoutine);
  team->routine = kRoutine;
  expect_same_call(*team, "");
  if (team->mark) team->mark->wait(kRoutine);
  sync(*team);
  runtime().contexts().remove_all_of(handle);
  runtime().remove_team(*team);
}

MESHMEM_ENTRY(int, team_create_ctx, (shmem_team_t handle, long options, shmem_ctx_t* ctx)) {
  *ctx = SHMEM_CTX_INVALID;
  if (!team_of(handle, "shmem_team_create_ctx")) return 1;
  *ctx = runtime().contexts().add(handle, options);
  return 0;
}

MESHMEM_ENTRY(int, ctx_create, (long options, shmem_ctx_t* ctx)) {
  require_active("shmem_ctx_create");
  *ctx = runtime().contexts().add(SHMEM_TEAM_WORLD, options);
  return 0;
}

MESHMEM_ENTRY(void, ctx_destroy, (shmem_ctx_t ctx)) {
  require_active("shmem_ctx_destroy");
  if (ctx == SHMEM_CTX_INVALID) return;
  if (ctx == SHMEM_CTX_DEFAULT) fatal("shmem_ctx_destroy: the default context cannot be destroyed");
  complete_transfers("shmem_ctx_destroy");
  runtime().contexts().remove(ctx);
}

MESHMEM_ENTRY(int, ctx_get_team, (shmem_ctx_t ctx, shmem_team_t* team)) {
  require_active("shmem_ctx_get_team");
  *team = team_handle_of(ctx);  // SHMEM_CTX_INVALID has SHMEM_TEAM_INVALID
  return ctx == SHMEM_CTX_INVALID ? 1 : 0;
}

}  // namespace meshmem
