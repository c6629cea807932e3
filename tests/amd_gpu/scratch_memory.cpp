// SPDX-License-Identifier: Apache-2.0
// Loads and stores of scratch memory. Compilers for gfx90a use buffer instructions, with the
// descriptor that the kernel got (CDNA2 ISA, "Untyped buffer"; LLVM's AMDGPU usage, "Private
// segment buffer"). Those for gfx942 use scratch instructions: the hardware knows where a wave's
// scratch is (CDNA3 ISA, "Flat memory instructions").
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
class ByDescriptor {
 public:
  static constexpr unsigned kStored = 0;  // the operand with the data of a store
  ByDescriptor(const Wave& w, const Instruction& i, bool)
      : wave_(w), offset_(static_cast<u32>(i.offset)) {
    const unsigned first = i.operand[2].first;
    if ((w.scalar[first + 1] & kSwizzles) == 0 || (w.scalar[first + 3] & kAddsLane) == 0 || i.idxen)
      fail(w, "a buffer that is not scratch memory");
    base_ = w.pair(first) & 0xffff'ffff'ffff;
    base_ += read_scalar(w, i.operand[3]);
    if (i.offen) offsets_ = &w.vector[i.operand[1].first];
  }
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

 private:
  const Wave& wave_;
  u64 base_ = 0;
  u32 offset_;
  const Lanes* offsets_ = nullptr;
};

// Operands: data and the lane's offset (in a store the other way round), and a scalar; offsets are
// registers or off. Their sum, and the instruction's offset, count in the lane's memory.
class ByOffset {
 public:
  static constexpr unsigned kStored = 1;
  ByOffset(const Wave& w, const Instruction& i, bool stores)
      : wave_(w), offset_(static_cast<u32>(i.offset)) {
    const Operand& of_lane = i.operand[stores ? 0 : 1];
    if (of_lane.is_vector()) offsets_ = &w.vector[of_lane.first];
    if (i.operand[2].kind != Kind::kOff) offset_ += read_scalar(w, i.operand[2]);
  }
  u64 offset_of(unsigned lane, unsigned word) const {
    return offset_ + (offsets_ != nullptr ? (*offsets_)[lane] : 0) + 4 * word;  // in 32 bits
  }
  std::uint8_t* at(u64 offset, unsigned lane) const {
    return scratch_at(wave_, reinterpret_cast<std::uintptr_t>(wave_.scratch), offset, lane);
  }

 private:
  const Wave& wave_;
  u32 offset_;
  const Lanes* offsets_ = nullptr;
};

template <typename T, typename Memory>
T load_word(const Memory& memory, unsigned lane, unsigned word = 0) {
  return load_scratch<T>(memory.offset_of(lane, word),
                         [&](u64 offset) { return memory.at(offset, lane); });
}
template <typename T, typename Memory>
void store_word(const Memory& memory, unsigned lane, T value, unsigned word = 0) {
  store_scratch(memory.offset_of(lane, word), value,
                [&](u64 offset) { return memory.at(offset, lane); });
}

enum class Half { kNone, kLow, kHigh };

template <typename Memory, typename T, Half kInto = Half::kNone>
void load(Wave& w, const Instruction& i) {
  const Memory memory(w, i, false);
  Lanes& to = w.vector[i.operand[0].first];
  for_each_lane(w.exec(), [&](unsigned lane) {
    const u32 value = static_cast<u32>(load_word<T>(memory, lane));
    if (kInto == Half::kNone) to[lane] = value;
    if (kInto == Half::kLow) to[lane] = (to[lane] & 0xffff0000) | (value & 0xffff);
    if (kInto == Half::kHigh) to[lane] = (to[lane] & 0xffff) | value << 16;
  });
}
template <typename Memory, typename T, unsigned kShift = 0>
void store(Wave& w, const Instruction& i) {
  const Memory memory(w, i, true);
  const Lanes& from = w.vector[i.operand[Memory::kStored].first];
  for_each_lane(w.exec(), [&](unsigned lane) {
    store_word(memory, lane, static_cast<T>(from[lane] >> kShift));
  });
}
template <typename Memory, unsigned kWords>
void load_words(Wave& w, const Instruction& i) {
  const Memory memory(w, i, false);
  for_each_lane(w.exec(), [&](unsigned lane) {
    u32 words[kWords];  // the result may overwrite the offset
    for (unsigned n = 0; n < kWords; ++n) words[n] = load_word<u32>(memory, lane, n);
    for (unsigned n = 0; n < kWords; ++n) w.vector[i.operand[0].first + n][lane] = words[n];
  });
}
template <typename Memory, unsigned kWords>
void store_words(Wave& w, const Instruction& i) {
  const Memory memory(w, i, true);
  for_each_lane(w.exec(), [&](unsigned lane) {
    for (unsigned n = 0; n < kWords; ++n)
      store_word(memory, lane, w.vector[i.operand[Memory::kStored].first + n][lane], n);
  });
}

template <typename Memory>
void add_space(InstructionTable& t, const std::string_view (&names)[kMemoryForms]) {
  const Execute rows[kMemoryForms] = {
      load<Memory, std::uint8_t>,
      load<Memory, std::int8_t>,
      load<Memory, std::uint16_t>,
      load<Memory, std::int16_t>,
      load<Memory, std::uint8_t, Half::kLow>,
      load<Memory, std::uint8_t, Half::kHigh>,
      load<Memory, std::int8_t, Half::kLow>,
      load<Memory, std::int8_t, Half::kHigh>,
      load<Memory, std::uint16_t, Half::kLow>,
      load<Memory, std::uint16_t, Half::kHigh>,
      load_words<Memory, 1>,
      load_words<Memory, 2>,
      load_words<Memory, 3>,
      load_words<Memory, 4>,
      store<Memory, std::uint8_t>,
      store<Memory, std::uint8_t, 16>,
      store<Memory, std::uint16_t>,
      store<Memory, std::uint16_t, 16>,
      store_words<Memory, 1>,
      store_words<Memory, 2>,
      store_words<Memory, 3>,
      store_words<Memory, 4>,
  };
  for (std::size_t n = 0; n < kMemoryForms; ++n) t[names[n]] = rows[n];
}

}  // namespace

void add_scratch_memory_instructions(InstructionTable& t) {
  add_space<ByDescriptor>(t, AMD_GPU_MEMORY_NAMES("buffer_"));
  add_space<ByOffset>(t, AMD_GPU_MEMORY_NAMES("scratch_"));
}

}  // namespace amd_gpu
