// SPDX-License-Identifier: Apache-2.0
//
// Checks before a collective in a kernel: its count, whether its buffers overlap, and whether all
// PEs of the team make the same call. Each PE stores a description of its call, marked with its
// epoch, into the memory of each other PE, and reads theirs: the later of two PEs sees a
// difference.
// Invariant: nobody waits for a description. A PE that stores none (without checks, or in a call on
// a stream) is not compared. Kernels compiled without checks have no code of it. Called by
// routines.hpp.
#ifndef MESHMEM_DEVICE_SAME_CALL_HPP_
#define MESHMEM_DEVICE_SAME_CALL_HPP_

#include "device/grid.hpp"
#include "device/operations.hpp"

namespace meshmem {
namespace device {

// A constant, since nvcc takes a call of elem_type_of() in a function for a call of a host
// function.
template <typename E>
struct ElemTypeOf {
  static constexpr ElemType kType = elem_type_of<E>();
};

// A collective as it is called.
struct Call {
  CollectiveKind kind;
  ReduceOp op;    // of a reduction
  ElemType type;  // of a reduction; none for moves, which compare bytes
  std::size_t elem_bytes, nelems;
  int root;

  MESHMEM_DEVICE_MEMBER static Call meeting() {
    return {CollectiveKind::sync, ReduceOp::sum, ElemType::none, 1, 0, 0};
  }
  template <typename E>
  MESHMEM_DEVICE_MEMBER static Call movement(CollectiveKind kind, std::size_t nelems,
                                             int root = 0) {
    return {kind, ReduceOp::sum, ElemType::none, sizeof(E), nelems, root};
  }
  template <typename E>
  MESHMEM_DEVICE_MEMBER static Call reduction(CollectiveKind kind, ReduceOp op,
                                              std::size_t nelems) {
    return {kind, op, ElemTypeOf<E>::kType, sizeof(E), nelems, 0};
  }
};

#if MESHMEM_KERNEL_CHECKS

// The caller as a number: the kind of group, and the blocks of a grid.
MESHMEM_DEVICE std::uint64_t caller_of(const Thread&) { return 0; }
MESHMEM_DEVICE std::uint64_t caller_of(const Wave&) { return 1; }
MESHMEM_DEVICE std::uint64_t caller_of(const Block&) { return 2; }
MESHMEM_DEVICE std::uint64_t caller_of(const CooperativeGrid& grid) {
  return 3 | static_cast<std::uint64_t>(grid.blocks()) << 8;
}
template <typename Group>
MESHMEM_DEVICE bool leads(const Group& group) {
  return group.rank() == 0;
}
MESHMEM_DEVICE bool leads(const CooperativeGrid& grid) {
  return grid.block() == 0 && Block().rank() == 0;
}

// Values that must be the same in all PEs, in words beside the flag of a PE's progress.
struct CallWords {
  std::uint64_t what, count, caller;

