// SPDX-License-Identifier: Apache-2.0
//
// A member writes down what it had of clocks when it called (board's Entry); whoever returns reads
// what the others have written. Invariant: as collectives.hpp says.
#include "tools/races/collectives.hpp"

#include "tools/interpose/teams.hpp"
#include "tools/races/accesses.hpp"

namespace meshmem::races {

using tracing::Kind;

namespace {

std::vector<int> members_of(const Call& call, const Rule& rule) {
  std::vector<int> members;
  const bool is_of_all = rule.kind == Kind::allocation || call.team_key == tracing::kWorldKey;
  if (call.size > 0 || is_of_all) {
    const int n = call.size > 0 ? call.size : checker.job.n_pes;
    for (int i = 0; i < n; ++i) members.push_back(call.start + i * (1 << call.log_stride));
  } else if (call.team != SHMEM_TEAM_INVALID) {
    members = tracing::members_of(call.team);
  }
  return members;
}

// A block for each member, where and as long as the arrays say.
void access_counted(const Call& call, std::uint64_t address, const Counts& counts, bool writes) {
  for (std::size_t i = 0; i < call.members.size(); ++i)
    access(call, checker.job.pe, address + counts.displs[i] * call.element_bytes,
           counts.nelems[i] * call.element_bytes, {.writes = writes});
}

}  // namespace

bool is_collective(Kind kind) {
  return kind == Kind::collective || kind == Kind::broadcast || kind == Kind::meeting ||
         kind == Kind::allocation;
}

void begin_collective(Call& call, const Rule& rule) {
  if (!call.is_empty_request) call.members = members_of(call, rule);
  const std::vector<int>& members = call.members;
  if (members.empty()) return;
  const bool is_root = rule.kind != Kind::broadcast ||
                       (call.pe >= 0 && static_cast<std::size_t>(call.pe) < members.size() &&
                        members[static_cast<std::size_t>(call.pe)] == checker.job.pe);
  if (rule.has_counts) {
    access_counted(call, call.source, call.source_counts, false);
  } else if (call.source && is_root) {
    Call read = call;
    if (rule.has_source_of_all) read.elements *= members.size();
    access_elements(read, checker.job.pe, call.source, call.source_stride, {.writes = false});
  }
  publish();
  call.number_in_team = ++checker.collectives[call.team_key];
  PeBoard& mine = checker.boards.mine();
  const Held held(mine.mutex);
  mine.entries[mine.n_entries++ % PeBoard::kEntries] = {
      call.team_key, call.number_in_team, self().version, self().call_number, current_strand};
}

void end_collective(const Call& call, const Rule& rule) {
  const std::vector<int>& members = call.members;
  const int me = checker.job.pe;
  std::vector<int> heard;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const bool is_heard = rule.kind != Kind::broadcast || static_cast<int>(i) == call.pe;
    if (members[i] != me && members[i] >= 0 && members[i] < checker.job.n_pes && is_heard)
      heard.push_back(members[i]);
  }
  learn(heard,
        {.when = Moment::When::collective, .number = call.number_in_team, .team = call.team_key});
  const bool is_left = rule.leaves_root && call.pe >= 0 &&
                       static_cast<std::size_t>(call.pe) < members.size() &&
                       members[static_cast<std::size_t>(call.pe)] == me;
  if (!call.source || is_left || members.empty()) return;
  take_call_number();
  if (rule.has_counts) return access_counted(call, call.dest, call.dest_counts, true);
  Call written = call;
  if (rule.has_dest_of_all) written.elements *= members.size();
  access_elements(written, me, call.dest, call.dest_stride, {.writes = true});
}

}  // namespace meshmem::races
