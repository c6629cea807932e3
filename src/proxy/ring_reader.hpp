// SPDX-License-Identifier: Apache-2.0
//
// The host's end of the ring of commands from kernels (device/proxy_ring.hpp): takes them out in
// the order of their tickets, and says how far it has come.
// Invariant: a command is taken when all its words are of its lap; its slot is a kernel's again
// when note_consumed() has said so. One thread has it. Made by Proxy, and by tests.
#ifndef MESHMEM_PROXY_RING_READER_HPP_
#define MESHMEM_PROXY_RING_READER_HPP_

#include <algorithm>
#include <cstdint>

#include "device/proxy_ring.hpp"

namespace meshmem {

// Where the host finds the ring: pinned memory, which kernels reach too.
struct ProxyMemory {
  device::ProxySlot* slots = nullptr;
  device::ProxyProgress* progress = nullptr;
  device::ProxyResult* results = nullptr;
  std::uint64_t n_slots = 0;
  std::uint64_t n_results = 0;
  const std::uint64_t* head = nullptr;  // the next ticket, if the host can read it where it is
};

// Of any thread: how many commands there are for sure, taken or not. The commands of a kernel that
// has ended are among them. Where the host cannot read how many tickets there are, it is not if as
// many places in a row before it are still empty. On processors these may be any number: a kernel's
// threads run one after the other, and those that have waited for room in a full ring fill their
// places late.
inline std::uint64_t count_commands(const ProxyMemory& memory) {
  if (memory.head) return __atomic_load_n(memory.head, __ATOMIC_RELAXED);
  constexpr std::uint64_t kMostEmpty = 256;
  const auto consumed = [&] {
    return __atomic_load_n(&memory.progress->consumed, __ATOMIC_ACQUIRE);
  };
  const std::uint64_t first = consumed();
  std::uint64_t count = first;
  for (std::uint64_t ticket = first; ticket - first < memory.n_slots && ticket < count + kMostEmpty;
       ++ticket) {
    const std::uint64_t* word = memory.slots[ticket & (memory.n_slots - 1)].word;
    const std::uint64_t phase = __atomic_load_n(word, __ATOMIC_RELAXED) & device::kPhase;
    if (phase == device::phase_of(ticket, memory.n_slots)) count = ticket + 1;
  }
  // Places that have other commands by now have been consumed.
  return std::max(count, consumed());
}

class ProxyRingReader {
 public:
  explicit ProxyRingReader(const ProxyMemory& memory) : memory_(memory) {}

  const ProxyMemory& memory() const { return memory_; }
  // How many commands have been taken.
  std::uint64_t taken() const { return taken_; }

  bool try_take(device::ProxyCommand* command) {
    const device::ProxySlot& slot = memory_.slots[taken_ & (memory_.n_slots - 1)];
    const std::uint64_t phase = device::phase_of(taken_, memory_.n_slots);
    device::ProxySlot seen;
    // Acquire: what the kernel has released before the command can be read. The last words come
    // last, as a rule, so an empty slot costs one look.
    for (int i = device::ProxySlot::kWords - 1; i >= 0; --i) {
      seen.word[i] = __atomic_load_n(&slot.word[i], __ATOMIC_ACQUIRE);
      if ((seen.word[i] & device::kPhase) != phase) return false;
    }
    *command = device::command_in(seen);
    ++taken_;
    return true;
  }

  // All that has been taken: slots and sources are the kernel's again.
  void note_consumed() { say(&memory_.progress->consumed, taken_); }
  // `count` commands are done at their targets.
  void note_completed(std::uint64_t count) { say(&memory_.progress->completed, count); }
  void answer(std::uint64_t number, std::uint64_t value) {
    device::ProxyResult& result = memory_.results[number & (memory_.n_results - 1)];
    __atomic_store_n(&result.value, value, __ATOMIC_RELAXED);
    say(&result.number, number + 1);
  }

 private:
  // Release: whoever sees it sees what was done before.
  static void say(std::uint64_t* where, std::uint64_t number) {
    __atomic_store_n(where, number, __ATOMIC_RELEASE);
  }

  ProxyMemory memory_;
  std::uint64_t taken_ = 0;
};

}  // namespace meshmem

#endif  // MESHMEM_PROXY_RING_READER_HPP_
