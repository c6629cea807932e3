// SPDX-License-Identifier: Apache-2.0
//
// The routines of expert parallelism (include/shmemx.h).
// Invariant: a handle of no team is good for shmemx_moe_destroy alone.
#include "library/moe.hpp"

#include "api/entry.hpp"
#include "base/error.hpp"
#include "collectives/device/on_stream.hpp"
#include "core/stream_transfers.hpp"

namespace meshmem {
namespace {

Moe& moe_of(shmemx_moe_t handle, const char* routine) {
  require_active(routine);
  if (!handle) fatal("{}: moe is null", routine);
  return *reinterpret_cast<Moe*>(handle);
}

// Calls call(team, stream) with the arguments of a call on a stream, once they are good.
template <typename Call>
int run_on_stream(const Moe& moe, shmemx_stream_t handle, const char* routine, const Call& call) {
  on_stream::require_device(routine);
  Team& team = collective_team(moe.view().team, routine);
  on_stream::require_kernels(team);
  const auto stream = reinterpret_cast<hipStream_t>(handle);
  on_stream::require_own_stream(routine, stream);
  call(team, stream);
  return 0;
}

}  // namespace

MESHMEM_EXTENSION_ENTRY(int, moe_create,
                        (shmem_team_t handle, const shmemx_moe_shape_t* shape, shmemx_moe_t* moe)) {
  constexpr auto kRoutine = "shmemx_moe_create";
  Team* const team = team_of(handle, kRoutine);
  if (!moe || (team && !shape)) fatal("{}: {} is null", kRoutine, moe ? "shape" : "moe");
  Moe* const made = Moe::try_make(kRoutine, team, team ? *shape : shmemx_moe_shape_t{});
  *moe = reinterpret_cast<shmemx_moe_t>(made);
  return made ? 0 : 1;
}
MESHMEM_EXTENSION_ENTRY(void, moe_destroy, (shmemx_moe_t handle)) {
  constexpr auto kRoutine = "shmemx_moe_destroy";
  moe_of(handle, kRoutine).destroy(kRoutine);
}
MESHMEM_EXTENSION_ENTRY(void, moe_view, (shmemx_moe_t handle, shmemx_moe_view_t* view)) {
  constexpr auto kRoutine = "shmemx_moe_view";
  const Moe& moe = moe_of(handle, kRoutine);
  if (!view) fatal("{}: view is null", kRoutine);
  *view = moe.view();
}

MESHMEM_EXTENSION_ENTRY(int, moe_plan_on_stream,
                        (shmemx_moe_t handle, const int* indices, int tokens,
                         shmemx_stream_t stream)) {
  constexpr auto kRoutine = "shmemx_moe_plan_on_stream";
  Moe& moe = moe_of(handle, kRoutine);
  return run_on_stream(moe, stream, kRoutine,
                       [&](Team& team, hipStream_t on) { moe.plan(team, indices, tokens, on); });
}
MESHMEM_EXTENSION_ENTRY(int, moe_dispatch_on_stream,
                        (shmemx_moe_t handle, const void* tokens, const float* scales,
                         shmemx_stream_t stream)) {
  constexpr auto kRoutine = "shmemx_moe_dispatch_on_stream";
  Moe& moe = moe_of(handle, kRoutine);
  return run_on_stream(moe, stream, kRoutine,
                       [&](Team& team, hipStream_t on) { moe.dispatch(team, tokens, scales, on); });
}
MESHMEM_EXTENSION_ENTRY(int, moe_combine_on_stream,
                        (shmemx_moe_t handle, const void* results, const float* weights, void* out,
                         shmemx_stream_t stream)) {
  constexpr auto kRoutine = "shmemx_moe_combine_on_stream";
  Moe& moe = moe_of(handle, kRoutine);
  return run_on_stream(moe, stream, kRoutine, [&](Team& team, hipStream_t on) {
    moe.combine(team, results, weights, out, on);
  });
}

}  // namespace meshmem
