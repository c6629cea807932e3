// SPDX-License-Identifier: Apache-2.0
//
// The queue of a lock.
//   acquire  swap my number into the tail. If a PE's number was there, that PE is before me: tell
//            it that I come next, and wait until it gives me the lock
//   release  if nobody is behind me, set the tail to 0; else give the lock to the next PE
// Invariant: while a PE is not in the queue, only the PE itself writes its place. In the queue its
// two neighbours also write it, each its own bit or field, so all use atomic ORs until the PE
// leaves.
#include "core/lock.hpp"

#include <cstddef>

#include "base/code_place.hpp"
#include "base/error.hpp"
#include "base/waiting/wait.hpp"
#include "memory/argument_checks.hpp"
#include "one_sided/one_sided.hpp"

namespace meshmem {

// The two halves of a symmetric long. All accesses are atomic, and of a half.
struct Lock::Words {
  std::uint32_t tail;   // in PE 0 only: the number of the last in the queue, 0 = the lock is free
  std::uint32_t place;  // of this PE: kQueued, kHeld, and the number of the next in the queue
};

namespace {

constexpr std::uint32_t kQueued = 1u << 31;  // waits or holds
constexpr std::uint32_t kHeld = 1u << 30;
constexpr std::uint32_t kNext = kHeld - 1;

// Finding the holder takes a question to every PE, and touches a page of each. So the text of a
// wait names the holder only in jobs of up to this many PEs. In larger jobs it names only the PE
// before this one in the queue.
constexpr unsigned kMostAsked = 64;

std::uint32_t load(const std::uint32_t& word) { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); }

// Stores `desired` and returns true if the word is `expected`.
bool replace(std::uint32_t& word, std::uint32_t expected, std::uint32_t desired) {
  return __atomic_compare_exchange_n(&word, &expected, desired, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED);
}

}  // namespace

Lock::Lock(const AddressMap& map, long* lock, const char* routine)
    : map_(map),
      lock_(lock),
      routine_(routine),
      my_number_(static_cast<std::uint32_t>(map.my_pe) + 1) {
  static_assert(sizeof(Words) == sizeof *lock && alignof(Words) <= alignof(long));
  if (!is_in_segment(map, lock, sizeof *lock)) [[unlikely]] {
    if (is_on_device(lock))
      fatal("{}: the lock at {} is in device memory; locks have to be in host memory", routine,
            static_cast<const void*>(lock));
    refuse_address(map, lock, sizeof *lock, routine);
  }
  check_alignment(routine, lock, sizeof *lock);
  mine_ = words_of(map.my_pe);
  home_ = words_of(0);
}

Lock::Words* Lock::words_of(int pe) const {
  std::byte* const copy = find_copy(map_, lock_, sizeof *lock_, pe);
  return is_mapped(copy) ? reinterpret_cast<Words*>(copy) : nullptr;
}

std::uint32_t Lock::change(int pe, Half half, device::AtomicOp op, std::uint32_t operand,
                           std::uint32_t condition) const {
  const AtomicRequest request{op, sizeof operand, operand, condition, true};
  auto* const mine = reinterpret_cast<std::byte*>(lock_);
  void* const there = mine + (half == Half::tail ? offsetof(Words, tail) : offsetof(Words, place));
  return static_cast<std::uint32_t>(one_sided::atomic(routine_, there, request, pe));
}

std::uint32_t Lock::place_of(int pe) const {
  if (const Words* const words = words_of(pe)) return load(words->place);
  return change(pe, Half::place, device::AtomicOp::fetch, 0);
}

// Acquire: sees what the last holder did, if it has left. Release: publishes my place, before
// another PE finds my number in the tail.
std::uint32_t Lock::swap_tail(std::uint32_t number) const {
  if (home_) return __atomic_exchange_n(&home_->tail, number, __ATOMIC_ACQ_REL);
  return change(0, Half::tail, device::AtomicOp::swap, number);
}

bool Lock::replace_tail(std::uint32_t expected, std::uint32_t desired) const {
  if (home_) return replace(home_->tail, expected, desired);
  return change(0, Half::tail, device::AtomicOp::compare_swap, desired, expected) == expected;
}

void Lock::add_to_place(int pe, std::uint32_t bits) const {
  if (Words* const words = words_of(pe)) {
    __atomic_fetch_or(&words->place, bits, __ATOMIC_RELEASE);
  } else {
    change(pe, Half::place, device::AtomicOp::bit_or, bits);
  }
}

std::string Lock::holder_text() const {
  for (int pe = 0; pe < static_cast<int>(map_.n_pes); ++pe)
    if (place_of(pe) & kHeld) return fmt::format("which PE {} holds", pe);
  return "which nobody holds";
}

std::string Lock::text() const { return fmt::format("the lock at {}", place_text(map_, lock_)); }

void Lock::refuse_second() const {
  allow_variable_names();
  fatal("{}: this PE has or waits for {} already", routine_, text());
}

// Uses an OR, since the next PE may have entered its number already.
void Lock::hold() { __atomic_fetch_or(&mine_->place, kQueued | kHeld, __ATOMIC_RELAXED); }

void Lock::acquire() {
  // Locks are between PEs. The threads of one PE have to take turns with a lock: a PE cannot wait
  // for itself.
  if (!replace(mine_->place, 0, kQueued)) refuse_second();
  const std::uint32_t before = swap_tail(my_number_);
  if (before == 0) return hold();
  // Another thread of this PE is in try_acquire(), between the swap and hold().
  if (before == my_number_) refuse_second();
  if (before > map_.n_pes) {
    allow_variable_names();
    fatal("{}: {} was not 0 before its first use", routine_, text());
  }
  const int pe_before = static_cast<int>(before) - 1;
  // Release: publishes nothing but the number itself. The predecessor reads it before it gives me
  // the lock.
  add_to_place(pe_before, my_number_);
  wait_until_ready([&] { return (load(mine_->place) & kHeld) != 0; },
                   [&] {
                     const std::string holder =
                         map_.n_pes <= kMostAsked ? ", " + holder_text() : "";
                     return Awaited(fmt::format("{} in {}{}; PE {} is before this one", text(),
                                                routine_, holder, pe_before),
                                    {pe_before});
                   });
}

bool Lock::try_acquire() {
  // The lock is also busy if a thread of this PE has it or waits for it.
  if (load(mine_->place) != 0 || !replace_tail(0, my_number_)) return false;
  hold();
  return true;
}

void Lock::require_held() {
  if (load(mine_->place) & kHeld) return;
  allow_variable_names();
  fatal("{}: this PE does not hold {}, {}", routine_, text(), holder_text());
}

void Lock::release() {
  // Release: publishes what was done under the lock to the PE that finds the tail empty.
  if (replace_tail(my_number_, 0)) {
    __atomic_store_n(&mine_->place, 0, __ATOMIC_RELAXED);
    return;
  }
  // Another PE has taken the tail, and is about to enter its number here.
  std::uint32_t next = 0;
  wait_until_ready(
      [&] { return (next = load(mine_->place) & kNext) != 0; },
      [&] { return fmt::format("the next PE in the queue of {} in {}", text(), routine_); });
  __atomic_store_n(&mine_->place, 0, __ATOMIC_RELAXED);
  // Release: publishes what was done under the lock to the next PE's poll.
  add_to_place(static_cast<int>(next) - 1, kHeld);
}

}  // namespace meshmem
