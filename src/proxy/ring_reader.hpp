// SPDX-License-Identifier: Apache-2.0
//
// The host's end of the ring of commands from kernels (device/proxy_ring.hpp). It takes commands in
// the order of their tickets, and publishes how many have been taken and are done.
// Invariant: a command is taken when all its words have the phase of its lap, which is one pass
// over all slots. Kernels may use its slot again after note_consumed(). One thread uses a reader.
// Made by Proxy, and by tests.
#ifndef MESHMEM_PROXY_RING_READER_HPP_
#define MESHMEM_PROXY_RING_READER_HPP_

#include <algorithm>
#include <cstdint>

#include "device/proxy_ring.hpp"

namespace meshmem {

// Where the ring is. Kernels and the host reach this memory.
struct ProxyMemory {
  device::ProxySlot* slots = nullptr;
  device::ProxyProgress* progress = nullptr;
  device::ProxyResult* results = nullptr;
  std::uint64_t n_slots = 0;
  std::uint64_t n_results = 0;
  const std::uint64_t* head = nullptr;  // the next ticket; nullptr: the host cannot read it
};

// How many commands there are, taken or not; at least all those of kernels that have ended. Any
// thread may call it. If the host cannot read the next ticket, it looks for the last filled slot,
// but not behind kMostEmpty empty slots in a row. On the `cpu` target a kernel's threads run one
// after the other, and those that waited for room in a full ring fill their slots late. So more
// slots may be empty there, and the host must read the ticket.
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
    const bool is_filled = phase == device::phase_of(ticket, memory.n_slots);
    // A command whose slot holds a later one by now has been consumed.
    if (is_filled || ticket < consumed()) count = ticket + 1;
  }
  return count;
}

class ProxyRingReader {
 public:
  explicit ProxyRingReader(const ProxyMemory& memory) : memory_(memory) {}

  const ProxyMemory& memory() const { return memory_; }
  // How many commands have been taken.
  std::uint64_t taken() const { return taken_; }

  // Takes the next command. False: it has not come as a whole yet.
  bool try_take(device::ProxyCommand* command) {
    const device::ProxySlot& slot = memory_.slots[taken_ & (memory_.n_slots - 1)];
    const std::uint64_t phase = device::phase_of(taken_, memory_.n_slots);
    device::ProxySlot seen;
    // Acquire: the kernel's stores before the command happen before its execution. The last word
    // usually comes last, so an empty slot costs one load.
    for (int i = device::ProxySlot::kWords - 1; i >= 0; --i) {
      seen.word[i] = __atomic_load_n(&slot.word[i], __ATOMIC_ACQUIRE);
      if ((seen.word[i] & device::kPhase) != phase) return false;
    }
    *command = device::command_in(seen);
    ++taken_;
    return true;
  }

  // Kernels may use the slots and sources of all taken commands again.
  void note_consumed() { publish(&memory_.progress->consumed, taken_); }
  // `count` commands are done at their targets.
  void note_completed(std::uint64_t count) { publish(&memory_.progress->completed, count); }
  // Publishes the result with this number.
  void answer(std::uint64_t number, std::uint64_t value) {
    device::ProxyResult& result = memory_.results[number & (memory_.n_results - 1)];
    __atomic_store_n(&result.value, value, __ATOMIC_RELAXED);
    publish(&result.number, number + 1);
  }

 private:
  // Release: a kernel that sees the number also sees what was done before.
  static void publish(std::uint64_t* where, std::uint64_t number) {
    __atomic_store_n(where, number, __ATOMIC_RELEASE);
  }

  ProxyMemory memory_;
  std::uint64_t taken_ = 0;
};

}  // namespace meshmem

#endif  // MESHMEM_PROXY_RING_READER_HPP_
