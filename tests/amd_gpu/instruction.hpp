// SPDX-License-Identifier: Apache-2.0
// One decoded instruction: what executes it, its operands and its modifiers.
// Invariant: immutable once decode() has returned it; every wave that comes to its address shares
// it. Made by decoder.cpp, read by the files of the instruction families.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "caching.hpp"

namespace amd_gpu {

struct Architecture;
struct Wave;
struct Instruction;
using Execute = void (*)(Wave& wave, const Instruction& instruction);

// Which part of a 32-bit register an operand of SDWA is.
enum class Part : std::uint8_t { kAll, kByte0, kByte1, kByte2, kByte3, kWord0, kWord1 };

struct Operand {
  // Scalar registers have their numbers in the encoding (vcc is 106, exec 126); vector registers
  // v0 to v255 have the numbers from 0, a0 to a255 those from 256.
  enum class Kind : std::uint8_t { kNone, kScalar, kVector, kConstant, kFloat, kScc, kOff };
  Kind kind = Kind::kNone;
  std::uint8_t words = 1;
  std::uint16_t first = 0;
  std::uint64_t value = 0;  // kConstant: with its sign; kFloat: the bits of a double
  bool negate = false, absolute = false, extend_sign = false;
  Part part = Part::kAll;

  bool is_vector() const { return kind == Kind::kVector; }
};

// How lanes read another lane's register (DPP); ISA "Data-Parallel Processing".
struct Dpp {
  enum class Control : std::uint8_t {
    kNone,
    kQuadPerm,
    kRowShl,
    kRowShr,
    kRowRor,
    kWaveShl,
    kWaveShr,
    kWaveRol,
    kWaveRor,
    kRowMirror,
    kRowHalfMirror,
    kRowBcast15,
    kRowBcast31,
    kRowNewBcast
  };
  Control control = Control::kNone;
  std::uint8_t amount = 0;  // kQuadPerm: four times two bits
  std::uint8_t row_mask = 15, bank_mask = 15;
  bool bound_control = false;
};

struct Instruction {
  Execute execute = nullptr;
  std::uint32_t size = 0;  // bytes
  std::uint8_t operands = 0;
  std::array<Operand, 6> operand;
  std::int32_t offset = 0;
  std::uint8_t offset0 = 0, offset1 = 0;
  bool glc = false, sc1 = false, offen = false, idxen = false, clamp = false, high = false;
  Scope scope = Scope::kBlock;           // beyond the block: loads pass the vector cache
  bool counts_as_memory = false;         // in vmcnt
  std::uint8_t most_outstanding = 0xff;  // s_waitcnt: vmcnt
  std::uint8_t op_sel = 0, op_sel_hi = 7, neg_lo = 0, neg_hi = 0;
  float output_factor = 1;  // mul:2, mul:4, div:2
  bool is_sdwa = false, preserves = false, extends_result = false;
  Part result_part = Part::kAll;
  Dpp dpp;
  std::uint8_t hwreg_id = 0, hwreg_first = 0, hwreg_bits = 32;
  std::string text;
};

// Mnemonics without _e32, _e64, _sdwa and _dpp.
using InstructionTable = std::unordered_map<std::string_view, Execute>;

// Each in the file of its family.
void add_scalar_instructions(InstructionTable& table);
void add_scalar_memory_instructions(InstructionTable& table);
void add_flow_instructions(InstructionTable& table);
void add_vector_integer_instructions(InstructionTable& table);
void add_vector_wide_instructions(InstructionTable& table);
void add_vector_short_instructions(InstructionTable& table);
void add_vector_float_instructions(InstructionTable& table);
void add_division_instructions(InstructionTable& table);
void add_vector_compare_instructions(InstructionTable& table);
void add_vector_convert_instructions(InstructionTable& table);
void add_lane_instructions(InstructionTable& table);
void add_global_memory_instructions(InstructionTable& table);
void add_local_memory_instructions(InstructionTable& table);
void add_scratch_memory_instructions(InstructionTable& table);
void add_atomic_instructions(InstructionTable& table);

// The instruction whose bytes begin at `code`. One that is not known ends the process with its
// text, when it is executed and not before.
const Instruction* decode(const Architecture& architecture, const std::uint8_t* code,
                          std::size_t bytes);

// Whether the emulated GPU can execute it.
bool is_known(const Instruction& instruction);

// Parses the text that the disassembler has printed; for decode(). False where some part of it is
// not understood.
bool parse(std::string_view text, Instruction& instruction, std::string& mnemonic);

}  // namespace amd_gpu
