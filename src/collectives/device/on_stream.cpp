// SPDX-License-Identifier: Apache-2.0
//
// Checks the arguments of a collective on a stream, and launches it.
// Invariant: MESHMEM_CHECK=1 compares a call with those of other PEs unless a graph captures it:
// when the graph is replayed, other calls may have come before.
#include "collectives/device/on_stream.hpp"

#include <algorithm>
#include <memory>

#include "base/error.hpp"
#include "base/status/slow_ways.hpp"
#include "collectives/device/command.hpp"
#include "collectives/device/executor.hpp"
#include "collectives/dispatch.hpp"
#include "collectives/same_call.hpp"
#include "core/memory_of_call.hpp"
#include "core/runtime.hpp"
#include "core/stream_transfers.hpp"
#include "device/launch.hpp"
#include "gpu/launch_on_stream.hpp"
#include "gpu/stream_mark.hpp"

namespace meshmem::on_stream {
namespace {

int my_device() { return runtime().device_memory().device(); }

void use_buffer(MemoryOfCall& memory, const Team& team, const void* address, std::size_t bytes) {
  on_device::check_reach(team.routine(), address, bytes);
  memory.add(address, bytes);
}

void use_any_buffer(MemoryOfCall& memory, const Team& team, const void* address,
                    std::size_t bytes) {
  if (!address) fatal("{}: a buffer is null", team.routine());
  memory.add(address, bytes);
}

// Notes that the work on the stream uses the call's buffers. Only this PE's kernels must reach
// them, which is not checked.
void use_any_buffers(MemoryOfCall& memory, const Team& team, const Collective& call) {
  const Buffers buffers = buffers_of(team.routine(), team.n, call);
  use_any_buffer(memory, team, call.dest, buffers.dest_bytes);
  use_any_buffer(memory, team, call.source, buffers.source_bytes);
}

// The same for buffers that kernels of all PEs must reach. Ends the job if they do not.
void use_buffers(MemoryOfCall& memory, const Team& team, const Collective& call) {
  const Buffers buffers = buffers_of(team.routine(), team.n, call);
  if (call.kind == CollectiveKind::collect || call.kind == CollectiveKind::alltoallv) {
    // A PE that gives no elements still gets those of the others. The dest may be null if no PE
    // gives any.
    if (call.dest)
      use_buffer(memory, team, call.dest, std::max<std::size_t>(buffers.dest_bytes, 1));
  } else if (buffers.dest_bytes > 0) {
    use_buffer(memory, team, call.dest, buffers.dest_bytes);
  }
  // The lengths of an alltoallv's blocks are in device memory, so only the first byte is checked.
  if (call.kind == CollectiveKind::alltoallv && call.source)
    use_buffer(memory, team, call.source, 1);
  if (buffers.source_bytes > 0) use_buffer(memory, team, call.source, buffers.source_bytes);
}

// For a team over several nodes: a kernel on the stream asks the host to run the collective between
// nodes.
hipError_t launch_by_host(const Team& team, const Collective& call, hipStream_t stream) {
  require_proxy(team.routine());
  if (call.dest && any_on_device(call.dest, call.source))
    note_slow_way(SlowWay::collective_through_host, team.routine());
  const auto caller = static_cast<std::uint32_t>(team.slot) | device::kFromStream |
                      (team.node.in_pe_order ? kInPeOrder : 0);
  return device::launch_proxy_command(command_of(call, caller), device::ProxyEnd::answered, stream);
}

// Marks the work for destroy_team(), which waits for it. Predefined teams are never destroyed.
void set_mark(Team& team, hipStream_t stream) {
  if (team.is_predefined || is_captured(stream)) return;
  if (!team.mark) team.mark = std::make_shared<StreamMark>(my_device());
  team.mark->set(stream);
}

bool is_empty(const Collective& call) {
  return call.count == 0 && call.kind != CollectiveKind::sync &&
         call.kind != CollectiveKind::collect && call.kind != CollectiveKind::alltoallv;
}

}  // namespace

void require_kernels(const Team& team) {
  if (!team.is_on_one_node()) return require_proxy(team.routine());
  if (runtime().device_state().state().sync.base == 0)
    fatal("{}: the devices of the PEs do not all reach each other", team.routine());
}

bool can_go_by_rows(const Team& team) {
  if (!team.is_on_one_node() || !runtime().has_devices()) return false;
  return runtime().device_state().state().sync.base != 0 && on_device::channels_of(team) > 1;
}

void run(Team& team, const Collective& call, hipStream_t stream) {
  const bool by_rows = team.takes_any_memory && on_device::goes_by_rows(call);
  if (call.kind == CollectiveKind::broadcast) check_root(team, call.root);
  if (calls_are_compared && !is_captured(stream)) [[unlikely]]
    compare_stream_call(team, arguments_of(team, call) + (by_rows ? ", any memory" : ""));
  if (is_empty(call)) return;
  MemoryOfCall memory(team.routine(), stream);
  if (by_rows)
    use_any_buffers(memory, team, call);
  else
    use_buffers(memory, team, call);
  launch_on_stream(my_device(), team.routine(), [&] {
    if (by_rows) return on_device::launch_by_rows(team, call, stream);
    return team.is_on_one_node() ? on_device::launch(team, call, stream)
                                 : launch_by_host(team, call, stream);
  });
  set_mark(team, stream);
}

}  // namespace meshmem::on_stream
