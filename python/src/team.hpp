// SPDX-License-Identifier: Apache-2.0
//
// Teams of PEs.
// Invariant: a team and its contexts share the handle, so that all see its end.
// Used by the bindings of teams, collectives and contexts.
#pragma once
#include <memory>
#include <string>

#include "job.hpp"

namespace meshmem::python {

struct Team {
  std::shared_ptr<shmem_team_t> shared;  // with its contexts; invalid after destroy
  int made_in_init = job.n_inits;

  shmem_team_t handle() const { return *shared; }
  bool is_there() const {
    return is_predefined() || (handle() != SHMEM_TEAM_INVALID && made_in_init == job.n_inits);
  }
  bool is_predefined() const {
    return handle() == SHMEM_TEAM_WORLD || handle() == SHMEM_TEAM_SHARED;
  }
  void require_usable(const char* name = "team") const {
    require_active();
    if (!is_there()) fail(PyExc_ValueError, std::string(name) + ": it was destroyed");
  }
  int n_pes() const { return shmem_team_n_pes(handle()); }
};
inline Team team_of(shmem_team_t handle) { return {std::make_shared<shmem_team_t>(handle)}; }

void bind_collectives(nb::class_<Team>& team);

}  // namespace meshmem::python
