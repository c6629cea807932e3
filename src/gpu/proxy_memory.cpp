// SPDX-License-Identifier: Apache-2.0
//
// Takes one block of pinned memory and one of device memory. Invariant: a ring of zeros is empty.
#include "gpu/proxy_memory.hpp"

#include <cstring>
#include <new>

#include "device/state.hpp"
#include "gpu/device_target.hpp"
#include "gpu/device_transfer.hpp"

namespace meshmem {

// The counters of kernels in memory of the device; words that all kernels use lie on different
// cache lines.
struct ProxyRingMemory::Counters {
  struct alignas(128) Word {
    std::uint64_t value;
  };
  Word head, known_consumed, known_completed, next_result;
  std::uint64_t result_turn[device::kProxyResults];
  std::uint64_t last_of_caller[device::kProxyCallers];
};

void ProxyRingMemory::take_memory(std::size_t n_pes) {
  const OnDevice current(device_);
  constexpr unsigned kFlags = hipHostMallocPortable | hipHostMallocMapped | hipHostMallocCoherent;
  pinned_ = reinterpret_cast<Pinned*>(pin_memory(sizeof(Pinned), kFlags));
  void* memory = nullptr;
  check(hipMalloc(&memory, sizeof(Counters) + n_pes + device::kTeamSlots),
        "take memory of device {} for the proxy", device_);
  counters_ = static_cast<Counters*>(memory);
  is_far_ = reinterpret_cast<std::uint8_t*>(counters_ + 1);
  spans_nodes_ = is_far_ + n_pes;
}

void ProxyRingMemory::open(int device, const std::vector<std::uint8_t>& is_far) {
  device_ = device;
  if (!pinned_) take_memory(is_far.size());
  std::memset(static_cast<void*>(pinned_), 0, sizeof *pinned_);
  clear_for_kernels(counters_, sizeof *counters_);
  clear_for_kernels(spans_nodes_, device::kTeamSlots);
  write_for_kernels(is_far_, is_far.data(), is_far.size());
  std::uint64_t first_far = 0;
  for (std::size_t pe = 0; pe < is_far.size() && pe < device::ProxyRing::kFirstPes; ++pe)
    first_far |= std::uint64_t{is_far[pe]} << pe;
  ring_ = {.slots = pinned_->slots,
           .progress = &pinned_->progress,
           .results = pinned_->results,
           .head = &counters_->head.value,
           .known_consumed = &counters_->known_consumed.value,
           .known_completed = &counters_->known_completed.value,
           .next_result = &counters_->next_result.value,
           .result_turn = counters_->result_turn,
           .last_of_caller = counters_->last_of_caller,
           .is_far = is_far_,
           .spans_nodes = spans_nodes_,
           .first_far = first_far,
           .n_slots = device::kProxySlots,
           .n_results = device::kProxyResults,
           .n_callers = device::kProxyCallers};
}

const std::uint64_t* ProxyRingMemory::head() const {
  return kDevicesAreProcessors ? &counters_->head.value : nullptr;
}

void ProxyRingMemory::note_team(int slot, bool spans_nodes) {
  if (!is_open()) return;
  const std::uint8_t value = spans_nodes ? 1 : 0;
  write_for_kernels(spans_nodes_ + slot, &value, sizeof value);
}

}  // namespace meshmem
