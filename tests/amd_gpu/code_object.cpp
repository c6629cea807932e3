// SPDX-License-Identifier: Apache-2.0
// Loads an ELF file as AMD's loader does: segments, symbols, relocations, metadata. LLVM's AMDGPU
// usage, "ELF Code Object"; code object versions 3 to 5 (ABI versions 1 to 3).
#include "code_object.hpp"

#include <elf.h>
#include <sys/mman.h>

#include <cstring>

#include "msgpack.hpp"
#include "wave.hpp"

namespace amd_gpu {
namespace {

constexpr unsigned kMachine = 224, kAmdHsa = 64;       // EM_AMDGPU, ELFOSABI_AMDGPU_HSA
constexpr unsigned kProcessorMask = 0xff;              // EF_AMDGPU_MACH
constexpr unsigned kAbsolute64 = 3, kRelative64 = 13;  // R_AMDGPU_ABS64, R_AMDGPU_RELATIVE64
constexpr std::uint32_t kMetadataNote = 32;            // NT_AMDGPU_METADATA
constexpr std::size_t kPage = 4096;

template <typename T>
bool fits(std::span<const std::uint8_t> file, std::uint64_t offset, std::uint64_t count = 1) {
  return offset <= file.size() && count <= (file.size() - offset) / sizeof(T);
}
template <typename T>
T copy_of(const std::uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
std::uint64_t padded(std::uint64_t size) { return (size + 3) & ~std::uint64_t{3}; }

bool is_ours(const Elf64_Ehdr& head, std::string& why) {
  if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_machine != kMachine ||
      head.e_ident[EI_OSABI] != kAmdHsa) {
    why = "it is no ELF file for AMD's GPUs";
  } else if (head.e_ident[EI_ABIVERSION] < 1 || head.e_ident[EI_ABIVERSION] > 3) {
    why = "its version is none of 3 to 5";
  }
  return why.empty();
}
const Architecture* architecture_of(const Elf64_Ehdr& head) {
  for (const Architecture& known : kArchitectures)
    if ((head.e_flags & kProcessorMask) == known.machine) return &known;
  return nullptr;
}

}  // namespace

std::unique_ptr<CodeObject> CodeObject::load(std::span<const std::uint8_t> file, std::string& why) {
  auto loaded = std::make_unique<CodeObject>();
  why.clear();
  return loaded->read(file, why) ? std::move(loaded) : nullptr;
}

bool CodeObject::read(std::span<const std::uint8_t> file, std::string& why) {
  if (!fits<Elf64_Ehdr>(file, 0)) return why = "it is too short", false;
  const auto head = copy_of<Elf64_Ehdr>(file.data());
  if (!is_ours(head, why)) return false;
  architecture_ = architecture_of(head);
  if (architecture_ == nullptr) return why = "it is for a GPU that is not emulated", false;
  if (!fits<Elf64_Phdr>(file, head.e_phoff, head.e_phnum)) return why = "it is cut off", false;
  std::vector<Elf64_Phdr> segments(head.e_phnum);
  std::memcpy(segments.data(), file.data() + head.e_phoff, segments.size() * sizeof(Elf64_Phdr));
  for (const auto& s : segments) {
    if (!fits<std::uint8_t>(file, s.p_offset, s.p_filesz)) return why = "it is cut off", false;
    if (s.p_type == PT_LOAD) size_ = std::max<std::size_t>(size_, s.p_vaddr + s.p_memsz);
  }
  size_ = (size_ + kPage - 1) & ~(kPage - 1);
  void* const memory =
      mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return why = "there is no memory for it", false;
  memory_ = static_cast<std::uint8_t*>(memory);
  decoded_ = std::vector<std::atomic<const Instruction*>>(size_ / 4);
  for (const auto& s : segments) {
    if (s.p_type != PT_LOAD) continue;
    std::memcpy(memory_ + s.p_vaddr, file.data() + s.p_offset, s.p_filesz);
    if (s.p_flags & PF_X) instructions_ = {memory_ + s.p_vaddr, s.p_filesz};
  }
  for (const auto& s : segments)
    if (s.p_type == PT_DYNAMIC) read_dynamic(s.p_vaddr);
  if (!relocate(relocations_, relocations_size_, why)) return false;
  for (const auto& s : segments)
    if (s.p_type == PT_NOTE) read_metadata(file.subspan(s.p_offset, s.p_filesz));
  return true;
}

void CodeObject::read_dynamic(std::uint64_t table) {
  std::uint64_t hash = 0;
  for (;; table += sizeof(Elf64_Dyn)) {
    const auto entry = copy_of<Elf64_Dyn>(memory_ + table);
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_SYMTAB) symbol_table_ = entry.d_un.d_ptr;
    if (entry.d_tag == DT_STRTAB) texts_ = entry.d_un.d_ptr;
    if (entry.d_tag == DT_RELA) relocations_ = entry.d_un.d_ptr;
    if (entry.d_tag == DT_RELASZ) relocations_size_ = entry.d_un.d_val;
    if (entry.d_tag == DT_HASH) hash = entry.d_un.d_ptr;
  }
  // The second word of the hash table is the number of symbols.
  const auto count = hash == 0 ? 0 : copy_of<std::uint32_t>(memory_ + hash + 4);
  for (std::uint32_t n = 1; n < count; ++n) {
    const auto symbol = copy_of<Elf64_Sym>(memory_ + symbol_table_ + n * sizeof(Elf64_Sym));
    const char* const name = reinterpret_cast<const char*>(memory_ + texts_ + symbol.st_name);
    if (symbol.st_shndx != SHN_UNDEF) symbols_[name] = {symbol.st_value, symbol.st_size};
  }
}

