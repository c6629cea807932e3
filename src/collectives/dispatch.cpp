// SPDX-License-Identifier: Apache-2.0
//
// Checks a collective's arguments, and chooses. The processor serves buffers in host memory, else
// kernels those that they reach on all PEs and whose type they have, else messages. Teams between
// nodes have their own.
// Invariant: one comparison for the choice where there are no devices, one or two for each buffer,
// and one for MESHMEM_CHECK.
#include "collectives/dispatch.hpp"

#include <utility>

#include "base/error.hpp"
#include "base/status/slow_ways.hpp"
#include "collectives/between_nodes.hpp"
#include "collectives/by_messages.hpp"
#include "collectives/device/device_collectives.hpp"
#include "collectives/same_call.hpp"
#include "memory/address_map.hpp"
#include "memory/room.hpp"

namespace meshmem::dispatch {
namespace {

bool on_host(const void* dest, const void* source) { return !any_on_device(dest, source); }
// By loads and stores of the processor: what most collectives are.
bool within_reach(const Team& team, const void* dest, const void* source) {
  return team.is_on_one_node() && on_host(dest, source);
}
bool by_kernels(const void* dest, const void* source) {
  return on_device::kernels_reach(dest, source);
}
bool by_kernels(const Reduction& op, const void* dest, const void* source) {
  return op.kernel_type != device::ElemType::none && by_kernels(dest, source);
}
SlowWay way_without_kernels(const Reduction& op, const void* dest, const void* source) {
  return by_kernels(dest, source) && op.kernel_type == device::ElemType::none
             ? SlowWay::type_without_kernels
             : SlowWay::memory_without_kernels;
}

// A team over several nodes: the algorithms there stage device memory.
bool is_between_nodes(const Team& team, const void* dest, const void* source) {
  if (team.is_on_one_node()) return false;
  if (!on_host(dest, source)) note_slow_way(SlowWay::collective_through_host, team.routine());
  return true;
}

struct Buffers {
  const void* dest;
  std::size_t dest_bytes;
  const void* source;
  std::size_t source_bytes;

