// SPDX-License-Identifier: Apache-2.0
//
// Polling by a group: a thread, or the lanes of a wave, wait for words that other PEs write.
// Invariant: the group may use the writers' data only after acquire_all(). Used by whatever waits
// in kernels.
#ifndef MESHMEM_DEVICE_POLL_HPP_
#define MESHMEM_DEVICE_POLL_HPP_

#include "device/group.hpp"

namespace meshmem {
namespace device {

// The threads that poll for a group: in a block, the threads of its first wave.
MESHMEM_DEVICE Thread pollers_of(const Thread& thread) { return thread; }
template <typename Group>
MESHMEM_DEVICE Wave pollers_of(const Group&) {
  return {};
}
MESHMEM_DEVICE int count_of_pollers(const Block& block) {
  const int size = MESHMEM_OPAQUE(block.size());
  return size < wave_size() ? size : wave_size();
}
template <typename Group>
MESHMEM_DEVICE int count_of_pollers(const Group& group) {
  return group.size();
}
MESHMEM_DEVICE bool is_poller(const Block& block) {
  return MESHMEM_OPAQUE(block.rank()) < wave_size();  // the same answer in all lanes of a wave
}
template <typename Group>
MESHMEM_DEVICE bool is_poller(const Group&) {
  return true;
}

#if defined(MESHMEM_TARGET_IS_CUDA)
// All lanes of a wave that have not ended call it together.
MESHMEM_DEVICE bool all_of_wave(bool mine) { return __all_sync(0xffffffff, mine); }
#endif

// Polls until ready() is true; find() returns the address of a word that is still awaited.
template <typename Ready, typename Find>
MESHMEM_DEVICE void pause_until(const Ready& ready, const Find& find) {
  while (!ready()) pause_for(find);
  has_waited();
}

// Polls until ready() is true in all pollers that wait. Pollers that do not wait may have their
// ready() called too.
template <typename Ready, typename Find>
MESHMEM_DEVICE void poll(const Thread&, bool, const Ready& ready, const Find& find) {
  pause_until(ready, find);
}
template <typename Ready, typename Find>
MESHMEM_DEVICE void poll(const Wave&, bool waits, const Ready& ready, const Find& find) {
#if defined(MESHMEM_TARGET_IS_CUDA)
  // The lanes poll in step: on NVIDIA GPUs lanes that have diverged take 0.15 us to converge.
  for (bool all = false; !all;) {
    const bool is_ready = ready();
    all = all_of_wave(is_ready || !waits);
    if (!is_ready && waits) pause_for(find);  // without checks nothing
  }
  has_waited();
#else
  if (waits) pause_until(ready, find);
#endif
}

// The leader waits until ready() is true. Then the pollers do their part of the acquire; the caller
// calls acquire_all().
template <typename Group, typename Ready, typename Find>
MESHMEM_DEVICE void poll_and_acquire(const Group& group, const Ready& ready, const Find& find) {
  if (!is_poller(group)) return;
  poll(pollers_of(group), group.rank() == 0, ready, find);
  acquire_mine();
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_POLL_HPP_