bool CodeObject::relocate(std::uint64_t table, std::uint64_t bytes, std::string& why) {
  const auto base = reinterpret_cast<std::uint64_t>(memory_);
  for (std::uint64_t at = table; at < table + bytes; at += sizeof(Elf64_Rela)) {
    const auto entry = copy_of<Elf64_Rela>(memory_ + at);
    const auto kind = ELF64_R_TYPE(entry.r_info);
    std::uint64_t value = base + static_cast<std::uint64_t>(entry.r_addend);
    if (kind == kAbsolute64) {
      const auto symbol = copy_of<Elf64_Sym>(memory_ + symbol_table_ +
                                             ELF64_R_SYM(entry.r_info) * sizeof(Elf64_Sym));
      if (symbol.st_shndx == SHN_UNDEF) return why = "it lacks a symbol", false;
      value += symbol.st_value;
    } else if (kind != kRelative64) {
      return why = "it has an unknown kind of relocation", false;
    }
    if (entry.r_offset + 8 > size_) return why = "a relocation is outside of it", false;
    std::memcpy(memory_ + entry.r_offset, &value, sizeof value);
  }
  return true;
}

void CodeObject::read_metadata(std::span<const std::uint8_t> note) {
  while (fits<Elf64_Nhdr>(note, 0)) {
    const auto head = copy_of<Elf64_Nhdr>(note.data());
    const std::uint64_t text = sizeof head + padded(head.n_namesz);
    if (!fits<std::uint8_t>(note, text, head.n_descsz)) return;
    if (head.n_type == kMetadataNote) {
      const Value all = read_msgpack(note.subspan(text, head.n_descsz));
      const Value* const kernels = all.find("amdhsa.kernels");
      for (std::size_t n = 0; kernels != nullptr && n < kernels->list.size(); ++n) {
        const Value& about = kernels->list[n];
        Kernel kernel;
        kernel.name = about.text_of(".name");
        kernel.code = this;
        const auto* const descriptor =
            static_cast<const std::uint8_t*>(variable(about.text_of(".symbol")));
        if (descriptor == nullptr) continue;
        std::memcpy(&kernel.descriptor, descriptor, sizeof kernel.descriptor);
        kernel.entry = reinterpret_cast<std::uint64_t>(descriptor) +
                       static_cast<std::uint64_t>(kernel.descriptor.entry_offset);
        kernel.has_dynamic_stack = about.number_of(".uses_dynamic_stack") != 0 ||
                                   (kernel.descriptor.properties >> 11 & 1) != 0;
        const std::pair<const char*, std::uint32_t*> counts[] = {
            {".vgpr_count", &kernel.vector_registers},
            {".agpr_count", &kernel.accumulation_registers},
            {".sgpr_count", &kernel.scalar_registers},
            {".vgpr_spill_count", &kernel.spilt_vector_registers},
            {".sgpr_spill_count", &kernel.spilt_scalar_registers}};
        for (const auto& [key, count] : counts)
          *count = static_cast<std::uint32_t>(about.number_of(key));
        if (const auto most = about.number_of(".max_flat_workgroup_size"))
          kernel.most_threads = static_cast<std::uint32_t>(most);
        if (const Value* arguments = about.find(".args"))
          for (const Value& argument : arguments->list)
            kernel.arguments.push_back({static_cast<std::uint32_t>(argument.number_of(".offset")),
                                        static_cast<std::uint32_t>(argument.number_of(".size")),
                                        argument.text_of(".value_kind")});
        kernels_[kernel.name] = std::move(kernel);
      }
    }
    const std::uint64_t next = text + padded(head.n_descsz);
    if (next >= note.size()) return;
    note = note.subspan(next);
  }
}

const Kernel* CodeObject::kernel(const std::string& name) const {
  const auto found = kernels_.find(name);
  return found == kernels_.end() ? nullptr : &found->second;
}

void* CodeObject::variable(const std::string& name, std::size_t* size) const {
  const auto found = symbols_.find(name);
  if (found == symbols_.end() || found->second.address >= size_) return nullptr;
  if (size != nullptr) *size = found->second.size;
  return memory_ + found->second.address;
}

void run_wave(Wave& wave, unsigned instructions) {
  for (; instructions > 0 && wave.state == WaveState::kReady; --instructions) {
    const Instruction* const i = wave.code->instruction_at(wave.pc);
    if (i == nullptr) fail(wave, "the program has left its code");
    wave.current = i;
    wave.pc += i->size;
    wave.memory_issue += i->counts_as_memory;
    i->execute(wave, *i);
  }
}

// Two threads may decode the same instruction: the first result stays.
const Instruction* CodeObject::decode_at(std::uint64_t place) const {
  const Instruction* made = decode(*architecture_, memory_ + place, size_ - place);
  const Instruction* known = nullptr;
  return decoded_[place / 4].compare_exchange_strong(known, made) ? made : known;
}

}  // namespace amd_gpu
