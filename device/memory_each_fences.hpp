// SPDX-License-Identifier: Apache-2.0
//
// The verbs of memory.hpp by which a group releases, acquires and completes, where each thread has
// to fence for itself. AMD GPUs need that: their waves can neither write back nor invalidate for
// each other. Processors take the same steps.
// Invariant: threads fence before the barrier of the group that comes before a flag is stored, and
// after the barrier that comes after a flag was seen.
// Included by memory.hpp.
#ifndef MESHMEM_DEVICE_MEMORY_EACH_FENCES_HPP_
#define MESHMEM_DEVICE_MEMORY_EACH_FENCES_HPP_

namespace meshmem {
namespace device {

MESHMEM_DEVICE void store_next(std::uint64_t* to, std::uint64_t last) {
  store_relaxed(to, last + 1);
}

constexpr bool kEachFences = true;

// Each thread's stores are written back and awaited before the leader can pass the barrier.
template <typename Group>
MESHMEM_DEVICE void release_all(const Group& group) {
  release_fence();
  group.sync();
}
MESHMEM_DEVICE void release_mine() {}
MESHMEM_DEVICE void acquire_mine() {}

// No thread may use data that its caches held before the flag was seen.
template <typename Group>
MESHMEM_DEVICE void acquire_all(const Group& group) {
  group.sync();
  acquire_fence();
}
// The same, with the leader's value for all.
template <typename Group, typename T>
MESHMEM_DEVICE T acquire_shared(const Group& group, T value) {
  const T shared = group.share(value);
  acquire_fence();
  return shared;
}

// Each thread waits for its own stores. After the barrier the stores of all threads have arrived.
template <typename Group>
MESHMEM_DEVICE void complete_all(const Group& group) {
  full_fence();
  group.sync();
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_MEMORY_EACH_FENCES_HPP_
