// SPDX-License-Identifier: Apache-2.0
//
// Sends questions without waiting for room. Invariant: as far_pes.hpp says.
#include "transport/network/far_pes.hpp"

#include <algorithm>

namespace meshmem::network {

bool FarPesByMessages::ask(Flow& flow, std::span<const std::int32_t> pes,
                           std::span<OnlyWait> answers, std::atomic<std::size_t>* missing) {
  static_assert(kMostPesAsked * sizeof(OnlyWait) <= kMostOfAnswer);
  if (!state_.has_room(flow)) return false;
  const Record record{.kind = RecordKind::question,
                      .index = static_cast<std::uint32_t>(Asker::wait),
                      .bytes = pes.size_bytes(),
                      .first = state_.requests.add(flow.pe(), answers.data(), answers.size_bytes(),
                                                   missing, Asks::a_question),
                      .second = answers.size_bytes()};
  flow.add(record, pes.data(), SendPolicy::at_once);
  return true;
}

int FarPesByMessages::node_of(int pe) const { return state_.plan.node_of(pe); }

bool FarPesByMessages::ask_for_waits(int pe, std::span<const std::int32_t> pes,
                                     std::span<OnlyWait> answers,
                                     std::atomic<std::size_t>* missing) {
  const Lock lock(state_.mutex);
  return state_.is_open && ask(state_.server_flow(pe), pes, answers, missing);
}

bool FarPesByMessages::ask_all_processes(std::atomic<std::size_t>* missing) {
  const Lock lock(state_.mutex);
  // If a flow has no room, the caller tries again later, and no process may get many questions.
  return state_.is_open &&
         std::ranges::all_of(state_.flows,
                             [&](const auto& flow) { return state_.has_room(*flow); }) &&
         std::ranges::all_of(state_.flows,
                             [&](const auto& flow) { return ask(*flow, {}, {}, missing); });
}

bool FarPesByMessages::has_completed_all() {
  const Lock lock(state_.mutex);
  return std::all_of(state_.flows.begin(), state_.flows.end(),
                     [](const auto& flow) { return flow->is_done(flow->issued()); });
}

}  // namespace meshmem::network
