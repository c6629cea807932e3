// SPDX-License-Identifier: Apache-2.0
//
// Reads the relocations of each loaded object, as the loader does.
#include "tools/interpose/interpose.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>

namespace meshmem::tracing {
namespace {

#if defined(__x86_64__)
constexpr unsigned kSlotOfCall = R_X86_64_JUMP_SLOT, kSlot = R_X86_64_GLOB_DAT, kWord = R_X86_64_64;
#elif defined(__aarch64__)
constexpr unsigned kSlotOfCall = R_AARCH64_JUMP_SLOT, kSlot = R_AARCH64_GLOB_DAT,
                   kWord = R_AARCH64_ABS64;
#else
#error "which relocations name functions on this processor?"
#endif

using Wrappers = std::unordered_map<std::string_view, const Entry*>;

// Without those for which the loader finds another function, such as that of a user's profiler.
Wrappers find_wrappers() {
  Wrappers wrappers;
  for (const Entry& entry : entries()) {
    void* used = dlsym(RTLD_DEFAULT, entry.name);
    if (used == nullptr || used == entry.routine) wrappers[entry.name] = &entry;
  }
  return wrappers;
}

struct Object {
  std::uintptr_t base = 0;
  const Elf64_Sym* symbols = nullptr;
  const char* names = nullptr;
  std::span<const Elf64_Rela> relocations, calls;
  std::uintptr_t read_only_begin = 0, read_only_end = 0;
};

std::span<const Elf64_Rela> relocations(std::uintptr_t at, std::size_t bytes) {
  return {reinterpret_cast<const Elf64_Rela*>(at), bytes / sizeof(Elf64_Rela)};
}

void read_dynamic(Object& object, const Elf64_Dyn* entry) {
  std::uintptr_t table = 0, calls = 0;
  std::size_t table_bytes = 0, calls_bytes = 0;
  for (; entry->d_tag != DT_NULL; ++entry) {
    // The C library adds the base, but not to objects that it does not own.
    std::uintptr_t at = entry->d_un.d_ptr;
    if (at < object.base) at += object.base;
    if (entry->d_tag == DT_SYMTAB) object.symbols = reinterpret_cast<const Elf64_Sym*>(at);
    if (entry->d_tag == DT_STRTAB) object.names = reinterpret_cast<const char*>(at);
    if (entry->d_tag == DT_RELA) table = at;
    if (entry->d_tag == DT_RELASZ) table_bytes = entry->d_un.d_val;
    if (entry->d_tag == DT_JMPREL) calls = at;
    if (entry->d_tag == DT_PLTRELSZ) calls_bytes = entry->d_un.d_val;
  }
  object.relocations = relocations(table, table_bytes);
  object.calls = relocations(calls, calls_bytes);
}

Object read_object(const dl_phdr_info& info) {
  Object object;
  object.base = info.dlpi_addr;
  for (const Elf64_Phdr& part : std::span(info.dlpi_phdr, info.dlpi_phnum)) {
    if (part.p_type == PT_GNU_RELRO) {
      object.read_only_begin = object.base + part.p_vaddr;
      object.read_only_end = object.read_only_begin + part.p_memsz;
    }
    if (part.p_type == PT_DYNAMIC)
      read_dynamic(object, reinterpret_cast<const Elf64_Dyn*>(object.base + part.p_vaddr));
  }
  return object;
}

void store(const Object& object, void** slot, void* value) {
  const auto at = reinterpret_cast<std::uintptr_t>(slot);
  const auto page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  auto* page = reinterpret_cast<void*>(at / page_bytes * page_bytes);
  const bool is_read_only = object.read_only_begin <= at && at < object.read_only_end;
  if (is_read_only && mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) return;
  __atomic_store_n(slot, value, __ATOMIC_RELAXED);
  if (is_read_only) mprotect(page, page_bytes, PROT_READ);
}

// A slot of calls may lead to the loader until the first call, so its value is not compared.
void change(const Object& object, const Elf64_Rela& relocation, const Wrappers& wrappers) {
  const auto type = static_cast<unsigned>(ELF64_R_TYPE(relocation.r_info));
  if (type != kSlotOfCall && type != kSlot && type != kWord) return;
  const char* name = object.names + object.symbols[ELF64_R_SYM(relocation.r_info)].st_name;
  const auto found = wrappers.find(name);
  if (found == wrappers.end()) return;
  auto* slot = reinterpret_cast<void**>(object.base + relocation.r_offset);
  if (type == kSlotOfCall || *slot == found->second->routine)
    store(object, slot, found->second->wrapper);
}

// True for libmeshmem.so, which uses none of these names, and for the library of the wrappers.
bool is_ours(const dl_phdr_info& info) {
  for (const void* ours : {entries()[0].wrapper, entries()[0].routine})
    for (const Elf64_Phdr& part : std::span(info.dlpi_phdr, info.dlpi_phnum)) {
      const std::uintptr_t begin = info.dlpi_addr + part.p_vaddr;
      const auto at = reinterpret_cast<std::uintptr_t>(ours);
      if (part.p_type == PT_LOAD && begin <= at && at < begin + part.p_memsz) return true;
    }
  return false;
}

int visit(dl_phdr_info* info, std::size_t, void* wrappers) {
  if (is_ours(*info)) return 0;
  const Object object = read_object(*info);
  if (!object.symbols || !object.names) return 0;
  for (const auto& table : {object.relocations, object.calls})
    for (const Elf64_Rela& relocation : table)
      change(object, relocation, *static_cast<const Wrappers*>(wrappers));
  return 0;
}

}  // namespace

void put_wrappers_in_place() {
  Wrappers wrappers = find_wrappers();
  dl_iterate_phdr(visit, &wrappers);
}

}  // namespace meshmem::tracing
