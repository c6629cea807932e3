// SPDX-License-Identifier: Apache-2.0
//
// Adds a call's reads and writes to the shadow, and reports the races that it finds there.
// Invariant: memory that is not symmetric is left out, except for buffers of calls under way. The
// caller holds the checker's mutex.
#ifndef MESHMEM_TOOLS_RACES_ACCESSES_HPP_
#define MESHMEM_TOOLS_RACES_ACCESSES_HPP_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tools/races/call.hpp"
#include "tools/races/report.hpp"
#include "tools/races/state.hpp"

namespace meshmem::races {

struct What {
  bool writes;
  Order order = Order::program;
  Manner manner = Manner::plain;
  unsigned type = 0, domain = 0;                      // of an atomic; 0: of any
  std::optional<std::uint64_t> value = std::nullopt;  // to which it sets the word, if it does
  bool may_fail = false;                              // see end_swap()
};

// Reports a race of two accesses to these bytes of a PE, unless it was reported before.
void tell_race(const Range& range, int pe, const Access& here, const Access& before);
void add_to_shadow(const Place& place, int pe, const Range& range, What what);
// Notes an access to memory of this PE that is not symmetric.
void access_own(const Place& place, std::uint64_t address, std::size_t bytes, const What& what);
// Notes an access to memory of `pe`, at the address where this PE has its own.
void access(const Call& call, int pe, std::uint64_t address, std::size_t bytes, const What& what);
// Notes accesses to blocks of elements, or to elements that are apart.
void access_elements(const Call& call, int pe, std::uint64_t address, std::int64_t stride,
                     const What& what);
// Called at the end of a call with may_fail. If it has stored, reports its race. Otherwise it has
// only loaded, so its store races with nothing from now on. Others still learn from the store,
// since it may stand for others that it has replaced.
void end_swap(const Call& call, const What& what, bool has_stored);
void see_symmetric(int pe, std::uint64_t address, std::size_t bytes, Unknown writer);

}  // namespace meshmem::races

#endif  // MESHMEM_TOOLS_RACES_ACCESSES_HPP_
