// SPDX-License-Identifier: Apache-2.0
//
// Kernels of a team that move data and do not compute: each collective in one block while there is
// little of it, and beyond that as copies in many blocks between two meetings.
// Invariant: what a kernel of several blocks stores is released by each of its threads at its end.
#include "device/kernels/launch_kernel.hpp"
#include "device/routines.hpp"

namespace meshmem {
namespace device {
namespace {

__global__ void sync_kernel(const MESHMEM_GRID_CONSTANT TeamPlace place) {
  barrier(Block(), TeamSync(place));
}
__global__ void fcollect_kernel(int slot, void* dest, const void* source, std::size_t bytes) {
  fcollect(Block(), TeamSync(slot), dest, source, bytes, bytes);
}
__global__ void __launch_bounds__(kThreads)
    collect_kernel(int slot, void* dest, const void* source, std::size_t bytes) {
  collect(Block(), TeamSync(slot), dest, source, bytes);
}
__global__ void alltoall_kernel(int slot, void* dest, const void* source, std::size_t bytes) {
  alltoall(Block(), TeamSync(slot), dest, source, bytes, bytes);
}
template <typename E>
__global__ void alltoalls_kernel(const MESHMEM_GRID_CONSTANT TeamPlace place, void* dest,
                                 const void* source, std::ptrdiff_t dst, std::ptrdiff_t sst,
                                 std::size_t nelems) {
  alltoalls<E>(Block(), TeamSync(place), dest, source, dst, sst, nelems);
}

// The data of a large broadcast, fcollect or alltoall, between two meetings; y counts the PEs.
enum class Pushed { root_to_all, mine_to_all, block_to_each };
__global__ void push_kernel(Pushed what, const MESHMEM_GRID_CONSTANT TeamPlace place, void* dest,
                            const void* source, std::size_t bytes, int root) {
  const TeamView& team = place.team;
  if (what == Pushed::root_to_all && team.me != root) return;
  const int pe = (team.me + static_cast<int>(blockIdx.y)) % team.n;
  auto* to = static_cast<std::byte*>(dest);
  const auto* from = static_cast<const std::byte*>(source);
  if (what != Pushed::root_to_all) to += static_cast<std::size_t>(team.me) * bytes;
  if (what == Pushed::block_to_each) from += static_cast<std::size_t>(pe) * bytes;
  if (pe == team.me && to == from) return;
  copy<OwnSource>(Grid(), translate(to, world_pe_of(team, pe)), from, bytes);
  release_at_end();
}

template <typename E>
hipError_t launch_alltoalls_of(const TeamPlace& team, void* dest, const void* source,
                               std::ptrdiff_t dest_stride, std::ptrdiff_t source_stride,
                               std::size_t nelems, hipStream_t stream) {
  return launch(alltoalls_kernel<E>, dim3(1), kThreads, stream, team, dest, source, dest_stride,
                source_stride, nelems);
}

// Meet, move, meet.
hipError_t launch_push(Pushed what, const TeamPlace& team, void* dest, const void* source,
                       std::size_t bytes, int root, hipStream_t stream) {
  if (const hipError_t error = launch_sync(team, stream)) return error;
  const dim3 blocks(copy_blocks_for(bytes), static_cast<unsigned>(team.team.n));
  if (const hipError_t error =
          launch(push_kernel, blocks, kCopyThreads, stream, what, team, dest, source, bytes, root))
    return error;
  return launch_sync(team, stream);
}

}  // namespace

hipError_t launch_sync(const TeamPlace& team, hipStream_t stream) {
  return launch(sync_kernel, dim3(1), kThreadsForPes, stream, team);
}

hipError_t launch_broadcast(const TeamPlace& team, void* dest, const void* source,
                            std::size_t bytes, int root, hipStream_t stream) {
  if (bytes > kOneBlockBytes)
    return launch_push(Pushed::root_to_all, team, dest, source, bytes, root, stream);
  return launch(broadcast_kernel, dim3(1), kThreads, stream, team, dest, source, bytes, root);
}
hipError_t launch_fcollect(const TeamPlace& team, void* dest, const void* source, std::size_t bytes,
                           hipStream_t stream) {
  if (bytes > kOneBlockBytes)
    return launch_push(Pushed::mine_to_all, team, dest, source, bytes, 0, stream);
  return launch(fcollect_kernel, dim3(1), kThreads, stream, team, dest, source, bytes);
}
hipError_t launch_collect(const TeamPlace& team, void* dest, const void* source, std::size_t bytes,
                          hipStream_t stream) {
  return launch(collect_kernel, dim3(1), kThreads, stream, team, dest, source, bytes);
}
hipError_t launch_alltoall(const TeamPlace& team, void* dest, const void* source,
                           std::size_t block_bytes, hipStream_t stream) {
  if (block_bytes > kOneBlockBytes)
    return launch_push(Pushed::block_to_each, team, dest, source, block_bytes, 0, stream);
  return launch(alltoall_kernel, dim3(1), kThreads, stream, team, dest, source, block_bytes);
}
hipError_t launch_alltoalls(const TeamPlace& team, void* dest, const void* source,
                            std::ptrdiff_t dest_stride, std::ptrdiff_t source_stride,
                            std::size_t elem_bytes, std::size_t nelems, hipStream_t stream) {
  const auto launch_of = [&](auto given) {
    return launch_alltoalls_of<typename decltype(given)::Type>(team, dest, source, dest_stride,
                                                               source_stride, nelems, stream);
  };
  return elem_bytes == 16 ? launch_of(Given<Bits128>()) : with_bits(elem_bytes, launch_of);
}

hipError_t load_move_kernels() {
  const hipError_t error = load(sync_kernel, broadcast_kernel, fcollect_kernel, collect_kernel,
                                alltoall_kernel, alltoalls_kernel<Bits128>, push_kernel);
  if (error != hipSuccess) return error;
  return with_each_bits(
      [](auto given) { return load(alltoalls_kernel<typename decltype(given)::Type>); });
}

}  // namespace device
}  // namespace meshmem
