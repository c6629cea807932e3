// SPDX-License-Identifier: Apache-2.0
// Lanes' accesses to memory: global, LDS through the flat address space, and scratch.
// Invariant: an aligned access of up to 8 bytes is single-copy atomic, as the hardware's is; 16
// bytes are two such. Scratch is interleaved by words: word n of lane l is at 256 n + 4 l (LLVM's
// AMDGPU usage, "Private address space"). Included by the families that access memory.
#pragma once

#include "operands.hpp"
#include "weak_memory.hpp"

namespace amd_gpu {

template <typename T>
T load_as(const std::uint8_t* at) {
  if (reinterpret_cast<std::uintptr_t>(at) % sizeof(T) == 0)
    return __atomic_load_n(reinterpret_cast<const T*>(at), __ATOMIC_RELAXED);
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <typename T>
void store_as(std::uint8_t* at, T value) {
  if (reinterpret_cast<std::uintptr_t>(at) % sizeof(T) == 0) {
    __atomic_store_n(reinterpret_cast<T*>(at), value, __ATOMIC_RELAXED);
  } else {
    std::memcpy(at, &value, sizeof value);
  }
}

// Where byte `offset` of this lane's scratch is.
inline std::uint8_t* scratch_at(const Wave& wave, std::uint64_t base, std::uint64_t offset,
                                unsigned lane) {
  if (offset >= wave.scratch_size && base == reinterpret_cast<std::uintptr_t>(wave.scratch))
    fail(wave, "an access beyond the scratch memory of its lane");
  return reinterpret_cast<std::uint8_t*>(base) + offset / 4 * 4 * kLanes + 4 * lane + offset % 4;
}
// A lane's scratch is spread by words, so an access that crosses them goes byte by byte: the
// hardware takes any alignment (LLVM: FeatureUnalignedScratchAccess of GFX9). at(offset): where a
// byte is.
template <typename T, typename At>
T load_scratch(std::uint64_t offset, const At& at) {
  if (offset % 4 + sizeof(T) <= 4) return load_as<T>(at(offset));
  std::uint64_t value = 0;
  for (unsigned i = 0; i < sizeof(T); ++i) value |= std::uint64_t{*at(offset + i)} << 8 * i;
  return static_cast<T>(value);
}
template <typename T, typename At>
void store_scratch(std::uint64_t offset, T value, const At& at) {
  if (offset % 4 + sizeof(T) <= 4) return store_as<T>(at(offset), value);
  for (unsigned i = 0; i < sizeof(T); ++i)
    *at(offset + i) = static_cast<std::uint8_t>(static_cast<std::uint64_t>(value) >> 8 * i);
}

inline std::uint8_t* local_at(const Wave& wave, std::uint64_t offset, unsigned bytes) {
  if (offset + bytes > wave.block->local_size) fail(wave, "an access beyond the block's LDS");
  return wave.block->local + offset;
}

// Where `bytes` bytes at a flat address are. In scratch memory they lie in one word.
inline std::uint8_t* flat_at(const Wave& wave, std::uint64_t address, unsigned lane,
                             unsigned bytes) {
  const std::uint64_t above = address >> 48 << 48;
  if (above == kSharedAperture) return local_at(wave, address - above, bytes);
  if (above == kPrivateAperture)
    return scratch_at(wave, wave.pair(kFlatScratch), address - above, lane);
  return reinterpret_cast<std::uint8_t*>(address);
}
inline bool is_global(std::uint64_t address) { return address >> 48 == 0; }

// Loads of an instruction from a flat address, and its stores there.
template <typename T>
T load_at(const Wave& wave, const Instruction& i, std::uint64_t address, unsigned lane) {
  WeakMemory* const weak = wave.block->weak;
  if (weak != nullptr && is_global(address))
    return static_cast<T>(weak->load(address, sizeof(T), i.scope));
  if (address >> 48 << 48 == kPrivateAperture)
    return load_scratch<T>(address, [&](std::uint64_t at) { return flat_at(wave, at, lane, 1); });
  return load_as<T>(flat_at(wave, address, lane, sizeof(T)));
}
template <typename T>
void store_at(const Wave& wave, const Instruction& i, std::uint64_t address, unsigned lane,
              T value) {
  WeakMemory* const weak = wave.block->weak;
  if (weak != nullptr && is_global(address))
    return weak->store({wave.number, wave.memory_issue, address, value, sizeof(T), i.scope});
  if (address >> 48 << 48 == kPrivateAperture)
    return store_scratch(address, value,
                         [&](std::uint64_t at) { return flat_at(wave, at, lane, 1); });
  store_as<T>(flat_at(wave, address, lane, sizeof(T)), value);
}

// The address of a lane: a pair of registers, or an unsigned word and a scalar base, and the
// instruction's offset.
struct Addresses {
  Addresses(const Wave& wave, const Instruction& i, unsigned n, const Operand* base)
      : low_(wave.vector[i.operand[n].first]), offset_(std::int64_t{i.offset}) {
    const bool has_base = base != nullptr && base->kind != Kind::kOff;
    if (has_base) {
      base_ = read_scalar_wide(wave, *base);
    } else {
      high_ = &wave.vector[i.operand[n].first + 1u];
    }
  }
  std::uint64_t of(unsigned lane) const {
    const std::uint64_t above = high_ != nullptr ? std::uint64_t{(*high_)[lane]} << 32 : 0;
    return base_ + above + low_[lane] + static_cast<std::uint64_t>(offset_);
  }

 private:
  const Lanes& low_;
  const Lanes* high_ = nullptr;
  std::uint64_t base_ = 0;
  std::int64_t offset_;
};

// The names of the loads and stores of an address space, in the order of the tables of functions.
inline constexpr std::size_t kMemoryForms = 22;
#define AMD_GPU_MEMORY_NAMES(space)                                                           \
  {                                                                                           \
    space "load_ubyte", space "load_sbyte", space "load_ushort", space "load_sshort",         \
        space "load_ubyte_d16", space "load_ubyte_d16_hi", space "load_sbyte_d16",            \
        space "load_sbyte_d16_hi", space "load_short_d16", space "load_short_d16_hi",         \
        space "load_dword", space "load_dwordx2", space "load_dwordx3", space "load_dwordx4", \
        space "store_byte", space "store_byte_d16_hi", space "store_short",                   \
        space "store_short_d16_hi", space "store_dword", space "store_dwordx2",               \
        space "store_dwordx3", space "store_dwordx4"                                          \
  }

}  // namespace amd_gpu
