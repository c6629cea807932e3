// SPDX-License-Identifier: Apache-2.0
//
// Ordering, and the barrier of a team in kernels (OpenSHMEM 1.6, sections 9.10 and 9.12): flat,
// every PE tells every other with one store, so it takes one hop.
// Invariant: a group that has finished operation e on a channel knows that all PEs have entered e
// there, so that all have finished e - 1. It has met the others, or its result depends on the data
// of each of them. A PE has one group at a time on a channel.
#ifndef MESHMEM_DEVICE_SYNC_HPP_
#define MESHMEM_DEVICE_SYNC_HPP_

#include "device/poll.hpp"
#include "device/proxy.hpp"
#include "device/teams.hpp"

// A channel of a team (state.hpp) counts its collectives with one 64-bit number, its epoch. It lies
// in the memory of each PE's device, so a captured graph counts on when it is replayed. Blocks of
// one kernel run on a channel each; groups in users' kernels, but for grids, on channel 0.
//
// The invariant above makes two halves of space for data, by the parity of e, enough for any
// mixture of operations. Epochs are compared by signed difference and never reset while the team
// lives. next_epoch(), Meeting and the kernels of kernels/single_*.hpp, broadcast_lines.hpp and
// line_ends.hpp count them up by one rule. In an operation the leader writes the epoch between two
// barriers of the group. The others have read it before the first of these.
//
// Packets (collectives/packet_rows.hpp) carry an epoch cut to 32 bits. It comes around after 2^32
// operations, long after which a packet of a long message might still lie in its row. So a group
// acts if it takes the epoch to a multiple of 2^30, by packets or by a meeting alone. It meets the
// others there, wipes the channel's packets and meets the others again.

namespace meshmem {
namespace device {

constexpr std::uint64_t kWipeEvery = std::uint64_t{1} << 30;

MESHMEM_DEVICE bool has_reached(std::uint64_t epoch, std::uint64_t wanted) {
  return static_cast<std::int64_t>(epoch - wanted) >= 0;
}

// A channel of a team as its collectives see it: the team's PEs, and its place in their sync slabs.
struct TeamSync {
  TeamView team;  // a copy, so that it stays in registers whatever is stored
  int slot;       // of the team; kNoTeam in the library's own kernels, which get a TeamHandle
  int channel;
  int channels;  // of the team
  ChannelSpace space;
  std::byte* const* slabs;  // of the first PEs; null: they are in the State
  bool of_world;            // channel 0 of the world: see State::arrivals_after

  MESHMEM_DEVICE_MEMBER explicit TeamSync(int in_slot, int on_channel = 0)
      : team(view_of(in_slot)),
        slot(in_slot),
        channel(on_channel),
        channels(state().sync_layout.channels_of(in_slot)),
        space(state().sync_layout.space(in_slot, on_channel)),
        slabs(nullptr),
        of_world(in_slot == kWorldSlot && on_channel == 0) {
    check_all_are_reached();
  }
  MESHMEM_DEVICE_MEMBER explicit TeamSync(const TeamHandle& handle, int on_channel = 0)
      : team(handle.team),
        slot(kNoTeam),
        channel(on_channel),
        channels(handle.channels),
        space(handle.space.channel_after(on_channel)),
        slabs(handle.slab),
        of_world(false) {}
  MESHMEM_DEVICE_MEMBER explicit TeamSync(shmem_team_t handle) : TeamSync(slot_of(handle)) {}

  // The same team on another channel. Called of a TeamSync on channel 0.
  MESHMEM_DEVICE_MEMBER TeamSync on(int other) const {
    TeamSync there = *this;
    there.channel = other;
    there.space = space.channel_after(other);
    there.of_world = of_world && other == 0;
    return there;
  }

