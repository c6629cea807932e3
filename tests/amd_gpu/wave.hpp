// SPDX-License-Identifier: Apache-2.0
// A wave: 64 lanes with their registers, and where it is in the program.
// Invariant: scalar registers have their numbers in the encoding, so exec, vcc, m0 and
// flat_scratch are among them. Made by block_runner.cpp, changed by the instructions.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>

#include "instruction.hpp"

namespace amd_gpu {

inline constexpr unsigned kLanes = 64;
inline constexpr unsigned kVectorRegisters = 512;  // 256 and as many accumulation registers

// Numbers of scalar registers, of GFX9 (LLVM's AMDGPU operand syntax).
inline constexpr unsigned kFlatScratch = 102, kXnackMask = 104, kVcc = 106, kM0 = 124, kExec = 126;

// Where the flat address space has LDS and scratch. No address of a process is there: those have
// 47 bits. s_getreg of SH_MEM_BASES gives bits 48 to 63 of both.
inline constexpr std::uint64_t kSharedAperture = 0x0001'0000'0000'0000;
inline constexpr std::uint64_t kPrivateAperture = 0x0002'0000'0000'0000;

using Lanes = std::array<std::uint32_t, kLanes>;
using WideLanes = std::array<std::uint64_t, kLanes>;

class CodeObject;
class WeakMemory;
struct Kernel;

enum class WaveState : std::uint8_t { kReady, kSleeping, kAtBarrier, kEnded };

// Shared by the waves of a block.
struct BlockContext {
  std::uint8_t* local;  // LDS
  std::uint32_t local_size;
  std::uint32_t index[3];
  const char* kernel_name;
  WeakMemory* weak;  // null where memory is as strong as the host's
};

struct Wave {
  alignas(8) std::array<std::uint32_t, 128> scalar;
  std::array<Lanes, kVectorRegisters> vector;
  std::uint64_t pc;  // of the next instruction
  bool scc;
  bool has_stored;             // since the last wait for memory
  std::uint64_t memory_issue;  // the number of instructions so far that vmcnt counts
  WaveState state;
  std::uint32_t mode;  // HW_REG_MODE: rounding and denormals
  unsigned number;     // in its block
  BlockContext* block;
  const CodeObject* code;
  std::uint8_t* scratch;       // of all lanes, swizzled by words
  std::size_t scratch_size;    // bytes of a lane
  const Instruction* current;  // for messages

  std::uint64_t pair(unsigned first) const {
    std::uint64_t value;
    std::memcpy(&value, &scalar[first], sizeof value);
    return value;
  }
  void set_pair(unsigned first, std::uint64_t value) {
    std::memcpy(&scalar[first], &value, sizeof value);
  }
  std::uint64_t exec() const { return pair(kExec); }
  bool flushes_denormals_of_floats() const { return (mode >> 4 & 3) == 0; }
};

template <typename Function>
inline void for_each_lane(std::uint64_t mask, Function function) {
  for (; mask != 0; mask &= mask - 1) function(static_cast<unsigned>(__builtin_ctzll(mask)));
}

// Executes up to `instructions` instructions, as long as the wave is ready.
void run_wave(Wave& wave, unsigned instructions);

// Ends the process with a line: what is wrong, in which kernel, block and wave, at which
// instruction.
[[noreturn]] void fail(const Wave& wave, const char* what);

}  // namespace amd_gpu
