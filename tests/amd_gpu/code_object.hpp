// SPDX-License-Identifier: Apache-2.0
// A code object in memory: what the compiler made for one kind of GPU out of one file.
// Invariant: loaded once for each device, since each has its own __device__ variables; it stays
// where it is until the process ends. Made by module.cpp and by_hand.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "architecture.hpp"
#include "instruction.hpp"

namespace amd_gpu {

// The kernel descriptor (LLVM's AMDGPU usage, "Kernel Descriptor").
struct KernelDescriptor {
  std::uint32_t group_size, private_size, kernarg_size;
  std::uint32_t reserved0;
  std::int64_t entry_offset;
  std::uint8_t reserved1[20];
  std::uint32_t resources3, resources1, resources2;
  std::uint16_t properties, preload;
  std::uint8_t reserved2[4];
};
static_assert(sizeof(KernelDescriptor) == 64);

struct KernelArgument {
  std::uint32_t offset, size;
  std::string kind;  // "by_value", "global_buffer", "hidden_..."
  bool is_hidden() const { return kind.starts_with("hidden_"); }
};

class CodeObject;
struct Kernel {
  std::string name;
  const CodeObject* code = nullptr;
  KernelDescriptor descriptor{};
  std::uint64_t entry = 0;
  std::vector<KernelArgument> arguments;
  std::uint32_t most_threads = 1024;
  // vector_registers includes the accumulation registers. The spilt ones are counted in registers,
  // not bytes.
  std::uint32_t vector_registers = 0, accumulation_registers = 0, scalar_registers = 0;
  std::uint32_t spilt_vector_registers = 0, spilt_scalar_registers = 0;
  bool has_dynamic_stack = false;
};

class CodeObject {
 public:
  // Null, with a reason, if it is not a code object of an emulated GPU.
  static std::unique_ptr<CodeObject> load(std::span<const std::uint8_t> file, std::string& why);

  const Kernel* kernel(const std::string& name) const;
  const std::map<std::string, Kernel>& kernels() const { return kernels_; }
  // Null where there is none.
  void* variable(const std::string& name, std::size_t* size = nullptr) const;

  const Architecture& architecture() const { return *architecture_; }
  std::uint8_t* memory() const { return memory_; }
  std::span<const std::uint8_t> instructions() const { return instructions_; }
  std::size_t size() const { return size_; }

  // The instruction at an address; null outside of this code object.
  const Instruction* instruction_at(std::uint64_t pc) const {
    const std::uint64_t place = pc - reinterpret_cast<std::uintptr_t>(memory_);
    if (place >= size_ || place % 4 != 0) return nullptr;
    const Instruction* known = decoded_[place / 4].load(std::memory_order_acquire);
    return known != nullptr ? known : decode_at(place);
  }

 private:
  struct Symbol {
    std::uint64_t address, size;
  };
  bool read(std::span<const std::uint8_t> file, std::string& why);
  void read_dynamic(std::uint64_t table);
  bool relocate(std::uint64_t table, std::uint64_t bytes, std::string& why);
  void read_metadata(std::span<const std::uint8_t> note);
  const Instruction* decode_at(std::uint64_t place) const;

  const Architecture* architecture_ = nullptr;
  std::uint8_t* memory_ = nullptr;
  std::size_t size_ = 0;
  std::span<const std::uint8_t> instructions_;
  std::uint64_t symbol_table_ = 0, texts_ = 0, relocations_ = 0, relocations_size_ = 0;
  std::map<std::string, Symbol> symbols_;
  std::map<std::string, Kernel> kernels_;
  mutable std::vector<std::atomic<const Instruction*>> decoded_;
};

}  // namespace amd_gpu
