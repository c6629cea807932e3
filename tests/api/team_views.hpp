// SPDX-License-Identifier: Apache-2.0
//
// The teams that collectives are tested on, each with its PEs written out.
// Invariant: all PEs make the same teams in the same order; `check` runs on the members only, and a
// barrier of the world follows each team.
#ifndef MESHMEM_TESTS_API_TEAM_VIEWS_HPP
#define MESHMEM_TESTS_API_TEAM_VIEWS_HPP

#include <gtest/gtest.h>
#include <shmem.h>

#include <cstddef>
#include <vector>

namespace meshmem {

// A team as the calling PE sees it: its number, and the PEs of the world in team order.
struct TeamView {
  shmem_team_t team;
  int me;
  std::vector<int> pes;

  int n() const { return static_cast<int>(pes.size()); }
  size_t size() const { return pes.size(); }
  int world(size_t pe) const { return pes[pe]; }
};

// Makes the team of PEs start, start + stride, ... of the world.
inline TeamView make_view(int start, int stride, int size) {
  TeamView view{SHMEM_TEAM_INVALID, -1, {}};
  EXPECT_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, start, stride, size, nullptr, 0, &view.team),
            0);
  for (int i = 0; i < size; ++i) {
    view.pes.push_back(start + i * stride);
    if (view.pes.back() == shmem_my_pe()) view.me = i;
  }
  return view;
}

inline TeamView world_view() {
  TeamView view{SHMEM_TEAM_WORLD, shmem_my_pe(), {}};
  for (int pe = 0; pe < shmem_n_pes(); ++pe) view.pes.push_back(pe);
  return view;
}

// Runs check on the world, on all PEs in reversed order, on every second, and on the last one
// alone.
template <typename Check>
void on_every_team(const Check& check) {
  const int n = shmem_n_pes();
  auto on_members = [&](const char* name, const TeamView& view) {
    SCOPED_TRACE(name);
    if (view.me >= 0) check(view);
    shmem_barrier_all();
    if (view.team != SHMEM_TEAM_WORLD) shmem_team_destroy(view.team);
  };
  on_members("on the world", world_view());
  on_members("on the reversed world", make_view(n - 1, -1, n));
  on_members("on every second PE", make_view(0, 2, (n + 1) / 2));
  on_members("on the last PE", make_view(n - 1, 1, 1));
}

}  // namespace meshmem

#endif