  // The PE that is i after this one, around the team, so that not all begin with the same PE.
  MESHMEM_DEVICE_MEMBER int peer(int i) const {
    const int pe = team.me + i;
    return pe < team.n ? pe : pe - team.n;
  }
  MESHMEM_DEVICE_MEMBER std::byte* slab_of(int pe) const {
    if (slabs && pe < kNearMembers && slabs[pe]) return slabs[pe];
    return state().sync.copy_of(world_pe_of(team, pe));
  }
  MESHMEM_DEVICE_MEMBER Flag* flags_of(int pe) const {
    return reinterpret_cast<Flag*>(slab_of(pe) + space.flags);
  }
  MESHMEM_DEVICE_MEMBER Flag* my_flags() const {
    auto* slab = slabs ? slab_of(team.me) : reinterpret_cast<std::byte*>(state().sync.base);
    return reinterpret_cast<Flag*>(slab + space.flags);
  }
  // The number of the last operation; only this PE reads and writes it.
  MESHMEM_DEVICE_MEMBER std::uint64_t& epoch() const { return my_flags()->value; }
  // The last number that PE `from` told the PE whose flags these are.
  MESHMEM_DEVICE_MEMBER static std::uint64_t* arrival(Flag* flags, int from) {
    return reinterpret_cast<std::uint64_t*>(flags + 1) + from;
  }
  MESHMEM_DEVICE_MEMBER std::uint64_t* arrival(int at, int from) const {
    return arrival(flags_of(at), from);
  }
  // Where this PE tells the PE that is i after it, 1 <= i.
  MESHMEM_DEVICE_MEMBER std::uint64_t* arrival_after(int i) const {
    if (of_world && i <= kNearPes) return state().arrivals_after[i - 1];
    return arrival(peer(i), team.me);
  }
  // How far PE `from` has come within an operation, as it last told PE `at`.
  MESHMEM_DEVICE_MEMBER std::uint64_t* progress(int at, int from) const {
    return &flags_of(at)[space.progress_flag() + static_cast<std::size_t>(from)].value;
  }
  // The word by which the blocks of a grid meet (grid.hpp).
  MESHMEM_DEVICE_MEMBER std::uint64_t* grid_word() const {
    return &my_flags()[space.grid_flag()].value;
  }
};

#if defined(MESHMEM_TARGET_IS_HIP)
// MESHMEM_OPAQUE of a value that the team's PEs or a group have in common, and of a TeamSync in a
// loop over batches. A single thread may be in another team than the rest of its wave, so its
// values are left alone.
template <typename T, typename Group>
MESHMEM_DEVICE T opaque(T value, const Group&) {
  return opaque(value);
}
template <typename T>
MESHMEM_DEVICE T opaque(T value, const Thread&) {
  return value;
}
template <typename Group>
MESHMEM_DEVICE TeamSync opaque(TeamSync sync, const Group&) {
  sync.team.me = opaque(sync.team.me);
  sync.team.n = opaque(sync.team.n);
  sync.team.pes = opaque(sync.team.pes);
  sync.space.senders = opaque(sync.space.senders);
  sync.space.flags = opaque(sync.space.flags);
  sync.space.packets = opaque(sync.space.packets);
  sync.space.packet_row = opaque(sync.space.packet_row);
  return sync;
}
MESHMEM_DEVICE const TeamSync& opaque(const TeamSync& sync, const Thread&) { return sync; }

template <typename Group, typename Work>
MESHMEM_DEVICE_OUT_OF_LINE void work_out_of_line(Group group, int slot, int channel, Work work) {
  work(TeamSync(MESHMEM_OPAQUE(slot, group), MESHMEM_OPAQUE(channel, group)));
}
#endif

// Calls work(sync), for a group in a user's kernel and a team that has a slot. On AMD GPUs this is
// a function of its own, which gets the slot and finds the rest again. Routines that need many
// registers leave none to values that their caller needs afterwards, and compilers may lose those
// values (docs/amd.md). `work` captures copies: a reference would keep the caller's value in
// memory.
template <typename Group, typename Work>
MESHMEM_DEVICE void with_own_registers(const Group& group, const TeamSync& sync, const Work& work) {
#if defined(MESHMEM_TARGET_IS_HIP)
  work_out_of_line(group, sync.slot, sync.channel, work);
#else
  (void)group;
  work(sync);
#endif
}

MESHMEM_DEVICE bool needs_wiping(std::uint64_t epoch) {
  return __builtin_expect(epoch % kWipeEvery == 0, 0);
}

// Wipes the packets of PE `from` on the channel, by one thread: it happens once in an hour at most.
MESHMEM_DEVICE void wipe_packets(const TeamSync& sync, std::size_t from) {
  auto* row = sync.slab_of(sync.team.me) + sync.space.packets + from * sync.space.packet_row;
  for (int parity = 0; parity < 2; ++parity, row += sync.space.senders * sync.space.packet_row)
    for (std::size_t at = 0; at < sync.space.packet_row; at += sizeof(std::uint64_t))
      store_relaxed(reinterpret_cast<std::uint64_t*>(row + at), std::uint64_t{0});
}

// Called after a meeting at `epoch` and before another, between which nobody sends. Wipes the
// packets of the PEs that the calling thread tells; the leader also wipes the rows that no member
// uses. Not a member of Meeting: a call that is not in line would keep the Meeting, and all it
// refers to, in memory.
MESHMEM_DEVICE_APART void wipe_and_meet(TeamSync sync, int first, int step, std::uint64_t epoch) {
  const int n = sync.team.n, me = sync.team.me;
  acquire_fence();
  for (int i = first; i < n; i += step) wipe_packets(sync, static_cast<std::size_t>(sync.peer(i)));
  ++epoch;
  if (first == 1) {
    for (auto from = static_cast<std::size_t>(n); from < sync.space.senders; ++from)
      wipe_packets(sync, from);
    sync.epoch() = epoch;
  }
  release_fence();
  for (int i = first; i < n; i += step) store_relaxed(sync.arrival(sync.peer(i), me), epoch);
  for (int i = first; i < n; i += step) {
    const std::uint64_t* told = sync.arrival(me, sync.peer(i));
    pause_until([=] { return has_reached(load_relaxed(told), epoch); }, [=] { return told; });
  }
  acquire_fence();
}

// A meeting of all members, which is an operation, as one thread of the group takes part in it. The
// thread tells the PEs that are first, first + lanes, ... after this one, and awaits the same PEs.
// A Thread handles kTogether PEs at the same time.
template <typename Group>
class Meeting {
 public:
  MESHMEM_DEVICE_MEMBER Meeting(const Group& group, const TeamSync& sync)
      : group_(group), sync_(sync), lanes_(count_of_pollers(group)), first_(rank_here(group) + 1) {
    if (!sync.of_world && is_poller(group)) find_places();
  }

