// SPDX-License-Identifier: Apache-2.0
//
// Collectives by rows. If the data does not fit into the rows, it goes in pieces of about equal
// length, with a kernel for each.
#include "collectives/device/by_rows.hpp"

#include <algorithm>

#include "collectives/device/executor.hpp"
#include "collectives/policy/reduce_policy.hpp"
#include "device/launch.hpp"
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

std::byte* behind(void* address, std::size_t bytes) {
  return static_cast<std::byte*>(address) + bytes;
}
const std::byte* behind(const void* address, std::size_t bytes) {
  return static_cast<const std::byte*>(address) + bytes;
}

hipError_t move_by_rows(const Team& team, const Collective& call, hipStream_t stream) {
  const device::TeamHandle handle = handle_for_data(team);
  const std::size_t most = device::most_by_rows(call.kind, handle) / call.elem_bytes;
  return in_pieces(call, most, [&](std::size_t first, std::size_t count) {
    const std::size_t at = first * call.elem_bytes;
    const device::Move move{behind(call.dest, at), behind(call.source, at), count * call.elem_bytes,
                            call.bytes(), true};
    if (call.kind == CollectiveKind::broadcast)
      return device::launch_broadcast(handle, move, call.root, stream);
    if (call.kind == CollectiveKind::fcollect) return device::launch_fcollect(handle, move, stream);
    return device::launch_alltoall(handle, move, stream);
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
    const std::size_t at = first * call.elem_bytes;
    return device::launch_reduce(
        {plan, handle, op.kernel_op, behind(call.dest, at), behind(call.source, at), count,
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
