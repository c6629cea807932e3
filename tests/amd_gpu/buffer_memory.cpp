// SPDX-License-Identifier: Apache-2.0
// Buffer loads and stores, as compilers use them: for scratch memory, by the descriptor that the
// kernel got. CDNA2 ISA, "Untyped buffer"; LLVM's AMDGPU usage, "Private segment buffer".
// Invariant: the descriptor is swizzled by words with the lane's number; others end the process.
#include "memory.hpp"

namespace amd_gpu {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr u32 kSwizzles = 1u << 31;  // in word 1
constexpr u32 kAddsLane = 1u << 23;  // in word 3

// Operands: data, offset of the lane or none, descriptor, scalar offset. The scalar offset is of
// the wave's memory, the others of the lane's.
class ScratchAccess {
 public:
  ScratchAccess(const Wave& w, const Instruction& i)
      : wave_(w), offset_(static_cast<u32>(i.offset)) {
    const unsigned first = i.operand[2].first;
    if ((w.scalar[first + 1] & kSwizzles) == 0 || (w.scalar[first + 3] & kAddsLane) == 0 || i.idxen)
      fail(w, "a buffer that is not scratch memory");
    base_ = w.pair(first) & 0xffff'ffff'ffff;
    base_ += read_scalar(w, i.operand[3]);
    if (i.offen) offsets_ = &w.vector[i.operand[1].first];
  }
  template <typename T>
  T load(unsigned lane, unsigned word = 0) const {
    return load_scratch<T>(offset_of(lane, word), [&](u64 offset) { return at(offset, lane); });
  }
  template <typename T>
  void store(unsigned lane, T value, unsigned word = 0) const {
    store_scratch(offset_of(lane, word), value, [&](u64 offset) { return at(offset, lane); });
  }

 private:
  u64 offset_of(unsigned lane, unsigned word) const {
    return u64{offset_} + (offsets_ != nullptr ? (*offsets_)[lane] : 0) + 4 * word;
  }
  std::uint8_t* at(u64 offset, unsigned lane) const {
    const auto begin = reinterpret_cast<std::uintptr_t>(wave_.scratch);
    const u64 address = base_ + offset / 4 * 4 * kLanes + 4 * lane + offset % 4;
    if (address < begin || address >= begin + wave_.scratch_size * kLanes)
      fail(wave_, "an access beyond the wave's scratch memory");
    return reinterpret_cast<std::uint8_t*>(address);
  }

  const Wave& wave_;
  u64 base_ = 0;
  u32 offset_;
  const Lanes* offsets_ = nullptr;
};

template <typename T>
void load(Wave& w, const Instruction& i) {
  const ScratchAccess memory(w, i);
  Lanes& to = w.vector[i.operand[0].first];
  for_each_lane(w.exec(),
                [&](unsigned lane) { to[lane] = static_cast<u32>(memory.load<T>(lane)); });
}
template <typename T, bool kToHigh>
void load_half(Wave& w, const Instruction& i) {
  const ScratchAccess memory(w, i);
  Lanes& to = w.vector[i.operand[0].first];
  for_each_lane(w.exec(), [&](unsigned lane) {
    const u32 value = static_cast<std::uint16_t>(memory.load<T>(lane));
    to[lane] = kToHigh ? (to[lane] & 0xffff) | value << 16 : (to[lane] & 0xffff0000) | value;
  });
}
template <typename T, unsigned kShift = 0>
void store(Wave& w, const Instruction& i) {
  const ScratchAccess memory(w, i);
  const Lanes& from = w.vector[i.operand[0].first];
  for_each_lane(w.exec(),
                [&](unsigned lane) { memory.store(lane, static_cast<T>(from[lane] >> kShift)); });
}
template <unsigned kWords>
void load_words(Wave& w, const Instruction& i) {
  const ScratchAccess memory(w, i);
  for_each_lane(w.exec(), [&](unsigned lane) {
    u32 words[kWords];
    for (unsigned n = 0; n < kWords; ++n) words[n] = memory.load<u32>(lane, n);
    for (unsigned n = 0; n < kWords; ++n) w.vector[i.operand[0].first + n][lane] = words[n];
  });
}
template <unsigned kWords>
void store_words(Wave& w, const Instruction& i) {
  const ScratchAccess memory(w, i);
  for_each_lane(w.exec(), [&](unsigned lane) {
    for (unsigned n = 0; n < kWords; ++n)
      memory.store(lane, w.vector[i.operand[0].first + n][lane], n);
  });
}

}  // namespace

void add_buffer_memory_instructions(InstructionTable& t) {
  t["buffer_load_ubyte"] = load<std::uint8_t>;
  t["buffer_load_sbyte"] = load<std::int8_t>;
  t["buffer_load_ushort"] = load<std::uint16_t>;
  t["buffer_load_sshort"] = load<std::int16_t>;
  t["buffer_load_ubyte_d16"] = load_half<std::uint8_t, false>;
  t["buffer_load_ubyte_d16_hi"] = load_half<std::uint8_t, true>;
  t["buffer_load_sbyte_d16"] = load_half<std::int8_t, false>;
  t["buffer_load_sbyte_d16_hi"] = load_half<std::int8_t, true>;
  t["buffer_load_short_d16"] = load_half<std::uint16_t, false>;
  t["buffer_load_short_d16_hi"] = load_half<std::uint16_t, true>;
  t["buffer_load_dword"] = load_words<1>;
  t["buffer_load_dwordx2"] = load_words<2>;
  t["buffer_load_dwordx3"] = load_words<3>;
  t["buffer_load_dwordx4"] = load_words<4>;
  t["buffer_store_byte"] = store<std::uint8_t>;
  t["buffer_store_byte_d16_hi"] = store<std::uint8_t, 16>;
  t["buffer_store_short"] = store<std::uint16_t>;
  t["buffer_store_short_d16_hi"] = store<std::uint16_t, 16>;
  t["buffer_store_dword"] = store_words<1>;
  t["buffer_store_dwordx2"] = store_words<2>;
  t["buffer_store_dwordx3"] = store_words<3>;
  t["buffer_store_dwordx4"] = store_words<4>;
}

}  // namespace amd_gpu