  MESHMEM_DEVICE_MEMBER static CallWords of(const Call& call, std::uint64_t caller) {
    const bool is_move = call.kind < CollectiveKind::reduce;
    return {static_cast<std::uint64_t>(call.kind) | static_cast<std::uint64_t>(call.op) << 8 |
                static_cast<std::uint64_t>(call.type) << 16 |
                static_cast<std::uint64_t>(static_cast<unsigned>(call.root)) << 32,
            call.kind == CollectiveKind::collect ? 0
            : is_move                            ? call.nelems * call.elem_bytes
                                                 : call.nelems,
            call.kind == CollectiveKind::sync ? 0 : caller};
  }
  MESHMEM_DEVICE_MEMBER int byte_of_what(int which) const {
    return static_cast<int>(what >> 8 * which & 0xff);
  }
  MESHMEM_DEVICE_MEMBER int root() const { return static_cast<int>(what >> 32); }
  MESHMEM_DEVICE_MEMBER const char* op() const {
    const char* const names[] = {"sum", "prod", "min", "max", "avg", "and", "or", "xor"};
    return byte_of_what(0) < static_cast<int>(CollectiveKind::reduce) ? ""
                                                                      : names[byte_of_what(1) & 7];
  }
  MESHMEM_DEVICE_MEMBER const char* routine() const {
    constexpr int kKinds = static_cast<int>(CollectiveKind::exscan) + 1;
    const char* const names[kKinds] = {"a barrier or sync", "broadcast", "collect",   "fcollect",
                                       "alltoall",          "alltoalls", "alltoallv", "_reduce",
                                       "_reduce_scatter",   "_inscan",   "_exscan"};
    return names[byte_of_what(0) % kKinds];
  }
  MESHMEM_DEVICE_MEMBER const char* type() const {
    const char* const names[] = {"int8",
                                 "uint8",
                                 "int16",
                                 "uint16",
                                 "int32",
                                 "uint32",
                                 "int64",
                                 "uint64",
                                 "float",
                                 "double",
                                 "half",
                                 "bfloat16",
                                 "int32 with index",
                                 "uint32 with index",
                                 "int64 with index",
                                 "uint64 with index",
                                 "float with index",
                                 "double with index",
                                 "others"};
    return names[byte_of_what(2) % 19];
  }
  MESHMEM_DEVICE_MEMBER const char* group() const {
    const char* const names[] = {"a thread", "a wave", "a block", "a grid"};
    return names[caller & 3];
  }
  MESHMEM_DEVICE_MEMBER int blocks() const { return static_cast<int>(caller >> 8); }
};

// Prints a difference between two names.
MESHMEM_DEVICE void print_difference(const CallWords& mine, const CallWords& theirs, int pe,
                                     const char* of, const char* here, const char* there) {
  MESHMEM_PRINT_MISTAKE(
      "%s%s%s%s here, but PE %d called %s%s%s%s in the same place: all PEs of a team call its "
      "collectives alike",
      mine.op(), mine.routine(), of, here, pe, theirs.op(), theirs.routine(), of, there);
}
// Prints a difference between two numbers.
MESHMEM_DEVICE void print_difference(const CallWords& mine, int pe, const char* of,
                                     std::uint64_t here, std::uint64_t there) {
  MESHMEM_PRINT_MISTAKE(
      "%s%s with %s %lld here, but PE %d called it with %lld in the same place: all PEs of a team "
      "call its collectives alike",
      mine.op(), mine.routine(), of, static_cast<long long>(here), pe,
      static_cast<long long>(there));
}
[[noreturn]] MESHMEM_DEVICE void refuse_call(const CallWords& mine, const CallWords& theirs,
                                             int pe) {
  if ((mine.what ^ theirs.what) & 0xffff)
    print_difference(mine, theirs, pe, "", "", "");
  else if (mine.byte_of_what(2) != theirs.byte_of_what(2))
    print_difference(mine, theirs, pe, " of ", mine.type(), theirs.type());
  else if (mine.root() != theirs.root())
    print_difference(mine, pe, "PE_root", static_cast<std::uint64_t>(mine.root()),
                     static_cast<std::uint64_t>(theirs.root()));
  else if (mine.count != theirs.count)
    print_difference(
        mine, pe,
        mine.byte_of_what(0) < static_cast<int>(CollectiveKind::reduce) ? "bytes" : "nreduce",
        mine.count, theirs.count);
  else if ((mine.caller ^ theirs.caller) & 3)
    print_difference(mine, theirs, pe, " by ", mine.group(), theirs.group());
  else
    print_difference(mine, pe, "blocks", static_cast<std::uint64_t>(mine.blocks()),
                     static_cast<std::uint64_t>(theirs.blocks()));
  trap();
}

// Where in PE `at`'s memory PE `from` stores the description of its call, and behind it the mark.
MESHMEM_DEVICE std::uint64_t* description(const TeamSync& sync, int at, int from) {
  return sync.progress(at, from) + 1;
}
constexpr int kMark = 3;

MESHMEM_DEVICE void leave_descriptions(const TeamSync& sync, const CallWords& words,
                                       std::uint64_t mark) {
  // Another PE's leader may still be reading the last description, since its other threads do not
  // wait for it. So the old mark goes first.
  for (int i = 1; i < sync.team.n; ++i)
    store_relaxed(description(sync, sync.peer(i), sync.team.me) + kMark, std::uint64_t{0});
  release_fence();  // a reader that sees a new word finds the old mark gone
  for (int i = 1; i < sync.team.n; ++i) {
    std::uint64_t* const there = description(sync, sync.peer(i), sync.team.me);
    store_relaxed(there, words.what);
    store_relaxed(there + 1, words.count);
    store_relaxed(there + 2, words.caller);
  }
  release_fence();  // publishes the words to a reader that sees the mark
  for (int i = 1; i < sync.team.n; ++i)
    store_relaxed(description(sync, sync.peer(i), sync.team.me) + kMark, mark);
}
MESHMEM_DEVICE void look_at_descriptions(const TeamSync& sync, const CallWords& words,
                                         std::uint64_t mark) {
  for (int i = 1; i < sync.team.n; ++i) {
    const std::uint64_t* const left = description(sync, sync.team.me, sync.peer(i));
    if (load_relaxed(left + kMark) != mark) continue;
    acquire_fence();
    const CallWords theirs{load_relaxed(left), load_relaxed(left + 1), load_relaxed(left + 2)};
    acquire_fence();
    if (load_relaxed(left + kMark) != mark) continue;  // it describes the next one already
    if (theirs.what != words.what || theirs.count != words.count || theirs.caller != words.caller)
      refuse_call(words, theirs, world_pe_of(sync.team, sync.peer(i)));
  }
}

// Called by the leader. Memory of flags is filled with an epoch at first, so the mark must not be
// an epoch itself.
MESHMEM_DEVICE_COLD void check_same_call(TeamSync sync, CallWords words) {
  const std::uint64_t mark = sync.epoch() ^ 0x6d6573686d656d21;
  leave_descriptions(sync, words, mark);
  complete_all(Thread());  // so of two PEs at least one sees the other's mark
  look_at_descriptions(sync, words, mark);
  // The loads come before the flag by which this PE says that it has entered. Until then no other
  // PE finishes the operation (sync.hpp) and stores another description.
  release_fence();
}

// On a PE only one group at a time may be in a collective of a team. That group holds a word beside
// the PE's own progress, where no PE leaves a description.
MESHMEM_DEVICE std::uint64_t* holder_of(const TeamSync& sync) {
  return description(sync, sync.team.me, sync.team.me);
}
constexpr std::uint64_t kHeld = 0x6d65;  // in the upper bits: flags are first filled with an epoch
MESHMEM_DEVICE std::uint64_t block_number() {
  return static_cast<std::uint64_t>(CooperativeGrid().block());
}
MESHMEM_DEVICE_COLD void enter(const TeamSync& sync, const Call& call) {
  const CallWords words = CallWords::of(call, 0);
  const std::uint64_t holder = exchange(
      holder_of(sync), kHeld << 48 | (words.what & 0xffff) << 32 | (block_number() & 0xffffffff));
  if (holder >> 48 != kHeld) return;
  const CallWords theirs{holder >> 32 & 0xffff, 0, 0};
  MESHMEM_PRINT_MISTAKE(
      "%s%s of team %d%s by block %lld while block %lld is in %s%s: a team has one collective at a "
      "time",
      words.op(), words.routine(), sync.slot + 1, sync.slot == 0 ? " (SHMEM_TEAM_WORLD)" : "",
      static_cast<long long>(block_number()), static_cast<long long>(holder & 0xffffffff),
      theirs.op(), theirs.routine());
  trap();
}

// Called by the leader. In some collectives the dest, the source or both have a block for each PE.
MESHMEM_DEVICE_COLD void check_overlap(Call call, const void* dest, const void* source, int me,
                                       int n) {
  const std::size_t block = call.nelems * call.elem_bytes;
  const std::size_t before = block * static_cast<std::size_t>(me),
                    all = block * static_cast<std::size_t>(n);
  const auto to = reinterpret_cast<std::uintptr_t>(dest),
             from = reinterpret_cast<std::uintptr_t>(source);
  switch (call.kind) {
    case CollectiveKind::collect:    // the length of the dest is not known
    case CollectiveKind::alltoalls:  // elements may lie between each other
      return;
    case CollectiveKind::alltoall:
      return check_no_overlap(dest, all, source, all);
    case CollectiveKind::fcollect:
      if (from != to + before) check_no_overlap(dest, all, source, block);
      return;
    case CollectiveKind::reduce_scatter:
      if (to != from + before) check_no_overlap(dest, block, source, all);
      return;
    default:
      if (from != to) check_no_overlap(dest, block, source, block);
  }
}

#endif

// With checks ends a kernel in which a second group of this PE calls a collective of the team
// before the first has left its own.
class InCall {
 public:
#if MESHMEM_KERNEL_CHECKS
  template <typename Group>
  MESHMEM_DEVICE_MEMBER InCall(const Group& group, const TeamSync& sync, const Call& call)
      : holder_(sync.team.n > 1 && leads(group) ? holder_of(sync) : nullptr) {
    if (holder_) enter(sync, call);
  }
  MESHMEM_DEVICE_MEMBER ~InCall() {
    if (holder_) store_relaxed(holder_, std::uint64_t{0});
  }
  InCall(const InCall&) = delete;
  InCall& operator=(const InCall&) = delete;

