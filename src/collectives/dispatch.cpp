// SPDX-License-Identifier: Apache-2.0
//
// Checks a collective's arguments and chooses its executor. The processor serves buffers in host
// memory, kernels serve buffers that they reach on all PEs and whose type they have, and messages
// serve the rest. Teams over several nodes have their own algorithms.
// Invariant: the checks come first. A collect and an alltoallv check dest again when they know how
// much of it is written.
#include "collectives/dispatch.hpp"

#include "base/status/slow_ways.hpp"
#include "collectives/between_nodes.hpp"
#include "collectives/by_messages.hpp"
#include "collectives/device/executor.hpp"
#include "collectives/same_call.hpp"
#include "memory/address_map.hpp"

namespace meshmem {
namespace {

bool is_on_host(const Collective& call) { return !any_on_device(call.dest, call.source); }

// ---- Checks

// How dest and source may overlap. own_block: dest may be this PE's block of source. any_overlap
// and any: in any way. With all rules except `any` the members must give the same buffers.
enum class Rule { disjoint, same_or_disjoint, own_block, any_overlap, any };

Rule rule_of(const Collective& call) {
  switch (call.kind) {
    case CollectiveKind::fcollect:
      return Rule::disjoint;
    case CollectiveKind::alltoall:
    case CollectiveKind::alltoalls:  // elements at strides may lie between each other
      return call.is_dense() ? Rule::disjoint : Rule::any_overlap;
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce:
    case CollectiveKind::inscan:
    case CollectiveKind::exscan:
      return Rule::same_or_disjoint;
    case CollectiveKind::reduce_scatter:
      return Rule::own_block;
    default:
      return Rule::any;
  }
}

bool overlap(const Buffers& buffers) {
  const auto to = reinterpret_cast<std::uintptr_t>(buffers.dest),
             from = reinterpret_cast<std::uintptr_t>(buffers.source);
  return buffers.dest_bytes > 0 && buffers.source_bytes > 0 &&
         (to - from < buffers.source_bytes || from - to < buffers.dest_bytes);
}

[[gnu::cold, gnu::noinline]] void compare(Team& team, const Collective& call,
                                          const Buffers& buffers) {
  const Rule rule = rule_of(call);
  std::string arguments = arguments_of(team, call);
  const auto* const own_block = static_cast<const std::byte*>(buffers.source) +
                                static_cast<std::size_t>(team.me) * buffers.dest_bytes;
  const bool is_own_block = rule == Rule::own_block && buffers.dest == own_block;
  const bool in_place =
      is_own_block || (rule == Rule::same_or_disjoint && buffers.dest == buffers.source);
  if (rule != Rule::any && buffers.dest_bytes > 0) {
    arguments += fmt::format(", dest {}, source {}",
                             is_own_block ? "its own block" : symmetric_name(buffers.dest),
                             symmetric_name(buffers.source));
  }
  expect_same_call(team, "{}", arguments);
  if (rule == Rule::any || rule == Rule::any_overlap || in_place || !overlap(buffers)) return;
  only_one_speaks(team);
  fatal("{}: dest, {} bytes at {}, overlaps source, {} bytes at {}", team.routine(),
        buffers.dest_bytes, buffers.dest, buffers.source_bytes, buffers.source);
}

// Only the root's source is read, and an active set's root does not write to its dest. Both must be
// symmetric nevertheless: all members choose the executor by both addresses.
void check_room_of_broadcast(const Team& team, const Collective& call, std::size_t bytes) {
  const bool is_root = team.me == call.root;
  const bool writes = !is_root || call.root_has_dest;
  check_room(team.routine(), "dest", call.dest, writes ? bytes : 0);
  check_room(team.routine(), "source", call.source, is_root ? bytes : 0);
  if (!writes) check_untouched(team.routine(), "dest", call.dest, bytes);
  if (!is_root) check_untouched(team.routine(), "source", call.source, bytes);
}

void check(Team& team, const Collective& call) {
  const Buffers buffers = buffers_of(team.routine(), team.n, call);
  if (call.kind == CollectiveKind::broadcast) {
    check_room_of_broadcast(team, call, buffers.dest_bytes);
  } else {
    check_room(team.routine(), "dest", buffers.dest, buffers.dest_bytes);
    check_room(team.routine(), "source", buffers.source, buffers.source_bytes);
  }
  if (calls_are_compared) [[unlikely]]
    compare(team, call, buffers);
}

// ---- The choice

enum class Executor { node, device, by_messages, between_nodes };

bool kernels_have_type(const Collective& call) {
  return !call.op || call.op->kernel_type != device::ElemType::none;
}

Executor choose(const Team& team, const Collective& call) {
  if (!team.is_on_one_node()) return Executor::between_nodes;
  if (is_on_host(call)) return Executor::node;
  // A kernel would write to the dest of every member, so an active set's broadcast takes messages.
  const bool kernels_can = call.root_has_dest && kernels_have_type(call) &&
                           on_device::kernels_reach(call.dest) &&
                           on_device::kernels_reach(call.source);
  return kernels_can ? Executor::device : Executor::by_messages;
}

SlowWay why_by_messages(const Collective& call) {
  if (!call.root_has_dest) return SlowWay::set_broadcast_by_messages;
  const bool lacks_type =
      call.op && on_device::kernels_reach(call.dest) && on_device::kernels_reach(call.source);
  return lacks_type ? SlowWay::type_without_kernels : SlowWay::memory_without_kernels;
}

void run_by(Executor executor, Team& team, const Collective& call) {
  switch (executor) {
    case Executor::node:
      return run_on_node(team.node, call);
    case Executor::between_nodes:
      if (!is_on_host(call)) note_slow_way(SlowWay::collective_through_host, team.routine());
      return between_nodes::run(team, call);
    case Executor::device:
      return on_device::run(team, call);
    case Executor::by_messages:
      note_slow_way(why_by_messages(call), team.routine());
      return by_messages::run(team, call);
  }
}

// The PEs that bring something have their sources in the same kind of memory, so they choose the
// same executor. The others may have no source, and learn the choice with the lengths.
void collect_on_one_node(Team& team, Collective call) {
  const Executor wanted = call.count > 0 ? choose(team, call) : Executor::node;
  const unsigned wanted_by_all =
      collect(team.node, call.dest, call.source, call.bytes(), static_cast<unsigned>(wanted));
  if (wanted_by_all == 0) return;
  if (call.count == 0) call.source = call.dest;
  run_by(static_cast<Executor>(wanted_by_all), team, call);
}

}  // namespace

std::string arguments_of(const Team& team, const Collective& call) {
  switch (call.kind) {
    case CollectiveKind::sync:
    case CollectiveKind::collect:
      return "";
    case CollectiveKind::broadcast:
      return fmt::format("{} bytes, PE_root {}", call.bytes(), call.root);
    case CollectiveKind::fcollect:
    case CollectiveKind::alltoall:
      return fmt::format("{} bytes", call.bytes());
    case CollectiveKind::alltoalls:
      return fmt::format("nelems {} of {} bytes, dst {}, sst {}", call.count, call.elem_bytes,
                         call.dest_stride, call.source_stride);
    case CollectiveKind::alltoallv:
      return fmt::format("elements of {} bytes", call.elem_bytes);
    default:
      return fmt::format("nreduce {}{}", call.count, team.node.in_pe_order ? ", fixed order" : "");
  }
}

void check_and_run(Team& team, const Collective& call) {
  check(team, call);
  if (call.kind == CollectiveKind::alltoallv) return alltoallv(team, call, false);
  const Executor executor = choose(team, call);
  if (call.kind == CollectiveKind::collect && executor != Executor::between_nodes)
    return collect_on_one_node(team, call);
  const bool needs_elements = executor == Executor::device || executor == Executor::by_messages;
  if (call.count > 0 || !needs_elements) run_by(executor, team, call);
}

}  // namespace meshmem
