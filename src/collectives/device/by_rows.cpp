// SPDX-License-Identifier: Apache-2.0
//
// Collectives by rows: for a team that takes any memory of its PEs' devices
// (shmemx_team_take_any_memory). Kernels store the data into the rows of other PEs, and each PE
// fills its own dest from its rows. If the data does not fit into the rows, it goes in pieces of
// about equal length, with a kernel for each.
// Invariant: in other PEs' memory, a PE writes only the team's rows. Which kernels run, and how
// much each of them does, follows from numbers that all PEs have in common, not from the buffers.
#include <algorithm>

#include "collectives/batches.hpp"
#include "collectives/device/executor.hpp"
#include "collectives/policy/reduce_policy.hpp"
#include "device/located.hpp"

namespace meshmem::on_device {
namespace {

// Calls launch(first, n) for pieces of at most `most` elements, which begin at whole grains.
template <typename Launch>
hipError_t in_pieces(const Collective& call, std::size_t most, const Launch& launch) {
  const std::size_t grain = grain_of(call.elem_bytes);
  const std::size_t pieces = (call.count - 1) / most + 1;
  const std::size_t each = ((call.count - 1) / pieces / grain + 1) * grain;
  hipError_t error = hipSuccess;
  for (std::size_t first = 0; first < call.count && error == hipSuccess; first += each)
    error = launch(first, std::min(each, call.count - first));
  return error;
}

hipError_t move_by_rows(const Team& team, const Collective& call, hipStream_t stream) {
  const device::TeamHandle handle = handle_for_data(team);
  const std::size_t most = device::most_by_rows(call.kind, handle) / call.elem_bytes;
  return in_pieces(call, most, [&](std::size_t first, std::size_t count) {
    const std::size_t offset = first * call.elem_bytes;
    return launch_kernel_of_move(handle,
                                 {at(call.dest, offset), at(call.source, offset),
                                  count * call.elem_bytes, call.bytes(), true},
                                 call, stream);
  });
}

hipError_t reduce_by_rows(const Team& team, const Collective& call, hipStream_t stream) {
  const Reduction& op = *call.op;
  const bool scatters = call.kind == CollectiveKind::reduce_scatter;
  const device::Plan plan = reduce_policy.kernel_plan_by_rows(
      call.bytes(), team.n, channels_of(team), scatters, team.node.in_pe_order);
  const device::TeamHandle handle = handle_for_data(team);
  // By packets one kernel takes any number of elements.
  const std::size_t by_lines = device::most_reduced_by_wide_lines(handle, plan);
  const std::size_t most = by_lines > 0 ? by_lines / call.elem_bytes : call.count;
  return in_pieces(call, most, [&](std::size_t first, std::size_t count) {
    const std::size_t offset = first * call.elem_bytes;
    return device::launch_reduce(
        {plan, handle, op.kernel_op, at(call.dest, offset), at(call.source, offset), count,
         scatters ? call.count : 0, stream},
        op.kernel_type);
  });
}

}  // namespace

bool goes_by_rows(const Collective& call) {
  switch (call.kind) {
    case CollectiveKind::broadcast:
    case CollectiveKind::fcollect:
    case CollectiveKind::alltoall:
      return true;
    case CollectiveKind::reduce:
    case CollectiveKind::reduce_scatter:
      return !device::is_located(call.op->kernel_type);
    default:
      return false;
  }
}

hipError_t launch_by_rows(const Team& team, const Collective& call, hipStream_t stream) {
  const bool combines =
      call.kind == CollectiveKind::reduce || call.kind == CollectiveKind::reduce_scatter;
  if (combines) return reduce_by_rows(team, call, stream);
  if (team.n > 1) return move_by_rows(team, call, stream);
  return call.dest == call.source
             ? hipSuccess
             : device::launch_copy(call.dest, call.source, call.bytes(), stream);
}

}  // namespace meshmem::on_device
