// SPDX-License-Identifier: Apache-2.0
//
// Looks at what PEs wait for: at those of this machine on the board, at others by questions. A
// *round* ends when all PEs in question have been seen once.
// Invariant: one thread looks at a time, and no look waits. A circle that stays the same for three
// rounds is a deadlock.
#include <pthread.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/status/far_waits.hpp"
#include "base/status/own_place.hpp"
#include "base/status/own_status.hpp"
#include "base/status/status_table.hpp"

namespace meshmem {
namespace {

using Pes = std::vector<int>;

// ---- The PEs of this machine

std::atomic<nlink_t> links_when_alone = 0;      // 0: not known
std::atomic<bool> may_have_helpers = false;     // for ever, see set_acts_alone()
std::atomic<std::uint64_t> all_arrived_in = 0;  // the wait, see has_all_arrived()
int my_number = 0;
// Each PE's place on the board, or -1 if it is on another machine. Never freed.
std::atomic<const Pes*> places = nullptr;

// The links of /proc/self/task: one for each thread, and the two that each folder has. 0 if
// unknown.
nlink_t count_task_links() {
  struct stat about {};
  const bool is_counted = stat("/proc/self/task", &about) == 0 && about.st_nlink > 2;
  return is_counted ? about.st_nlink : 0;
}

bool acts_alone() {
  return !may_have_helpers && links_when_alone != 0 && count_task_links() == links_when_alone;
}

bool is_near(int pe) {
  return far_pes == nullptr || far_pes->node_of(pe) == far_pes->node_of(my_number);
}

const PeStatus* find_near(int pe) {
  const Pes* const known = places.load(std::memory_order_acquire);
  if (known == nullptr || pe < 0 || pe >= static_cast<int>(known->size())) return nullptr;
  const int place = (*known)[static_cast<std::size_t>(pe)];
  return place < 0 ? nullptr : &own_board().pe(place);
}

bool contains(const OnlyWait& wait, int pe) {
  const auto word = static_cast<std::size_t>(pe) / 64;
  return word < wait.awaited.size() && (wait.awaited[word] >> (pe % 64) & 1) != 0;
}

Pes pes_awaited_by(const OnlyWait& wait) {
  Pes pes;
  for (int pe = 0; pe < SharedPeSet::kPes; ++pe)
    if (contains(wait, pe)) pes.push_back(pe);
  return pes;
}

// The PE's wait without the PEs for which it waits. It counts even if the PE does not act alone.
OnlyWait row_of_only_wait(const PeStatus& pe) {
  OnlyWait wait;
  WaitSeen seen;
  if (pe.phase != PePhase::running) return {};
  for (int i = 0; i < kRowsOfPe; ++i) {
    const WaitRow& row = pe.rows[static_cast<std::size_t>(i)];
    if (row.since_ns.load(std::memory_order_relaxed) == 0) continue;  // saves reading its texts
    const std::uint32_t version = row.version.load(std::memory_order_acquire);
    if (!read_row(row, seen)) continue;
    if (wait.since_ns != 0 || i >= kRowsOfPe - kRowsOfKernels) return {};
    wait.since_ns = seen.since_ns;
    wait.version = version;
    seen.what.copy(wait.what.data(), wait.what.size() - 1);
  }
  return wait;
}

// Reads the row once more at the end: if the wait is still the same, is_alone and the PEs were
// written in this wait and not in one before.
OnlyWait only_wait_of(const PeStatus& pe) {
  OnlyWait wait = row_of_only_wait(pe);
  if (wait.since_ns == 0 || !pe.is_alone) return {};
  for (const int other : pe.awaited.load())
    wait.awaited[static_cast<std::size_t>(other) / 64] |= std::uint64_t{1} << (other % 64);
  return row_of_only_wait(pe).since_ns == wait.since_ns ? wait : OnlyWait{};
}

// True for the first caller of the job that asks: it tells, and the others wait for the end.
bool is_first_to_tell() {
  return !own_board().job().has_told_deadlock.exchange(true, std::memory_order_relaxed);
}

// ---- Looking

struct Look {
  Pes pes;
  std::vector<OnlyWait> waits;  // one for each of them
  bool is_circle = false;       // each waits for the one before it; else these are all PEs
};

class Looker {
 public:
  std::mutex mutex;
  // True if all that this PE had sent when it began this wait has taken effect.
  bool has_all_arrived(std::uint64_t since_ns);
  std::string look(std::uint64_t since_ns);

