// SPDX-License-Identifier: Apache-2.0
//
// One question to each node. Invariant: as far_waits.hpp says.
#include "base/status/far_waits.hpp"

#include <utility>

namespace meshmem {
namespace {
constexpr std::size_t kMostQuestions = 16;
}  // namespace

void FarWaits::ask(const std::vector<int>& pes) {
  std::map<int, std::vector<std::int32_t>> pes_of_node;
  for (const int pe : pes) {
    const int node = far_pes->node_of(pe);
    if (pes_of_node.size() == kMostQuestions && !pes_of_node.contains(node)) continue;
    if (pes_of_node[node].size() < kMostPesAsked) pes_of_node[node].push_back(pe);
  }
  asked_.clear();
  for (const auto& [node, there] : pes_of_node) ask_one(there.front(), there);
}

void FarWaits::ask_who_tells() {
  asked_.clear();
  ask_one(0, {kMayTell});
}

void FarWaits::ask_one(int pe, std::vector<std::int32_t> pes) {
  std::vector<OnlyWait> answers(pes.size());
  // The answers come to where they lie now, which moves of their vector do not change.
  if (far_pes->ask_for_waits(pe, pes, answers, &missing_))
    asked_.push_back({std::move(pes), std::move(answers)});
}

void FarWaits::take_answers() {
  for (const Question& question : asked_)
    for (std::size_t i = 0; i < question.pes.size(); ++i)
      known_[question.pes[i]] = question.answers[i];
  asked_.clear();
}

const OnlyWait* FarWaits::find(int pe) const {
  const auto found = known_.find(pe);
  return found == known_.end() ? nullptr : &found->second;
}

bool FarWaits::clear() { return !std::exchange(known_, {}).empty(); }

}  // namespace meshmem
