// SPDX-License-Identifier: Apache-2.0
//
// The waits of PEs of other machines, as their processes have answered.
// Invariant: nothing is asked while an answer is missing, and nothing waits for it. Answers may
// come as long as the process lives, so this object does, too. Used by deadlock.cpp.
#ifndef MESHMEM_BASE_STATUS_FAR_WAITS_HPP_
#define MESHMEM_BASE_STATUS_FAR_WAITS_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/status/far_pes.hpp"

namespace meshmem {

class FarWaits {
 public:
  bool is_asking() const { return missing_.load(std::memory_order_acquire) != 0; }
  // Asks for these PEs, or for as many of them as there is room for.
  void ask(const std::vector<int>& pes);
  // Asks whether this PE may tell, for find(kMayTell).
  void ask_who_tells();
  // Called when nothing is missing.
  void take_answers();
  const OnlyWait* find(int pe) const;  // nullptr: not known
  // Forgets the answers. True: there were some.
  bool clear();

 private:
  struct Question {
    std::vector<std::int32_t> pes;
    std::vector<OnlyWait> answers;
  };
  void ask_one(int pe, std::vector<std::int32_t> pes);

  std::vector<Question> asked_;
  std::map<int, OnlyWait> known_;
  std::atomic<std::size_t> missing_ = 0;
};

}  // namespace meshmem

#endif  // MESHMEM_BASE_STATUS_FAR_WAITS_HPP_