 private:
  Pes awaited_by(int pe);
  Pes circle_from(int first);
  bool see(const Pes& pes, Look& look);
  bool has_suspects(Look& now);
  bool is_certain(const Look& now);
  std::string tell_if_allowed();

  std::uint64_t since_ns_ = 0;  // of this PE's wait
  FarWaits far_;
  Pes wanted_;                // of other machines, not known in this round
  std::vector<Look> rounds_;  // the first two that agree
  std::uint64_t next_round_ns_ = 0;
  std::string text_;  // to tell
  std::atomic<std::size_t> unanswered_ = 0;
  std::uint64_t asked_in_ = 0;  // the wait
};

// A process executes what one PE has sent it in the order in which it was sent. So a question in
// this wait, once it is answered, shows that messages from before have arrived. The device may
// still have to execute operations, which has_completed_all() tells. While it waits, the PE sends
// only such questions, answers and acknowledgements. In a wait for a lock it may fetch words, too.
bool Looker::has_all_arrived(std::uint64_t since_ns) {
  if (all_arrived_in == since_ns) return true;
  if (unanswered_.load(std::memory_order_acquire) != 0) return false;
  if (asked_in_ == since_ns && far_pes->has_completed_all()) all_arrived_in = since_ns;
  if (asked_in_ != since_ns && far_pes->ask_all_processes(&unanswered_)) asked_in_ = since_ns;
  return false;  // the next look writes it to the board
}

Pes Looker::awaited_by(int pe) {
  if (const PeStatus* const near = find_near(pe))
    return near->is_alone ? near->awaited.load() : Pes();
  if (const OnlyWait* const wait = far_.find(pe)) return pes_awaited_by(*wait);
  wanted_.push_back(pe);
  return {};
}

// Returns the PEs of a shortest circle in which `first` has the lowest number; empty if there is
// none, or if PEs are wanted. Each PE of the list waits for the PE before it. The first of the list
// waits for the last, which is `first`.
Pes Looker::circle_from(int first) {
  wanted_.clear();
  const auto n_pes = static_cast<int>(places.load(std::memory_order_acquire)->size());
  std::vector<int> waits_for(static_cast<std::size_t>(n_pes), -1);  // who leads to a PE
  Pes reached{first};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (const int next : awaited_by(reached[i])) {
      if (next == first) {
        Pes circle{reached[i]};
        while (circle.back() != first)
          circle.push_back(waits_for[static_cast<std::size_t>(circle.back())]);
        wanted_.clear();
        return circle;
      }
      if (next < first || next >= n_pes) continue;
      int& leads_here = waits_for[static_cast<std::size_t>(next)];
      if (std::exchange(leads_here, leads_here < 0 ? reached[i] : leads_here) < 0)
        reached.push_back(next);
    }
  }
  return {};
}

// False: one of the PEs does not wait, or is wanted.
bool Looker::see(const Pes& pes, Look& look) {
  look.pes = pes;
  for (const int pe : pes) {
    const PeStatus* const near = find_near(pe);
    const OnlyWait* const known = near ? nullptr : far_.find(pe);
    if (!near && !known) {
      wanted_.push_back(pe);
      continue;
    }
    look.waits.push_back(near ? only_wait_of(*near) : *known);
    if (look.waits.back().since_ns == 0) return wanted_.clear(), false;
  }
  return wanted_.empty();
}

// Returns whether each PE waits for the one before it, as circle_from() has it.
bool is_circle(const Look& look) {
  int before = look.pes.back();
  for (std::size_t i = 0; i < look.pes.size(); before = look.pes[i++])
    if (!contains(look.waits[i], before)) return false;
  return true;
}

bool are_same_waits(const Look& one, const Look& other) {
  const auto is_same = [](const OnlyWait& a, const OnlyWait& b) {
    return a.since_ns == b.since_ns;
  };
  return one.pes == other.pes && std::equal(one.waits.begin(), one.waits.end(), other.waits.begin(),
                                            other.waits.end(), is_same);
}

Pes all_pes() {
  Pes pes(places.load(std::memory_order_acquire)->size());
  std::iota(pes.begin(), pes.end(), 0);
  return pes;
}

// Sees the PEs that are in a deadlock unless one of their waits is about to end. False: there are
// none, or PEs are wanted. PE 0 tells that all PEs wait, but only if there is no circle.
bool Looker::has_suspects(Look& now) {
  const Pes circle = circle_from(my_number);
  now.is_circle = !circle.empty();
  if (now.is_circle) return see(circle, now) && is_circle(now);
  if (!wanted_.empty() || my_number != 0 || !see(all_pes(), now)) return false;
  return std::none_of(now.pes.begin(), now.pes.end(),
                      [&](int pe) { return !circle_from(pe).empty(); });
}

// True if no suspect can ever go on.
//
// No PE acts while it waits: only the thread that waits acts for it, and all that it has sent has
// taken effect. A PE in a wait says which PEs have to act, after it has looked at the memory where
// they would. Such an entry can be out of date: the awaited PE has acted, and then began a wait of
// its own, while the PE that waits has not run since. So entries count only if each PE has looked
// and written them again since all waits had begun. The end of the first round is a moment at
// which all these waits are under way, as the second round finds them all again. (In the first a
// version may be of the wait before, which had the same row.) A wait writes to the board after it
// has polled. So a PE whose row has been written twice between the second round and the third has
// polled in between. If an awaited PE had acted before its wait, this poll would have found it, and
// it cannot act before this wait of its own ends. So the first wait to end would need another to
// end before. A PE that computes, or that is late, has no entries.
bool Looker::is_certain(const Look& now) {
  constexpr std::uint32_t kSaidTwice = 4;
  if (rounds_.empty() || !are_same_waits(rounds_.back(), now)) rounds_.clear();
  if (rounds_.size() < 2) {
    rounds_.push_back(now);
    return false;
  }
  return std::equal(rounds_.back().waits.begin(), rounds_.back().waits.end(), now.waits.begin(),
                    [](const OnlyWait& one, const OnlyWait& other) {
                      return other.version - one.version >= kSaidTwice;
                    });
}

// The table that follows has no rows of other machines, so this text has the first of them.
std::string text_of(const Look& look) {
  constexpr std::size_t kMostFar = 4;
  Pes pes = look.pes;
  std::sort(pes.begin(), pes.end());
  std::map<int, std::string> far;
  for (std::size_t i = 0; i < look.pes.size(); ++i)
    if (!is_near(look.pes[i])) far[look.pes[i]] = plain_text(look.waits[i].what);
  std::string text = look.is_circle
                         ? fmt::format("PEs {} wait for each other in a circle", pe_list(pes))
                         : "every PE waits, and no PE is left that could end a wait";
  std::size_t n = 0;
  for (const auto& [pe, what] : far)
    if (n++ < kMostFar) text += fmt::format("; PE {} {}", pe, what);
  return text;
}

std::string Looker::look(std::uint64_t since_ns) {
  constexpr std::uint64_t kShortestPauseNs = 1'000'000'000, kLongestPauseNs = 5'000'000'000;
  if (far_.is_asking()) return "";
  far_.take_answers();
  const std::uint64_t now_ns = monotonic_ns();
  if (std::exchange(since_ns_, since_ns) != since_ns) {
    rounds_.clear();
    far_.clear();
    next_round_ns_ = 0;
    text_.clear();
  }
  if (!text_.empty()) return tell_if_allowed();
  if (now_ns < next_round_ns_) return "";
  Look now;
  const bool has_some = has_suspects(now);
  if (!wanted_.empty()) {
    far_.ask(wanted_);
    return "";
  }
  if (!has_some) rounds_.clear();
  if (far_.clear() && !has_some)
    next_round_ns_ =
        now_ns + std::clamp((now_ns - since_ns) / 4, kShortestPauseNs, kLongestPauseNs);
  if (!has_some || !is_certain(now)) return "";
  if (is_near(0)) return is_first_to_tell() ? text_of(now) : "";
  text_ = text_of(now);
  return tell_if_allowed();
}

// The process on the machine of PE 0 knows whether another PE has told.
std::string Looker::tell_if_allowed() {
  const OnlyWait* const answer = far_.find(kMayTell);
  if (!answer) far_.ask_who_tells();
  return answer && answer->since_ns != 0 ? text_ : "";
}

}  // namespace

