// SPDX-License-Identifier: Apache-2.0
//
// Numbers and names the places of the program that make accesses, and writes the reports of races.
// Invariant: a pair of call sites is reported once in a job. Called by checker.
#ifndef MESHMEM_TOOLS_RACES_REPORT_HPP_
#define MESHMEM_TOOLS_RACES_REPORT_HPP_

#include <cstdint>
#include <string>

#include "base/hooks/access_hooks.hpp"
#include "tools/races/boards.hpp"

namespace meshmem::races {

// Where in the program an access happens: the address to which the call returns, and the number of
// its routine.
struct Place {
  const void* caller;
  std::uint32_t routine;
};
// The number by which the program's own accesses of this kind stand in place of a routine's.
std::uint32_t number_of(AccessKind kind);
// Names a caller that is no address of code, for good.
void name_caller(const void* caller, const char* name);

// The number of the place in this PE's table; 0 where there is no room.
std::uint32_t site_of(PeBoard& mine, const TraceJob& job, const Place& place);

struct Race {
  std::string place;  // "8 bytes at heap+0x40 of PE 1"
  Access here, before;
  bool has_returned;  // this PE knows that the call of `before` has returned
};
// "" if it was reported before.
std::string text_of(const Boards& boards, const Race& race);

// "1 race, found 100 times"; "" if there was none.
std::string text_of_count(const Head& head);

void forget_sites();

}  // namespace meshmem::races

#endif  // MESHMEM_TOOLS_RACES_REPORT_HPP_
