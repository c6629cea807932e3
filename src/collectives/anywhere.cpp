// SPDX-License-Identifier: Apache-2.0
//
// The room that the buffers must have, and the choice between processor and device.
// Invariant: one comparison for the choice where there are no devices, one or two for each buffer.
#include "collectives/anywhere.hpp"

#include "collectives/device_collectives.hpp"
#include "collectives/staged.hpp"
#include "memory/address_map.hpp"
#include "memory/room.hpp"

namespace meshmem::anywhere {
namespace {

bool on_host(const void* dest, const void* source) {
  return !any_on_device(address_map, dest, source);
}

std::size_t for_all(const Team& team, std::size_t bytes) {
  return bytes_of(team.routine, static_cast<std::size_t>(team.n), bytes);
}

// From the first element to the end of the last of n blocks.
std::size_t span_of(const Team& team, const AlltoallShape& shape, const char* name,
                    std::ptrdiff_t stride) {
  const std::size_t elems = for_all(team, shape.count);
  std::ptrdiff_t before_last = 0, bytes = 0;
  if (elems == 0) return 0;
  if (stride < 0 || __builtin_mul_overflow(elems - 1, stride, &before_last) ||
      __builtin_mul_overflow(static_cast<std::size_t>(before_last) + 1, shape.elem_bytes, &bytes))
    refuse_stride(team.routine, name, stride, elems);
  return static_cast<std::size_t>(bytes);
}

// A root's dest of an active set's broadcast is its source.
void check_broadcast(const Team& team, const void* dest, const void* source, std::size_t bytes,
                     int root) {
  if (team.me == root) check_room(team.routine, source, bytes);
  if (dest != source) check_room(team.routine, dest, bytes);
}

}  // namespace

void broadcast(Team& team, void* dest, const void* source, std::size_t bytes, int root) {
  check_broadcast(team, dest, source, bytes, root);
  if (on_host(dest, source)) [[likely]]
    return meshmem::broadcast(team, dest, source, bytes, root);
  on_device::broadcast(team, dest, source, bytes, root);
}

void broadcast_to_others(Team& team, void* dest, const void* source, std::size_t bytes, int root) {
  void* own_dest = team.me == root ? const_cast<void*>(source) : dest;
  check_broadcast(team, own_dest, source, bytes, root);
  if (on_host(dest, source)) [[likely]]
    return meshmem::broadcast(team, own_dest, source, bytes, root);
  // A kernel would write to all.
  staged::broadcast(team, own_dest, source, bytes, root);
}

void fcollect(Team& team, void* dest, const void* source, std::size_t bytes) {
  check_room(team.routine, dest, for_all(team, bytes));
  check_room(team.routine, source, bytes);
  if (on_host(dest, source)) [[likely]]
    return meshmem::fcollect(team, dest, source, bytes);
  on_device::fcollect(team, dest, source, bytes);
}

// How much of dest is written is known once all have said how much they bring.
void collect(Team& team, void* dest, const void* source, std::size_t bytes) {
  check_room(team.routine, dest, bytes);
  check_room(team.routine, source, bytes);
  if (on_host(dest, source)) [[likely]]
    return meshmem::collect(team, dest, source, bytes);
  on_device::collect(team, dest, source, bytes);
}

void alltoall(Team& team, void* dest, const void* source, const AlltoallShape& shape) {
  check_room(team.routine, dest, span_of(team, shape, "dst", shape.dest_stride));
  check_room(team.routine, source, span_of(team, shape, "sst", shape.source_stride));
  if (on_host(dest, source)) [[likely]]
    return meshmem::alltoall(team, dest, source, shape);
  on_device::alltoall(team, dest, source, shape);
}

void reduce(Team& team, const Reduction& op, void* dest, const void* source, std::size_t count) {
  const std::size_t bytes = bytes_of(team.routine, count, op.elem_bytes);
  check_room(team.routine, dest, bytes);
  check_room(team.routine, source, bytes);
  if (on_host(dest, source)) [[likely]]
    return meshmem::reduce(team, op, dest, source, count);
  on_device::reduce(team, op, dest, source, count);
}

void reduce_scatter(Team& team, const Reduction& op, void* dest, const void* source,
                    std::size_t count) {
  const std::size_t bytes = bytes_of(team.routine, count, op.elem_bytes);
  check_room(team.routine, dest, bytes);
  check_room(team.routine, source, for_all(team, bytes));
  if (on_host(dest, source)) [[likely]]
    return meshmem::reduce_scatter(team, op, dest, source, count);
  on_device::reduce_scatter(team, op, dest, source, count);
}

void scan(Team& team, const Reduction& op, void* dest, const void* source, std::size_t count,
          bool inclusive) {
  const std::size_t bytes = bytes_of(team.routine, count, op.elem_bytes);
  check_room(team.routine, dest, bytes);
  check_room(team.routine, source, bytes);
  if (on_host(dest, source)) [[likely]]
    return meshmem::scan(team, op, dest, source, count, inclusive);
  on_device::scan(team, op, dest, source, count, inclusive);
}

}  // namespace meshmem::anywhere
