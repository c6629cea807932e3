// SPDX-License-Identifier: Apache-2.0
//
// All waits for memory that another PE (or thread) will change. A wait polls, then lets others run,
// then sleeps in short naps. There is no wake-up call: a plain store of another PE ends a wait, and
// must not pay for finding out whether somebody sleeps.
// Invariant: every wait ends, with a line that names what was waited for, when MESHMEM_TIMEOUT has
// passed.
#ifndef MESHMEM_BASE_WAITING_WAIT_HPP_
#define MESHMEM_BASE_WAITING_WAIT_HPP_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status/own_status.hpp"
#include "base/waiting/relax.hpp"
#include "base/waiting/schedule_fuzzing.hpp"

namespace meshmem {

inline constexpr unsigned kLongestNapUs = 1000;

struct WaitPolicy {
  unsigned polls = 1;  // before the first yield; 1 when PEs outnumber cores
  unsigned longest_nap_us = kLongestNapUs;
  double timeout_seconds = 0;  // 0: wait for ever
  const char* timeout_name = "MESHMEM_TIMEOUT";
};
extern constinit WaitPolicy wait_policy;  // set once by start-up

// The work that has to go on while this thread waits: the transport's, where there is one. Set
// once.
using Progress = void (*)();
extern constinit Progress progress_of_waits;
// Raised by the transport when something has arrived. A PE that waits while things arrive does not
// nap: the PE that sent them most likely waits for an answer.
extern constinit std::atomic<std::uint32_t> arrivals_of_waits;

// How long a wait naps at most where `pes` share `cores`. The naps of all PEs together must leave
// the cores to the PE that works: at start-up each PE waits for the last one's process.
constexpr unsigned longest_nap_us_for(std::size_t pes, std::size_t cores) {
  constexpr std::size_t kPesOfACoreNapOften = 32;
  const std::size_t times = pes / (std::max<std::size_t>(cores, 1) * kPesOfACoreNapOften);
  return kLongestNapUs * static_cast<unsigned>(std::clamp<std::size_t>(times, 1, 100));
}

// Says what makes progress in a wait: the wait, or ready() itself.
enum class ProgressBy { wait, ready };

// Moves this thread to `core`. A wait moves it back there at its end: always after more than 20 ms,
// after less ever more rarely, down to once a second. A thread that wakes up runs on whichever core
// is free. So several PEs could end up on one core, and PEs that only yield to each other stay
// there for long.
void keep_to_core(int core);

// Tells for what a wait waits.
struct Awaited {
  template <std::convertible_to<std::string> Text>
  Awaited(Text&& text_of_wait, std::vector<int> awaited_pes = {})
      : text(std::forward<Text>(text_of_wait)), pes(std::move(awaited_pes)) {}

  std::string text;      // "PE 2 in shmem_barrier_all, ...": for the timeout and for the table
  std::vector<int> pes;  // each has to act before the wait can end, as far as is known
};

// The rest of a wait after the first polls: yields, then naps that grow to a millisecond, or longer
// where very many PEs share a core. After a time it shows to others what it waits for. It also
// makes the transport's progress, where there is one.
class Backoff {
 public:
  explicit Backoff(double timeout_seconds, ProgressBy by = ProgressBy::wait)
      : timeout_seconds_(timeout_seconds), by_(by) {}
  ~Backoff();
  Backoff(const Backoff&) = delete;
  Backoff& operator=(const Backoff&) = delete;
  // True: it is time to say what is waited for, the first time or again, as it may have changed.
  bool pause();
  // Looks for a deadlock, and for where the program has called if a table is going to say it. From
  // then on the text of what is waited for can name variables, too.
  void look_around();
  void say(const Awaited& what);
  // The timeout has passed.
  bool is_late() const { return is_late_; }

 private:
  using Clock = std::chrono::steady_clock;
  void make_progress();
  void look_at(Clock::time_point now);

