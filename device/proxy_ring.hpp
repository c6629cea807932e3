// SPDX-License-Identifier: Apache-2.0
//
// The ring by which kernels hand commands for far PEs to a thread of the host. Defines its layout,
// which both sides share, and how a command becomes eight words and back.
// Invariant: the top bit of each 8-byte word of a slot says whether the word is of this lap. So a
// slot needs neither a fence nor a store of more than 8 bytes. Addresses are those of the calling
// PE; the host translates and checks them. Used by proxy.hpp and by src/proxy/.
#ifndef MESHMEM_DEVICE_PROXY_RING_HPP_
#define MESHMEM_DEVICE_PROXY_RING_HPP_

#include <cstddef>
#include <cstdint>

#include "device/operations.hpp"
#include "device/target.hpp"

namespace meshmem {
namespace device {

enum class ProxyOp : std::uint8_t {
  put,                // dest, source, bytes
  put_inline,         // dest, data; `length` bytes of it
  get,                // dest, source, bytes
  load,               // source, result; an element of `length` bytes
  put_blocks,         // dest, source, two strides in bytes, bytes of a block, blocks
  get_blocks,         // the same
  atomic,             // address, operand, condition; an AtomicOp as detail, `length` bytes
  fetch,              // the same, result
  signal,             // signal, value; a SHMEM_SIGNAL_* as detail
  put_signal,         // signal, value, dest, source, bytes; the same detail
  put_signal_inline,  // signal, value, dest, data
  fence,              // operations after it are seen after operations before it
  collective,         // dest, source, count, two numbers, bytes of an element, result; see HostCall
};

// A collective that the host runs for kernels. Its `pe` is the team's slot, its length the ElemType
// of a reduction, its detail the CollectiveKind and, above these bits, the ReduceOp.
constexpr int kCollectiveKindBits = 4;
static_assert(static_cast<int>(CollectiveKind::exscan) < 1 << kCollectiveKindBits,
              "a kind has no room in the detail");
// Set in `pe` beside the team's slot if a stream asks for the collective, so that no group of a
// kernel waits.
constexpr std::uint32_t kFromStream = std::uint32_t{1} << 31;
// The words of a collective: dest, source, count of elements, root or first stride, second stride,
// bytes of an element. Of an alltoallv: dest, source, dest_nelems, dest_displs, source_nelems,
// source_displs; its length is the bytes of an element. The word after these is the number of the
// result.
constexpr int kResultOfCollective = 6;

struct alignas(64) ProxySlot {
  static constexpr int kWords = 8;
  std::uint64_t word[kWords];
};

// A command to the host. The meaning of its words depends on the operation.
struct ProxyCommand {
  static constexpr int kWords = ProxySlot::kWords - 1;
  // This many bytes of data travel in the slot itself.
  static constexpr std::size_t kMostInline = (kWords - 1) * 8;
  static constexpr std::size_t kMostInlineWithSignal = (kWords - 3) * 8;

  ProxyOp op;
  std::uint8_t length;
  std::uint8_t detail;
  std::uint32_t pe;  // of the world
  std::uint64_t word[kWords];
};

// The first word of a slot has the rest of the command, and the top bits of the other words, where
// the phase is in their place:
//   63 phase | 56..62 top bits of words 1..7 | 20..51 pe | 12..19 detail | 6..11 length | 0..5 op
constexpr int kPhaseBit = 63, kTopBits = 56, kPeBits = 20, kDetailBits = 12, kLengthBits = 6;
constexpr std::uint64_t kPhase = std::uint64_t{1} << kPhaseBit;

// The number of a command is a ticket, counted from 0; a ring that is all zero holds none.
MESHMEM_HOST_DEVICE std::uint64_t phase_of(std::uint64_t ticket, std::uint64_t n_slots) {
  return (ticket & n_slots) == 0 ? kPhase : 0;
}

MESHMEM_HOST_DEVICE std::uint64_t first_word_of(const ProxyCommand& command) {
  std::uint64_t first =
      static_cast<std::uint64_t>(command.op) | std::uint64_t{command.length} << kLengthBits |
      std::uint64_t{command.detail} << kDetailBits | std::uint64_t{command.pe} << kPeBits;
  for (int i = 0; i < ProxyCommand::kWords; ++i)
    first |= (command.word[i] >> kPhaseBit) << (kTopBits + i);
  return first;
}

MESHMEM_HOST_DEVICE ProxySlot slot_of_command(const ProxyCommand& command, std::uint64_t phase) {
  ProxySlot slot{};
  slot.word[0] = first_word_of(command) | phase;
  for (int i = 0; i < ProxyCommand::kWords; ++i)
    slot.word[i + 1] = (command.word[i] & ~kPhase) | phase;
  return slot;
}

MESHMEM_HOST_DEVICE ProxyCommand command_in(const ProxySlot& slot) {
  const std::uint64_t first = slot.word[0];
  ProxyCommand command{static_cast<ProxyOp>(first & 0x3f),
                       static_cast<std::uint8_t>(first >> kLengthBits & 0x3f),
                       static_cast<std::uint8_t>(first >> kDetailBits),
                       static_cast<std::uint32_t>(first >> kPeBits),
                       {}};
  for (int i = 0; i < ProxyCommand::kWords; ++i) {
    const std::uint64_t top = first >> (kTopBits + i) & 1;
    command.word[i] = (slot.word[i + 1] & ~kPhase) | top << kPhaseBit;
  }
  return command;
}

// The host's answer to a load, a fetch or a collective, in memory of the host.
struct alignas(16) ProxyResult {
  std::uint64_t value;
  std::uint64_t number;  // one more than the number of the request
};

// Counters by which the host says how far it is. Both only grow.
struct alignas(128) ProxyProgress {
  std::uint64_t consumed;                // commands whose slot and source may be used again
  alignas(128) std::uint64_t completed;  // commands that are done at their targets
};

constexpr std::uint64_t kProxySlots = 4096;
constexpr std::uint64_t kProxyResults = 4096;
constexpr std::uint64_t kProxyCallers = 4096;

// The kernels' view of the ring. The first three point into pinned memory of the host, the others
// into memory of the device. Where slots is null there is no ring, and no bit of first_far is set:
// far PEs are out of reach.
struct ProxyRing {
  static constexpr int kFirstPes = 64;  // the PEs in first_far

  ProxySlot* slots;
  const ProxyProgress* progress;
  ProxyResult* results;
  std::uint64_t* head;              // the next ticket
  std::uint64_t* known_consumed;    // as last read; saves reads over the bus
  std::uint64_t* known_completed;   // the same for completed
  std::uint64_t* next_result;       // how many results have been asked for
  std::uint64_t* result_turn;       // by place: which request may use it, as number - place
  std::uint64_t* last_of_caller;    // by wave: one more than its last ticket
  const std::uint8_t* is_far;       // by PE: 1 if it is on another node
  const std::uint8_t* spans_nodes;  // by slot of a team: 1 if it has far members
  std::uint64_t first_far;          // is_far of the first PEs, a bit each: saves a load from memory
  std::uint64_t n_slots;            // these three are powers of two
  std::uint64_t n_results;
  std::uint64_t n_callers;
};

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_PROXY_RING_HPP_
