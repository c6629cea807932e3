// SPDX-License-Identifier: Apache-2.0
// Reads the head of the program's file: the line of a script, or the ELF header.
// Invariant: a file may be cut off or hold anything; nothing is read beyond what is there.
#include "program_file.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>

namespace meshmem {
namespace {

#if defined(__aarch64__)
constexpr int kOwnMachine = EM_AARCH64;
#else
constexpr int kOwnMachine = EM_X86_64;
#endif

// Its S_IFMT: a named pipe must not be opened. 0: it is not there.
mode_t kind_of(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 ? about.st_mode & S_IFMT : 0;
}

std::string find(const std::string& program) {
  if (program.find('/') != std::string::npos) {
    return kind_of(program) != 0 ? program : "";
  }
  const char* path = std::getenv("PATH");
  std::string folders = path != nullptr ? path : "/bin:/usr/bin";
  folders += ':';
  for (std::size_t at = 0; at < folders.size();) {
    const std::size_t end = folders.find(':', at);
    std::string file = folders.substr(at, end - at);
    if (!file.empty()) file += '/';
    file += program;
    if (kind_of(file) == S_IFREG && ::access(file.c_str(), X_OK) == 0) return file;
    at = end + 1;
  }
  return "";
}

// As much as is there, at most `most` bytes.
std::string read_bytes(const std::string& path, std::uint64_t offset, std::size_t most) {
  std::string bytes(most, '\0');
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(bytes.data(), static_cast<std::streamsize>(most));
  bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return bytes;
}

template <typename Header>
std::optional<Header> read_header(const std::string& path, std::uint64_t offset) {
  const std::string bytes = read_bytes(path, offset, sizeof(Header));
  if (bytes.size() < sizeof(Header)) return std::nullopt;
  Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header;
}

bool is_elf(const std::string& path) {
  return kind_of(path) == S_IFREG && read_bytes(path, 0, SELFMAG) == ELFMAG;
}

std::string name_of(int machine) {
  switch (machine) {
    case EM_386:
      return "x86";
    case EM_X86_64:
      return "x86-64";
    case EM_ARM:
      return "Arm";
    case EM_AARCH64:
      return "64-bit Arm";
    case EM_PPC64:
      return "64-bit PowerPC";
    case EM_RISCV:
      return "RISC-V";
    default:
      return fmt::format("ELF's machine {}", machine);
  }
}

// "#!/bin/sh -e" names /bin/sh.
std::string interpreter_of_script(const std::string& path) {
  std::string line = read_bytes(path, 0, 256);
  if (line.compare(0, 2, "#!") != 0) return "";
  line = line.substr(2, line.find('\n') - 2);
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string::npos) return "";
  return line.substr(begin, line.find_first_of(" \t", begin) - begin);
}

std::string loader_of(const std::string& path) {
  const std::optional<Elf64_Ehdr> elf = read_header<Elf64_Ehdr>(path, 0);
  if (!elf || elf->e_ident[EI_CLASS] != ELFCLASS64) return "";
  for (int i = 0; i < elf->e_phnum; ++i) {
    const auto part = read_header<Elf64_Phdr>(path, elf->e_phoff + i * sizeof(Elf64_Phdr));
    if (!part) return "";
    if (part->p_type != PT_INTERP) continue;
    const std::string name = read_bytes(path, part->p_offset, 256);
    return name.substr(0, name.find('\0'));
  }
  return "";
}

std::string explain_missing(const std::string& path) {
  const std::string interpreter = interpreter_of_script(path);
  if (!interpreter.empty() && interpreter.back() == '\r') {
    return fmt::format("its lines end in carriage returns, so that its first one names '{}\\r'",
                       interpreter.substr(0, interpreter.size() - 1));
  }
  if (!interpreter.empty() && kind_of(interpreter) == 0) {
    return fmt::format("its first line names '{}', which is not there", interpreter);
  }
  const std::string loader = is_elf(path) ? loader_of(path) : "";
  if (!loader.empty() && kind_of(loader) == 0)
    return fmt::format("its loader '{}' is not there", loader);
  return "";
}

std::string explain_machine(const std::string& path) {
  const std::optional<Elf64_Ehdr> elf = read_header<Elf64_Ehdr>(path, 0);
  if (!elf || elf->e_machine == kOwnMachine) return "its file is damaged, or cut off";
  return fmt::format("it is a program for {}, and this processor is {}", name_of(elf->e_machine),
                     name_of(kOwnMachine));
}

}  // namespace

ProgramFile::ProgramFile(const std::string& program) : path_(find(program)) {
  if (!path_.empty() && is_elf(path_)) machine_code_ = path_;
}

std::string ProgramFile::explain(int error) const {
  std::string why;
  if (error == EACCES && kind_of(path_) == S_IFDIR) why = std::strerror(EISDIR);
  if (error == ENOENT && !path_.empty()) why = explain_missing(path_);
  if (error == ENOEXEC && !machine_code_.empty()) why = explain_machine(path_);
  return why.empty() ? std::strerror(error) : why;
}

}  // namespace meshmem
