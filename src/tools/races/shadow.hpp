// SPDX-License-Identifier: Apache-2.0
//
// The memory of cells, and the test which accesses race.
// Invariant: a write that a cell forgets makes it crowded, so whoever acquires from it acquires
// from all: forgetting hides races, and makes none. Takes the locks of the cells.
#ifndef MESHMEM_TOOLS_RACES_SHADOW_HPP_
#define MESHMEM_TOOLS_RACES_SHADOW_HPP_

#include <functional>
#include <optional>
#include <span>

#include "tools/races/board.hpp"

namespace meshmem::races {

inline constexpr std::size_t kEntry = LedgerColumn::kBytes;  // of the ledger

inline bool is_atomic(const Access& access) {
  return static_cast<Manner>(access.manner) == Manner::atomic;
}

inline std::size_t place_in_clock(std::size_t n_pes, const Worker& worker, Order order) {
  return (worker.strand * n_pes + static_cast<std::size_t>(worker.pe)) * kOrders +
         static_cast<std::size_t>(order);
}

// The calls that a strand knows to be done: of each order of each strand, the number of its last
// call. Of its own calls `put` and `signaled` say what a fence has ordered, `pending` what a quiet
// has completed, and `program` what others are known to have seen. Strands behind the end of the
// numbers have done nothing that is known.
class Clock {
 public:
  Clock(std::span<const std::uint32_t> numbers, int n_pes)
      : numbers_(numbers), n_pes_(static_cast<std::size_t>(n_pes)) {}

  std::uint32_t of(const Worker& worker, Order order) const {
    const std::size_t place = place_in_clock(n_pes_, worker, order);
    return place < numbers_.size() ? numbers_[place] : 0;
  }
  bool knows(const Worker& me, const Access& access) const {
    const Order order = access.how();
    const Worker who = access.who();
    const bool brings = order == Order::pending && access.writes;
    if (who != me)
      return access.call_number <= of(who, order) ||
             (who.pe == me.pe && order == Order::pending && !brings &&
              access.call_number <= of(who, Order::signaled));
    if (order == Order::program || access.call_number <= of(me, Order::pending)) return true;
    return !brings && access.call_number <= of(me, Order::program);
  }
  // Whether `now` is known to come behind it: a fence orders puts and atomics of a strand. A line
  // that writes there again and again is no race.
  bool orders(const Access& before, const Access& now) const {
    const Worker me = now.who();
    if (knows(me, before)) return true;
    if (before.who() != me || (!now.writes && !is_atomic(now))) return false;
    if (before.how() == Order::pending)
      return is_atomic(before) && before.call_number <= of(me, Order::put);
    return before.site == now.site || before.call_number <= of(me, before.how());
  }

 private:
  std::span<const std::uint32_t> numbers_;
  std::size_t n_pes_;
};

// Whether the access may race with one in the ledger of the PE that has the memory. The thread
// there knows its own calls, and threads of one PE do not race by their own loads and stores.
inline bool may_meet_ledger(const Shadow& shadow, const Access& access) {
  const bool is_own = access.pe == shadow.pe && (access.is_program || access.strand == 0);
  return !is_own && static_cast<Manner>(access.manner) != Manner::sync;
}
// An access in the ledger that races with this one.
std::optional<Access> find_in_ledger(const Shadow& shadow, const Range& range, const Access& access,
                                     const Clock& known);
// Takes out accesses of this phase, or later, that the writer knows and covers wholly. The write
// stands for them: the PE's thread looks again when it repeats one.
void take_from_ledger(const Shadow& shadow, const Range& range, const Clock& known,
                      std::uint32_t phase);
// The access in entry i of the ledger.
Access access_of(const Shadow& shadow, const LedgerColumn& column, std::size_t i, bool writes);

// Whether the PE with the memory knows what others have done in the cell, so that this load or
// store of its own, of these bytes, may go into the ledger. A store, together with others of its
// phase, then takes the place of loads and stores of other PEs.
bool settle(const Shadow& shadow, std::size_t cell, std::uint8_t bytes, bool stores,
            const Clock& known, std::uint32_t phase);

// Adds this PE's access to bytes of the shadow; the answer is one that it races with there.
std::optional<Access> add_access(const Shadow& shadow, std::size_t offset, std::size_t bytes,
                                 Access access, const Clock& known);

// Adds a load or store of the program to a cell that has room, and only accesses that are known.
// False: nothing is added.
bool try_add_access(const Shadow& shadow, std::size_t cell, Words access, const Clock& known);

// The writes of other strands there, which the caller has seen. Those of the ledger have no
// version. False: somebody may have written who is not among them.
bool see_writes(const Shadow& shadow, std::size_t offset, std::size_t bytes, const Worker& me,
                const std::function<void(const Access&)>& use);

}  // namespace meshmem::races

#endif  // MESHMEM_TOOLS_RACES_SHADOW_HPP_
