// SPDX-License-Identifier: Apache-2.0
// Looks at the first line of the program's file: of a script, or the begin of machine code.
#include "program_file.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace meshmem {
namespace {

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

std::string find(const std::string& program) {
  if (program.find('/') != std::string::npos) return program;
  const char* path = std::getenv("PATH");
  std::istringstream folders(std::string(path != nullptr ? path : "/bin:/usr/bin") + ":");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = (folder.empty() ? "." : folder) + "/" + program;
    if (is_file(file) && ::access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

std::string first_line(const std::string& path) {
  std::string line;
  if (!is_file(path)) return line;  // to open a named pipe would wait for its writer
  line.resize(256);                 // the kernel reads no more of it either
  std::ifstream file(path, std::ios::binary);
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<std::size_t>(file.gcount()));
  return line.substr(0, line.find('\n'));
}

bool is_machine_code(const std::string& line) { return line.starts_with(ELFMAG); }

}  // namespace

std::string find_machine_code(const std::string& program) {
  const std::string path = find(program);
  return is_machine_code(first_line(path)) ? path : "";
}

std::string explain_exec_error(const std::string& program, int error) {
  std::error_code ignored;
  const std::string path = find(program);
  if (error == EACCES && std::filesystem::is_directory(path, ignored)) return std::strerror(EISDIR);
  if (error == ENOEXEC) return "it is not a program for this machine, or its file is damaged";
  const std::string line = first_line(path);
  if (error == ENOENT && is_machine_code(line))
    return "its loader does not exist (`readelf -l` names it)";
  if (error != ENOENT || !line.starts_with("#!")) return std::strerror(error);
  if (line.back() == '\r') return "its lines end in carriage returns";
  return fmt::format("its first line names an interpreter that is not there: {}", line);
}

}  // namespace meshmem
