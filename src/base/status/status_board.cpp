// SPDX-License-Identifier: Apache-2.0
//
// The rows' sequence locks use no fences, since ThreadSanitizer does not know them. A writer stores
// each word of a text by release after it has stored the odd version. A reader loads each word by
// acquire before it loads the version again.
#include "base/status/status_board.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <thread>

namespace meshmem {
namespace {

constexpr int kTries = 16;  // a row that is being written is left out this time

}  // namespace

std::string plain_text(std::span<const char> bytes) {
  std::string text(bytes.begin(), std::find(bytes.begin(), bytes.end(), '\0'));
  const auto is_control = [](unsigned char letter) { return letter < ' ' || letter == 0x7f; };
  std::ranges::replace_if(text, is_control, '?');
  return text;
}

template <std::size_t bytes>
void SharedText<bytes>::store(std::string_view text) {
  constexpr std::string_view kCut = "...";
  char buffer[bytes] = {};
  const std::size_t length = std::min(text.size(), bytes - 1);
  std::memcpy(buffer, text.data(), length);
  if (text.size() > length) std::memcpy(buffer + length - kCut.size(), kCut.data(), kCut.size());
  for (std::size_t i = 0; i < words_.size(); ++i) {
    std::uint64_t word;
    std::memcpy(&word, buffer + i * sizeof word, sizeof word);
    words_[i].store(word, std::memory_order_release);
  }
}

template <std::size_t bytes>
std::string SharedText<bytes>::load() const {
  char buffer[bytes];
  for (std::size_t i = 0; i < words_.size(); ++i) {
    const std::uint64_t word = words_[i].load(std::memory_order_acquire);
    std::memcpy(buffer + i * sizeof word, &word, sizeof word);
  }
  return plain_text(buffer);
}

template class SharedText<168>;
template class SharedText<72>;
template class SharedText<256>;

void SharedPeSet::store(const std::vector<int>& pes) {
  std::array<std::uint64_t, kPes / kPesOfWord> words{};
  for (const int pe : pes)
    if (pe < kPes) words[static_cast<std::size_t>(pe / kPesOfWord)] |= 1ull << (pe % kPesOfWord);
  for (std::size_t i = 0; i < words.size(); ++i)
    // Release: a reader that finds this also finds that the wait before has ended.
    words_[i].store(words[i], std::memory_order_release);
}

std::vector<int> SharedPeSet::load() const {
  std::vector<int> pes;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    std::uint64_t word = words_[i].load(std::memory_order_acquire);
    for (; word != 0; word &= word - 1)
      pes.push_back(static_cast<int>(i) * kPesOfWord + std::countr_zero(word));
  }
  return pes;
}

void WaitRow::write(std::uint64_t since, std::string_view what_text, std::string_view caller_text) {
  const std::uint32_t before = version.load(std::memory_order_relaxed);
  version.store(before + 1, std::memory_order_relaxed);
  since_ns.store(since, std::memory_order_release);
  what.store(what_text);
  caller.store(caller_text);
  // Release: publishes the texts to a reader that finds this version before and after it reads
  // them.
  version.store(before + 2, std::memory_order_release);
}

void WaitRow::clear() { write(0, "", ""); }

bool read_row(const WaitRow& row, WaitSeen& seen) {
  for (int i = 0; i < kTries; ++i) {
    const std::uint32_t version = row.version.load(std::memory_order_acquire);
    if (version % 2 != 0) continue;
    seen.since_ns = row.since_ns.load(std::memory_order_acquire);
    seen.what = row.what.load();
    seen.caller = row.caller.load();
    if (row.version.load(std::memory_order_relaxed) == version) return seen.since_ns != 0;
  }
  return false;
}

WaitRow* PeStatus::take_row(bool of_kernel) {
  for (auto row = rows.begin() + (of_kernel ? kRowsOfPe - kRowsOfKernels : 0); row != rows.end();
       ++row) {
    std::uint32_t free = 0;
    // Acquire: sees the version that the last owner has left.
    if (row->taken.compare_exchange_strong(free, 1, std::memory_order_acquire)) return &*row;
  }
  rowless.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

void PeStatus::give_row_back(WaitRow* row) {
  waits_done.fetch_add(1, std::memory_order_relaxed);
  if (row == nullptr) {
    rowless.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  row->clear();
  row->taken.store(0, std::memory_order_release);  // publishes the version to the next owner
}

bool OneReport::begin() {
  std::uint32_t state = kNotBegun;
  // Relaxed: it only chooses the maker of the report.
  return state_.compare_exchange_strong(state, kBegun, std::memory_order_relaxed);
}

void OneReport::end() { state_.store(kMade, std::memory_order_release); }

void OneReport::await_end(std::chrono::milliseconds longest) const {
  constexpr auto kNap = std::chrono::milliseconds(5);
  const auto end = std::chrono::steady_clock::now() + longest;
  while (state_.load(std::memory_order_acquire) != kMade && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(kNap);
}

std::size_t StatusBoard::bytes_for(int n_pes) {
  return sizeof(JobStatus) + static_cast<std::size_t>(n_pes) * sizeof(PeStatus);
}

StatusBoard::StatusBoard(void* memory, std::size_t bytes) : memory_(memory) {
  if (bytes < sizeof(JobStatus)) return;
  if (job().magic.load(std::memory_order_acquire) != JobStatus::kMagic) return;
  const std::size_t n_pes = job().n_pes.load(std::memory_order_relaxed);
  if (n_pes <= (bytes - sizeof(JobStatus)) / sizeof(PeStatus)) n_pes_ = static_cast<int>(n_pes);
}

StatusBoard StatusBoard::make(void* memory, int n_pes, std::string_view program,
                              std::string_view job_name) {
  JobStatus& job = *static_cast<JobStatus*>(memory);
  job.n_pes.store(static_cast<std::uint32_t>(n_pes), std::memory_order_relaxed);
  job.started_ns.store(monotonic_ns(), std::memory_order_relaxed);
  job.program.store(program);
  job.job_name.store(job_name);
  // Release: publishes the lines above to a reader that finds the magic number.
  job.magic.store(JobStatus::kMagic, std::memory_order_release);
  return StatusBoard(memory, bytes_for(n_pes));
}

std::uint64_t monotonic_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

}  // namespace meshmem