  // Loads after it see the stores of members before it. `releases` may be false where there is
  // nothing to read, and earlier kernels have ended.
  MESHMEM_DEVICE_MEMBER void pass(bool releases = true) {
    std::uint64_t last = 0;
    // The load of the epoch overlaps with the release that fences: release_all() or release_mine().
    // A load that is under way when the group meets is awaited there. Lanes that load after that
    // have to meet before the leader writes the next number.
    if (kEachFences && is_poller(group_)) last = sync_.epoch();
    release_all(group_);
    if (is_poller(group_)) {
      if (sync_.of_world) find_places();
      if (!kEachFences) last = sync_.epoch();
      if (releases) release_mine();
      if (!kEachFences) pollers_of(group_).sync();
      tell_and_await(last);
    }
    acquire_all(group_);
  }

 private:
  static constexpr int kTogether = std::is_same<Group, Thread>::value ? 3 : 1;

  // The places of other teams are looked up before the release. Those of the world, which are in
  // the State, are looked up after it, in a branch that the other waves of a block do not take.
  // Before it, nvcc makes all waves look them up, which takes 0.2 us.
  MESHMEM_DEVICE_MEMBER void find_places() {
    if (first_ > kNearPes) __builtin_unreachable();  // no wave is larger
    mine_ = sync_.my_flags();
#pragma unroll
    for (int k = 0; k < kTogether; ++k)
      if (sync_.of_world || has(k)) there_[k] = sync_.arrival_after(first_ + k * lanes_);
  }
  MESHMEM_DEVICE_MEMBER bool leads() const { return first_ == 1; }
  MESHMEM_DEVICE_MEMBER bool has(int k) const { return first_ + k * lanes_ < sync_.team.n; }
  MESHMEM_DEVICE_MEMBER void tell_and_await(std::uint64_t last) const {
    tell(last);
    const std::uint64_t epoch = last + 1;
    if (leads()) mine_->value = epoch;  // while the others are told
#pragma unroll 1
    for (int before = 0; before < sync_.team.n - 1; before += kTogether * lanes_)
      await_those_after(before, epoch);
    acquire_mine();
    if (needs_wiping(epoch)) wipe_and_meet(sync_, first_, lanes_, epoch);
  }
  // Uses store_next, since ptxas would else add before the release.
  MESHMEM_DEVICE_MEMBER void tell(std::uint64_t last) const {
#pragma unroll
    for (int k = 0; k < kTogether; ++k)
      if (has(k)) store_next(there_[k], last);
#pragma unroll 1
    for (int i = first_ + kTogether * lanes_; i < sync_.team.n; i += lanes_)
      store_next(sync_.arrival(sync_.peer(i), sync_.team.me), last);
  }
  // Waits for the next PEs that the lanes tell, after the first `before` ones. A lane looks at its
  // first place again instead of at one that does not exist.
  MESHMEM_DEVICE_MEMBER void await_those_after(int before, std::uint64_t epoch) const {
    const int first = before + first_;
    const bool has_first = first < sync_.team.n;
    const std::uint64_t* told[kTogether];
    told[0] = TeamSync::arrival(mine_, has_first ? sync_.peer(first) : sync_.team.me);
#pragma unroll
    for (int k = 1; k < kTogether; ++k) {
      const int after = first + k * lanes_;
      told[k] = after < sync_.team.n ? TeamSync::arrival(mine_, sync_.peer(after)) : told[0];
    }
    const auto all_have_told = [&] {
      std::uint64_t seen[kTogether];
#pragma unroll
      for (int k = 0; k < kTogether; ++k) seen[k] = load_relaxed(told[k]);
      bool all = true;
#pragma unroll
      for (int k = 0; k < kTogether; ++k) all = all && has_reached(seen[k], epoch);
      return all;
    };
    poll(pollers_of(group_), has_first, all_have_told, [&] {
      int k = 0;
      while (k + 1 < kTogether && has_reached(load_relaxed(told[k]), epoch)) ++k;
      return told[k];
    });
  }