bool has_one_thread() { return count_task_links() == 3; }

bool has_places_of_job(int me, int n_pes) {
  const PeStatus* const own = own_place();
  if (own == nullptr || (far_pes == nullptr && own_board().n_pes() != n_pes)) return false;
  my_number = me;
  auto found = std::make_unique<Pes>(static_cast<std::size_t>(n_pes), -1);
  for (int place = 0; place < own_board().n_pes(); ++place) {
    const std::uint32_t told = own_board().pe(place).number.load(std::memory_order_relaxed);
    const int number = told == 0 ? place : static_cast<int>(told - 1);
    if (number < n_pes && is_near(number)) (*found)[static_cast<std::size_t>(number)] = place;
  }
  bool is_whole = (*found)[static_cast<std::size_t>(me)] == own - &own_board().pe(0);
  for (int pe = 0; pe < n_pes; ++pe)
    is_whole = is_whole && (!is_near(pe) || (*found)[static_cast<std::size_t>(pe)] >= 0);
  // Release: publishes the numbers to a thread that takes in a question.
  if (is_whole && places == nullptr) places.store(found.release(), std::memory_order_release);
  return is_whole;
}

void set_acts_alone(bool is_only) {
  // A child shares the PE's symmetric memory, so it may act for the PE.
  [[maybe_unused]] static const int once =
      pthread_atfork([] { set_acts_alone(false); }, nullptr, nullptr);
  if (!is_only) may_have_helpers = true;
  links_when_alone = count_task_links();
  if (PeStatus* const own = own_place()) own->is_alone = false;
}

