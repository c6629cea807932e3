// SPDX-License-Identifier: Apache-2.0
//
// Teams (OpenSHMEM 1.6, 9.4).
// Invariant: a destroyed team's calls raise an exception.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>

#include <filesystem>
#include <optional>

#include "team.hpp"

namespace meshmem::python {
namespace {

nb::object team_or_none(shmem_team_t team) {
  return team == SHMEM_TEAM_INVALID ? nb::none() : nb::cast(team_of(team));
}

nb::object split_strided(const Team& team, int start, int stride, int size, int num_contexts) {
  team.require_usable();
  const int n = team.n_pes();
  require_pe(start, n, "start");
  const long last = start + static_cast<long>(size - 1) * stride;
  if (size < 1 || last < 0 || last >= n || (stride == 0 && size > 1)) {
    fail(PyExc_ValueError,
         "size: a stride of " + std::to_string(stride) + " leaves the team, or repeats a PE");
  }
  shmem_team_config_t config{num_contexts};
  shmem_team_t made;
  int status;
  {
    const Unlocked unlocked;
    status = shmem_team_split_strided(team.handle(), start, stride, size, &config,
                                      SHMEM_TEAM_NUM_CONTEXTS, &made);
  }
  if (status) fail(PyExc_RuntimeError, "team: the library has no more teams");
  return team_or_none(made);
}

nb::object split_2d(const Team& team, int xrange, int num_contexts) {
  team.require_usable();
  if (xrange < 1) fail(PyExc_ValueError, "xrange: less than 1");
  shmem_team_config_t config{num_contexts};
  shmem_team_t x, y;
  int status;
  {
    const Unlocked unlocked;
    status = shmem_team_split_2d(team.handle(), xrange, &config, SHMEM_TEAM_NUM_CONTEXTS, &x,
                                 &config, SHMEM_TEAM_NUM_CONTEXTS, &y);
  }
  if (status) fail(PyExc_RuntimeError, "team: the library has no more teams");
  return nb::make_tuple(team_or_none(x), team_or_none(y));
}

void destroy_team(Team& team) {
  team.require_usable();
  if (team.is_predefined()) fail(PyExc_ValueError, "team: TEAM_WORLD and TEAM_SHARED stay");
  const auto handle = std::exchange(*team.shared, SHMEM_TEAM_INVALID);
  const Unlocked unlocked;
  shmem_team_destroy(handle);
}

void save_team(const Team& team, const std::filesystem::path& folder) {
  team.require_usable();
  int failed;
  {
    const Unlocked unlocked;
    failed = shmemx_heap_save(team.handle(), folder.c_str());
  }
  if (failed) fail(PyExc_RuntimeError, "team: nothing was saved; a line on stderr says why");
}

// Returns false if there is no save.
bool restore_team(const Team& team, const std::filesystem::path& folder) {
  team.require_usable();
  int failed;
  {
    const Unlocked unlocked;
    failed = shmemx_heap_restore(team.handle(), folder.c_str());
  }
  if (failed == SHMEMX_NO_SAVE) return false;
  if (failed) fail(PyExc_RuntimeError, "team: nothing was restored; a line on stderr says why");
  return true;
}

}  // namespace

void bind_teams(nb::module_& module) {
  nb::class_<Team> team(module, "Team",
                        "An ordered set of PEs that call collectives together (9.4). TEAM_WORLD "
                        "has all, TEAM_SHARED those of this machine.");
  team.def(
      "my_pe",
      [](const Team& t) {
        t.require_usable();
        return shmem_team_my_pe(t.handle());
      },
      "This PE's number in the team (9.4).");
  team.def(
      "n_pes",
      [](const Team& t) {
        t.require_usable();
        return t.n_pes();
      },
      "The number of PEs of the team (9.4).");
  team.def(
      "translate_pe",
      [](const Team& t, int pe, const Team& other) -> std::optional<int> {
        t.require_usable();
        other.require_usable("other");
        require_pe(pe, t.n_pes());
        const int there = shmem_team_translate_pe(t.handle(), pe, other.handle());
        if (there < 0) return std::nullopt;
        return there;
      },
      nb::arg("pe"), nb::arg("other"),
      "The number that PE pe of this team has in the other, or None (9.4).");
  team.def("split_strided", &split_strided, nb::arg("start"), nb::arg("stride"), nb::arg("size"),
           nb::arg("num_contexts") = 0,
           nb::sig("def split_strided(self, start: int, stride: int, "
                   "size: int, num_contexts: int = 0) -> Team | None"),
           "A team of PEs start, start + stride, ... (9.4). Collective over this team; None on PEs "
           "that are not in the new one.");
  team.def("split_2d", &split_2d, nb::arg("xrange"), nb::arg("num_contexts") = 0,
           nb::sig("def split_2d(self, xrange: int, num_contexts: int = 0) -> tuple[Team, Team]"),
           "Two teams, this PE's row and column, as if the PEs lay in rows of xrange (9.4). "
           "Collective over this team.");
  team.def(
      "num_contexts",
      [](const Team& t) {
        t.require_usable();
        shmem_team_config_t config{};
        shmem_team_get_config(t.handle(), SHMEM_TEAM_NUM_CONTEXTS, &config);
        return config.num_contexts;
      },
      "The number of contexts that the split asked for (9.4, shmem_team_get_config).");
  team.def(
      "fix_reduce_order",
      [](const Team& t) {
        t.require_usable();
        int status;
        {
          const Unlocked unlocked;
          status = shmemx_team_fix_reduce_order(t.handle());
        }
        if (status) fail(PyExc_RuntimeError, "team: its order cannot be fixed");
      },
      "From now on the team's reductions combine in PE order, for the same bits by every algorithm "
      "(shmemx_team_fix_reduce_order). All PEs of the team call it.");
  team.def(
      "save", &save_team, nb::arg("folder"),
      nb::sig("def save(self, folder: str | os.PathLike[str]) -> None"),
      "Saves the symmetric memory of the team's PEs to the folder (shmemx_heap_save). Collective "
      "over the team. RuntimeError if it is refused; then the save before stays.");
  team.def(
      "restore", &restore_team, nb::arg("folder"),
      nb::sig("def restore(self, folder: str | os.PathLike[str]) -> bool"),
      "Brings back what a team of as many PEs has saved, after the same allocations "
      "(shmemx_heap_restore). Collective over the team. False if the folder has no complete save, "
      "RuntimeError if it has one that is refused. Then no memory has changed.");
  team.def("destroy", &destroy_team,
           "Ends the team (9.4). Collective over it. Its contexts end too.");
  team.def(
      "ptr",
      [](const Team& t, nb::handle array, int pe) {
        t.require_usable();
        require_pe(pe, t.n_pes());
        return array.attr("ptr")(shmem_team_translate_pe(t.handle(), pe, SHMEM_TEAM_WORLD));
      },
      nb::arg("array"), nb::arg("pe"),
      nb::sig("def ptr(self, array: Array, pe: int) -> numpy.typing.NDArray[typing.Any] | "
              "None"),
      "As array.ptr, with a PE number of the team (9.4, shmem_team_ptr).");
  bind_with(team, [](Team& self, bool is_error) {
    if (!is_error && self.is_there()) destroy_team(self);
  });
  bind_collectives(team);
  module.attr("TEAM_WORLD") = team_of(SHMEM_TEAM_WORLD);
  module.attr("TEAM_SHARED") = team_of(SHMEM_TEAM_SHARED);
}

}  // namespace meshmem::python
