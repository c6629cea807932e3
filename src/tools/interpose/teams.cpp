// SPDX-License-Identifier: Apache-2.0
//
// A table of the teams alive.
#include "tools/interpose/teams.hpp"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace meshmem::tracing {
namespace {

bool (*is_team)(void* handle) = nullptr;
std::mutex teams_mutex;
// Live for ever: a destructor of the program may finalize.
auto& keys = *new std::map<shmem_team_t, std::uint64_t>;
auto& teams_of_members = *new std::map<std::uint64_t, unsigned>;  // by handle and members

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

// "PEs 0, 2, 4"; of more than six the first two and the last.
std::string text_of(const std::vector<int>& members) {
  if (members.size() > 6)
    return fmt::format("{} PEs: {}, {} ... {}", members.size(), members[0], members[1],
                       members.back());
  return fmt::format("PEs {}", fmt::join(members, ", "));
}

void name_as(shmem_team_t team, std::uint64_t key) {
  keys[team] = key;
  keep_team_name(key, text_of(members_of(team)));
}

}  // namespace

std::vector<int> members_of(shmem_team_t team) {
  std::vector<int> members;
  if (!is_team(team)) return members;
  const int n = pshmem_team_n_pes(team);
  for (int pe = 0; pe < n; ++pe) members.push_back(world_pe(team, pe));
  return members;
}

void forget_teams() {
  const std::lock_guard lock(teams_mutex);
  keys.clear();
  teams_of_members.clear();
}

void name_predefined_teams(const TraceJob& job) {
  is_team = job.is_team;
  const std::lock_guard lock(teams_mutex);
  keys[SHMEM_TEAM_WORLD] = kWorldKey;
  keep_team_name(kWorldKey, "WORLD");
  name_as(SHMEM_TEAM_SHARED, mix(kWorldKey + 1, static_cast<std::uint64_t>(job.node)));
}

void name_team(shmem_team_t team) {
  if (team == SHMEM_TEAM_INVALID) return;
  const std::lock_guard lock(teams_mutex);
  // All members have the same handle. If threads split different teams at once, PEs may name these
  // in different orders. But teams of one handle follow each other on all PEs.
  std::uint64_t hash = mix(kWorldKey + 2, reinterpret_cast<std::uintptr_t>(team));
  for (const int pe : members_of(team)) hash = mix(hash, static_cast<std::uint64_t>(pe));
  name_as(team, mix(hash, teams_of_members[hash]++));
}

std::uint64_t key_of(shmem_team_t team) {
  if (team == SHMEM_TEAM_WORLD) return kWorldKey;
  const std::lock_guard lock(teams_mutex);
  const auto found = keys.find(team);
  return found == keys.end() ? 0 : found->second;
}

std::uint64_t key_of_active_set(int start, int log_stride, int size) {
  std::uint64_t hash = kWorldKey + 3;
  for (const int number : {start, log_stride, size})
    hash = mix(hash, static_cast<std::uint64_t>(number));
  return hash;
}

int world_pe(shmem_team_t team, int pe) {
  if (team == SHMEM_TEAM_WORLD) return pe;
  return is_team(team) ? pshmem_team_translate_pe(team, pe, SHMEM_TEAM_WORLD) : -1;
}

int world_pe(shmem_ctx_t context, int pe) {
  if (context == SHMEM_CTX_DEFAULT || context == SHMEM_CTX_INVALID) return pe;
  shmem_team_t team = SHMEM_TEAM_INVALID;
  return pshmem_ctx_get_team(context, &team) == 0 ? world_pe(team, pe) : pe;
}

}  // namespace meshmem::tracing
