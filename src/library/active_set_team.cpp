// SPDX-License-Identifier: Apache-2.0
//
// Says what is wrong with an active set, and finds its team.
// Invariant: who has no place in the set waits for nobody.
#include "library/active_set_team.hpp"

#include <string>

#include "base/error.hpp"
#include "collectives/sync.hpp"
#include "core/runtime.hpp"

namespace meshmem {
namespace {

[[noreturn, gnu::cold, gnu::noinline]] void refuse_set(const ActiveSet& set, const char* routine) {
  const std::string name =
      fmt::format("PE_start {}, logPE_stride {}, PE_size {}", set.start, set.log_stride, set.size);
  const auto n = static_cast<int>(address_map.n_pes);
  if (!set.is_within(n)) fatal("{}: {} is not an active set of PEs 0..{}", routine, name, n - 1);
  if (!set.contains(address_map.my_pe))
    fatal("{}: this PE is not in the active set {}", routine, name);
  fatal("{}: {} different active sets have been used, and no more are possible; make teams instead",
        routine, kActiveSetSlots);
}

void check_set(const ActiveSet& set, const char* routine) {
  if (!set.is_within(static_cast<int>(address_map.n_pes)) || !set.contains(address_map.my_pe))
      [[unlikely]]
    refuse_set(set, routine);
}

}  // namespace

void require_root(const ActiveSet& set, int root, const char* routine) {
  check_set(set, routine);
  if (root < 0 || root >= set.size)
    fatal("{}: PE_root {} is not in 0..{} of the active set", routine, root, set.size - 1);
}

Team& active_set_team(const ActiveSet& set, const char* routine) {
  check_set(set, routine);
  Team* team = runtime().active_set_teams().team_of(set, [routine](Team& made) {
    made.begin_call(routine);
    // No kernel of a member writes to another's flags before they are cleared.
    if (runtime().has_devices()) sync(made);
  });
  if (!team) [[unlikely]]
    refuse_set(set, routine);
  team->begin_call(routine);
  return *team;
}

}  // namespace meshmem
