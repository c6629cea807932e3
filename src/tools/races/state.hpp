// SPDX-License-Identifier: Apache-2.0
//
// The state of this PE: where symmetric memory is, which calls are under way, and its clock, with
// what makes the clock learn.
// Invariant: all of it is behind the mutex, which begin and end of a call hold. Read and written by
// the files of the checker alone.
#ifndef MESHMEM_TOOLS_RACES_STATE_HPP_
#define MESHMEM_TOOLS_RACES_STATE_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/races/boards.hpp"

namespace meshmem::races {

struct Fetch {
  int pe;
  Range range;
};

struct Checker {
  std::mutex mutex;  // held by Entered
  TraceJob job;
  Boards boards;
  bool is_open = false;
  bool sees_program = false;  // the loads and stores of this PE
  std::vector<std::uint32_t> numbers;
  std::uint32_t call_number = 0, version = 0;
  bool is_published = false;
  bool is_between_calls = false;         // call_number is that of the program's own accesses
  std::atomic<std::uint32_t> epoch = 0;  // another one with each change of that number or the clock
  std::map<std::uint64_t, std::uint32_t> collectives;  // of each team
  std::map<std::uint64_t, std::uint32_t> last_calls;   // of each context: that gave it work
  std::vector<Fetch> fetches;                          // under way, until quiet
  std::uint32_t n_told = 0;                            // of what this PE was told

  Clock clock() { return Clock(numbers); }
};
extern Checker& checker;  // lives for ever: a thread may still answer while the process ends

// A thread that is in the checker.
class Entered {
 public:
  Entered();
  ~Entered();
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
};
// A thread that is between begin() and end() of a call.
void enter_routine();
void leave_routine();
// Whether a handler of signals has interrupted this thread where it must not enter the checker: in
// it, in a part of the board, or in a routine that may have the lock of the network, by which PEs
// of other nodes are asked.
bool must_stay_out();

std::optional<Range> symmetric(std::uint64_t address, std::size_t bytes);
std::string name_of(const Range& range);  // "heap+0x40"

// Each call gets a number. A PE's clock says up to which number of each other PE it
// knows the calls to be done, in each order (board.hpp). The clock is published in versions: a
// write carries the version that its PE had, and whoever sees the write by a wait, a fetch or a
// small get takes that version over.
void take_call_number();
void publish();  // the version that others may take over from now on
// The calls of this PE up to one, in all orders up to that one.
void complete(Order last, std::uint32_t last_call);

void raise(std::uint32_t& known, std::uint32_t call_number);
void learn(std::span<const int> pes, const Moment& moment);  // what they knew then
void learn_from_all();  // of PEs that may have told us something, nobody knows when

// This PE has seen what is in the range. Writers that the shadow may not know:
enum class Unknown {
  nobody,      // but whoever writes in ways that are not seen, if there is such
  anybody,     // something was written
  nobody_else  // in no case
};
void see(int pe, const Range& range, Unknown writer);

// In jobs whose program may wait by loads of its own: this PE may have seen all that it was told.
void learn_what_was_told();

}  // namespace meshmem::races

#endif  // MESHMEM_TOOLS_RACES_STATE_HPP_
