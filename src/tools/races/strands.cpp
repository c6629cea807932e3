// SPDX-License-Identifier: Apache-2.0
//
// Strands, and the clocks of objects by which they synchronize. Two objects may share a clock. Then
// they order more than they should, which may hide races and invents none.
// Invariant: as strands.hpp says.
#include "tools/races/strands.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>
#include <vector>

#include "tools/races/buffers.hpp"
#include "tools/races/ledger.hpp"
#include "tools/races/noted.hpp"
#include "tools/races/state.hpp"

namespace meshmem::races {
namespace {

// Lives for ever: a destructor of the program may finalize.
auto& objects = *new std::vector<std::vector<std::uint32_t>>;

// A power of two. Clocks are long in jobs of many PEs, and stay within 16 MiB if only the default
// context has work.
std::size_t count_objects() {
  constexpr std::size_t kMost = 4096, kBytes = std::size_t{16} << 20;
  const std::size_t clock = checker.boards.of_node().strands() *
                            static_cast<std::size_t>(checker.job.n_pes) * kOrders *
                            sizeof(std::uint32_t);
  return std::bit_floor(std::min(kMost, kBytes / clock));
}

struct Level {
  unsigned strand;
  std::uint64_t frame;
  bool has_left;  // the thread works on another one now
};
// The levels below the present one; nullptr: none. The vector has no destructor, since strands of
// threads end after the destructors of thread-local variables.
constinit thread_local std::vector<Level>* levels = nullptr;
constinit thread_local const void* due = nullptr;

std::vector<std::uint32_t>& clock_of(const void* object) {
  const std::uint64_t hash = reinterpret_cast<std::uintptr_t>(object) * 0x9e3779b97f4a7c15u;
  return objects[(hash >> 52) % objects.size()];
}

void release_held(const void* object) {
  Strand& mine = self();
  std::vector<std::uint32_t>& clock = clock_of(object);
  const std::size_t own =
      place_in_clock(static_cast<std::size_t>(checker.job.n_pes), me(), Order::program);
  clock.resize(std::max({clock.size(), mine.numbers.size(), own + kOrders}));
  for (std::size_t i = 0; i < mine.numbers.size(); ++i)
    clock[i] = std::max(clock[i], mine.numbers[i]);
  clock[own] = std::max(clock[own], mine.call_number);
  // The calls and accesses from now on are not before it.
  mine.is_between_calls = false;
  renew_epoch(mine);
}

void acquire_held(const void* object) {
  const std::vector<std::uint32_t>& clock = clock_of(object);
  for (std::size_t i = 0; i < clock.size(); ++i) learn_number(i, clock[i]);
}

// Takes the strand on which the fewest threads work. Of those, takes one that no thread has left
// since the PE last had only one strand, or else the one that was left first. The new work may race
// with what the strand did last.
unsigned take_strand() {
  const unsigned strands = checker.boards.of_node().strands();
  if (strands == 1) return 0;
  const auto begin = checker.strands.begin() + 1;
  const auto found = std::min_element(
      begin, checker.strands.begin() + strands, [](const Strand& one, const Strand& other) {
        return std::tie(one.users, one.left) < std::tie(other.users, other.left);
      });
  ++found->users;
  const auto strand = static_cast<unsigned>(found - checker.strands.begin());
  checker.n_strands = std::max(checker.n_strands, strand + 1);
  return strand;
}

// The stack of this thread becomes another thread's, with the thread-local variables. The main
// thread keeps its stack, and uses it again below the frame of a region of OpenMP.
void forget_stack() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* stack = nullptr;
  std::size_t bytes = 0;
  pthread_attr_getstack(&attributes, &stack, &bytes);
  pthread_attr_destroy(&attributes);
  const auto begin = reinterpret_cast<std::uintptr_t>(stack);
  const std::uintptr_t end = gettid() == getpid() ? begin_of_frame : begin + bytes;
  forget_noted_here(begin, end);
  forget_buffers_here(begin, end);
}

template <typename Work>
void while_parallel(Work work) {
  if (!is_parallel() || must_stay_out()) return;
  const Entered entered;
  if (checker.is_open) work();
}

}  // namespace

void change_parallel(int change) {
  const Entered entered;
  n_parallel = std::max(0, n_parallel + change);
  end_phase();
  note_bounds();
  if (n_parallel > 0 || !checker.is_open) return;
  for (Strand& strand : checker.strands) strand.left = 0;
  forget_done_buffers();
}

void release_to(const void* object) {
  acquire_what_is_due();
  while_parallel([object] { release_held(object); });
}
void acquire_from(const void* object) {
  while_parallel([object] { acquire_held(object); });
}

void acquire_later(const void* object) { due = object; }
void acquire_what_is_due() {
  if (due && !must_stay_out()) acquire_from(std::exchange(due, nullptr));
}

void begin_strand(const void* object, const void* frame) {
  if (!levels) levels = new std::vector<Level>;
  levels->push_back({current_strand, begin_of_frame, false});
  if (frame) begin_of_frame = reinterpret_cast<std::uintptr_t>(frame);
  while_parallel([object] {
    levels->back().has_left = checker.boards.of_node().strands() > 1;
    current_strand = take_strand();
    acquire_held(object);
  });
}

void end_strand(const void* object) {
  if (!levels) return;
  release_to(object);
  const Level before = levels->back();
  levels->pop_back();
  if (levels->empty()) delete std::exchange(levels, nullptr);
  const Entered entered;
  if (begin_of_frame != before.frame && before.frame == 0) forget_stack();
  if (before.has_left) {
    --self().users;
    self().left = self().epoch;
  }
  current_strand = before.strand;
  begin_of_frame = before.frame;
}

void forget_strands() {
  objects.assign(count_objects(), {});
  const std::size_t numbers =
      checker.boards.of_node().rows() * static_cast<std::size_t>(checker.job.n_pes) * kOrders;
  for (Strand& strand : checker.strands) {
    strand.numbers.clear();
    strand.numbers.reserve(numbers);
    strand.call_number = strand.version = strand.n_told = 0;
    strand.is_published = strand.is_between_calls = false;
    strand.next_access = 0;
  }
}

}  // namespace meshmem::races
