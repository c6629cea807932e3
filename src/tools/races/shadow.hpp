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

// The calls that a PE knows to be done: of each order of each PE, the number of its last call.
class Clock {
 public:
  explicit Clock(std::span<std::uint32_t> numbers) : numbers_(numbers) {}

  std::uint32_t& of(int pe, Order order) const {
    return numbers_[static_cast<std::size_t>(pe) * kOrders + static_cast<std::size_t>(order)];
  }
  bool knows(int me, const Access& access) const {
    const Order order = access.how();
    if (access.pe == me && order != Order::pending) return true;
    return access.call_number <= of(access.pe, order);
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
