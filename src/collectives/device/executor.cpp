// SPDX-License-Identifier: Apache-2.0
//
// Launches the kernels and copies of collectives.
// Invariant: run() gives each collective a stream of its own. Kernels wait for other PEs, and two
// kernels on one stream would wait in an order that may differ between PEs.
#include "collectives/device/executor.hpp"

#include "base/status/slow_ways.hpp"
#include "collectives/policy/reduce_policy.hpp"
#include "core/runtime.hpp"
#include "device/located.hpp"
#include "gpu/copy_branch.hpp"
#include "gpu/device_target.hpp"
#include "gpu/device_transfer.hpp"
#include "memory/argument_checks.hpp"

namespace meshmem::on_device {

bool kernels_reach(const void* address, std::size_t bytes) {
  const device::State& state = runtime().device_state().state();
  if (state.sync.base == 0) return false;
  const device::KernelSegment& heap = state.host_heap;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  return heap.holds(at) ? bytes <= heap.bytes - (at - heap.base)
                        : device_segments().all_for_kernels(address, bytes);
}

void check_reach(const char* routine, const void* address, std::size_t bytes) {
  if (kernels_reach(address, bytes)) [[likely]]
    return check_block(routine, address, bytes);
  if (kernels_reach(address))
    fatal("{}: {} bytes at {} go beyond the symmetric memory there", routine, bytes, address);
  fatal("{}: kernels do not reach {} on all PEs", routine, address);
}

int channels_of(const Team& team) {
  return runtime().device_state().state().sync_layout.channels_of(team.slot);
}

device::TeamHandle kernel_handle(const Team& team) {
  return runtime().device_state().kernel_handle(team.slot, team.me, team.pes);
}

device::TeamHandle handle_for_data(const Team& team) {
  if (channels_of(team) == 1 && runtime().device_state().state().sync_layout.channels_of(0) > 1)
    note_slow_way(SlowWay::one_block, team.routine());
  return kernel_handle(team);
}

namespace {

// PEs that share a GPU share its copy engines. Under MPS, copies of two streams, between kernels
// that wait for other PEs, waited for each other for ever.
bool engines_are_apart() {
  return kDevicesAreProcessors || !runtime().device_memory().pes_share_devices();
}

hipError_t copy_to_all(const Team& team, std::byte* address, std::size_t bytes,
                       hipStream_t stream) {
  hipError_t error = hipSuccess;
  for (int i = 1; i < team.n && error == hipSuccess; ++i)  // each PE gets from one other at a time
    error = copy_to_pe(address, bytes, team.world_pe((team.me + i) % team.n), stream);
  return error;
}

// Each PE gets its share reduced around the ring, and copies it to all others. They have entered by
// then, and have read that share of their sources, which may be their dests. The rest, less than a
// grain for each PE, takes one hop. Then all meet.
hipError_t launch_ring_and_copies(const device::Plan& plan, const Team& team,
                                  const Collective& call, hipStream_t stream) {
  const Reduction& op = *call.op;
  const auto n = static_cast<std::size_t>(team.n), me = static_cast<std::size_t>(team.me);
  const std::size_t grain = grain_of(op.elem_bytes);
  const std::size_t share = call.count / n / grain * grain, rest = call.count - n * share;
  const std::size_t share_bytes = share * op.elem_bytes, bytes = n * share_bytes;
  const device::TeamHandle handle = handle_for_data(team);
  auto* const to = static_cast<std::byte*>(call.dest);
  const auto* const from = static_cast<const std::byte*>(call.source);
  const auto reduce = [&](const device::Plan& by, std::size_t at, std::size_t from_at,
                          std::size_t elems, std::size_t spacing) {
    return device::launch_reduce(
        {by, handle, op.kernel_op, to + at, from + from_at, elems, spacing, stream},
        op.kernel_type);
  };

  const device::Plan ring{ReduceAlgorithm::ring, plan.blocks, plan.threads};
  hipError_t error = reduce(ring, me * share_bytes, 0, share, share);
  if (error == hipSuccess) error = copy_to_all(team, to + me * share_bytes, share_bytes, stream);
  if (error == hipSuccess && rest > 0)
    error = reduce({ReduceAlgorithm::one_shot, 1, plan.threads}, bytes, bytes, rest, 0);
  return error == hipSuccess ? device::launch_sync(handle, stream) : error;
}

// From this size on copies bring blocks sooner than stores of kernels do. The processor copies
// where it is the device; else a copy engine copies to the only other PE. With more PEs the engines
// slow each other down: four H100 take 1.6 times as long (docs/measurements/four_h100.md).
constexpr std::size_t kLeastByCopies = kDevicesAreProcessors ? 32 << 10 : 96 << 20;
bool copies_may_win(int n_pes) {
  if (n_pes == 1 || kDevicesAreProcessors) return n_pes > 1;
  return kHasCopyEngines && n_pes == 2 && engines_are_apart();
}

bool goes_by_copies(const Team& team, const void* dest, std::size_t bytes, std::size_t all_bytes) {
  return copies_may_win(team.n) &&
         bytes >= runtime().environment().copy_min_bytes.value_or(kLeastByCopies) &&
         device_segments().all_for_kernels(dest, all_bytes);
}

// The blocks that a PE sends. The block for PE i begins i * apart bytes behind `source`, and goes
// to PE i's copy of `mine`.
struct Blocks {
  std::byte* mine;
  const std::byte* source;
  std::size_t apart, bytes;

