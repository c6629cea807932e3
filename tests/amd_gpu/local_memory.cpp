// SPDX-License-Identifier: Apache-2.0
// Loads and stores of LDS. CDNA2 ISA, "Data share".
// Invariant: all waves of a block are run by one thread of the process, so that LDS needs no
// atomic accesses.
#include "memory.hpp"

namespace amd_gpu {
namespace {

using u32 = std::uint32_t;

template <typename T>
void load(Wave& w, const Instruction& i) {
  const Lanes& address = w.vector[i.operand[1].first];
  Lanes& to = w.vector[i.operand[0].first];
  for_each_lane(w.exec(), [&](unsigned lane) {
    to[lane] = static_cast<u32>(
        load_as<T>(local_at(w, address[lane] + static_cast<u32>(i.offset), sizeof(T))));
  });
}
template <typename T, bool kToHigh>
void load_half(Wave& w, const Instruction& i) {
  const Lanes& address = w.vector[i.operand[1].first];
  Lanes& to = w.vector[i.operand[0].first];
  for_each_lane(w.exec(), [&](unsigned lane) {
    const u32 value = static_cast<std::uint16_t>(
        load_as<T>(local_at(w, address[lane] + static_cast<u32>(i.offset), sizeof(T))));
    to[lane] = kToHigh ? (to[lane] & 0xffff) | value << 16 : (to[lane] & 0xffff0000) | value;
  });
}
template <typename T, unsigned kShift = 0>
void store(Wave& w, const Instruction& i) {
  const Lanes &address = w.vector[i.operand[0].first], &from = w.vector[i.operand[1].first];
  for_each_lane(w.exec(), [&](unsigned lane) {
    store_as<T>(local_at(w, address[lane] + static_cast<u32>(i.offset), sizeof(T)),
                static_cast<T>(from[lane] >> kShift));
  });
}

void load_lane(Wave& w, u32 address, unsigned lane, unsigned first, unsigned words) {
  const std::uint8_t* from = local_at(w, address, 4 * words);
  for (unsigned n = 0; n < words; ++n) w.vector[first + n][lane] = load_as<u32>(from + 4 * n);
}
void store_lane(Wave& w, u32 address, unsigned lane, unsigned first, unsigned words) {
  std::uint8_t* to = local_at(w, address, 4 * words);
  for (unsigned n = 0; n < words; ++n) store_as<u32>(to + 4 * n, w.vector[first + n][lane]);
}

template <unsigned kWords>
void load_words(Wave& w, const Instruction& i) {
  const Lanes address = w.vector[i.operand[1].first];
  for_each_lane(w.exec(), [&](unsigned lane) {
    load_lane(w, address[lane] + static_cast<u32>(i.offset), lane, i.operand[0].first, kWords);
  });
}
template <unsigned kWords>
void store_words(Wave& w, const Instruction& i) {
  const Lanes& address = w.vector[i.operand[0].first];
  for_each_lane(w.exec(), [&](unsigned lane) {
    store_lane(w, address[lane] + static_cast<u32>(i.offset), lane, i.operand[1].first, kWords);
  });
}

// Two places, whose offsets count elements (or 64 of them).
template <unsigned kWords, unsigned kStride = 1>
void load_two(Wave& w, const Instruction& i) {
  const Lanes address = w.vector[i.operand[1].first];
  constexpr u32 kBytes = 4 * kWords * kStride;
  for_each_lane(w.exec(), [&](unsigned lane) {
    load_lane(w, address[lane] + i.offset0 * kBytes, lane, i.operand[0].first, kWords);
    load_lane(w, address[lane] + i.offset1 * kBytes, lane, i.operand[0].first + kWords, kWords);
  });
}
template <unsigned kWords, unsigned kStride = 1>
void store_two(Wave& w, const Instruction& i) {
  const Lanes& address = w.vector[i.operand[0].first];
  constexpr u32 kBytes = 4 * kWords * kStride;
  for_each_lane(w.exec(), [&](unsigned lane) {
    store_lane(w, address[lane] + i.offset0 * kBytes, lane, i.operand[1].first, kWords);
    store_lane(w, address[lane] + i.offset1 * kBytes, lane, i.operand[2].first, kWords);
  });
}

}  // namespace

void add_local_memory_instructions(InstructionTable& t) {
  t["ds_read_u8"] = load<std::uint8_t>;
  t["ds_read_i8"] = load<std::int8_t>;
  t["ds_read_u16"] = load<std::uint16_t>;
  t["ds_read_i16"] = load<std::int16_t>;
  t["ds_read_u8_d16"] = load_half<std::uint8_t, false>;
  t["ds_read_u8_d16_hi"] = load_half<std::uint8_t, true>;
  t["ds_read_u16_d16"] = load_half<std::uint16_t, false>;
  t["ds_read_u16_d16_hi"] = load_half<std::uint16_t, true>;
  t["ds_read_b32"] = load_words<1>;
  t["ds_read_b64"] = load_words<2>;
  t["ds_read_b96"] = load_words<3>;
  t["ds_read_b128"] = load_words<4>;
  t["ds_read2_b32"] = load_two<1>;
  t["ds_read2_b64"] = load_two<2>;
  t["ds_read2st64_b32"] = load_two<1, 64>;
  t["ds_read2st64_b64"] = load_two<2, 64>;
  t["ds_write_b8"] = store<std::uint8_t>;
  t["ds_write_b8_d16_hi"] = store<std::uint8_t, 16>;
  t["ds_write_b16"] = store<std::uint16_t>;
  t["ds_write_b16_d16_hi"] = store<std::uint16_t, 16>;
  t["ds_write_b32"] = store_words<1>;
  t["ds_write_b64"] = store_words<2>;
  t["ds_write_b96"] = store_words<3>;
  t["ds_write_b128"] = store_words<4>;
  t["ds_write2_b32"] = store_two<1>;
  t["ds_write2_b64"] = store_two<2>;
  t["ds_write2st64_b32"] = store_two<1, 64>;
  t["ds_write2st64_b64"] = store_two<2, 64>;
}

}  // namespace amd_gpu
