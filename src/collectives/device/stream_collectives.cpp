// SPDX-License-Identifier: Apache-2.0
//
// The checks of a collective on a stream, and its launch.
// Invariant: what is captured is compared neither now nor when it is replayed: other calls may come
// between.
#include "collectives/device/stream_collectives.hpp"

#include <memory>

#include "base/error.hpp"
#include "base/status/slow_ways.hpp"
#include "collectives/device/device_collectives.hpp"
#include "collectives/same_call.hpp"
#include "core/runtime.hpp"
#include "core/stream_transfers.hpp"
#include "core/stream_use.hpp"
#include "device/launch.hpp"
#include "gpu/stream_mark.hpp"
#include "gpu/stream_work.hpp"

namespace meshmem::on_stream {
namespace {

using device::HostRoutine;

int my_device() { return runtime().device_memory().device(); }

template <typename... Values>
void expect_same(Team& team, hipStream_t stream, fmt::format_string<const Values&...> arguments,
                 const Values&... values) {
  if (calls_are_compared && !is_captured(stream)) [[unlikely]]
    compare_stream_call(team, arguments, fmt::make_format_args(values...));
}

// `count` times `elem_bytes` bytes, which kernels of all PEs must reach.
void use_buffer(StreamUse& use, const Team& team, const void* address, std::size_t count,
                std::size_t elem_bytes) {
  on_device::check_reach(team.routine(), address, count, elem_bytes);
  use.of(address, count * elem_bytes);
}

// Of a team over several nodes: a kernel has the host do it, by the algorithms between nodes.
device::ProxyCommand host_command(const Team& team, device::HostRoutine routine, void* dest,
                                  const void* source, std::size_t count,
                                  std::size_t elem_bytes = 1) {
  require_proxy(team.routine());
  if (dest && any_on_device(dest, source))
    note_slow_way(SlowWay::collective_through_host, team.routine());
  const auto number = [](const void* address) { return reinterpret_cast<std::uintptr_t>(address); };
  return {device::ProxyOp::collective,
          static_cast<std::uint8_t>(device::ElemType::none),
          static_cast<std::uint8_t>(routine),
          static_cast<std::uint32_t>(team.slot) | device::kOfStream,
          {number(dest), number(source), count, 1, 1, elem_bytes}};
}
hipError_t launch_by_host(const device::ProxyCommand& command, hipStream_t stream) {
  return device::launch_proxy_command(command, device::ProxyEnd::answered, stream);
}
hipError_t launch_by_host(const Team& team, const Computation& computation, void* dest,
                          const void* source, std::size_t count, hipStream_t stream) {
  using Kind = Computation::Kind;
  using device::HostRoutine;
  const HostRoutine routine = computation.kind == Kind::reduce    ? HostRoutine::reduce
                              : computation.kind == Kind::scatter ? HostRoutine::reduce_scatter
                              : computation.kind == Kind::inscan  ? HostRoutine::inscan
                                                                  : HostRoutine::exscan;
  device::ProxyCommand command =
      host_command(team, routine, dest, source, count, computation.op.elem_bytes);
  command.length = static_cast<std::uint8_t>(computation.op.kernel_type);
  command.detail |= static_cast<std::uint8_t>(static_cast<unsigned>(computation.op.kernel_op)
                                              << device::kReduceOpBits);
  return launch_by_host(command, stream);
}

// The end of the team waits for it; predefined ones stay.
template <typename Launch>
void launch(Team& team, hipStream_t stream, const Launch& launch_kernel) {
  launch_on(my_device(), team.routine(), launch_kernel);
  if (team.is_predefined || is_captured(stream)) return;
  if (!team.mark) team.mark = std::make_shared<StreamMark>(my_device());
  team.mark->set(stream);
}

hipError_t launch_computation(const Team& team, const Computation& computation, void* dest,
                              const void* source, std::size_t count, hipStream_t stream) {
  using Kind = Computation::Kind;
  const Reduction& op = computation.op;
  if (!team.is_on_one_node()) return launch_by_host(team, computation, dest, source, count, stream);
  if (computation.kind == Kind::reduce)
    return on_device::launch_reduce(team, op, dest, source, count, stream);
  if (computation.kind == Kind::scatter)
    return on_device::launch_reduce_scatter(team, op, dest, source, count, stream);
  return device::launch_scan(on_device::kernel_handle(team), op.kernel_type, dest, source, count,
                             computation.kind == Kind::inscan, stream);
}

}  // namespace

void require_kernels(const Team& team) {
  if (!team.is_on_one_node()) return require_proxy(team.routine());
  if (runtime().device_state().state().sync.base == 0)
    fatal("{}: the devices of the PEs do not all reach each other", team.routine());
}

void sync(Team& team, hipStream_t stream) {
  expect_same(team, stream, "");
  launch(team, stream, [&] {
    if (!team.is_on_one_node())
      return launch_by_host(host_command(team, HostRoutine::sync, nullptr, nullptr, 0), stream);
    return device::launch_sync(on_device::kernel_handle(team), stream);
  });
}

void broadcast(Team& team, void* dest, const void* source, std::size_t bytes, int root,
               hipStream_t stream) {
  if (static_cast<unsigned>(root) >= static_cast<unsigned>(team.n))
    fatal("{}: PE_root {} is not in 0..{} of the team", team.routine(), root, team.n - 1);
  expect_same(team, stream, "nbytes {}, PE_root {}", bytes, root);
  if (bytes == 0) return;
  StreamUse use(team.routine(), stream);
  use_buffer(use, team, dest, bytes, 1);
  use_buffer(use, team, source, bytes, 1);
  launch(team, stream, [&] {
    if (!team.is_on_one_node()) {
      device::ProxyCommand command =
          host_command(team, HostRoutine::broadcast, dest, source, bytes);
      command.word[3] = static_cast<std::uint64_t>(root);
      return launch_by_host(command, stream);
    }
    return on_device::launch_broadcast(team, dest, source, bytes, root, stream);
  });
}

void fcollect(Team& team, void* dest, const void* source, std::size_t bytes, hipStream_t stream) {
  expect_same(team, stream, "nbytes {}", bytes);
  if (bytes == 0) return;
  StreamUse use(team.routine(), stream);
  use_buffer(use, team, dest, static_cast<std::size_t>(team.n), bytes);
  use_buffer(use, team, source, bytes, 1);
  launch(team, stream, [&] {
    if (!team.is_on_one_node())
      return launch_by_host(host_command(team, HostRoutine::fcollect, dest, source, bytes), stream);
    return on_device::launch_fcollect(team, dest, source, bytes, stream);
  });
}

void collect(Team& team, void* dest, const void* source, std::size_t bytes, hipStream_t stream) {
  expect_same(team, stream, "");
  // Null is right where nobody brings a byte.
  StreamUse use(team.routine(), stream);
  if (dest) use_buffer(use, team, dest, bytes, 1);
  if (bytes > 0) use_buffer(use, team, source, bytes, 1);
  launch(team, stream, [&] {
    if (!team.is_on_one_node())
      return launch_by_host(host_command(team, HostRoutine::collect, dest, source, bytes), stream);
    return device::launch_collect(on_device::kernel_handle(team), dest, source, bytes, stream);
  });
}

void alltoall(Team& team, void* dest, const void* source, std::size_t bytes, hipStream_t stream) {
  expect_same(team, stream, "nbytes {}", bytes);
  if (bytes == 0) return;
  StreamUse use(team.routine(), stream);
  use_buffer(use, team, dest, static_cast<std::size_t>(team.n), bytes);
  use_buffer(use, team, source, static_cast<std::size_t>(team.n), bytes);
  launch(team, stream, [&] {
    if (!team.is_on_one_node())
      return launch_by_host(host_command(team, HostRoutine::alltoall, dest, source, bytes), stream);
    return on_device::launch_alltoall(team, dest, source, bytes, stream);
  });
}

// How long the blocks are is known when it runs.
void alltoallv(Team& team, const device::Alltoallv& call, hipStream_t stream) {
  expect_same(team, stream, "elements of {} bytes", call.elem_bytes);
  StreamUse use(team.routine(), stream);
  if (call.dest) use_buffer(use, team, call.dest, 1, 1);
  if (call.source) use_buffer(use, team, call.source, 1, 1);
  launch(team, stream, [&] {
    if (team.is_on_one_node())
      return device::launch_alltoallv(on_device::handle_for_data(team), call, stream);
    device::ProxyCommand command =
        host_command(team, device::kHostAlltoallv, call.dest, call.source, 0);
    command.length = static_cast<std::uint8_t>(call.elem_bytes);
    const std::size_t* const arrays[] = {call.to.nelems, call.to.displs, call.from.nelems,
                                         call.from.displs};
    for (int i = 0; i < 4; ++i) command.word[2 + i] = reinterpret_cast<std::uintptr_t>(arrays[i]);
    return launch_by_host(command, stream);
  });
}

void compute(Team& team, const Computation& computation, void* dest, const void* source,
             std::size_t count, hipStream_t stream) {
  expect_same(team, stream, "nreduce {}", count);
  if (count == 0) return;
  const bool scatters = computation.kind == Computation::Kind::scatter;
  const auto blocks = static_cast<std::size_t>(scatters ? team.n : 1);
  const std::size_t elem_bytes = computation.op.elem_bytes;
  StreamUse use(team.routine(), stream);
  use_buffer(use, team, dest, count, elem_bytes);
  use_buffer(use, team, source, count, blocks * elem_bytes);
  launch(team, stream,
         [&] { return launch_computation(team, computation, dest, source, count, stream); });
}

}  // namespace meshmem::on_stream