void note_whether_alone() {
  PeStatus* const own = own_place();
  if (own == nullptr) return;
  const std::uint64_t arrived_in = all_arrived_in;
  const bool has_all_arrived =
      far_pes == nullptr || (arrived_in != 0 && arrived_in == row_of_only_wait(*own).since_ns);
  own->is_alone = has_all_arrived && acts_alone();
}

// A circle is a deadlock even if other PEs do not wait. The first PE of the circle reports it.
std::string text_of_deadlock() {
  static Looker& looker = *new Looker;  // answers may arrive until the process ends
  const std::unique_lock lock(looker.mutex, std::try_to_lock);
  const PeStatus* const own = own_place();
  if (!lock || own == nullptr || !acts_alone()) return "";
  const std::uint64_t since_ns = row_of_only_wait(*own).since_ns;
  if (since_ns == 0 || (far_pes != nullptr && !looker.has_all_arrived(since_ns))) return "";
  return own->is_alone ? looker.look(since_ns) : "";
}

bool answer_for_waits(const std::byte* question, std::size_t bytes, std::byte* answer,
                      std::size_t answer_bytes) {
  std::int32_t pe = 0;
  const std::size_t n = bytes / sizeof pe;
  if (bytes != n * sizeof pe || answer_bytes != n * sizeof(OnlyWait)) return false;
  for (std::size_t i = 0; i < n; ++i) {
    std::memcpy(&pe, question + i * sizeof pe, sizeof pe);
    OnlyWait wait;
    if (pe == kMayTell) {
      wait.since_ns = own_place() != nullptr && is_first_to_tell() ? 1 : 0;
    } else if (const PeStatus* const near = find_near(pe)) {
      wait = only_wait_of(*near);
    }
    std::memcpy(answer + i * sizeof wait, &wait, sizeof wait);
  }
  return true;
}

}  // namespace meshmem
