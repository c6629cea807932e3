// SPDX-License-Identifier: Apache-2.0
//
// How the members of a process group make its team, and take their stages.
#include "group.hpp"

#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "without_gil.hpp"

namespace meshmem::pytorch {
namespace {

// Returns the members. The first group, of all PEs, opens the memory.
std::vector<int> with_memory(std::vector<int> members, bool has_gpus) {
  if (static_cast<int>(members.size()) == shmem_n_pes()) memory().open(has_gpus);
  TORCH_CHECK_VALUE(memory().host.is_open(),
                    "ranks: the first group of meshmem must have all ranks");
  return members;
}

}  // namespace

Group::Group(int rank, std::vector<int> members, std::string group_name, bool has_gpus)
    : name(std::move(group_name)),
      me(rank),
      pes(with_memory(std::move(members), has_gpus)),
      own_team(pes),
      team(own_team.get()) {
  part = memory().host.take(team);
  TORCH_CHECK(part != Stages::kNone,
              "meshmem: there are too many process groups at a time; destroy some, or set a larger "
              "SHMEM_SYMMETRIC_SIZE");
  stage = memory().host.part(part);
  std::memset(stage, 0, sizeof(Control));
  std::memset(message_area(), 0, std::min(message_bytes(), pes.size() * std::size_t{64}));
  if (memory().device.is_open()) {
    device_part = memory().device.take(team);
  }
  if (device_part != Stages::kNone) {
    device_stage = memory().device.part(device_part);
    takes_any_memory = shmemx_team_take_any_memory(team) == 0;
    const std::vector<DeviceWords> zeros(pes.size());
    shmem_putmem(&device_words(0), zeros.data(), zeros.size() * sizeof(DeviceWords), pe(me));
    shmem_quiet();
  }
  shmem_team_sync(team);  // all have cleared their words
}

Group::~Group() {
  if (!memory().is_of_this_job()) return;
  const WithoutGil others_run;
  if (part != Stages::kNone) memory().host.give_back(part, pes, [] { return true; });
  if (device_part != Stages::kNone)
    memory().device.give_back(device_part, pes, std::move(device_is_done));
}

std::string Group::text() const {
  return c10::str("meshmem: group ", name, ", PE ", pe(me), " (rank ", me, ")");
}

}  // namespace meshmem::pytorch
