// SPDX-License-Identifier: Apache-2.0
//
// The state of this PE: where symmetric memory is, which calls are under way, and its clock, with
// what makes the clock learn.
// Invariant: all of it is behind the mutex, which begin and end of a call hold, but for reads that
// are said to need none. Read and written by the files of the checker alone.
#ifndef MESHMEM_TOOLS_RACES_STATE_HPP_
#define MESHMEM_TOOLS_RACES_STATE_HPP_

#include <array>
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

struct Strand {
  // The clock. Its memory stays where it is: loads and stores of the program read it without the
  // mutex.
  std::vector<std::uint32_t> numbers;
  std::uint32_t call_number = 0, version = 0;
  bool is_published = false;
  bool is_between_calls = false;  // call_number is that of the program's own accesses
  // The numbers of its next load or store (Words); 0 where that takes another number or version.
  // Read without the mutex.
  std::atomic<std::uint64_t> next_access = 0;
  std::atomic<std::uint32_t> epoch = 0;  // another one with each change of that number or the clock
  std::uint32_t n_told = 0;              // of what this PE was told
  // The threads that work on it, and the epoch when the last of them left it. That is 0 once all
  // strands know what it has done.
  unsigned users = 0;
  std::uint32_t left = 0;
};

struct Checker {
  std::mutex mutex;  // held by Entered
  TraceJob job;
  Boards boards;
  bool is_open = false;
  bool sees_program = false;  // the loads and stores of this PE
  std::array<Strand, kMaxStrands> strands;
  unsigned n_strands = 1;  // that have ever been used
  std::atomic<std::uint32_t> last_call = 0;
  std::uint32_t last_epoch = 0;
  std::map<std::uint64_t, std::uint32_t> collectives;  // of each team
  std::map<std::uint64_t, std::uint32_t> last_calls;   // of each context: that gave it work
  std::vector<Fetch> fetches;                          // under way, until quiet

  Clock clock_of(const Strand& strand) const { return Clock(strand.numbers, job.n_pes); }
};
extern Checker& checker;  // lives for ever: a thread may still answer while the process ends

// The strand of this thread.
extern constinit thread_local unsigned current_strand;
inline Strand& self() { return checker.strands[current_strand]; }
inline Worker me() { return {checker.job.pe, current_strand}; }
inline Clock my_clock() { return checker.clock_of(self()); }

// While it is 0, the PE's strands are ordered: one works, and knows what the others have done.
inline constinit std::atomic<int> n_parallel{0};
inline bool is_parallel() { return n_parallel.load(std::memory_order_relaxed) > 0; }

// Volatile loads of the program have yet to be seen (program). Until then each access looks.
inline constinit std::atomic<bool> has_watches{false};

// Whether the address is of the stack that this thread has used since it began its work, at this
// frame.
extern constinit thread_local std::uint64_t begin_of_frame;
bool is_private_here(std::uint64_t address);

// A thread that is in the checker. The ledger is closed meanwhile, if the thread writes it.
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

// Each call of a PE gets a number. A strand's clock says up to which number it knows the calls of
// each strand of each PE to be done, in each order (board.hpp). The clock is published in versions:
// a write carries the version that its strand had, and whoever sees the write by a wait, a fetch or
// a small get takes that version over.
void take_call_number();
void renew_epoch(Strand& strand);
void publish();  // the version that others may take over from now on
// The calls of this PE up to one that this strand knows of, in all orders up to that one.
void complete(Order last, std::uint32_t last_call);

// This strand knows of it from now on. place: in its clock.
void raise(std::size_t place, std::uint32_t call_number);
// The clock of another has this number there.
void learn_number(std::size_t place, std::uint32_t number);
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
