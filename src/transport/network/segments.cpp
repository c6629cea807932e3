// SPDX-License-Identifier: Apache-2.0
//
// Executes records by stores, loads and the processor's atomics.
// Invariant: bounds are checked without adding, so no offset can wrap.
#include "transport/network/segments.hpp"

#include <cstring>

#include "base/waiting/fence.hpp"

namespace meshmem::network {
namespace {

// Calls access() with a zero of the unsigned type that has `bytes` bytes (1, 2, 4 or 8).
template <typename Access>
void by_word(std::size_t bytes, const Access& access) {
  if (bytes == 8) return access(std::uint64_t{});
  if (bytes == 4) return access(std::uint32_t{});
  if (bytes == 2) return access(std::uint16_t{});
  access(std::uint8_t{});
}

template <typename Word>
Word execute_word(const AtomicRequest& request, Word* there) {
  using device::AtomicOp;
  const Word operand = static_cast<Word>(request.operand);
  switch (request.op) {
    case AtomicOp::fetch:
      return __atomic_load_n(there, __ATOMIC_ACQUIRE);
    case AtomicOp::set:
      __atomic_store_n(there, operand, __ATOMIC_RELEASE);
      return 0;
    case AtomicOp::swap:
      return __atomic_exchange_n(there, operand, __ATOMIC_ACQ_REL);
    case AtomicOp::compare_swap: {
      Word seen = static_cast<Word>(request.condition);
      __atomic_compare_exchange_n(there, &seen, operand, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
      return seen;
    }
    case AtomicOp::add:
      return __atomic_fetch_add(there, operand, __ATOMIC_ACQ_REL);
    case AtomicOp::bit_and:
      return __atomic_fetch_and(there, operand, __ATOMIC_ACQ_REL);
    case AtomicOp::bit_or:
      return __atomic_fetch_or(there, operand, __ATOMIC_ACQ_REL);
    case AtomicOp::bit_xor:
      return __atomic_fetch_xor(there, operand, __ATOMIC_ACQ_REL);
  }
  return 0;
}

}  // namespace

std::uint64_t execute(const AtomicRequest& request, void* there) {
  return request.bytes == sizeof(std::uint32_t)
             ? execute_word(request, static_cast<std::uint32_t*>(there))
             : execute_word(request, static_cast<std::uint64_t*>(there));
}

std::optional<AtomicRequest> atomic_of(const Record& record) {
  const AtomicRequest request{static_cast<device::AtomicOp>(record.op), record.width, record.first,
                              record.second, record.kind == RecordKind::fetch};
  const bool is_one = (request.bytes == 4 || request.bytes == 8) &&
                      record.offset % request.bytes == 0 && request.op <= device::AtomicOp::bit_xor;
  return is_one ? std::optional(request) : std::nullopt;
}

Record signal_of(const Record& record) {
  return {.kind = RecordKind::atomic,
          .segment = record.width,
          .follows_fence = record.follows_fence,
          .op = record.op,
          .width = sizeof(std::uint64_t),
          .index = record.index,
          .offset = record.first,
          .first = record.second};
}

void store_bytes(std::byte* to, const void* from, std::size_t bytes) {
  if (!is_flag(to, bytes)) {
    order_stores();
    if (bytes > 0) std::memcpy(to, from, bytes);
    return;
  }
  by_word(bytes, [&](auto word) {
    std::memcpy(&word, from, sizeof word);
    // Release: publishes the data of earlier records to the PE that waits for this flag.
    __atomic_store_n(reinterpret_cast<decltype(word)*>(to), word, __ATOMIC_RELEASE);
  });
}

void load_bytes(void* to, const std::byte* from, std::size_t bytes) {
  if (!is_flag(from, bytes)) {
    if (bytes > 0) std::memcpy(to, from, bytes);
    return;
  }
  by_word(bytes, [&](auto word) {
    word = __atomic_load_n(reinterpret_cast<const decltype(word)*>(from), __ATOMIC_ACQUIRE);
    std::memcpy(to, &word, sizeof word);
  });
}

void LocalSegments::map(int n_local, const BaseOf& base_of, const std::size_t (&segment_bytes)[3]) {
  bases_.clear();
  for (int pe = 0; pe < n_local; ++pe) {
    for (const auto segment : {RemoteSegment::heap, RemoteSegment::statics, RemoteSegment::control})
      bases_.push_back(base_of(pe, segment));
  }
  std::memcpy(segment_bytes_, segment_bytes, sizeof segment_bytes_);
}

std::byte* LocalSegments::find(const Record& record, std::uint64_t bytes) const {
  if (record.segment > 2 || record.index >= bases_.size() / 3) return nullptr;
  const std::size_t all = segment_bytes_[record.segment];
  if (bytes > all || record.offset > all - bytes) return nullptr;
  std::byte* const base = bases_[std::size_t{record.index} * 3 + record.segment];
  return base ? base + record.offset : nullptr;
}

std::byte* LocalSegments::find_on_device(const Record& record, std::uint64_t bytes) const {
  if (!device_place_ || record.index >= bases_.size() / 3) return nullptr;
  return device_place_(static_cast<int>(record.index), record.offset, bytes);
}

bool LocalSegments::put(const Record& record, const std::byte* data) const {
  std::byte* const there = find(record, record.bytes);
  if (there) store_bytes(there, data, record.bytes);
  return there != nullptr;
}

bool LocalSegments::put_signal(const Record& record, const std::byte* data) const {
  const Record signal = signal_of(record);
  const auto update = atomic_of(signal);
  std::byte* const there = find(signal, signal.width);
  if (!there || !update || !put(record, data)) return false;
  execute(*update, there);
  return true;
}

bool LocalSegments::execute_atomic(const Record& record, std::uint64_t* before) const {
  const auto request = atomic_of(record);
  std::byte* const there = find(record, record.width);
  if (!there || !request) return false;
  *before = execute(*request, there);
  return true;
}

}  // namespace meshmem::network
