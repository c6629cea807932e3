// SPDX-License-Identifier: Apache-2.0
//
// Finds the board and writes to it. MESHMEM_OSHRUN_STATUS is "<pid>:<descriptor>:<inode>" of a file
// of oshrun's.
// Invariant: uses only that file, and only if its board is of this job. A launcher that a PE starts
// passes the variable on to PEs of another job. The mapping stays for the life of the process.
#include "base/status/own_status.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/error.hpp"
#include "base/status/own_place.hpp"
#include "base/status/status_table.hpp"

namespace meshmem {
namespace {

StatusBoard board;  // written before own_pe
std::atomic<PeStatus*> own_pe{nullptr};

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

PeStatus* own_place() { return own_pe.load(std::memory_order_acquire); }

const StatusBoard& own_board() { return board; }

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