  const Group& group_;
  const TeamSync& sync_;
  int lanes_, first_;
  Flag* mine_ = nullptr;
  std::uint64_t* there_[kTogether] = {};
};

// Also a quiet: the release in the meeting waits until the stores of the group have arrived.
template <typename Group>
MESHMEM_DEVICE void team_sync(const Group& group, const TeamSync& sync) {
  Meeting<Group>(group, sync).pass();
}

// For a kernel's only group on the channel: returns when all have entered, so others may write
// here. No release is needed, since earlier kernels have done this PE's earlier work.
template <typename Group>
MESHMEM_DEVICE void enter_after_kernels(const Group& group, const TeamSync& sync) {
  Meeting<Group>(group, sync).pass(false);
}

template <typename Group>
MESHMEM_DEVICE_APART std::uint64_t epoch_after_wiping(Group group, TeamSync sync,
                                                      std::uint64_t epoch) {
#if defined(MESHMEM_TARGET_IS_HIP)
  sync.slabs = nullptr;  // they are in the State too; so less code is inlined
#endif
  team_sync(group, sync);  // which wipes, and takes the epoch one further
  return epoch + 2;
}

// Returns the epoch of the operation after `epoch`. All threads of the group know `epoch`, and have
// met since they read it.
template <typename Group>
MESHMEM_DEVICE std::uint64_t next_epoch(const Group& group, const TeamSync& sync,
                                        std::uint64_t epoch) {
  ++epoch;
  if (needs_wiping(epoch)) epoch = epoch_after_wiping(group, sync, epoch);
  if (rank_here(group) == 0) sync.epoch() = epoch;
  return epoch;
}

// For far PEs, each wave waits for the commands that it has handed to the proxy itself.
template <typename Group>
MESHMEM_DEVICE void quiet(const Group& group) {
  if (__builtin_expect(has_proxy(), 0) && speaks_for_wave(group)) quiet_far();
  complete_all(group);
}
// All stores of the group before it come before all after it.
template <typename Group>
MESHMEM_DEVICE void fence(const Group& group) {
  if (__builtin_expect(has_proxy(), 0) && speaks_for_wave(group)) fence_far();
  release_all(group);
  release_mine();
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_SYNC_HPP_
