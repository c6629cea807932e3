// SPDX-License-Identifier: Apache-2.0
//
// Adds accesses to the cells of a PE's shadow, and finds those that race, there or in the ledger.
// Invariant: if a cell forgets a write, it becomes crowded. A strand that sees a value in a crowded
// cell then counts as having seen all PEs' writes. So forgetting may hide a race, but never invents
// one. Functions take the locks of the cells that they use. Called by parts, phases and program.
#ifndef MESHMEM_TOOLS_RACES_SHADOW_HPP_
#define MESHMEM_TOOLS_RACES_SHADOW_HPP_

#include <functional>
#include <optional>
#include <span>

#include "tools/races/board.hpp"

namespace meshmem::races {

inline constexpr std::size_t kEntry = LedgerColumn::kBytes;  // of the ledger

inline bool is_atomic(const Access& access) {
  const auto manner = static_cast<Manner>(access.manner);
  return manner == Manner::atomic || manner == Manner::repeat;
}

// A strand has the row of its default context.
inline std::size_t place_in_clock(std::size_t n_pes, int pe, unsigned row, Order order) {
  return (row * n_pes + static_cast<std::size_t>(pe)) * kOrders + static_cast<std::size_t>(order);
}
inline std::size_t place_in_clock(std::size_t n_pes, const Worker& worker, Order order) {
  return place_in_clock(n_pes, worker.pe, worker.strand, order);
}

// A strand's vector clock: for each order of each row, the number of the last call that it knows to
// be done. In its own rows, `put` and `signaled` say what a fence has ordered, `pending` what a
// quiet has completed, and `program` what others are known to have seen. A row beyond the end of
// the numbers has nothing that is known to be done.
class Clock {
 public:
  Clock(std::span<const std::uint32_t> numbers, int n_pes)
      : numbers_(numbers), n_pes_(static_cast<std::size_t>(n_pes)) {}

  std::uint32_t of(const Worker& worker, Order order) const {
    return at(place_in_clock(n_pes_, worker, order));
  }
  // The number in the row of the access.
  std::uint32_t beside(const Access& access, Order order) const {
    return at(place_in_clock(n_pes_, access.pe, access.row, order));
  }
  bool knows(const Worker& me, const Access& access) const {
    const Order order = access.how();
    const Worker who = access.who();
    const bool brings = order == Order::pending && access.writes;
    if (who != me)
      return access.call_number <= beside(access, order) ||
             (who.pe == me.pe && order == Order::pending && !brings &&
              access.call_number <= beside(access, Order::signaled));
    if (order == Order::program || access.call_number <= beside(access, Order::pending))
      return true;
    return !brings && access.call_number <= beside(access, Order::program);
  }
  // True if `now` is known to come after `before`. A fence orders puts and atomics of a strand. A
  // line of code that writes the same bytes again and again does not race with itself.
  bool orders(const Access& before, const Access& now) const {
    const Worker me = now.who();
    if (knows(me, before)) return true;
    if (before.who() != me || (!now.writes && !is_atomic(now))) return false;
    if (before.how() == Order::pending)
      return is_atomic(before) && before.call_number <= beside(before, Order::put);
    return before.site == now.site || before.call_number <= beside(before, before.how());
  }

 private:
  std::uint32_t at(std::size_t place) const {
    return place < numbers_.size() ? numbers_[place] : 0;
  }

  std::span<const std::uint32_t> numbers_;
  std::size_t n_pes_;
};

// True if the access may race with one in the ledger of the PE that has the memory. The ledger
// thread's own calls do not, nor do that PE's own loads and stores, which ThreadSanitizer checks.
inline bool may_meet_ledger(const Shadow& shadow, const Access& access) {
  const bool is_own = access.pe == shadow.pe && (access.is_program || access.who().strand == 0);
  return !is_own && static_cast<Manner>(access.manner) != Manner::sync;
}
// Returns an access in the ledger that races with this one.
std::optional<Access> find_in_ledger(const Shadow& shadow, const Range& range, const Access& access,
                                     const Clock& known);
// Takes accesses of this phase, or of a later one, out of the ledger if the writer knows them and
// covers them wholly. The write stands for them. The ledger thread looks at the cell again when it
// repeats one of them.
void take_from_ledger(const Shadow& shadow, const Range& range, const Clock& known,
                      std::uint32_t phase);
// Returns the access in entry i of the ledger.
Access access_of(const Shadow& shadow, const LedgerColumn& column, std::size_t i, bool writes);

// True if the PE with the memory knows all accesses in the cell that its own load or store of these
// bytes may race with. Then this may go into the ledger. A store, together with others of its
// phase, replaces loads and stores of other PEs in the cell.
bool settle(const Shadow& shadow, std::size_t cell, std::uint8_t bytes, bool stores,
            const Clock& known, std::uint32_t phase);

// Adds this PE's access to bytes of the shadow. Returns an access there that it races with.
std::optional<Access> add_access(const Shadow& shadow, std::size_t offset, std::size_t bytes,
                                 Access access, const Clock& known);

// Adds a load or store of the program to a cell, if it has room and all accesses there are known.
// False: nothing is added.
bool try_add_access(const Shadow& shadow, std::size_t cell, Words access, const Clock& known);

// Calls use() for the writes of other strands there, whose values the caller has seen. Of a
// strand's writes of one value, that is the oldest that nobody has seen. Writes of the ledger have
// no version. False: there may have been writes by others, too.
bool see_writes(const Shadow& shadow, std::size_t offset, std::size_t bytes, const Worker& me,
                const std::function<void(const Access&)>& use);

}  // namespace meshmem::races

#endif  // MESHMEM_TOOLS_RACES_SHADOW_HPP_
