// SPDX-License-Identifier: Apache-2.0
//
// Large data in device memory between nodes. Puts bring it straight to its place; the transport
// stages them in pieces that overlap. Data that several PEs of a node need goes to one of them, and
// the others get it from there. Each collective is a meeting, puts, a meeting, and gets within the
// node.
// Invariant: no dest is written before all members have entered. All puts are complete when the
// second meeting begins, and no PE leaves before its own dest is whole.
#include "collectives/between_nodes.hpp"
#include "collectives/between_nodes/algorithms.hpp"
#include "collectives/between_nodes/choice.hpp"
#include "collectives/between_nodes/operation.hpp"
#include "collectives/team_steps.hpp"
#include "gpu/device_transfer.hpp"
#include "one_sided/one_sided.hpp"

namespace meshmem::between_nodes {
namespace {

// Below this size batches of a stage are faster: each has one meeting, not two.
constexpr std::size_t kPutsFrom = 32 * kKiB;

void put(const Team& team, void* dest, const void* source, std::size_t bytes, int pe) {
  if (pe == team.me) return copy_local(team.routine(), dest, source, bytes);
  one_sided::put_nbi(team.routine(), dest, source, bytes, team.world_pe(pe));
}

// Returns when the puts of all members have arrived.
void complete_and_meet(Team& team) {
  device_transfer().complete(team.routine());
  transport()->complete();
  sync(team);
}

// Gets data from PE `pe` of this node, whose dest has it in the same place.
void get_near(const Team& team, void* dest, std::size_t bytes, int pe) {
  if (pe == team.me || bytes == 0) return;
  one_sided::get(team.routine(), dest, dest, bytes, team.world_pe(pe));
}

// Returns when no member of the node reads another's dest any more.
void leave_together(NodeTeam& node) {
  const std::uint64_t sequence = begin_operation(node);
  finish_together(node, sequence);
}

}  // namespace

bool suits_puts(const Team& team, const void* dest, std::size_t dest_bytes, std::size_t block) {
  return block >= kPutsFrom && device_transfer().is_open() && is_symmetric(team, dest, dest_bytes);
}

void broadcast_by_puts(Team& team, void* dest, const void* source, std::size_t bytes, int root) {
  sync(team);
  if (team.me == root) {
    for_other_nodes(
        team, [&](int node) { put(team, dest, source, bytes, node_at(team, node).leader()); });
    for (const int pe : my_node(team).members)
      if (pe != root || dest != source) put(team, dest, source, bytes, pe);
  }
  complete_and_meet(team);
  if (node_of(team, root) != team.my_node) get_near(team, dest, bytes, my_node(team).leader());
  leave_together(team.node);
}

// Puts this PE's block to the PEs of its node, and to its partner on each other node. Gets the
// blocks of far PEs from the members of this node that are their partners.
void gather_by_puts(Team& team, const Layout& layout, void* dest, const void* source) {
  sync(team);
  void* const mine = at(dest, layout.begin(team.me));
  const std::size_t bytes = layout.size(team.me);
  if (bytes > 0) {
    for_other_nodes(team,
                    [&](int node) { put(team, mine, source, bytes, partner_on(team, node)); });
    for (const int pe : my_node(team).members)
      if (pe != team.me || mine != source) put(team, mine, source, bytes, pe);
  }
  complete_and_meet(team);
  const Team::Node& here = my_node(team);
  for_other_nodes(team, [&](int node) {
    const Team::Node& there = node_at(team, node);
    for (int i = 0; i < count_members(there); ++i) {
      const int pe = member(there, i);
      get_near(team, at(dest, layout.begin(pe)), layout.size(pe),
               member(here, i % count_members(here)));
    }
  });
  leave_together(team.node);
}

void alltoall_by_puts(Team& team, void* dest, const void* source, std::size_t block) {
  sync(team);
  void* const mine = at(dest, static_cast<std::size_t>(team.me) * block);
  for (int i = 0; i < team.n; ++i) {
    const int pe = (team.me + i) % team.n;
    put(team, mine, at(source, static_cast<std::size_t>(pe) * block), block, pe);
  }
  complete_and_meet(team);
}

}  // namespace meshmem::between_nodes
