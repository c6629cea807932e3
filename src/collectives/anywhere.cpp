// SPDX-License-Identifier: Apache-2.0
//
// The choice between processor and device. Invariant: one comparison where there are no devices.
#include "collectives/anywhere.hpp"

#include "collectives/device_collectives.hpp"
#include "collectives/staged.hpp"
#include "memory/address_map.hpp"

namespace meshmem::anywhere {
namespace {

bool on_host(const void* dest, const void* source) {
  return !any_on_device(address_map, dest, source);
}

}  // namespace

void broadcast(Team& team, void* dest, const void* source, std::size_t bytes, int root) {
  if (on_host(dest, source)) [[likely]]
    return meshmem::broadcast(team, dest, source, bytes, root);
  on_device::broadcast(team, dest, source, bytes, root);
}

void broadcast_to_others(Team& team, void* dest, const void* source, std::size_t bytes, int root) {
  void* own_dest = team.me == root ? const_cast<void*>(source) : dest;
  if (on_host(dest, source)) [[likely]]
    return meshmem::broadcast(team, own_dest, source, bytes, root);
  // A kernel would write to all.
  staged::broadcast(team, own_dest, source, bytes, root);
}

void fcollect(Team& team, void* dest, const void* source, std::size_t bytes) {
  if (on_host(dest, source)) [[likely]]
    return meshmem::fcollect(team, dest, source, bytes);
  on_device::fcollect(team, dest, source, bytes);
}

void collect(Team& team, void* dest, const void* source, std::size_t bytes) {
  if (on_host(dest, source)) [[likely]]
    return meshmem::collect(team, dest, source, bytes);
  on_device::collect(team, dest, source, bytes);
}

void alltoall(Team& team, void* dest, const void* source, const AlltoallShape& shape) {
  if (on_host(dest, source)) [[likely]]
    return meshmem::alltoall(team, dest, source, shape);
  on_device::alltoall(team, dest, source, shape);
}

void reduce(Team& team, const Reduction& op, void* dest, const void* source, std::size_t count) {
  if (on_host(dest, source)) [[likely]]
    return meshmem::reduce(team, op, dest, source, count);
  on_device::reduce(team, op, dest, source, count);
}

void reduce_scatter(Team& team, const Reduction& op, void* dest, const void* source,
                    std::size_t count) {
  if (on_host(dest, source)) [[likely]]
    return meshmem::reduce_scatter(team, op, dest, source, count);
  on_device::reduce_scatter(team, op, dest, source, count);
}

void scan(Team& team, const Reduction& op, void* dest, const void* source, std::size_t count,
          bool inclusive) {
  if (on_host(dest, source)) [[likely]]
    return meshmem::scan(team, op, dest, source, count, inclusive);
  on_device::scan(team, op, dest, source, count, inclusive);
}

}  // namespace meshmem::anywhere
