// SPDX-License-Identifier: Apache-2.0
//
// The board on which PEs say what they wait for: all PEs of a job, in a file of oshrun's, or else
// those of a machine, in their arena. It has a page for the job, then one for each PE with rows for
// the waits of its threads and kernels.
// Invariant: the board has only atomics, each of them valid at all times. So it can be read at any
// moment, also when a PE hangs or has died. A fresh board is zero. Readers trust nothing: they end
// texts and take out control characters. Written by own_status.hpp and oshrun, read by
// status_table.hpp.
#ifndef MESHMEM_BASE_STATUS_STATUS_BOARD_HPP_
#define MESHMEM_BASE_STATUS_STATUS_BOARD_HPP_

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace meshmem {

// Returns the text before the first 0, if there is one, with '?' in place of control characters.
std::string plain_text(std::span<const char> bytes);

// A text of `bytes` bytes, the last of which is 0. One thread writes at a time.
template <std::size_t bytes>
class SharedText {
 public:
  static_assert(bytes % sizeof(std::uint64_t) == 0);
  // Longer ones are cut, and end in "...".
  void store(std::string_view text);
  std::string load() const;

 private:
  std::array<std::atomic<std::uint64_t>, bytes / sizeof(std::uint64_t)> words_;
};

// A set of PEs of the board, without those from kPes on. Each bit counts by itself: a set that is
// read while it is written has PEs of the old one and of the new.
class SharedPeSet {
 public:
  static constexpr int kPes = 1024;
  void store(const std::vector<int>& pes);
  std::vector<int> load() const;

 private:
  static constexpr int kPesOfWord = 64;
  std::array<std::atomic<std::uint64_t>, kPes / kPesOfWord> words_;
};

// One wait. `version` is odd while the rest is being written.
struct alignas(64) WaitRow {
  std::atomic<std::uint32_t> taken;
  std::atomic<std::uint32_t> version;
  std::atomic<std::uint64_t> since_ns;  // of the monotonic clock
  SharedText<168> what;
  SharedText<72> caller;

  // Only the thread that has taken the row calls these.
  void write(std::uint64_t since, std::string_view what_text, std::string_view caller_text);
  void clear();
};

struct WaitSeen {
  std::uint64_t since_ns = 0;
  std::string what;
  std::string caller;  // empty: not known
};
// False: the row is empty, or is being written.
bool read_row(const WaitRow& row, WaitSeen& seen);

// A report that one of the processes that share this memory makes for all of them.
class OneReport {
 public:
  // True: the caller is the first. It makes the report, and then calls end().
  bool begin();
  bool has_begun() const { return state_.load(std::memory_order_relaxed) != kNotBegun; }
  void end();
  // Returns when the report has been made, or after this time, as its maker may have died.
  void await_end(std::chrono::milliseconds longest) const;

 private:
  static constexpr std::uint32_t kNotBegun = 0, kBegun = 1, kMade = 2;
  std::atomic<std::uint32_t> state_;
};

enum class PePhase : std::uint32_t { silent, starting, running, finalized };

// Keeps PEs out of each other's pages where these are small. Larger pages do no harm, since no part
// of a board is mapped alone.
inline constexpr std::size_t kStatusPage = 4096;
inline constexpr int kRowsOfPe = 15;
inline constexpr int kRowsOfKernels = 11;  // the last ones; kernels take no others

struct alignas(kStatusPage) PeStatus {
  std::atomic<std::int32_t> pid;
  std::atomic<PePhase> phase;
  std::atomic<std::uint32_t> ended;       // 0: not yet; else 1 + what waitpid said
  std::atomic<std::uint32_t> rowless;     // waits under way that found no free row
  std::atomic<std::uint32_t> number;      // 1 + the PE's number; 0: that is its place here
  std::atomic<std::uint64_t> waits_done;  // of those that have asked for a row
  std::atomic<bool> is_alone;             // no thread acts for it but the one that waits
  std::atomic<std::uint32_t> looking_up;  // waits that look up where the program has called
  SharedPeSet awaited;  // PEs each of which has to act before its wait can end, where known
  alignas(256) std::array<WaitRow, kRowsOfPe> rows;

  // A free row that is the caller's from now on; nullptr: there is none, which is counted.
  WaitRow* take_row(bool of_kernel);
  void give_row_back(WaitRow* row);
};
static_assert(sizeof(WaitRow) == 256 && sizeof(PeStatus) == kStatusPage);

struct alignas(kStatusPage) JobStatus {
  static constexpr std::uint64_t kMagic = 0x346574617473686d;  // "mhstate4"
  std::atomic<std::uint64_t> magic;                            // stored last
  std::atomic<std::uint32_t> n_pes;
  OneReport table;
  std::atomic<std::uint64_t> started_ns;
  // Until then waits look up where the program has called, since a table is being made.
  std::atomic<std::uint64_t> callers_wanted_until_ns;
  std::atomic<bool> has_told_deadlock;
  SharedText<256> program;
  SharedText<256> job_name;  // PMIX_NAMESPACE; empty without oshrun
};

// A board in mapped memory.
class StatusBoard {
 public:
  static std::size_t bytes_for(int n_pes);
  StatusBoard() = default;
  // Uses a board that somebody has made at `memory`. is_valid() is false if there is none, or if it
  // is longer than `bytes`.
  StatusBoard(void* memory, std::size_t bytes);
  // Makes a board in memory that is all zeros.
  static StatusBoard make(void* memory, int n_pes, std::string_view program,
                          std::string_view job_name);

  bool is_valid() const { return n_pes_ > 0; }
  int n_pes() const { return n_pes_; }
  JobStatus& job() const { return *static_cast<JobStatus*>(memory_); }
  PeStatus& pe(int number) const {
    return static_cast<PeStatus*>(memory_)[1 + static_cast<std::size_t>(number)];
  }

 private:
  void* memory_ = nullptr;
  int n_pes_ = 0;
};

std::uint64_t monotonic_ns();

}  // namespace meshmem

#endif  // MESHMEM_BASE_STATUS_STATUS_BOARD_HPP_
