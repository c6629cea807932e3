// SPDX-License-Identifier: Apache-2.0
//
// Offers free slots to splits, and makes and finds the teams in them.
// Invariant: a team stays where it is for as long as it lives, so find() needs no lock.
#include "core/team_table.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "meshmem/compat/other_names.h"

namespace meshmem {
namespace {

constexpr int kWorldSlot = 0;
constexpr int kSharedSlot = 1;
static_assert(MESHMEM_COMPAT_TEAM_SAME_NUMBER == kSameNumberSlot + 1);

// The PEs that have the same number on their nodes as PE `me` has on its own. `pes`: all PEs of the
// job.
std::vector<int> pes_with_number_of(int me, const std::vector<int>& pes, const Nodes& nodes) {
  std::map<int, int> on_node;
  std::vector<int> numbers;
  for (const int pe : pes) numbers.push_back(on_node[nodes.node_of(pe)]++);
  std::vector<int> found;
  for (const int pe : pes)
    if (numbers[static_cast<std::size_t>(pe)] == numbers[static_cast<std::size_t>(me)])
      found.push_back(pe);
  return found;
}

std::uint64_t highest_of(const Team& team) {
  const std::uint64_t highest =
      std::max({team.node.sequence, team.far_sequence, team.stream_calls});
  return team.twin_for_kernels ? std::max(highest, highest_of(*team.twin_for_kernels)) : highest;
}

}  // namespace

std::vector<PredefinedTeam> predefined_teams(const Nodes& nodes, int n_pes, int me, NamesOf names) {
  std::vector<int> everyone(static_cast<std::size_t>(n_pes));
  std::iota(everyone.begin(), everyone.end(), 0);
  std::vector<PredefinedTeam> teams{{kWorldSlot, everyone}};
  if (names == NamesOf::nvshmem)
    teams.push_back({kSameNumberSlot, pes_with_number_of(me, everyone, nodes)});
  std::erase_if(everyone, [&](int pe) { return !nodes.is_near(pe); });
  teams.push_back({kSharedSlot, std::move(everyone)});
  return teams;
}

TeamTable::TeamTable(const AddressMap& map, AreaOf area_of, NodeOf node_of,
                     bool more_pes_than_cores, int fewest_cores, std::uint64_t first_sequence)
    : map_(map),
      area_of_(std::move(area_of)),
      node_of_(std::move(node_of)),
      more_pes_than_cores_(more_pes_than_cores),
      fewest_cores_(fewest_cores),
      highest_retired_(first_sequence) {}

TeamTable::Offer TeamTable::offer(int parent_slot) {
  const std::lock_guard lock(mutex_);
  Offer offer;
  offer.highest_sequence = highest_retired_;  // the sequences of living teams concern other slots
  splitting_.insert(parent_slot);
  if (offering_ != -1 || *splitting_.begin() != parent_slot) {
    offer.busy = 1;
    return offer;
  }
  offering_ = parent_slot;
  std::fill_n(offer.free_slots.begin(), kFirstActiveSetSlot / 64, ~std::uint64_t{0});
  for (const auto& [slot, team] : teams_)
    offer.free_slots[static_cast<std::size_t>(slot) / 64] &= ~(std::uint64_t{1} << (slot % 64));
  return offer;
}

void TeamTable::end_offer(int parent_slot, bool done) {
  const std::lock_guard lock(mutex_);
  if (offering_ == parent_slot) offering_ = -1;
  if (done) splitting_.erase(parent_slot);
}

int TeamTable::first_free(const Offer& agreed) {
  for (std::size_t word = 0; word < kWords; ++word) {
    if (agreed.free_slots[word] != 0)
      return static_cast<int>(word * 64) + std::countr_zero(agreed.free_slots[word]);
  }
  return -1;
}

void TeamTable::combine_offers(void* dest, const void* a, const void* b, std::size_t count) {
  auto* to = static_cast<Offer*>(dest);
  const auto* left = static_cast<const Offer*>(a);
  const auto* right = static_cast<const Offer*>(b);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t word = 0; word < kWords; ++word)
      to[i].free_slots[word] = left[i].free_slots[word] & right[i].free_slots[word];
    to[i].highest_sequence = std::max(left[i].highest_sequence, right[i].highest_sequence);
    to[i].invalid = left[i].invalid | right[i].invalid;
    to[i].busy = left[i].busy | right[i].busy;
  }
}

std::unique_ptr<Team> TeamTable::make(std::vector<int> pes, int slot,
                                      std::uint64_t start_sequence) const {
  auto team = std::make_unique<Team>(make_team(std::move(pes), map_, node_of_));
  NodeTeam& node = team->node;
  node.areas.reserve(node.pes.size());
  for (const int pe : node.pes) node.areas.push_back(area_of_(pe, slot));
  team->slot = node.slot = slot;
  node.sequence = node.known_started = start_sequence;
  team->far_sequence = team->stream_calls = start_sequence;
  node.more_pes_than_cores = more_pes_than_cores_;
  team->fewest_cores = fewest_cores_;
  return team;
}

Team& TeamTable::add(std::vector<int> pes, int slot, std::uint64_t start_sequence,
                     const shmem_team_config_t& config) {
  auto team = make(pes, slot, start_sequence);
  if (!team->is_on_one_node())
    team->twin_for_kernels = make(std::move(pes), slot + kMaxTeams, start_sequence);
  team->config = config;
  const std::lock_guard lock(mutex_);
  return *(teams_[slot] = std::move(team));
}

// Publishes all that the team's maker has written to threads that find the team.
void TeamTable::publish(Team& team) {
  by_slot_[static_cast<std::size_t>(team.slot)].store(&team, std::memory_order_release);
}

std::uint64_t TeamTable::highest_sequence() {
  const std::lock_guard lock(mutex_);
  std::uint64_t highest = highest_retired_;
  for (const auto& [slot, team] : teams_) highest = std::max(highest, highest_of(*team));
  return highest;
}

void TeamTable::remove(Team& team) {
  const std::lock_guard lock(mutex_);
  highest_retired_ = std::max(highest_retired_, highest_of(team));
  by_slot_[static_cast<std::size_t>(team.slot)].store(nullptr, std::memory_order_release);
  teams_.erase(team.slot);
}

}  // namespace meshmem
