// SPDX-License-Identifier: Apache-2.0
//
// Finds the board and writes to it. MESHMEM_OSHRUN_STATUS is "<pid>:<descriptor>:<inode>" of a file
// of oshrun's.
// Invariant: uses only that file, and only if its board is of this job. A launcher that a PE starts
// passes the variable on to PEs of another job. The mapping stays for the life of the process.
#include "base/status/own_status.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/status/status_table.hpp"

namespace meshmem {
namespace {

StatusBoard board;  // written before own_pe
std::atomic<PeStatus*> own_pe{nullptr};
std::atomic<nlink_t> links_when_alone = 0;  // 0: other threads may belong to the PE

// The links of /proc/self/task: one for each thread, and the two that each folder has. 0 if
// unknown.
nlink_t count_task_links() {
  struct stat about {};
  const bool is_counted = stat("/proc/self/task", &about) == 0 && about.st_nlink > 2;
  return is_counted ? about.st_nlink : 0;
}

void use(const StatusBoard& found, int pe) {
  board = found;
  PeStatus& own = found.pe(pe);
  own.pid.store(getpid(), std::memory_order_relaxed);
  own.phase.store(PePhase::starting, std::memory_order_relaxed);
  own_pe.store(&own, std::memory_order_release);  // publishes `board`
}

// Returns the opened file, or -1.
int open_launcher_file(const char* place) {
  int pid = 0, descriptor = 0;
  unsigned long inode = 0;
  if (std::sscanf(place, "%d:%d:%lu", &pid, &descriptor, &inode) != 3) return -1;
  // A wrong number may name a file whose opening waits or acts.
  const int file = open(fmt::format("/proc/{}/fd/{}", pid, descriptor).c_str(),
                        O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat about {};
  if (file >= 0 && (fstat(file, &about) != 0 || about.st_ino != inode ||
                    about.st_uid != geteuid() || !S_ISREG(about.st_mode))) {
    close(file);
    return -1;
  }
  return file;
}

StatusBoard map_board(int file) {
  struct stat about {};
  if (fstat(file, &about) != 0 || about.st_size <= 0) return {};
  const auto bytes = static_cast<std::size_t>(about.st_size);
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return {};
  madvise(memory, bytes, MADV_DONTDUMP);
  const StatusBoard found(memory, bytes);
  if (!found.is_valid()) munmap(memory, bytes);
  return found;
}

// A PE's only wait, and its row's version, which each write raises by 2. since_ns is 0 if the PE
// has no wait or several, or if another thread may act for it. It is also 0 if a kernel waits,
// since the host may act beside it.
struct OnlyWait {
  std::uint64_t since_ns = 0;
  std::uint32_t version = 0;
};

OnlyWait only_wait_of(const PeStatus& pe) {
  OnlyWait wait;
  WaitSeen seen;
  if (!pe.is_alone || pe.phase != PePhase::running) return {};
  for (int i = 0; i < kRowsOfPe; ++i) {
    const WaitRow& row = pe.rows[static_cast<std::size_t>(i)];
    const std::uint32_t version = row.version.load(std::memory_order_acquire);
    if (!read_row(row, seen)) continue;
    if (wait.since_ns != 0 || i >= kRowsOfPe - kRowsOfKernels) return {};
    wait = {seen.since_ns, version};
  }
  return wait;
}

using Pes = std::vector<int>;
using Waits = std::vector<OnlyWait>;  // one for each PE of a Pes

Waits read_waits(const Pes& pes) {
  Waits waits;
  for (const int pe : pes) waits.push_back(only_wait_of(board.pe(pe)));
  return waits;
}

bool are_same(const Waits& before, const Waits& now) {
  return std::equal(before.begin(), before.end(), now.begin(), now.end(),
                    [](const OnlyWait& one, const OnlyWait& other) {
                      return one.since_ns != 0 && one.since_ns == other.since_ns;
                    });
}

// The state of the board when this PE last looked at it.
Pes last_pes;
Waits last_waits;

// True if these PEs waited when this PE last looked at the board, are still in the same waits, and
// have polled since. A wait writes to the board after it has polled. So a wait that has written
// twice since then has polled in between.
bool have_polled_since_last_look(const Pes& pes) {
  constexpr std::uint32_t kSaidTwice = 4;
  const Waits now = read_waits(pes);
  if (pes != last_pes || !are_same(last_waits, now)) {
    last_pes = pes;
    last_waits = read_waits(pes);  // again, so that all these waits were under way at one moment
    if (!are_same(now, last_waits)) last_waits.clear();
    return false;
  }
  return std::equal(last_waits.begin(), last_waits.end(), now.begin(),
                    [](const OnlyWait& one, const OnlyWait& other) {
                      return other.version - one.version >= kSaidTwice;
                    });
}

Pes awaited_by(int pe) {
  if (pe >= board.n_pes() || !board.pe(pe).is_alone) return {};
  return board.pe(pe).awaited.load();
}

// Returns the PEs of a shortest circle in which `first` has the lowest number; empty if there is
// none. Each PE of the list waits for the PE before it. The first of the list waits for the last,
// which is `first`.
Pes circle_from(int first) {
  std::vector<int> waits_for(static_cast<std::size_t>(board.n_pes()), -1);  // who leads to a PE
  Pes reached{first};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (const int next : awaited_by(reached[i])) {
      if (next == first) {
        Pes circle{reached[i]};
        while (circle.back() != first)
          circle.push_back(waits_for[static_cast<std::size_t>(circle.back())]);
        return circle;
      }
      if (next < first || next >= board.n_pes()) continue;
      int& leads_here = waits_for[static_cast<std::size_t>(next)];
      if (std::exchange(leads_here, leads_here < 0 ? reached[i] : leads_here) < 0)
        reached.push_back(next);
    }
  }
  return {};
}

// True if no PE of this circle, which the caller has found from `me`, can ever go on.
//
// No PE acts while it waits: only the thread that waits acts for it. A PE in a wait says which PEs
// have to act, after it has looked at the memory where they would. Such an entry can be out of
// date: the awaited PE has acted, and then began a wait of its own, while the PE that waits has not
// run since. So entries count only if each PE has looked and written them again since all waits of
// the circle had begun, and is still in the same wait. Then each entry was written while the
// awaited PE was in its present wait. If that PE had acted before, the look would have found it;
// and it cannot act before this wait of its own ends. So the first wait of the circle to end would
// need another to end before. A PE that computes, or that is late, has no entries.
bool is_deadlock(const Pes& circle, int me) {
  return have_polled_since_last_look(circle) &&  // the entries are read after the rows' versions
         circle_from(me) == circle && are_same(last_waits, read_waits(circle));
}

// One PE tells; the others wait for the end of the job.
std::string told_once(const std::string& text) {
  return board.job().has_told_deadlock.exchange(true, std::memory_order_relaxed) ? "" : text;
}

Pes all_pes() {
  Pes pes(static_cast<std::size_t>(board.n_pes()));
  std::iota(pes.begin(), pes.end(), 0);
  return pes;
}

// True if the process still runs after up to 10 ms. A zombie has ended, if pidfd_open() can tell.
bool still_runs(pid_t pid) {
  constexpr int kLookMs = 10;
  const auto process = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (process < 0) {  // gone, or the kernel or a sandbox lets nobody look
    const bool is_gone = errno == ESRCH;
    if (!is_gone) poll(nullptr, 0, kLookMs);
    return !is_gone && kill(pid, 0) == 0;
  }
  pollfd end{process, POLLIN, 0};
  const bool has_ended = poll(&end, 1, kLookMs) > 0;
  close(process);
  return !has_ended;
}

}  // namespace

void open_launcher_board() {
  const char* const place = std::getenv("MESHMEM_OSHRUN_STATUS");
  const char* const job = std::getenv("PMIX_NAMESPACE");
  const char* const rank = std::getenv("PMIX_RANK");
  if (own_pe.load() != nullptr || !place || !job || !rank) return;
  const int file = open_launcher_file(place);
  if (file < 0) return;
  const StatusBoard found = map_board(file);
  close(file);
  int pe = -1;
  const bool is_number = std::from_chars(rank, rank + std::strlen(rank), pe).ec == std::errc();
  if (!is_number || pe < 0 || pe >= found.n_pes() || found.job().job_name.load() != job) return;
  use(found, pe);
}

void open_board(const StatusBoard& found, int pe) {
  if (own_pe.load() == nullptr && found.is_valid() && pe < found.n_pes()) use(found, pe);
}

void set_phase(PePhase phase) {
  if (PeStatus* const pe = own_pe.load(std::memory_order_acquire))
    pe->phase.store(phase, std::memory_order_relaxed);
}

bool has_one_thread() { return count_task_links() == 3; }

bool has_places_of_job(int me, int n_pes) {
  const PeStatus* const own = own_pe.load(std::memory_order_acquire);
  return own != nullptr && own - &board.pe(0) == me && board.n_pes() == n_pes;
}

void set_acts_alone(bool is_only) {
  // A child shares the PE's symmetric memory, so it may act for the PE.
  [[maybe_unused]] static const int once =
      pthread_atfork([] { set_acts_alone(false); }, nullptr, nullptr);
  links_when_alone = is_only ? count_task_links() : 0;
  note_whether_alone();
}

void note_whether_alone() {
  if (PeStatus* const own = own_pe.load(std::memory_order_acquire))
    own->is_alone = links_when_alone != 0 && count_task_links() == links_when_alone;
}

// A circle is a deadlock even if other PEs do not wait. The first PE of the circle reports it, and
// PE 0 then does not report that every PE waits.
std::string text_of_deadlock() {
  PeStatus* const own = own_pe.load(std::memory_order_acquire);
  if (own == nullptr || !own->is_alone) return "";
  const auto me = static_cast<int>(own - &board.pe(0));
  if (Pes circle = circle_from(me); !circle.empty()) {
    if (!is_deadlock(circle, me)) return "";
    std::sort(circle.begin(), circle.end());
    return told_once(fmt::format("PEs {} wait for each other in a circle", pe_list(circle)));
  }
  const Pes all = me == 0 ? all_pes() : Pes();
  const auto is_in_circle = [](int pe) { return !circle_from(pe).empty(); };
  if (all.empty() || !have_polled_since_last_look(all) ||
      std::any_of(all.begin(), all.end(), is_in_circle))
    return "";
  return told_once("every PE waits, and no PE is left that could end a wait");
}

void wait_for_other_processes() {
  constexpr int kMostLooks = 6'000;
  if (own_pe.load(std::memory_order_acquire) == nullptr) return;
  int looks = 0;
  for (int pe = 0; pe < board.n_pes(); ++pe) {
    const pid_t pid = board.pe(pe).pid.load(std::memory_order_relaxed);
    if (pid <= 0 || pid == getpid()) continue;
    while (looks < kMostLooks && still_runs(pid)) ++looks;
  }
}

ShownWait::ShownWait(std::uint64_t since_ns, bool of_kernel)
    : pe_(own_pe.load(std::memory_order_acquire)), since_ns_(since_ns) {
  if (pe_ != nullptr) row_ = pe_->take_row(of_kernel);
}

ShownWait::~ShownWait() {
  end_look_up();
  if (pe_ == nullptr) return;
  if (has_awaited_) pe_->awaited.store({});
  pe_->give_row_back(row_);
}

void ShownWait::say(std::string_view what, std::string_view caller,
                    const std::vector<int>& awaited) {
  // Before the row, whose version publishes it.
  if (pe_ != nullptr && (has_awaited_ || !awaited.empty())) pe_->awaited.store(awaited);
  has_awaited_ |= !awaited.empty();
  if (row_ != nullptr) row_->write(since_ns_, what, caller);
  end_look_up();
}

bool ShownWait::should_name_caller() const {
  if (row_ == nullptr) return false;
  const std::uint64_t until_ns =
      board.job().callers_wanted_until_ns.load(std::memory_order_relaxed);
  return until_ns != 0 && monotonic_ns() < until_ns;
}

void ShownWait::begin_look_up() {
  if (pe_ == nullptr || looks_up_) return;
  looks_up_ = true;
  pe_->looking_up.fetch_add(1, std::memory_order_relaxed);
}

void ShownWait::end_look_up() {
  if (!looks_up_) return;
  looks_up_ = false;
  // Release: whoever finds nobody looking finds the row with the caller.
  pe_->looking_up.fetch_sub(1, std::memory_order_release);
}

void print_status_table() {
  if (own_pe.load(std::memory_order_acquire) == nullptr) return;
  OneReport& table = board.job().table;
  // To return before the other PE has printed could end the job in the middle of the table.
  if (!table.begin()) return table.await_end(std::chrono::seconds(12));
  print_text(fmt::format("meshmem: {}\n", status_table_with_callers(board)));
  table.end();
}

}  // namespace meshmem