 private:
  std::uint64_t* holder_;
#else
  template <typename Group>
  MESHMEM_DEVICE_MEMBER InCall(const Group&, const TeamSync&, const Call&) {}
#endif
};

// With checks ends a kernel whose PEs call differently.
template <typename Group>
MESHMEM_DEVICE void check_call(const Group& group, const TeamSync& sync, const Call& call) {
#if MESHMEM_KERNEL_CHECKS
  if (sync.team.n > 1 && leads(group)) check_same_call(sync, CallWords::of(call, caller_of(group)));
#else
  (void)group, (void)sync, (void)call;
#endif
}
// The same for a call with buffers. A call without elements is not compared, except in a collect.
template <typename Group>
MESHMEM_DEVICE void check_call(const Group& group, const TeamSync& sync, const Call& call,
                               const void* dest, const void* source) {
#if MESHMEM_KERNEL_CHECKS
  check_count(call.elem_bytes, call.nelems, static_cast<std::size_t>(sync.team.n));
  if (call.nelems > 0 && leads(group)) check_overlap(call, dest, source, sync.team.me, sync.team.n);
  if (call.nelems > 0 || call.kind == CollectiveKind::collect) check_call(group, sync, call);
#else
  (void)group, (void)sync, (void)call, (void)dest, (void)source;
#endif
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_SAME_CALL_HPP_
