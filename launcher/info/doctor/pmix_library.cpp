// SPDX-License-Identifier: Apache-2.0
//
// prterun, and the mpirun of Open MPI 5, are linked with libpmix; that of Open MPI 4 has it in a
// plugin, mca_pmix_*.so. ldd shows which file it is.
#include "info/doctor/pmix_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

#include "info/doctor/machine.hpp"

namespace meshmem::doctor {
namespace {

namespace fs = std::filesystem;

// The path in a line as "libpmix.so.2 => /usr/lib/libpmix.so.2 (0x7f...)", or kNotFound.
std::string linked_pmix(const std::string& file) {
  std::istringstream lines(output_of("/usr/bin/ldd", fmt::format("'{}' 2>/dev/null", file)));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t arrow = line.find(" => ");
    if (arrow == std::string::npos || !trimmed(line).starts_with("libpmix.so")) continue;
    const std::string place = line.substr(arrow + 4);
    return place.starts_with(kNotFound) ? kNotFound : place.substr(0, place.find(" ("));
  }
  return "";
}

// "path:pkglibdir:/usr/lib/openmpi", as Open MPI's programs say where its plugins are.
fs::path plugins_of_open_mpi(const std::string& program) {
  constexpr std::string_view kBefore = "path:pkglibdir:";
  if (output_of(program, "--version 2>/dev/null").find("Open MPI") == std::string::npos) return "";
  const std::string info = fs::path(program).replace_filename("ompi_info");
  std::istringstream lines(output_of(info, "--parsable --path pkglibdir 2>/dev/null"));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(kBefore)) return trimmed(line.substr(kBefore.size()));
  return "";
}

std::string pmix_of_plugins(const fs::path& folder) {
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    if (!entry->path().filename().string().starts_with("mca_pmix_")) continue;
    if (const std::string found = linked_pmix(entry->path()); !found.empty()) return found;
  }
  return "";
}

}  // namespace

// PMIx tells its version before it is initialized.
std::string ask_pmix() {
  void* library = ::dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);
  if (!library) return "";
  const auto version = reinterpret_cast<const char* (*)()>(::dlsym(library, "PMIx_Get_version"));
  return version ? trimmed(version()) : "";
}

std::string ask_pmix_of_launcher(const std::string& program) {
  if (program.find('\'') != std::string::npos) return "";
  std::string found = linked_pmix(program);
  if (found.empty())
    if (const fs::path folder = plugins_of_open_mpi(program); !folder.empty())
      found = pmix_of_plugins(folder);
  return found == kNotFound ? found : pmix_version_in_file(found);
}

std::string pmix_version_in_file(const std::string& file) {
  constexpr std::string_view kBefore = "OpenPMIx ";
  std::ifstream stream(file, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(stream), {});
  for (std::size_t at = bytes.find(kBefore); at != std::string::npos;
       at = bytes.find(kBefore, at + 1)) {
    const std::string text = bytes.substr(at, bytes.find('\0', at) - at);
    if (text.find("PMIx Standard") != std::string::npos) return pmix_number(text);
  }
  return "";
}

std::string pmix_number(const std::string& text) {
  const std::size_t digit = text.find_first_of("0123456789");
  if (digit == std::string::npos) return "?";
  return text.substr(digit, text.find_first_of(" ,", digit) - digit);
}

}  // namespace meshmem::doctor
