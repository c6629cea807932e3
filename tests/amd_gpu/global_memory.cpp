// SPDX-License-Identifier: Apache-2.0
// Loads and stores of the global and the flat address space, and operations on their caches. CDNA2
// ISA and CDNA3 ISA, "Flat memory instructions".
// Invariant: unless the block has a WeakMemory, memory is as strong as the host's: caches hold
// nothing, so that invalidations and write-backs have only to order stores before later loads.
#include <atomic>

#include "memory.hpp"

namespace amd_gpu {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

// Where a loaded value goes in its register.
enum class Into { kWhole, kLowHalf, kHighHalf };

template <typename T, Into kInto, bool kIsFlat>
void load_small(Wave& w, const Instruction& i) {
  const Addresses addresses(w, i, 1, kIsFlat ? nullptr : &i.operand[2]);
  Lanes& to = w.vector[i.operand[0].first];
  for_each_lane(w.exec(), [&](unsigned lane) {
    const u32 value = static_cast<u32>(load_at<T>(w, i, addresses.of(lane), lane));
    if (kInto == Into::kWhole) to[lane] = value;
    if (kInto == Into::kLowHalf) to[lane] = (to[lane] & 0xffff0000) | (value & 0xffff);
    if (kInto == Into::kHighHalf) to[lane] = (to[lane] & 0xffff) | value << 16;
  });
}

template <typename T, bool kFromHighHalf, bool kIsFlat>
void store_small(Wave& w, const Instruction& i) {
  const Addresses addresses(w, i, 0, kIsFlat ? nullptr : &i.operand[2]);
  const Lanes& from = w.vector[i.operand[1].first];
  w.has_stored = true;
  for_each_lane(w.exec(), [&](unsigned lane) {
    store_at(w, i, addresses.of(lane), lane,
             static_cast<T>(kFromHighHalf ? from[lane] >> 16 : from[lane]));
  });
}

void load_lane_words(const Wave& w, const Instruction& i, u64 address, unsigned lane, u32* words,
                     unsigned count) {
  unsigned n = 0;
  for (; n + 2 <= count && is_global(address) && (address + 4 * n) % 8 == 0; n += 2) {
    const u64 both = load_at<u64>(w, i, address + 4 * n, lane);
    words[n] = static_cast<u32>(both);
    words[n + 1] = static_cast<u32>(both >> 32);
  }
  for (; n < count; ++n) words[n] = load_at<u32>(w, i, address + 4 * n, lane);
}
void store_lane_words(const Wave& w, const Instruction& i, u64 address, unsigned lane,
                      const u32* words, unsigned count) {
  unsigned n = 0;
  for (; n + 2 <= count && is_global(address) && (address + 4 * n) % 8 == 0; n += 2)
    store_at(w, i, address + 4 * n, lane, u64{words[n + 1]} << 32 | words[n]);
  for (; n < count; ++n) store_at(w, i, address + 4 * n, lane, words[n]);
}

template <unsigned kWords, bool kIsFlat>
void load_words(Wave& w, const Instruction& i) {
  const Addresses addresses(w, i, 1, kIsFlat ? nullptr : &i.operand[2]);
  const unsigned first = i.operand[0].first;
  // The result may overwrite the addresses of lanes that have been read.
  u32 words[kLanes][kWords];
  for_each_lane(w.exec(), [&](unsigned lane) {
    load_lane_words(w, i, addresses.of(lane), lane, words[lane], kWords);
  });
  for_each_lane(w.exec(), [&](unsigned lane) {
    for (unsigned n = 0; n < kWords; ++n) w.vector[first + n][lane] = words[lane][n];
  });
}
template <unsigned kWords, bool kIsFlat>
void store_words(Wave& w, const Instruction& i) {
  const Addresses addresses(w, i, 0, kIsFlat ? nullptr : &i.operand[2]);
  const unsigned first = i.operand[1].first;
  w.has_stored = true;
  for_each_lane(w.exec(), [&](unsigned lane) {
    u32 words[kWords];
    for (unsigned n = 0; n < kWords; ++n) words[n] = w.vector[first + n][lane];
    store_lane_words(w, i, addresses.of(lane), lane, words, kWords);
  });
}

void order(Wave& w, const Instruction&) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (w.block->weak == nullptr) w.has_stored = false;
}
void invalidate(Wave& w, const Instruction& i) {
  order(w, i);
  if (w.block->weak != nullptr) w.block->weak->invalidate(i.scope);
}
void invalidate_l2(Wave& w, const Instruction& i) {
  order(w, i);
  if (w.block->weak != nullptr) w.block->weak->invalidate_l2();
}
void write_back(Wave& w, const Instruction& i) {
  order(w, i);
  if (w.block->weak == nullptr) return;
  w.block->weak->write_back(w.number, w.memory_issue, i.scope);
  w.has_stored = true;  // the next wait is for the write-back
}
void invalidate_scalar(Wave& w, const Instruction& i) {
  order(w, i);
  if (w.block->weak != nullptr) w.block->weak->invalidate_scalar();
}

template <bool kIsFlat>
void add_space(InstructionTable& t, const std::string_view (&names)[kMemoryForms]) {
  constexpr Into kLow = Into::kLowHalf, kHigh = Into::kHighHalf, kWhole = Into::kWhole;
  const Execute rows[kMemoryForms] = {
      load_small<std::uint8_t, kWhole, kIsFlat>,
      load_small<std::int8_t, kWhole, kIsFlat>,
      load_small<std::uint16_t, kWhole, kIsFlat>,
      load_small<std::int16_t, kWhole, kIsFlat>,
      load_small<std::uint8_t, kLow, kIsFlat>,
      load_small<std::uint8_t, kHigh, kIsFlat>,
      load_small<std::int8_t, kLow, kIsFlat>,
      load_small<std::int8_t, kHigh, kIsFlat>,
      load_small<std::uint16_t, kLow, kIsFlat>,
      load_small<std::uint16_t, kHigh, kIsFlat>,
      load_words<1, kIsFlat>,
      load_words<2, kIsFlat>,
      load_words<3, kIsFlat>,
      load_words<4, kIsFlat>,
      store_small<std::uint8_t, false, kIsFlat>,
      store_small<std::uint8_t, true, kIsFlat>,
      store_small<std::uint16_t, false, kIsFlat>,
      store_small<std::uint16_t, true, kIsFlat>,
      store_words<1, kIsFlat>,
      store_words<2, kIsFlat>,
      store_words<3, kIsFlat>,
      store_words<4, kIsFlat>,
  };
  for (std::size_t n = 0; n < kMemoryForms; ++n) t[names[n]] = rows[n];
}

}  // namespace

void add_global_memory_instructions(InstructionTable& t) {
  add_space<false>(t, AMD_GPU_MEMORY_NAMES("global_"));
  add_space<true>(t, AMD_GPU_MEMORY_NAMES("flat_"));
  t["s_dcache_wb"] = order;
  t["buffer_invl2"] = invalidate_l2;
  t["buffer_wbl2"] = write_back;
  for (const char* name : {"buffer_wbinvl1", "buffer_wbinvl1_vol", "buffer_inv"})
    t[name] = invalidate;
  t["s_dcache_inv"] = invalidate_scalar;
}

}  // namespace amd_gpu
