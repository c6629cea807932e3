// SPDX-License-Identifier: Apache-2.0
//
// Finds the static data in the program headers, and maps shared pages over it.
// Invariant: pages that the dynamic linker has made read-only (RELRO) do not change.
#include "memory/static_data.hpp"

#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/machine/unique_fd.hpp"

namespace meshmem {
namespace {

std::uintptr_t page_bytes() {
  static const auto bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}
std::uintptr_t page_down(std::uintptr_t address) { return address & ~(page_bytes() - 1); }
std::uintptr_t page_up(std::uintptr_t address) { return page_down(address + page_bytes() - 1); }

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  return (hash ^ value) * 0x100000001b3ULL;
}

// The executable is the first object that dl_iterate_phdr shows.
int read_executable(dl_phdr_info* info, std::size_t, void* out) {
  StaticData& data = *static_cast<StaticData*>(out);
  std::uintptr_t read_only_end = 0;  // the dynamic linker protects whole pages below this
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type == PT_GNU_RELRO)
      read_only_end = page_down(info->dlpi_addr + header.p_vaddr + header.p_memsz);
  }
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || !(header.p_flags & PF_W)) continue;
    const std::uintptr_t address = info->dlpi_addr + header.p_vaddr;
    const std::uintptr_t end = page_up(address + header.p_memsz);
    const std::uintptr_t begin =
        read_only_end > address && read_only_end <= end ? read_only_end : page_down(address);
    if (begin < end) data.pieces.push_back({begin, end});
    data.fingerprint = mix(mix(data.fingerprint, header.p_vaddr), header.p_memsz);
  }
  return 1;
}

// How far the executable lies from the addresses in its file.
std::uintptr_t load_address() {
  std::uintptr_t address = 0;
  const auto read = [](dl_phdr_info* info, std::size_t, void* out) {
    *static_cast<std::uintptr_t*>(out) = info->dlpi_addr;
    return 1;
  };
  dl_iterate_phdr(read, &address);
  return address;
}

// These two functions read whole pages. AddressSanitizer would report the bytes between two
// variables, also in memcpy. So it does not check these functions, and volatile keeps the compiler
// from making the loop a memcpy.
using Word = std::uint64_t;

__attribute__((no_sanitize("address"))) bool is_zero(std::uintptr_t page) {
  const auto* words = reinterpret_cast<const volatile Word*>(page);
  for (std::size_t i = 0; i < page_bytes() / sizeof(Word); ++i)
    if (words[i] != 0) return false;
  return true;
}

__attribute__((no_sanitize("address"))) void copy_page(std::byte* to, std::uintptr_t page) {
  const auto* from = reinterpret_cast<const volatile Word*>(page);
  auto* words = reinterpret_cast<volatile Word*>(to);
  for (std::size_t i = 0; i < page_bytes() / sizeof(Word); ++i) words[i] = from[i];
}

}  // namespace

StaticData find_static_data() {
  StaticData data;
  dl_iterate_phdr(read_executable, &data);
  struct stat program {};
  if (stat("/proc/self/exe", &program) == 0)
    data.fingerprint = mix(data.fingerprint, static_cast<std::uint64_t>(program.st_size));
  if (data.pieces.empty()) return data;
  std::sort(data.pieces.begin(), data.pieces.end(),
            [](PageRange a, PageRange b) { return a.begin < b.begin; });
  data.begin = data.pieces.front().begin;
  data.end = data.pieces.back().end;
  return data;
}

void move_to_shared_memory(const StaticData& data, int file, std::size_t offset, std::byte* copy) {
  for (const PageRange& piece : data.pieces) {
    const std::size_t skip = piece.begin - data.begin;
    for (std::uintptr_t page = piece.begin; page < piece.end; page += page_bytes()) {
      // A page of zeros is left alone: a large, untouched .bss must not cost memory.
      if (!is_zero(page)) copy_page(copy + (page - data.begin), page);
    }
    void* place = reinterpret_cast<void*>(piece.begin);
    check(mmap(place, piece.end - piece.begin, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
               static_cast<off_t>(offset + skip)),
          "map the program's static data onto shared memory");
  }
}

std::optional<std::span<std::byte>> find_saved_variables() {
  const UniqueFd file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const auto read = [&](auto* to, std::size_t n, std::size_t at) {
    const std::size_t bytes = n * sizeof *to;
    return pread(file.get(), to, bytes, static_cast<off_t>(at)) == static_cast<ssize_t>(bytes);
  };
  ElfW(Ehdr) head;
  // Without section headers, or under a program loader, this file does not tell.
  if (!read(&head, 1, 0) || head.e_shnum == 0 ||
      load_address() + head.e_entry != getauxval(AT_ENTRY))
    return std::nullopt;
  std::vector<ElfW(Shdr)> sections(head.e_shnum);
  if (!read(sections.data(), sections.size(), head.e_shoff)) return std::nullopt;
  if (head.e_shstrndx >= sections.size()) return std::span<std::byte>{};
  std::string names(sections[head.e_shstrndx].sh_size, '\0');
  if (!read(names.data(), names.size(), sections[head.e_shstrndx].sh_offset)) return std::nullopt;
  for (const ElfW(Shdr) & section : sections) {
    constexpr std::string_view kName{"shmemx_saved", sizeof "shmemx_saved"};  // with its end
    if (section.sh_name < names.size() &&
        std::string_view(names).substr(section.sh_name).starts_with(kName))
      return std::span(reinterpret_cast<std::byte*>(load_address() + section.sh_addr),
                       section.sh_size);
  }
  return std::span<std::byte>{};
}

}  // namespace meshmem
