// SPDX-License-Identifier: Apache-2.0
//
// Plain data (not packets) that PEs push into each other's memory step by step, and the flags that
// say how far they have come.
// Invariant: a group that has awaited a PE's step sees all stores that the PE's group made before
// announcing it. A flag only counts up, over all operations of a channel, so a later step also
// announces the earlier ones. Used by the algorithms for large data, which divide rows into slots.
#ifndef MESHMEM_DEVICE_COLLECTIVES_PROGRESS_HPP_
#define MESHMEM_DEVICE_COLLECTIVES_PROGRESS_HPP_

#include "device/sync.hpp"

namespace meshmem {
namespace device {

// Bytes of a channel's space for plain data, for one parity.
MESHMEM_DEVICE std::size_t plain_bytes(const TeamSync& sync) {
  return sync.space.senders * sync.space.plain_row;
}
// A channel's space for plain data in the memory of `receiver`, for the parity of the operation. It
// has a row for each sender; an operation with only one sender uses all of it.
MESHMEM_DEVICE std::byte* plain_rows(const TeamSync& sync, int receiver, std::uint64_t epoch) {
  return sync.slab_of(receiver) + sync.space.plain + (epoch & 1) * plain_bytes(sync);
}

// The alignment for slots of `bytes` bytes. In general it is a line of the GPU's memory, 128 bytes,
// so that a wave's store touches no additional line. In a slot of few lines that would waste too
// much, so there it is 16.
MESHMEM_DEVICE std::size_t alignment_of_slots(std::size_t bytes) {
  constexpr std::size_t kLine = 128, kFewLines = 32;
  return bytes >= kFewLines * kLine ? kLine : 16;
}

// True if it is certain that the address has the same remainder modulo 16 in every PE. Addresses in
// registered buffers may differ.
MESHMEM_DEVICE bool is_equally_aligned(const void* symmetric) {
  return state().device_heap.holds(reinterpret_cast<std::uintptr_t>(symmetric));
}
// Returns how many bytes of a slot lie before the data of `source`: the address of `source` modulo
// 16, so that data moves in aligned pieces of 16 bytes. All PEs need the same value. So it is 0 if
// their addresses may differ modulo 16.
MESHMEM_DEVICE std::size_t lead_in_slots(const void* source) {
  return is_equally_aligned(source) ? reinterpret_cast<std::uintptr_t>(source) % 16 : 0;
}

// The value of a progress flag after a step.
MESHMEM_DEVICE std::uint64_t progress_of(std::uint64_t epoch, int step) {
  return epoch << kStepBits | static_cast<std::uint64_t>(step);
}

// Divides a group into threads that move data and threads that announce it. Announcers are counted
// from the last thread back. In a large group they are only the last wave, so the others need not
// wait for its fences. In a small group every thread does both. Workers are not a group: they
// cannot meet.
struct Workers {
  int thread, threads, announcer, announcers;

  template <typename Group>
  MESHMEM_DEVICE_MEMBER explicit Workers(const Group& group)
      : thread(group.rank()),
        threads(group.size()),
        announcer(threads - 1 - thread),
        announcers(threads) {
    constexpr int kFewWaves = 3;
    if (threads % wave_size() != 0 || threads <= kFewWaves * wave_size()) return;
    threads -= wave_size();
    announcers = wave_size();
  }
  // True if the calling thread is one of those that move data.
  MESHMEM_DEVICE_MEMBER bool includes_this_thread() const { return thread < threads; }
  MESHMEM_DEVICE_MEMBER int rank() const { return thread; }
  MESHMEM_DEVICE_MEMBER int size() const { return threads; }
};

// Publishes this group's stores so far, and tells PE `to` that the group has done `step`, counted
// from 1.
template <typename Group>
MESHMEM_DEVICE void announce(const Workers& workers, const Group& group, const TeamSync& sync,
                             int to, std::uint64_t epoch, int step) {
  release_all(group);
  if (workers.announcer != 0) return;
  release_mine();
  store_relaxed(sync.progress(to, sync.team.me), progress_of(epoch, step));
}

// The same to all others of the team, one announcer for each.
template <typename Group>
MESHMEM_DEVICE void announce_to_all(const Workers& workers, const Group& group,
                                    const TeamSync& sync, std::uint64_t epoch, int step) {
  release_all(group);
  if (workers.announcer >= workers.announcers || workers.announcer >= sync.team.n - 1) return;
  release_mine();
  for (int i = workers.announcer + 1; i < sync.team.n; i += workers.announcers)
    store_relaxed(sync.progress(sync.peer(i), sync.team.me), progress_of(epoch, step));
}

// Returns when PE `from` has announced the step; its data can then be read.
template <typename Group>
MESHMEM_DEVICE void await(const Group& group, const TeamSync& sync, int from, std::uint64_t epoch,
                          int step) {
  const std::uint64_t wanted = progress_of(epoch, step);
  const std::uint64_t* done = sync.progress(sync.team.me, from);
  poll_and_acquire(
      group, [=] { return has_reached(load_relaxed(done), wanted); }, [=] { return done; });
  acquire_all(group);
}

// The same for all others of the team.
template <typename Group>
MESHMEM_DEVICE void await_all(const Group& group, const TeamSync& sync, std::uint64_t epoch,
                              int step) {
  const std::uint64_t wanted = progress_of(epoch, step);
  if (is_poller(group)) {
    // In each turn a poller has one PE: the one that comes `after` places after this PE.
    const int pollers = count_of_pollers(group), me = sync.team.me, n = sync.team.n;
    for (int before = 0; before < n - 1; before += pollers) {
      const int after = before + group.rank() + 1;
      const std::uint64_t* done = sync.progress(me, after < n ? sync.peer(after) : me);
      poll(
          pollers_of(group), after < n, [=] { return has_reached(load_relaxed(done), wanted); },
          [=] { return done; });
    }
    acquire_mine();
  }
  acquire_all(group);
}

// The same two, but each wave of the group waits by itself, and the group does not meet.
template <typename Group>
MESHMEM_DEVICE void await_by_waves(const Group& group, const TeamSync& sync, int from,
                                   std::uint64_t epoch, int step) {
  await(pollers_of(group), sync, from, epoch, step);
}
template <typename Group>
MESHMEM_DEVICE void await_all_by_waves(const Group& group, const TeamSync& sync,
                                       std::uint64_t epoch, int step) {
  await_all(pollers_of(group), sync, epoch, step);
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_COLLECTIVES_PROGRESS_HPP_
