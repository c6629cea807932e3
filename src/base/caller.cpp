// SPDX-License-Identifier: Apache-2.0
//
// Walks up the stack to the first function that is not of this library, and looks for its name. It
// looks among the names that its file gives to others, then among all (.symtab), where main and
// static functions are. Skips inline functions of the library's headers.
// Invariant: sizes and offsets in a file are checked before they are used.
#include "base/caller.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <span>
#include <string_view>

namespace meshmem {
namespace {

// A file as it is on disk.
class MappedFile {
 public:
  explicit MappedFile(const char* path) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    struct stat about {};
    if (fstat(file, &about) == 0 && about.st_size > 0) {
      bytes_ = static_cast<std::size_t>(about.st_size);
      memory_ = mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, file, 0);
    }
    close(file);
  }
  ~MappedFile() {
    if (memory_ != MAP_FAILED) munmap(memory_, bytes_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // `count` objects at `offset`; none if the file is too short.
  template <typename T>
  std::span<const T> at(std::uint64_t offset, std::uint64_t count) const {
    if (memory_ == MAP_FAILED || offset > bytes_ || count > (bytes_ - offset) / sizeof(T))
      return {};
    return {reinterpret_cast<const T*>(static_cast<const std::byte*>(memory_) + offset), count};
  }

 private:
  void* memory_ = MAP_FAILED;
  std::size_t bytes_ = 0;
};

using Header = ElfW(Ehdr);
using Section = ElfW(Shdr);
using Symbol = ElfW(Sym);

std::string symbol_in(const MappedFile& file, const Section& symbols, const Section& names,
                      std::uint64_t address) {
  for (const Symbol& symbol :
       file.at<Symbol>(symbols.sh_offset, symbols.sh_size / sizeof(Symbol))) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
    if (address < symbol.st_value || address - symbol.st_value >= symbol.st_size) continue;
    if (symbol.st_name >= names.sh_size) continue;
    const auto text =
        file.at<char>(names.sh_offset + symbol.st_name, names.sh_size - symbol.st_name);
    return std::string(text.data(), strnlen(text.data(), text.size()));
  }
  return "";
}

// The function at an address of the file; "" where the file is stripped.
std::string symbol_of_file(const char* path, std::uint64_t address) {
  const MappedFile file(path);
  const auto header = file.at<Header>(0, 1);
  if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0) return "";
  const auto sections = file.at<Section>(header[0].e_shoff, header[0].e_shnum);
  for (const Section& section : sections) {
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.size()) continue;
    return symbol_in(file, section, sections[section.sh_link], address);
  }
  return "";
}

std::string readable(const std::string& name) {
  int status = 0;
  char* const text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string result = text != nullptr ? text : name;
  std::free(text);
  constexpr std::string_view kUnnamed = "(anonymous namespace)::";
  for (std::size_t at; (at = result.find(kUnnamed)) != std::string::npos;)
    result.erase(at, kUnnamed.size());
  return result.substr(0, result.find('('));  // without the parameters
}

std::string describe_function(std::uintptr_t address) {
  Dl_info about{};
  link_map* module = nullptr;
  if (dladdr1(reinterpret_cast<void*>(address), &about, reinterpret_cast<void**>(&module),
              RTLD_DL_LINKMAP) == 0)
    return "";
  const auto base = reinterpret_cast<std::uintptr_t>(about.dli_fbase);
  const bool is_moved = static_cast<const Header*>(about.dli_fbase)->e_type == ET_DYN;
  const std::uint64_t in_file = is_moved ? address - base : address;
  const bool is_program = module == nullptr || *module->l_name == '\0';
  std::string name = about.dli_sname != nullptr ? about.dli_sname : "";
  if (name.empty()) name = symbol_of_file(is_program ? "/proc/self/exe" : module->l_name, in_file);
  std::string_view file = about.dli_fname;
  file.remove_prefix(file.rfind('/') + 1);  // npos + 1 is 0
  const std::string place = fmt::format("{}+0x{:x}", file, in_file);
  return name.empty() ? place : fmt::format("{} ({})", readable(name), place);
}

void* base_of(std::uintptr_t address) {
  Dl_info about{};
  return dladdr(reinterpret_cast<void*>(address), &about) != 0 ? about.dli_fbase : nullptr;
}

// True for inline functions of the library's headers, which are compiled into the program's file.
bool is_of_headers(std::string_view function) {
  constexpr std::string_view kBegins[] = {"shmem", "pshmem", "meshmem::", "nvshmem", "rocshmem::"};
  return std::any_of(std::begin(kBegins), std::end(kBegins),
                     [&](std::string_view begin) { return function.starts_with(begin); });
}

struct Search {
  void* own_base;
  std::string found{};
};

_Unwind_Reason_Code look_at_frame(_Unwind_Context* context, void* argument) {
  Search& search = *static_cast<Search*>(argument);
  const std::uintptr_t address = _Unwind_GetIP(context);
  if (address == 0 || base_of(address - 1) == search.own_base) return _URC_NO_REASON;
  search.found = function_at(address);
  return is_of_headers(search.found) ? _URC_NO_REASON : _URC_END_OF_STACK;
}

}  // namespace

std::string function_at(std::uintptr_t address) {
  static std::mutex& mutex = *new std::mutex;  // threads may wait while the process ends
  static auto& known = *new std::map<std::uintptr_t, std::string>;
  const std::lock_guard lock(mutex);
  const auto [place, is_new] = known.try_emplace(address);
  // A return address is behind the call, which may be a function's last instruction.
  if (is_new) place->second = describe_function(address - 1);
  return place->second;
}

std::string calling_function() {
  Search search{.own_base = base_of(reinterpret_cast<std::uintptr_t>(&calling_function))};
  _Unwind_Backtrace(look_at_frame, &search);
  return search.found;
}

}  // namespace meshmem
