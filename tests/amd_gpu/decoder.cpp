// SPDX-License-Identifier: Apache-2.0
// Decodes by LLVM's disassembler, in this process: machine code to text, text to an Instruction
// with the function that executes it.
// Invariant: an instruction that is not known is decoded all the same, and ends the process where
// it is executed: programs may contain code that they never reach. Called by code_object.cpp and
// idle_lanes.cpp.
#include <cstdlib>
#include <map>
#include <mutex>

#include "architecture.hpp"
#include "wave.hpp"

// Of llvm-c/Disassembler.h, whose ABI is stable: so hipcc's own LLVM serves, without a package for
// developers.
extern "C" {
void* LLVMCreateDisasmCPUFeatures(const char* triple, const char* processor, const char* features,
                                  void* about, int kind, void* operands, void* symbols);
std::size_t LLVMDisasmInstruction(void* context, std::uint8_t* bytes, std::uint64_t size,
                                  std::uint64_t pc, char* text, std::size_t text_size);
void LLVMInitializeAMDGPUTargetInfo(void);
void LLVMInitializeAMDGPUTargetMC(void);
void LLVMInitializeAMDGPUDisassembler(void);
}

namespace amd_gpu {
namespace {

constexpr const char* kTriple = "amdgcn-amd-amdhsa";

const InstructionTable& known_instructions() {
  static const InstructionTable table = [] {
    InstructionTable filled;
    add_scalar_instructions(filled);
    add_scalar_memory_instructions(filled);
    add_flow_instructions(filled);
    add_vector_integer_instructions(filled);
    add_vector_wide_instructions(filled);
    add_vector_short_instructions(filled);
    add_vector_float_instructions(filled);
    add_division_instructions(filled);
    add_vector_compare_instructions(filled);
    add_vector_convert_instructions(filled);
    add_lane_instructions(filled);
    add_global_memory_instructions(filled);
    add_local_memory_instructions(filled);
    add_scratch_memory_instructions(filled);
    add_atomic_instructions(filled);
    return filled;
  }();
  return table;
}

// Not thread-safe, as LLVM's is not.
class Disassembler {
 public:
  explicit Disassembler(const Architecture& architecture) {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
    const std::string name(architecture.name);
    context_ = LLVMCreateDisasmCPUFeatures(kTriple, name.c_str(), "", nullptr, 0, nullptr, nullptr);
  }
  bool is_there() const { return context_ != nullptr; }
  std::size_t text_of(const std::uint8_t* code, std::size_t bytes, char (&text)[256]) {
    auto* const begin = const_cast<std::uint8_t*>(code);
    return LLVMDisasmInstruction(context_, begin, bytes, reinterpret_cast<std::uintptr_t>(code),
                                 text, sizeof text);
  }

 private:
  void* context_ = nullptr;
};

void refuse(Wave& wave, const Instruction&) {
  fail(wave, "this instruction is not known to the emulated GPU");
}
void refuse_operands(Wave& wave, const Instruction&) {
  fail(wave, "an operand of this instruction is not known to the emulated GPU");
}

// Whether MESHMEM_AMD_WITHOUT (mnemonics with blanks between them) names this one, which then does
// nothing. So tests show that they notice a missing instruction.
bool is_left_out(const std::string& mnemonic) {
  static const char* const given = std::getenv("MESHMEM_AMD_WITHOUT");
  if (given == nullptr) return false;
  return (" " + std::string(given) + " ").find(" " + mnemonic + " ") != std::string::npos;
}
void do_nothing(Wave&, const Instruction&) {}

// Invalidations of the vector cache are not counted (LLVM's SIInsertWaitcnts).
bool counts_as_memory(std::string_view mnemonic) {
  return (mnemonic.starts_with("global_") || mnemonic.starts_with("flat_") ||
          mnemonic.starts_with("buffer_") || mnemonic.starts_with("scratch_")) &&
         !mnemonic.starts_with("buffer_wbinvl1") && mnemonic != "buffer_inv";
}

// gfx90a: loads with glc pass the vector cache, all stores go to the GPU's L2 (CDNA2 ISA, "Memory
// scopes and temporal hint"), whose own instructions are for the system. gfx942: sc1 is the scope
// of the GPU, with sc0 that of the system; atomic operations, whose sc0 says that they return the
// old value, have sc1 for the system. LLVM's AMDGPU usage, "Memory Model GFX90A" and "GFX942".
Scope scope_of(const Architecture& architecture, std::string_view mnemonic, const Instruction& i) {
  if (architecture.has_scopes) {
    if (!i.sc1) return Scope::kBlock;
    const bool is_atomic = mnemonic.find("_atomic_") != std::string_view::npos;
    return i.glc || is_atomic ? Scope::kSystem : Scope::kGpu;
  }
  if (mnemonic == "buffer_wbl2") return Scope::kSystem;
  return i.glc || mnemonic.starts_with("buffer_wbinvl1") ? Scope::kGpu : Scope::kBlock;
}

}  // namespace

bool is_known(const Instruction& instruction) {
  return instruction.execute != refuse && instruction.execute != refuse_operands;
}

const Instruction* decode(const Architecture& architecture, const std::uint8_t* code,
                          std::size_t bytes) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  static std::map<const Architecture*, Disassembler> disassemblers;
  Disassembler& disassembler = disassemblers.try_emplace(&architecture, architecture).first->second;
  auto* const result = new Instruction;  // never deleted: code objects stay
  char text[256] = "";
  const std::size_t size = disassembler.is_there() ? disassembler.text_of(code, bytes, text) : 0;
  result->size = size == 0 ? 4 : static_cast<std::uint32_t>(size);
  result->text = size == 0 ? "(no instruction)" : text + (text[0] == '\t');
  result->execute = refuse;
  std::string mnemonic;
  const bool is_parsed = size != 0 && parse(result->text, *result, mnemonic);
  result->counts_as_memory = counts_as_memory(mnemonic);
  result->scope = scope_of(architecture, mnemonic, *result);
  const auto found = known_instructions().find(mnemonic);
  if (found != known_instructions().end()) result->execute = found->second;
  if (is_left_out(mnemonic)) result->execute = do_nothing;
  if (size != 0 && !is_parsed) result->execute = refuse_operands;
  return result;
}

}  // namespace amd_gpu
