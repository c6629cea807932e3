// SPDX-License-Identifier: Apache-2.0
// Loads and stores of scratch memory by instructions of its own, as compilers for gfx942 use them:
// its hardware knows where a wave's scratch is. CDNA3 ISA, "Flat memory instructions".
// Invariant: an offset counts in the lane's memory. It is the sum of a lane's register, a scalar
// and the instruction's offset.
#include "memory.hpp"

namespace amd_gpu {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

// Operands `n` and `scalar`, each a register or off.
class ScratchOffsets {
 public:
  ScratchOffsets(const Wave& w, const Instruction& i, unsigned n, unsigned scalar)
      : wave_(w), offset_(static_cast<u32>(i.offset)) {
    if (i.operand[n].is_vector()) offsets_ = &w.vector[i.operand[n].first];
    if (i.operand[scalar].kind != Kind::kOff) offset_ += read_scalar(w, i.operand[scalar]);
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
  u32 offset_of(unsigned lane, unsigned word) const {
    return offset_ + (offsets_ != nullptr ? (*offsets_)[lane] : 0) + 4 * word;
  }
  std::uint8_t* at(u64 offset, unsigned lane) const {
    return scratch_at(wave_, reinterpret_cast<std::uintptr_t>(wave_.scratch), offset, lane);
  }

  const Wave& wave_;
  u32 offset_;
  const Lanes* offsets_ = nullptr;
};

enum class Half { kNone, kLow, kHigh };

template <typename T, Half kInto = Half::kNone>
void load(Wave& w, const Instruction& i) {
  const ScratchOffsets memory(w, i, 1, 2);
  Lanes& to = w.vector[i.operand[0].first];
  for_each_lane(w.exec(), [&](unsigned lane) {
    const u32 value = static_cast<u32>(memory.load<T>(lane));
    if (kInto == Half::kNone) to[lane] = value;
    if (kInto == Half::kLow) to[lane] = (to[lane] & 0xffff0000) | (value & 0xffff);
    if (kInto == Half::kHigh) to[lane] = (to[lane] & 0xffff) | value << 16;
  });
}
template <typename T, unsigned kShift = 0>
void store(Wave& w, const Instruction& i) {
  const ScratchOffsets memory(w, i, 0, 2);
  const Lanes& from = w.vector[i.operand[1].first];
  for_each_lane(w.exec(),
                [&](unsigned lane) { memory.store(lane, static_cast<T>(from[lane] >> kShift)); });
}
template <unsigned kWords>
void load_words(Wave& w, const Instruction& i) {
  const ScratchOffsets memory(w, i, 1, 2);
  for_each_lane(w.exec(), [&](unsigned lane) {
    u32 words[kWords];  // the result may overwrite the offset
    for (unsigned n = 0; n < kWords; ++n) words[n] = memory.load<u32>(lane, n);
    for (unsigned n = 0; n < kWords; ++n) w.vector[i.operand[0].first + n][lane] = words[n];
  });
}
template <unsigned kWords>
void store_words(Wave& w, const Instruction& i) {
  const ScratchOffsets memory(w, i, 0, 2);
  for_each_lane(w.exec(), [&](unsigned lane) {
    for (unsigned n = 0; n < kWords; ++n)
      memory.store(lane, w.vector[i.operand[1].first + n][lane], n);
  });
}

}  // namespace

void add_scratch_memory_instructions(InstructionTable& t) {
  t["scratch_load_ubyte"] = load<std::uint8_t>;
  t["scratch_load_sbyte"] = load<std::int8_t>;
  t["scratch_load_ushort"] = load<std::uint16_t>;
  t["scratch_load_sshort"] = load<std::int16_t>;
  t["scratch_load_ubyte_d16"] = load<std::uint8_t, Half::kLow>;
  t["scratch_load_ubyte_d16_hi"] = load<std::uint8_t, Half::kHigh>;
  t["scratch_load_sbyte_d16"] = load<std::int8_t, Half::kLow>;
  t["scratch_load_sbyte_d16_hi"] = load<std::int8_t, Half::kHigh>;
  t["scratch_load_short_d16"] = load<std::uint16_t, Half::kLow>;
  t["scratch_load_short_d16_hi"] = load<std::uint16_t, Half::kHigh>;
  t["scratch_load_dword"] = load_words<1>;
  t["scratch_load_dwordx2"] = load_words<2>;
  t["scratch_load_dwordx3"] = load_words<3>;
  t["scratch_load_dwordx4"] = load_words<4>;
  t["scratch_store_byte"] = store<std::uint8_t>;
  t["scratch_store_byte_d16_hi"] = store<std::uint8_t, 16>;
  t["scratch_store_short"] = store<std::uint16_t>;
  t["scratch_store_short_d16_hi"] = store<std::uint16_t, 16>;
  t["scratch_store_dword"] = store_words<1>;
  t["scratch_store_dwordx2"] = store_words<2>;
  t["scratch_store_dwordx3"] = store_words<3>;
  t["scratch_store_dwordx4"] = store_words<4>;
}

}  // namespace amd_gpu
