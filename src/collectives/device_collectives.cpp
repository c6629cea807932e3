// SPDX-License-Identifier: Apache-2.0
//
// The choice between kernels and messages, and the run of a kernel.
// Invariant: a collective's kernel has a stream of its own as long as it runs: it waits for other
// PEs, and two on one stream would wait in an order that the other PEs do not share.
#include "collectives/device_collectives.hpp"

#include "collectives/device_plans.hpp"
#include "collectives/staged.hpp"
#include "core/runtime.hpp"
#include "memory/hip_error.hpp"
#include "transport/device_transfer.hpp"

namespace meshmem::on_device {
namespace {

bool kernels_reach(const device::State& state, const void* address) {
  return state.host_heap.holds(reinterpret_cast<std::uintptr_t>(address)) ||
         device_segments().all_for_kernels(address);
}

template <typename Launch>
void run(Team& team, const Launch& launch) {
  const DeviceTransfer::Lane lane = device_transfer().lane();
  {
    const OnDevice current(device_transfer().device());
    check(launch(lane->stream()), "start the kernel of {}", team.routine);
  }
  lane->wait(team.routine);
}

}  // namespace

bool kernels_reach(const void* dest, const void* source) {
  const device::State& state = runtime().device_state().state();
  return state.sync.base != 0 && kernels_reach(state, dest) && kernels_reach(state, source);
}

device::TeamPlace place_of(const Team& team) { return runtime().device_state().place_of(team); }

device::Plan plan_of(const Team& team, const Reduction& op, std::size_t count) {
  const device::SyncLayout& layout = runtime().device_state().state().sync_layout;
  return choose_plan(reduction_choice, count * op.elem_bytes, team.n,
                     layout.channels_of(team.slot));
}

void broadcast(Team& team, void* dest, const void* source, std::size_t bytes, int root) {
  if (bytes == 0) return;
  if (!kernels_reach(dest, source)) return staged::broadcast(team, dest, source, bytes, root);
  run(team, [&](hipStream_t stream) {
    return device::launch_broadcast(place_of(team), dest, source, bytes, root, stream);
  });
}

void fcollect(Team& team, void* dest, const void* source, std::size_t bytes) {
  if (bytes == 0) return;
  if (!kernels_reach(dest, source)) return staged::fcollect(team, dest, source, bytes);
  run(team, [&](hipStream_t stream) {
    return device::launch_fcollect(place_of(team), dest, source, bytes, stream);
  });
}

void collect(Team& team, void* dest, const void* source, std::size_t bytes) {
  if (!kernels_reach(dest, source)) return staged::collect(team, dest, source, bytes);
  run(team, [&](hipStream_t stream) {
    return device::launch_collect(place_of(team), dest, source, bytes, stream);
  });
}

void alltoall(Team& team, void* dest, const void* source, const AlltoallShape& shape) {
  if (shape.count == 0) return;
  if (!kernels_reach(dest, source)) return staged::alltoall(team, dest, source, shape);
  run(team, [&](hipStream_t stream) {
    if (shape.dest_stride == 1 && shape.source_stride == 1) {
      return device::launch_alltoall(place_of(team), dest, source, shape.count * shape.elem_bytes,
                                     stream);
    }
    return device::launch_alltoalls(place_of(team), dest, source, shape.dest_stride,
                                    shape.source_stride, shape.elem_bytes, shape.count, stream);
  });
}

void reduce(Team& team, const Reduction& op, void* dest, const void* source, std::size_t count) {
  if (count == 0) return;
  if (op.kernel_type == device::ElemType::none || !kernels_reach(dest, source))
    return staged::reduce(team, op, dest, source, count);
  run(team, [&](hipStream_t stream) {
    return device::launch_reduce(plan_of(team, op, count), place_of(team), op.kernel_op,
                                 op.kernel_type, dest, source, count, false, stream);
  });
}

void reduce_scatter(Team& team, const Reduction& op, void* dest, const void* source,
                    std::size_t count) {
  if (count == 0) return;
  if (!kernels_reach(dest, source)) return staged::reduce_scatter(team, op, dest, source, count);
  run(team, [&](hipStream_t stream) {
    return device::launch_reduce(plan_of(team, op, count), place_of(team), op.kernel_op,
                                 op.kernel_type, dest, source, count, true, stream);
  });
}

void scan(Team& team, const Reduction& op, void* dest, const void* source, std::size_t count,
          bool inclusive) {
  if (count == 0) return;
  if (op.kernel_type == device::ElemType::none || !kernels_reach(dest, source))
    return staged::scan(team, op, dest, source, count, inclusive);
  run(team, [&](hipStream_t stream) {
    return device::launch_scan(place_of(team), op.kernel_type, dest, source, count, inclusive,
                               stream);
  });
}

}  // namespace meshmem::on_device
