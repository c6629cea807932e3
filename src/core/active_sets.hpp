// SPDX-License-Identifier: Apache-2.0
//
// Active sets, the PE lists of OpenSHMEM before teams, and which slot of team areas each has. A set
// gets its slot when the first of its PEs asks, and keeps it. The list of the sets that have a slot
// is in shared memory, so that its members agree without a message and PEs outside it take no part.
// Invariant: entries are only ever added, so what one PE has found all find. Nothing else uses the
// slots, so a set's team begins with the first sequence number of this round of the library.
#ifndef MESHMEM_CORE_ACTIVE_SETS_HPP_
#define MESHMEM_CORE_ACTIVE_SETS_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/team_area.hpp"

namespace meshmem {

// PEs start, start + 2^log_stride, ..., `size` of them.
struct ActiveSet {
  int start;
  int log_stride;
  int size;

  bool is_within(int n_pes) const {
    if (start < 0 || size < 1 || size > n_pes || log_stride < 0 || log_stride > 30) return false;
    return start + (static_cast<std::int64_t>(size - 1) << log_stride) < n_pes;
  }
  // True if the PE is in the set, which must be within the job (is_within).
  bool contains(int pe) const {
    const int distance = pe - start;
    return distance >= 0 && (distance & ((1 << log_stride) - 1)) == 0 &&
           distance >> log_stride < size;
  }
  std::vector<int> pes() const;
};

// Returns the name under which a set has its slot. Never 0.
std::uint64_t name_of(const ActiveSet& set);
// The same for any other list of PEs. The name of two PEs or more is a hash that no set has as its
// name.
std::uint64_t name_of(const std::vector<int>& pes);

// The list, in the control segment of PE 0. If all bytes are zero, no set has a slot yet. It is
// never mapped alone, so pages may be larger than its alignment.
struct alignas(4096) ActiveSetList {
  std::atomic<std::uint64_t> names[kActiveSetSlots];

  // Returns the slot of the set, or -1 if it has none and all are taken. A set that has one already
  // costs only some loads.
  int slot_of(const ActiveSet& set) { return slot_of(name_of(set)); }
  int slot_of(std::uint64_t name);
};

// The same for a list in a far PE's memory. enter(place, name) stores the name if the place is
// empty, and returns what was there before. `known` is this PE's own list of the names that it has
// found, so that it asks for each place once.
using EnterName = std::function<std::uint64_t(std::size_t place, std::uint64_t name)>;
int slot_of(std::uint64_t name, ActiveSetList& known, const EnterName& enter);

}  // namespace meshmem

#endif  // MESHMEM_CORE_ACTIVE_SETS_HPP_
