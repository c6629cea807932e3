// SPDX-License-Identifier: Apache-2.0
//
// The memory of cells, and the test which accesses race.
// Invariant: a write that a cell forgets makes it crowded, so whoever acquires from it acquires
// from all: forgetting hides races, and makes none. The caller holds the mutex of the cells' PE.
#ifndef MESHMEM_TOOLS_RACES_SHADOW_HPP_
#define MESHMEM_TOOLS_RACES_SHADOW_HPP_

#include <functional>
#include <optional>
#include <span>

#include "tools/races/board.hpp"

namespace meshmem::races {

inline bool is_atomic(const Access& access) {
  return static_cast<Manner>(access.manner) == Manner::atomic;
}

// The calls that a PE knows to be done: of each order of each PE, the number of its last call. Of
// its own calls `put` and `signaled` say what a fence has ordered, `pending` what a quiet has
// completed, and `program` what others are known to have seen.
class Clock {
 public:
  explicit Clock(std::span<std::uint32_t> numbers) : numbers_(numbers) {}

  std::uint32_t& of(int pe, Order order) const {
    return numbers_[static_cast<std::size_t>(pe) * kOrders + static_cast<std::size_t>(order)];
  }
  bool knows(int me, const Access& access) const {
    const Order order = access.how();
    if (access.pe != me) return access.call_number <= of(access.pe, order);
    if (order == Order::program || access.call_number <= of(me, Order::pending)) return true;
    const bool brings = order == Order::pending && access.writes;
    return !brings && access.call_number <= of(me, Order::program);
  }
  // Whether `now` is known to come behind it: a fence orders puts and atomics of a PE. A line that
  // writes there again and again is no race.
  bool orders(const Access& before, const Access& now) const {
    if (knows(now.pe, before)) return true;
    if (before.pe != now.pe || (!now.writes && !is_atomic(now))) return false;
    if (before.how() == Order::pending)
      return is_atomic(before) && before.call_number <= of(now.pe, Order::put);
    return before.site == now.site || before.call_number <= of(now.pe, before.how());
  }

 private:
  std::span<std::uint32_t> numbers_;
};

// Adds this PE's access to bytes of the shadow; the answer is one that it races with.
std::optional<Access> add_access(std::span<Cell> shadow, std::size_t offset, std::size_t bytes,
                                 Access access, const Clock& known);

// The writes of other PEs there, which the caller has seen. False: somebody may have written who
// is not among them.
bool see_writes(std::span<Cell> shadow, std::size_t offset, std::size_t bytes, int me,
                const std::function<void(const Access&)>& use);

}  // namespace meshmem::races

#endif  // MESHMEM_TOOLS_RACES_SHADOW_HPP_