  const std::byte* for_pe(int pe) const { return source + static_cast<std::size_t>(pe) * apart; }
};

hipError_t send_by_copies(const Team& team, const Blocks& blocks, hipStream_t stream) {
  CopyBranch branch(stream);
  hipError_t error = hipSuccess;
  // Each PE gets from one other at a time.
  for (int i = 1; i < team.n && error == hipSuccess; ++i) {
    const int pe = (team.me + i) % team.n;
    const auto there = device_segments().find(blocks.mine, blocks.bytes, team.world_pe(pe));
    error = there ? branch.begin(there->address, blocks.for_pe(pe), blocks.bytes)
                  : hipErrorInvalidDevicePointer;
  }
  const std::byte* const own = blocks.for_pe(team.me);
  if (error == hipSuccess && blocks.mine != own)
    error = device::launch_copy(blocks.mine, own, blocks.bytes, stream);
  const hipError_t joined = branch.join();
  return error == hipSuccess ? joined : error;
}

// Sends between two meetings: after the first all dests may be written, after the second all are
// complete.
hipError_t exchange_by_copies(const Team& team, const Blocks& blocks, bool sends,
                              hipStream_t stream) {
  const device::TeamHandle handle = kernel_handle(team);
  hipError_t error = device::launch_sync(handle, stream);
  if (error == hipSuccess && sends) error = send_by_copies(team, blocks, stream);
  return error == hipSuccess ? device::launch_sync(handle, stream) : error;
}

// Launches a broadcast, fcollect or dense alltoall.
hipError_t launch_move(const Team& team, const Collective& call, hipStream_t stream) {
  const bool is_broadcast = call.kind == CollectiveKind::broadcast;
  const std::size_t bytes = call.bytes();
  const std::size_t all_bytes = is_broadcast ? bytes : static_cast<std::size_t>(team.n) * bytes;
  if (!goes_by_copies(team, call.dest, bytes, all_bytes))
    return launch_kernel_of_move(handle_for_data(team),
                                 {call.dest, call.source, bytes, bytes, false}, call, stream);
  auto* const mine = static_cast<std::byte*>(call.dest) +
                     (is_broadcast ? 0 : static_cast<std::size_t>(team.me) * bytes);
  const std::size_t apart = call.kind == CollectiveKind::alltoall ? bytes : 0;
  const Blocks blocks{mine, static_cast<const std::byte*>(call.source), apart, bytes};
  return exchange_by_copies(team, blocks, !is_broadcast || team.me == call.root, stream);
}

hipError_t launch_alltoalls(const Team& team, const Collective& call, hipStream_t stream) {
  if (call.is_dense())
    return launch_move(team, alltoall_of(call.dest, call.source, call.elem_bytes, call.count),
                       stream);
  return device::launch_alltoalls(kernel_handle(team), call.dest, call.source, call.dest_stride,
                                  call.source_stride, call.elem_bytes, call.count, stream);
}

// Runs a reduction or reduce-scatter by the plan for its size.
hipError_t launch_reduce(const Team& team, const Collective& call, hipStream_t stream) {
  const Reduction& op = *call.op;
  const bool scatters = call.kind == CollectiveKind::reduce_scatter;
  const auto plan_for = scatters ? &ReducePolicy::kernel_scatter_plan : &ReducePolicy::kernel_plan;
  const auto plan_in = [&](bool in_pe_order) {
    return (reduce_policy.*plan_for)(call.bytes(), team.n, channels_of(team), in_pe_order);
  };
  const device::Plan plan = plan_in(team.node.in_pe_order);
  if (team.node.in_pe_order && team.n > 1 && !device::is_located(op.kernel_type) &&
      plan.algorithm != plan_in(false).algorithm)
    note_slow_way(SlowWay::algorithm_in_pe_order, team.routine());
  const std::size_t least = static_cast<std::size_t>(team.n) * grain_of(op.elem_bytes);
  const bool by_copies = !scatters && plan.algorithm == ReduceAlgorithm::ring_and_copies &&
                         team.n > 1 && engines_are_apart() && call.count >= least &&
                         !device::is_located(op.kernel_type) &&
                         device_segments().all_for_kernels(call.dest, call.bytes());
  if (by_copies) return launch_ring_and_copies(plan, team, call, stream);
  return device::launch_reduce({plan, handle_for_data(team), op.kernel_op, call.dest, call.source,
                                call.count, scatters ? call.count : 0, stream},
                               op.kernel_type);
}

}  // namespace

hipError_t launch_kernel_of_move(const device::TeamHandle& handle, const device::Move& move,
                                 const Collective& call, hipStream_t stream) {
  if (call.kind == CollectiveKind::broadcast)
    return device::launch_broadcast(handle, move, call.root, stream);
  if (call.kind == CollectiveKind::fcollect) return device::launch_fcollect(handle, move, stream);
  return device::launch_alltoall(handle, move, stream);
}

hipError_t launch(const Team& team, const Collective& call, hipStream_t stream) {
  switch (call.kind) {
    case CollectiveKind::sync:
      return device::launch_sync(kernel_handle(team), stream);
    case CollectiveKind::broadcast:
    case CollectiveKind::fcollect:
    case CollectiveKind::alltoall:
      return launch_move(team, call, stream);
    case CollectiveKind::collect:
      return device::launch_collect(kernel_handle(team), call.dest, call.source, call.bytes(),
                                    stream);
    case CollectiveKind::alltoalls:
      return launch_alltoalls(team, call, stream);
    case CollectiveKind::reduce:
    case CollectiveKind::reduce_scatter:
      return launch_reduce(team, call, stream);
    case CollectiveKind::inscan:
    case CollectiveKind::exscan:
      return device::launch_scan({kernel_handle(team), call.dest, call.source, call.count,
                                  call.kind == CollectiveKind::inscan, stream},
                                 call.op->kernel_type);
    case CollectiveKind::alltoallv:
      return device::launch_alltoallv(handle_for_data(team), *call.varying, stream);
  }
  __builtin_unreachable();
}

void run(Team& team, const Collective& call) {
  device_transfer().run(team.routine(),
                        [&](hipStream_t stream) { return launch(team, call, stream); });
}

}  // namespace meshmem::on_device
