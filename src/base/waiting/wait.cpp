// SPDX-License-Identifier: Apache-2.0
//
// The slow part of waiting. Called once a wait has polled without success.
#include "base/waiting/wait.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/code_place.hpp"
#include "base/error.hpp"
#include "base/machine/machine.hpp"

namespace meshmem {

constinit WaitPolicy wait_policy;
constinit Progress progress_of_waits = nullptr;
constinit std::atomic<std::uint32_t> arrivals_of_waits{0};

namespace {
// A wait first yields, which answers fastest if the event comes within the time of a collective. A
// longer wait naps, which leaves the core to threads that compute. Besides, the scheduler runs a
// thread that wakes up before programs that never sleep. A thread that yields waits for a time
// slice of each.
constexpr auto kYielding = std::chrono::milliseconds(1);
constexpr unsigned kRoundsPerClock = 4;
// A PE that waits on a core of its own also answers other machines, at once as long as it does not
// nap. A thread that has to wake up first takes 20 us longer.
constexpr auto kAnswering = std::chrono::milliseconds(100);
// A yield takes as long as a look at the network, and mostly finds no other thread on that core.
constexpr unsigned kRoundsPerYield = 4;
// Where PEs share cores, each look at the network delays the PE that is waited for. So until
// something arrives, a wait looks only at every fourth yield.
constexpr unsigned kYieldsPerProgress = 4;

// For PEs with cores of their own that also answer other machines. If rounds take this long and
// nothing arrives, another program computes on the core. The scheduler prefers a thread that naps
// to that program. So for some time waits nap at once, and shortly. PEs that share cores yield to
// each other, which is faster than naps.
constexpr auto kComputing = std::chrono::milliseconds(1);
constexpr auto kStaysBusy = std::chrono::milliseconds(20);
constexpr unsigned kShortNapUs = 100;
thread_local std::chrono::steady_clock::time_point cores_are_busy_until{};

// A wait says again what it waits for, since that may change. Only where a table is made, it also
// looks up where the program has called: that takes a tenth of a second of processor time.
constexpr auto kSayAgain = std::chrono::milliseconds(100);
constexpr auto kMayBeDeadlock = std::chrono::seconds(1);

// The core of keep_to_core(). After a short wait a thread goes back to it: PEs that yield to each
// other on one core would stay there. It does so ever more rarely, down to once a second: if
// another program has the thread's core, the scheduler knows better. After a long wait it always
// goes back: while one PE computed, the scheduler moved the others off the core of that PE.
constexpr auto kReturning = std::chrono::seconds(1);
constexpr auto kLongWait = std::chrono::milliseconds(20);
struct Core {
  int number;
  std::chrono::steady_clock::time_point due{};
  std::chrono::milliseconds interval{1};
};
thread_local std::optional<Core> own_core;
}  // namespace

void keep_to_core(int core) {
  own_core = Core{.number = core};
  go_to_core(core);
}

Backoff::~Backoff() {
  if (!own_core || sched_getcpu() == own_core->number) return;
  const auto now = Clock::now();
  const bool was_long = napping_ && now - start_ > kLongWait;
  if (!was_long && now < own_core->due) return;
  go_to_core(own_core->number);
  own_core->due = now + own_core->interval;
  if (own_core->interval < kReturning) own_core->interval *= 2;
}

void Backoff::make_progress() {
  if (by_ == ProgressBy::ready || !progress_of_waits) return;
  const bool may_skip = !answers_ && !napping_ && quiet_since_ == start_;
  if (may_skip && rounds_ % kYieldsPerProgress != 0) return;
  progress_of_waits();
}

// Decides whether the wait naps from now on.
void Backoff::look_at(Clock::time_point now) {
  if (start_ == Clock::time_point{}) start_ = quiet_since_ = last_look_ = now;
  const std::uint32_t arrivals = arrivals_of_waits.load(std::memory_order_relaxed);
  const bool has_news = std::exchange(arrivals_, arrivals) != arrivals;  // arrivals take time
  if (has_news) {
    quiet_since_ = now;
    nap_us_ = kFirstNapUs;
  }
  if (answers_ && !napping_ && !has_news && now - last_look_ > kComputing)
    cores_are_busy_until = now + kStaysBusy;
  last_look_ = now;
  napping_ = now - quiet_since_ > (answers_ ? kAnswering : kYielding) || now < cores_are_busy_until;
}

bool Backoff::pause() {
  ++rounds_;
  make_progress();
  if (napping_) {
    const timespec nap{0, static_cast<long>(nap_us_) * 1000};
    nanosleep(&nap, nullptr);
    const bool is_short = Clock::now() < cores_are_busy_until;
    nap_us_ = std::min(nap_us_ * 2, is_short ? kShortNapUs : wait_policy.longest_nap_us);
  } else {
    if (!answers_ || rounds_ % kRoundsPerYield == 0) yield_core();
    if (rounds_ % kRoundsPerClock != 1) return false;
  }
  const auto now = Clock::now();
  look_at(now);
  is_late_ = timeout_seconds_ > 0 &&
             std::chrono::duration<double>(now - start_).count() > timeout_seconds_;
  const bool is_long = now - start_ > (answers_ ? kAnswering : kYielding);
  return is_late_ || (is_long && now >= say_at_);
}

void Backoff::look_around() {
  const std::chrono::nanoseconds since = start_.time_since_epoch();
  if (!shown_) shown_.emplace(static_cast<std::uint64_t>(since.count()));
  note_whether_alone();
  if (Clock::now() - start_ > kMayBeDeadlock) deadlock_ = text_of_deadlock();
  if (!caller_ && (is_late_ || !deadlock_.empty() || shown_->should_name_caller())) {
    shown_->begin_look_up();
    caller_ = program_call_text();
  }
}

void Backoff::say(const Awaited& what) {
  shown_->say("waits for " + what.text, caller_.value_or(""), what.pes);
  if (!deadlock_.empty()) report_deadlock(deadlock_);
  say_at_ = Clock::now() + kSayAgain;
}

constinit thread_local Looks looks;

void yield_in_polling_loop() {
  looks.in_vain = 0;
  if (progress_of_waits) progress_of_waits();
  yield_core();
}

void report_deadlock(const std::string& pes) {
  print_line(fmt::format(
      "a deadlock: {} (MESHMEM_CHECK=1 finds calls that differ; MESHMEM_TIMEOUT=0 lets them wait)",
      pes));
  print_status_table();
  end_job_on_error();
}

void report_timeout(double seconds, const Awaited& what) {
  print_line_with_place(fmt::format("waited {:g} s for {}; the limit is {}", seconds, what.text,
                                    wait_policy.timeout_name));
  print_status_table();
  end_job_on_error();
}

}  // namespace meshmem
