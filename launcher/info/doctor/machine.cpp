// SPDX-License-Identifier: Apache-2.0
//
// Reads the machine. Invariant: nothing it asks changes the machine.
#include "info/doctor/machine.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>

#include "base/machine/shared_file.hpp"
#include "base/machine/start_obstacles.hpp"

namespace meshmem::doctor {
namespace {

namespace fs = std::filesystem;

int try_memory_file() {
  const int file = try_make_shared_file("meshmem-doctor", 4096);
  if (file < 0) return errno;
  ::close(file);
  return 0;
}

// "OpenPMIx 4.2.2 (PMIx Standard: ...)", or "". PMIx reports its version before it is initialized.
std::string ask_pmix() {
  void* library = ::dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);
  if (!library) return "";
  const auto version = reinterpret_cast<const char* (*)()>(::dlsym(library, "PMIx_Get_version"));
  return version ? trimmed(version()) : "";
}

}  // namespace

Machine::Machine(fs::path root, std::string target)
    : variable(std::getenv),
      may_use([](const fs::path& file) { return ::access(file.c_str(), R_OK | W_OK) == 0; }),
      output_of(doctor::output_of),
      pmix_version(ask_pmix),
      networks(ask_networks),
      ucx_of_build(MESHMEM_UCX_VERSION),
      nvml(ask_nvml),
      cuda_of_build(MESHMEM_CUDA_VERSION),
      hip_version([] { return ask_hip(MESHMEM_HIP_VERSION); }),
      hip_of_build(MESHMEM_HIP_VERSION),
      lack_of_interface(why_no_network),
      memory_file_error(try_memory_file),
      root_(std::move(root)),
      target_(std::move(target)) {}

fs::path Machine::at(const std::string& path) const {
  return root_ / fs::path(path).relative_path();
}

bool Machine::exists(const std::string& path) const {
  std::error_code failed;
  return fs::exists(at(path), failed);
}

std::optional<std::string> Machine::read(const std::string& path) const {
  constexpr std::size_t kMost = 1 << 20;
  std::error_code failed;
  if (fs::is_directory(at(path), failed)) return std::nullopt;
  std::ifstream file(at(path), std::ios::binary);
  if (!file) return std::nullopt;
  std::string text(kMost, '\0');
  file.read(text.data(), kMost);
  if (file.bad()) return std::nullopt;
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

std::optional<std::string> Machine::line(const std::string& path) const {
  const auto text = read(path);
  return text ? std::optional(trimmed(text->substr(0, text->find('\n')))) : std::nullopt;
}

std::vector<std::string> Machine::list(const std::string& folder) const {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator entry(at(folder), failed), end; !failed && entry != end;
       entry.increment(failed))
    names.push_back(entry->path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

std::string Machine::group_of(const std::string& path) const {
  struct stat about {};
  if (::stat(at(path).c_str(), &about) != 0) return "?";
  const group* const found = ::getgrgid(about.st_gid);
  return found ? found->gr_name : std::to_string(about.st_gid);
}

std::optional<std::string> Machine::field(const std::string& path, const std::string& begin) const {
  std::istringstream lines(read(path).value_or(""));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(begin)) return trimmed(line.substr(begin.size()));
  return std::nullopt;
}

// A line is the name, the soft limit, the hard one and their unit.
std::optional<std::uint64_t> Machine::limit(const std::string& name, bool hard) const {
  std::istringstream words(field("/proc/self/limits", name + " ").value_or(""));
  std::string text;
  words >> text;
  if (hard) words >> text;
  std::istringstream number(text);
  std::uint64_t value = 0;
  return number >> value ? std::optional(value) : std::nullopt;
}

std::uint64_t Machine::memory_info(const std::string& name) const {
  const std::string kib = field("/proc/meminfo", name + ":").value_or("");
  return std::strtoull(kib.c_str(), nullptr, 10) << 10;
}

std::string Machine::find_program(const std::string& name) const {
  const char* path = variable("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string program = folder + "/" + name;
    if (!folder.starts_with('/')) continue;
    if (::access(at(program).c_str(), X_OK) == 0) return at(program).string();
  }
  return "";
}

std::string trimmed(std::string text) {
  const char* blanks = " \t\r\n";
  text.erase(text.find_last_not_of(blanks) + 1);
  text.erase(0, std::min(text.find_first_not_of(blanks), text.size()));
  return text;
}

int version_in(const std::string& text) {
  int major = 0, minor = 0;
  (void)std::sscanf(text.c_str(), "%d.%d", &major, &minor);
  return 1000 * major + 10 * minor;
}

std::string output_of(const std::string& program, const std::string& words) {
  constexpr std::size_t kMost = 64 << 10;
  if (program.find('\'') != std::string::npos) return "";
  const std::string command = fmt::format("timeout 5 '{}' {} </dev/null", program, words);
  const std::unique_ptr<FILE, int (*)(FILE*)> output(::popen(command.c_str(), "re"), ::pclose);
  std::string text;
  char line[256] = "";
  while (output && std::fgets(line, sizeof line, output.get()))  // all, or the program might fail
    if (text.size() < kMost) text += line;
  return text;
}

}  // namespace meshmem::doctor