  double timeout_seconds_;
  const ProgressBy by_;
  unsigned rounds_ = 0;
  static constexpr unsigned kFirstNapUs = 20;
  unsigned nap_us_ = kFirstNapUs;
  // Waits on a core of its own, and takes in what other machines send.
  const bool answers_ = progress_of_waits != nullptr && wait_policy.polls > 1;
  std::uint32_t arrivals_ = arrivals_of_waits.load(std::memory_order_relaxed);
  bool napping_ = false;
  bool is_late_ = false;
  Clock::time_point start_{}, last_look_{};
  Clock::time_point quiet_since_{};  // nothing has arrived since
  Clock::time_point say_at_{};
  std::optional<ShownWait> shown_;
  std::optional<std::string> caller_;  // stays the same while this wait lasts
  std::string deadlock_;
};

[[noreturn, gnu::cold]] void report_deadlock(const std::string& pes);
[[noreturn, gnu::cold]] void report_timeout(double seconds, const Awaited& what);

template <ProgressBy by, typename Ready, typename Describe>
[[gnu::noinline]] void wait_long(const Ready& ready, const Describe& describe) {
  Backoff backoff(wait_policy.timeout_seconds, by);
  while (!ready()) {
    if (!backoff.pause()) continue;
    backoff.look_around();
    backoff.say(describe());
    if (backoff.is_late() && !ready()) report_timeout(wait_policy.timeout_seconds, describe());
  }
}

template <ProgressBy by = ProgressBy::wait, typename Ready, typename Describe>
inline void poll_until_ready(const Ready& ready, const Describe& describe) {
  // The first polls go without a pause: an answer that is under way takes about a cache-line
  // transfer.
  constexpr unsigned kEagerPolls = 64;
  // An answer from another machine is mostly under way: it comes within 24 looks at the network,
  // some 10 us. PEs that share the core mostly wait for it too, and after a yield each would take a
  // turn to find that out.
  constexpr unsigned kLooks = 24;
  if (ready()) return;
  // Data of a transport comes by progress, which wait_long() makes.
  unsigned polls = progress_of_waits ? std::min(wait_policy.polls, kEagerPolls) : wait_policy.polls;
  if constexpr (by == ProgressBy::ready) polls = std::max(polls, kLooks);
  for (unsigned i = 0; i < polls; ++i) {
    if (ready()) return;
    if (i >= kEagerPolls) relax();
  }
  wait_long<by>(ready, describe);
}

// Returns when ready() is true. describe() makes an Awaited, or only its text: routine, team, peer
// or variable. It looks at what it names each time, and is called several times.
template <ProgressBy by = ProgressBy::wait, typename Ready, typename Describe>
inline void wait_until_ready(const Ready& ready, const Describe& describe) {
  poll_until_ready<by>(ready, describe);
  fuzz_schedule();  // meanwhile what was waited for may change again
}

// --- Waits that the program makes itself -----------------------------------------------------

// A program's loop around a routine that looks once lets others run, as the library's own waits do.
// Otherwise two PEs on one core would take turns only by the scheduler's time slices. Other calls
// do not yield: only a failed test counts, or the same value at the same place many times in a row.

// Looks before a yield: a few microseconds. A yield takes as long as some tens of looks.
inline constexpr unsigned kPollsPerYield = 1000;

struct Looks {
  std::uint64_t last = 0;  // what was seen, mixed with where
  unsigned in_vain = 0;
};
// This thread's looks. Found without a call, since the library is loaded with the program.
extern constinit thread_local Looks looks [[gnu::tls_model("initial-exec")]];

[[gnu::cold]] void yield_in_polling_loop();

// Called after a test that has failed. If PEs outnumber the cores, the PE that could change the
// answer must get to run at once.
inline void note_failed_test() {
  if (wait_policy.polls <= 1) return yield_in_polling_loop();
  if (++looks.in_vain >= kPollsPerYield) [[unlikely]]
    yield_in_polling_loop();
}

// Called after a fetch, which does not know which value the program hopes for.
inline void note_fetch(const void* address, std::uint64_t value) {
  const std::uint64_t seen = value ^ reinterpret_cast<std::uintptr_t>(address);
  if (seen != looks.last) {
    looks = {.last = seen, .in_vain = 0};
  } else if (++looks.in_vain >= kPollsPerYield) [[unlikely]] {
    yield_in_polling_loop();
  }
}

}  // namespace meshmem

#endif  // MESHMEM_BASE_WAITING_WAIT_HPP_
