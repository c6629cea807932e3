// SPDX-License-Identifier: Apache-2.0
//
// How a PE that waits asks the processes of other machines for what their PEs wait.
// Invariant: no function waits. A question reaches a process after all that this PE has sent there
// before. The transport between machines implements it, and deadlock.cpp asks and answers.
#ifndef MESHMEM_BASE_STATUS_FAR_PES_HPP_
#define MESHMEM_BASE_STATUS_FAR_PES_HPP_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status/status_board.hpp"

namespace meshmem {

// A PE's only wait. It travels between machines as it is. Each write of its row raises the version
// by 2. since_ns is 0 if the PE has no wait or several, if another thread may act for it, or if
// something that it has sent may be under way. It is also 0 if a kernel waits, since the host may
// act beside it.
struct OnlyWait {
  std::uint64_t since_ns = 0;
  std::uint32_t version = 0;
  std::uint32_t unused = 0;
  std::array<std::uint64_t, SharedPeSet::kPes / 64> awaited{};  // a bit for each PE
  std::array<char, 168> what{};
};
// In place of a PE's number: asks whether this PE may tell. The answer's since_ns is 1 if it may.
inline constexpr std::int32_t kMayTell = -1;
// Of how many PEs a question may be.
inline constexpr std::size_t kMostPesAsked = 24;

class FarPes {
 public:
  virtual ~FarPes() = default;
  virtual int node_of(int pe) const = 0;
  // Asks a process on the node of `pe` for these PEs of the node. Raises *missing, which the answer
  // lowers. False: too much is under way, so nothing was asked.
  virtual bool ask_for_waits(int pe, std::span<const std::int32_t> pes, std::span<OnlyWait> answers,
                             std::atomic<std::size_t>* missing) = 0;
  // Asks each process to which this PE has sent anything for no PEs.
  virtual bool ask_all_processes(std::atomic<std::size_t>* missing) = 0;
  // True if all operations of this PE are done. Messages of collectives do not count.
  virtual bool has_completed_all() = 0;
};

// nullptr where all PEs are near. Start-up sets it.
inline constinit FarPes* far_pes = nullptr;

// Answers a question with `bytes` bytes of numbers of PEs. Any thread that takes in messages may
// call it. False: there is no such question.
bool answer_for_waits(const std::byte* question, std::size_t bytes, std::byte* answer,
                      std::size_t answer_bytes);

}  // namespace meshmem

#endif  // MESHMEM_BASE_STATUS_FAR_PES_HPP_
