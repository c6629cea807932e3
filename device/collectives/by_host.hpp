// SPDX-License-Identifier: Apache-2.0
//
// Collectives in kernels on teams that span machines: the proxy has the host run them, by its own
// algorithms between nodes, while the group waits for the result.
// Invariant: such a collective begins with a quiet, as a barrier does. The host counts these
// collectives of a team separately from those that the program calls on the host. Teams within a
// node never come here. Used by routines.hpp.
#ifndef MESHMEM_DEVICE_COLLECTIVES_BY_HOST_HPP_
#define MESHMEM_DEVICE_COLLECTIVES_BY_HOST_HPP_

#include "device/grid.hpp"
#include "device/proxy.hpp"
#include "device/same_call.hpp"

namespace meshmem {
namespace device {

// For nvcc the code for teams that span machines is in functions of its own. As a part of a
// routine, its calls would make nvcc keep the routine's values in memory and not in registers, for
// other teams too.
MESHMEM_DEVICE_APART bool is_marked(const std::uint8_t* spans, shmem_team_t team) {
  const auto slot = static_cast<unsigned>(slot_of(team));
  return slot < static_cast<unsigned>(kTeamSlots) && spans[slot] != 0;
}
MESHMEM_DEVICE bool spans_nodes(shmem_team_t team) {
  const std::uint8_t* const spans = state().proxy.spans_nodes;
  return __builtin_expect(spans != nullptr, 0) && is_marked(spans, team);
}

// Ends the kernel where MESHMEM_PROXY=off.
MESHMEM_DEVICE void check_proxy() {
  if (has_proxy()) return;
  if (kChecks)
    MESHMEM_PRINT_MISTAKE(
        "a collective of a team with PEs on other machines, which %s does not reach",
        "MESHMEM_PROXY=off");
  trap();
}

// The host's type for the elements of a reduction: short floats have types of their own there.
template <typename E>
constexpr ElemType kHostType = std::is_same<E, meshmem_half>::value       ? ElemType::f16
                               : std::is_same<E, meshmem_bfloat16>::value ? ElemType::bf16
                                                                          : elem_type_of<E>();

// A collective that the host runs: its Call, and the rest of its arguments.
struct HostCall {
  Call call;
  ElemType type;
  shmem_team_t team;
  void* dest;
  const void* source;
  std::ptrdiff_t dst, sst;  // of alltoalls, else 1
};

// Called by one thread. `command.word[]` is laid out as proxy_ring.hpp says.
MESHMEM_DEVICE_COLD void ask_for_collective(const HostCall& host) {
  const Call& call = host.call;
  ProxyCommand command = command_for(ProxyOp::collective, slot_of(host.team));
  command.length = static_cast<std::uint8_t>(host.type);
  command.detail = static_cast<std::uint8_t>(static_cast<unsigned>(call.kind) |
                                             static_cast<unsigned>(call.op) << kCollectiveKindBits);
  command.word[0] = number_of(host.dest);
  command.word[1] = number_of(host.source);
  command.word[2] = call.nelems;
  command.word[3] = static_cast<std::uint64_t>(
      call.kind == CollectiveKind::broadcast ? static_cast<std::ptrdiff_t>(call.root) : host.dst);
  command.word[4] = static_cast<std::uint64_t>(host.sst);
  command.word[5] = call.elem_bytes;
  release_fence();  // publishes the group's released stores to the host
  post_and_await_result(command, kResultOfCollective);
}

// By value where by_host() is a function of its own. Where it is inlined, a copy makes clang put
// the end of a grid's kernel before the acquire of its last meeting.
#if defined(MESHMEM_TARGET_IS_CUDA)
using HostCallArgument = HostCall;
#else
using HostCallArgument = const HostCall&;
#endif

template <typename Group>
MESHMEM_DEVICE_APART int by_host(Group group, HostCallArgument call) {
  check_proxy();
  quiet(group);
  by_leader(group, [&] { ask_for_collective(call); });
  return 0;
}
MESHMEM_DEVICE_APART int by_host(CooperativeGrid grid, HostCallArgument call) {
  check_proxy();
  const TeamSync sync(call.team);
  quiet(Block());
  meet(grid, sync);
  if (grid.block() == 0) by_host(Block(), call);
  meet(grid, sync);
  return 0;
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_COLLECTIVES_BY_HOST_HPP_
