// SPDX-License-Identifier: Apache-2.0
//
// Makes the teams of groups, and destroys those that all members have dropped.
#include "group_team.hpp"

#include <c10/util/Exception.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <map>
#include <mutex>

#include "stage.hpp"

namespace meshmem::pytorch {

constexpr int kMost = 64;  // bits of a word

struct TeamsOfList {
  std::array<shmem_team_t, kMost> teams;
  std::uint64_t taken = 0;                 // bits of numbers that teams have: alike on all members
  std::atomic<std::uint64_t> dropped = 0;  // of those, the teams whose groups have ended here
};

namespace {

TeamsOfList& teams_of(const std::vector<int>& pes) {
  static auto& mutex = *new std::mutex;  // both live for ever: groups may end after them
  static auto& lists = *new std::map<std::vector<int>, TeamsOfList>;
  const std::lock_guard lock(mutex);
  return lists[pes];
}

}  // namespace

GroupTeam::GroupTeam(const std::vector<int>& pes) : list_(teams_of(pes)) {
  TORCH_CHECK(!shmemx_team_of_pes(pes.data(), static_cast<int>(pes.size()), &team_),
              "meshmem: there are too many teams for another process group");
  const std::lock_guard agreeing(memory().agreeing);
  const std::uint64_t all = memory().agree(team_, list_.dropped);
  for (std::uint64_t left = all; left != 0; left &= left - 1)
    shmem_team_destroy(list_.teams[static_cast<std::size_t>(std::countr_zero(left))]);
  list_.dropped &= ~all;
  list_.taken &= ~all;
  const int number = std::countr_one(list_.taken);
  if (number == kMost) return;
  number_ = number;
  list_.teams[static_cast<std::size_t>(number)] = team_;
  list_.taken |= std::uint64_t{1} << number;
}

GroupTeam::~GroupTeam() {
  if (number_ >= 0) list_.dropped |= std::uint64_t{1} << number_;
}

}  // namespace meshmem::pytorch
