// SPDX-License-Identifier: Apache-2.0
//
// The state of this PE's checker: where symmetric memory is, which calls are under way, and the
// strands' clocks. Also the functions by which a clock learns what other strands have done.
// Invariant: a thread that reads or writes it holds the mutex (Entered), except for reads that are
// said to need none. Only files of the checker use it.
#ifndef MESHMEM_TOOLS_RACES_STATE_HPP_
#define MESHMEM_TOOLS_RACES_STATE_HPP_

#include <pshmem.h>

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
  std::uint64_t context;
};

// A context of the program. number: see kMaxContexts.
struct Context {
  std::uint32_t last_call = 0;  // the last with work for it
  unsigned number = 0;
  shmem_team_t team = SHMEM_TEAM_INVALID;
};

// A word of a PE that a strand has set to a value, and what the strand had learned by then.
struct SetWord {
  int pe = -1;
  std::size_t offset = 0;
  std::uint64_t value = 0;
  unsigned strand = 0;
  std::uint32_t n_learned = 0;
  bool operator==(const SetWord&) const = default;
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
  std::atomic<std::uint32_t> epoch = 0;  // changes whenever call_number or the clock changes
  std::uint32_t n_learned = 0;           // changes whenever it learns what others have done
  std::uint32_t n_told = 0;              // how many of PeBoard::n_told this strand has learned from
  // How many threads work on this strand, and its epoch when the last of them left. `left` is 0
  // once all strands know what this one has done.
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
  unsigned n_strands = 1;  // how many strands have ever been used
  std::atomic<std::uint32_t> last_call = 0;
  std::uint32_t last_epoch = 0;
  std::map<std::uint64_t, std::uint32_t> collectives;  // of each team: how many there were
  std::map<std::uint64_t, Context> contexts;           // by handle
  unsigned n_contexts = 1;                             // how many numbers have ever been used
  unsigned context = 0;                  // the number of the one of the call under way
  std::array<SetWord, 256> set_words{};  // the last ones, each at its hash
  std::vector<Fetch> fetches;            // under way, until quiet

  Clock clock_of(const Strand& strand) const { return Clock(strand.numbers, job.n_pes); }
};
extern Checker& checker;  // lives for ever: a thread may still answer while the process ends

// The strand of this thread.
extern constinit thread_local unsigned current_strand;
inline Strand& self() { return checker.strands[current_strand]; }
inline Worker me() { return {checker.job.pe, current_strand}; }
inline Clock my_clock() { return checker.clock_of(self()); }

// While this is 0, only one strand of the PE works, and it knows what the others have done.
inline constinit std::atomic<int> n_parallel{0};
inline bool is_parallel() { return n_parallel.load(std::memory_order_relaxed) > 0; }

// True while the program has done volatile loads whose values the checker has not yet seen
// (program). Until then it looks at each access.
inline constinit std::atomic<bool> has_watches{false};

// True if the address is on the part of this thread's stack that only its present work uses: below
// begin_of_frame.
extern constinit thread_local std::uint64_t begin_of_frame;
bool is_private_here(std::uint64_t address);

// Lives while a thread is in the checker, and holds its mutex. If this is the ledger thread, the
// ledger is closed meanwhile.
class Entered {
 public:
  Entered();
  ~Entered();
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
};
// Called at the begin() and the end() of a call.
void enter_routine();
void leave_routine();
// True if a signal handler has interrupted this thread where it must not enter the checker. That is
// in the checker, while it holds a lock of the board, or in a routine of the library. Such a
// routine may hold the lock of the network, by which the checker asks PEs of other nodes.
bool must_stay_out();

std::optional<Range> symmetric(std::uint64_t address, std::size_t bytes);
std::string name_of(const Range& range);  // "heap+0x40", or "table + 0xc" of a static variable

// Each call of a PE gets a number. A strand's clock says up to which number it knows the calls of
// each strand of each PE to be done, in each order (board.hpp). The clock is published in versions.
// A write carries the version that its strand had. A PE that sees the write by a wait, a fetch
// or a small get takes that version over.
void take_call_number();
void renew_epoch(Strand& strand);
void publish();  // the version that others may take over from now on
// The strand learns that work of this PE for a context is done: calls up to last_call that it knows
// of, in all orders up to `last`. The other function is for all contexts.
void complete_context(unsigned context, Order last, std::uint32_t last_call);
void complete(Order last, std::uint32_t last_call);
// Returns the context's number. A new context gets one if one is left, and keeps it.
unsigned number_of_context(std::uint64_t handle);

// Sets the number at this place of the strand's clock, if it is larger than the one there.
void raise(std::size_t place, std::uint32_t call_number);
// The same for a number from another strand's clock.
void learn_number(std::size_t place, std::uint32_t number);
void learn(std::span<const int> pes, const Moment& moment);  // what they knew then
void learn_from_all();  // what they know now: any PE may have written a value that was seen

// This PE has seen the values in the range. It learns from all their writers that the shadow knows.
// `writer` says whether others may have written, too:
enum class Unknown {
  nobody,      // nobody, unless a PE writes in ways that the checker does not see
  anybody,     // somebody has written, perhaps a PE that the shadow does not know
  nobody_else  // nobody in any case
};
void see(int pe, const Range& range, Unknown writer);

// For programs that may wait by loads of their own (races-polled): this PE learns from all writes
// that it was told of, since it may have seen them.
void learn_what_was_told();

}  // namespace meshmem::races

#endif  // MESHMEM_TOOLS_RACES_STATE_HPP_