  bool overlap() const {
    const auto to = reinterpret_cast<std::uintptr_t>(dest),
               from = reinterpret_cast<std::uintptr_t>(source);
    return dest_bytes > 0 && source_bytes > 0 &&
           (to - from < source_bytes || from - to < dest_bytes);
  }
};

// How the buffers of a routine may lie to each other, and whether all members must give the same.
enum class Rule { disjoint, same_or_disjoint, any_overlap, any };

[[gnu::cold, gnu::noinline]] void compare(Team& team, const Buffers& buffers, Rule rule,
                                          std::string arguments) {
  if (rule != Rule::any && buffers.dest_bytes > 0) {
    arguments += fmt::format(", dest {}, source {}", symmetric_name(buffers.dest),
                             symmetric_name(buffers.source));
  }
  expect_same_call(team, "{}", arguments);
  const bool in_place = rule == Rule::same_or_disjoint && buffers.dest == buffers.source;
  if (rule == Rule::any || rule == Rule::any_overlap || in_place || !buffers.overlap()) return;
  only_one_speaks(team);
  fatal("{}: dest, {} bytes at {}, overlaps source, {} bytes at {}", team.routine(),
        buffers.dest_bytes, buffers.dest, buffers.source_bytes, buffers.source);
}

template <typename... Values>
[[gnu::always_inline]] inline void check(Team& team, const Buffers& buffers, Rule rule,
                                         fmt::format_string<const Values&...> arguments,
                                         const Values&... values) {
  check_room(team.routine(), "dest", buffers.dest, buffers.dest_bytes);
  check_room(team.routine(), "source", buffers.source, buffers.source_bytes);
  if (calls_are_compared) [[unlikely]]
    compare(team, buffers, rule, fmt::format(arguments, values...));
}

std::size_t for_all(const Team& team, std::size_t bytes) {
  return bytes_of(team.routine(), static_cast<std::size_t>(team.n), bytes);
}

// Of the other members' sources nothing is read, and an active set's root does not write to dest.
// They are symmetric nevertheless: all members choose by both addresses who does it.
void check_broadcast(Team& team, const void* dest, const void* source, std::size_t bytes, int root,
                     bool root_has_dest) {
  const bool is_root = team.me == root;
  const bool writes = !is_root || root_has_dest;
  check_room(team.routine(), "dest", dest, writes ? bytes : 0);
  check_room(team.routine(), "source", source, is_root ? bytes : 0);
  if (!writes) check_untouched(team.routine(), "dest", dest, bytes);
  if (!is_root) check_untouched(team.routine(), "source", source, bytes);
  if (calls_are_compared) [[unlikely]]
    compare(team, {dest, bytes, source, bytes}, Rule::same_or_disjoint,
            fmt::format("{} bytes, PE_root {}", bytes, root));
}

// dest and source have as many elements.
void check_elementwise(Team& team, const Reduction& op, const void* dest, const void* source,
                       std::size_t count) {
  const std::size_t bytes = bytes_of(team.routine(), count, op.elem_bytes);
  check(team, {dest, bytes, source, bytes}, Rule::same_or_disjoint, "nreduce {}", count);
}

// From the first element to the end of the last of n blocks.
std::size_t span_of(const Team& team, const AlltoallShape& shape, const char* name,
                    std::ptrdiff_t stride) {
  const std::size_t elems = for_all(team, shape.count);
  std::ptrdiff_t before_last = 0, bytes = 0;
  if (elems == 0) return 0;
  if (stride < 0 || __builtin_mul_overflow(elems - 1, stride, &before_last) ||
      __builtin_mul_overflow(static_cast<std::size_t>(before_last) + 1, shape.elem_bytes, &bytes))
    refuse_stride(team.routine(), name, stride, elems);
  return static_cast<std::size_t>(bytes);
}

void check_alltoall(Team& team, const void* dest, const void* source, const AlltoallShape& shape) {
  const Buffers buffers{dest, span_of(team, shape, "dst", shape.dest_stride), source,
                        span_of(team, shape, "sst", shape.source_stride)};
  // Elements at strides may lie between each other.
  const bool is_dense = shape.dest_stride == 1 && shape.source_stride == 1;
  check(team, buffers, is_dense ? Rule::disjoint : Rule::any_overlap,
        "nelems {} of {} bytes, dst {}, sst {}", shape.count, shape.elem_bytes, shape.dest_stride,
        shape.source_stride);
}

// Calls whose arguments have to be looked at, or whose buffers are not both in a host heap that is
// mapped here.
namespace with_checks {

[[gnu::noinline]] void broadcast(Team& team, void* dest, const void* source, std::size_t bytes,
                                 int root) {
  check_broadcast(team, dest, source, bytes, root, true);
  if (within_reach(team, dest, source)) [[likely]]
    return meshmem::broadcast(team.node, dest, source, bytes, root);
  if (is_between_nodes(team, dest, source))
    return between_nodes::broadcast(team, dest, source, bytes, root);
  if (bytes == 0) return;
  if (by_kernels(dest, source)) return on_device::broadcast(team, dest, source, bytes, root);
  note_slow_way(SlowWay::memory_without_kernels, team.routine());
  by_messages::broadcast(team, dest, source, bytes, root);
}

[[gnu::noinline]] void broadcast_to_others(Team& team, void* dest, const void* source,
                                           std::size_t bytes, int root) {
  check_broadcast(team, dest, source, bytes, root, false);
  void* own_dest = team.me == root ? const_cast<void*>(source) : dest;
  if (within_reach(team, dest, source)) [[likely]]
    return meshmem::broadcast(team.node, own_dest, source, bytes, root);
  if (!team.is_on_one_node() && on_host(dest, source))
    return between_nodes::broadcast(team, own_dest, source, bytes, root);
  if (is_between_nodes(team, dest, source))
    return between_nodes::broadcast_of_any_memory(team, own_dest, source, bytes, root);
  // A kernel would write to all.
  note_slow_way(SlowWay::set_broadcast_by_messages, team.routine());
  by_messages::broadcast(team, own_dest, source, bytes, root);
}

[[gnu::noinline]] void fcollect(Team& team, void* dest, const void* source, std::size_t bytes) {
  check(team, {dest, for_all(team, bytes), source, bytes}, Rule::disjoint, "{} bytes", bytes);
  if (within_reach(team, dest, source)) [[likely]]
    return meshmem::fcollect(team.node, dest, source, bytes);
  if (is_between_nodes(team, dest, source))
    return between_nodes::fcollect(team, dest, source, bytes);
  if (bytes == 0) return;
  if (by_kernels(dest, source)) return on_device::fcollect(team, dest, source, bytes);
  note_slow_way(SlowWay::memory_without_kernels, team.routine());
  by_messages::fcollect(team, dest, source, bytes);
}

// How much of dest is written is known once all have said how much they bring.
[[gnu::noinline]] void collect(Team& team, void* dest, const void* source, std::size_t bytes) {
  check(team, {dest, bytes, source, bytes}, Rule::any, "");
  if (within_reach(team, dest, source)) [[likely]]
    return meshmem::collect(team.node, dest, source, bytes);
  // Of those who bring nothing, too: all PEs take the same way by where their sources are.
  if (!on_host(dest, source) && !is_symmetric(address_map, source, 1))
    refuse_address(address_map, source, 1, team.routine(), "source");
  if (is_between_nodes(team, dest, source))
    return between_nodes::collect(team, dest, source, bytes);
  if (by_kernels(dest, source)) return on_device::collect(team, dest, source, bytes);
  note_slow_way(SlowWay::memory_without_kernels, team.routine());
  by_messages::collect(team, dest, source, bytes);
}

[[gnu::noinline]] void alltoall(Team& team, void* dest, const void* source,
                                const AlltoallShape& shape) {
  check_alltoall(team, dest, source, shape);
  if (within_reach(team, dest, source)) [[likely]]
    return meshmem::alltoall(team.node, dest, source, shape);
  if (is_between_nodes(team, dest, source))
    return between_nodes::alltoall(team, dest, source, shape);
  if (shape.count == 0) return;
  if (by_kernels(dest, source)) return on_device::alltoall(team, dest, source, shape);
  note_slow_way(SlowWay::memory_without_kernels, team.routine());
  by_messages::alltoall(team, dest, source, shape);
}

[[gnu::noinline]] void reduce(Team& team, const Reduction& op, void* dest, const void* source,
                              std::size_t count) {
  check_elementwise(team, op, dest, source, count);
  if (within_reach(team, dest, source)) [[likely]]
    return meshmem::reduce(team.node, op, dest, source, count);
  if (is_between_nodes(team, dest, source))
    return between_nodes::reduce(team, op, dest, source, count);
  if (count == 0) return;
  if (by_kernels(op, dest, source)) return on_device::reduce(team, op, dest, source, count);
  note_slow_way(way_without_kernels(op, dest, source), team.routine());
  by_messages::reduce(team, op, dest, source, count);
}

// dest may be this PE's own block of source, so it need not be the same address on all.
[[gnu::noinline]] void reduce_scatter(Team& team, const Reduction& op, void* dest,
                                      const void* source, std::size_t count) {
  const std::size_t bytes = bytes_of(team.routine(), count, op.elem_bytes);
  check(team, {dest, bytes, source, for_all(team, bytes)}, Rule::any, "nreduce {}", count);
  if (within_reach(team, dest, source)) [[likely]]
    return meshmem::reduce_scatter(team.node, op, dest, source, count);
  if (is_between_nodes(team, dest, source))
    return between_nodes::reduce_scatter(team, op, dest, source, count);
  if (count == 0) return;
  if (by_kernels(dest, source)) return on_device::reduce_scatter(team, op, dest, source, count);
  note_slow_way(SlowWay::memory_without_kernels, team.routine());
  by_messages::reduce_scatter(team, op, dest, source, count);
}

[[gnu::noinline]] void scan(Team& team, const Reduction& op, void* dest, const void* source,
                            std::size_t count, bool inclusive) {
  check_elementwise(team, op, dest, source, count);
  if (within_reach(team, dest, source)) [[likely]]
    return meshmem::scan(team.node, op, dest, source, count, inclusive);
  if (is_between_nodes(team, dest, source))
    return between_nodes::scan(team, op, dest, source, count, inclusive);
  if (count == 0) return;
  if (by_kernels(op, dest, source))
    return on_device::scan(team, op, dest, source, count, inclusive);
  note_slow_way(way_without_kernels(op, dest, source), team.routine());
  by_messages::scan(team, op, dest, source, count, inclusive);
}

}  // namespace with_checks

// True for most calls: both buffers in host heaps that all members reach by loads and stores. Where
// calls are compared, direct_map has no heap.
[[gnu::always_inline]] inline bool is_plain(const Team& team, const void* dest,
                                            std::size_t dest_bytes, const void* source,
                                            std::size_t source_bytes) {
  const Segment& heap = direct_map.heap;
  return heap.holds(dest, dest_bytes) && heap.holds(source, source_bytes) && team.is_on_one_node();
}

}  // namespace

void broadcast(Team& team, void* dest, const void* source, std::size_t bytes, int root) {
  if (is_plain(team, dest, bytes, source, bytes)) [[likely]]
    return meshmem::broadcast(team.node, dest, source, bytes, root);
  with_checks::broadcast(team, dest, source, bytes, root);
}

void broadcast_to_others(Team& team, void* dest, const void* source, std::size_t bytes, int root) {
  with_checks::broadcast_to_others(team, dest, source, bytes, root);
}

void fcollect(Team& team, void* dest, const void* source, std::size_t bytes) {
  if (is_plain(team, dest, for_all(team, bytes), source, bytes)) [[likely]]
    return meshmem::fcollect(team.node, dest, source, bytes);
  with_checks::fcollect(team, dest, source, bytes);
}

void collect(Team& team, void* dest, const void* source, std::size_t bytes) {
  with_checks::collect(team, dest, source, bytes);
}

void alltoall(Team& team, void* dest, const void* source, const AlltoallShape& shape) {
  std::size_t elems = 0, bytes = 0;
  const bool is_dense =
      shape.dest_stride == 1 && shape.source_stride == 1 &&
      !__builtin_mul_overflow(shape.count, static_cast<unsigned>(team.n), &elems) &&
      !__builtin_mul_overflow(elems, shape.elem_bytes, &bytes);
  if (is_dense && is_plain(team, dest, bytes, source, bytes)) [[likely]]
    return meshmem::alltoall(team.node, dest, source, shape);
  with_checks::alltoall(team, dest, source, shape);
}

void reduce(Team& team, const Reduction& op, void* dest, const void* source, std::size_t count) {
  const std::size_t bytes = bytes_of(team.routine(), count, op.elem_bytes);
  if (is_plain(team, dest, bytes, source, bytes)) [[likely]]
    return meshmem::reduce(team.node, op, dest, source, count);
  with_checks::reduce(team, op, dest, source, count);
}

void reduce_scatter(Team& team, const Reduction& op, void* dest, const void* source,
                    std::size_t count) {
  const std::size_t bytes = bytes_of(team.routine(), count, op.elem_bytes);
  if (is_plain(team, dest, bytes, source, for_all(team, bytes))) [[likely]]
    return meshmem::reduce_scatter(team.node, op, dest, source, count);
  with_checks::reduce_scatter(team, op, dest, source, count);
}

void scan(Team& team, const Reduction& op, void* dest, const void* source, std::size_t count,
          bool inclusive) {
  const std::size_t bytes = bytes_of(team.routine(), count, op.elem_bytes);
  if (is_plain(team, dest, bytes, source, bytes)) [[likely]]
    return meshmem::scan(team.node, op, dest, source, count, inclusive);
  with_checks::scan(team, op, dest, source, count, inclusive);
}

}  // namespace meshmem::dispatch
