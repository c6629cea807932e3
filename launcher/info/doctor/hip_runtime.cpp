// SPDX-License-Identifier: Apache-2.0
//
// The version is in the file's name, "libamdhip64.so.6.3.60300", behind links. Asking the library
// would start it, and it would not see what start-up sets for it (gpu/device_memory.cpp).
#include "info/doctor/hip_runtime.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace meshmem::doctor {

std::string hip_library_of(const std::string& version) {
  return "libamdhip64.so." + version.substr(0, version.find('.'));
}

std::string ask_hip(const std::string& version) {
  void* library = ::dlopen(hip_library_of(version).c_str(), RTLD_LAZY | RTLD_LOCAL);
  void* inside = library ? ::dlsym(library, "hipRuntimeGetVersion") : nullptr;
  Dl_info about{};
  if (!inside || ::dladdr(inside, &about) == 0) return "";
  std::error_code failed;
  return hip_version_in(std::filesystem::canonical(about.dli_fname, failed).filename());
}

std::string hip_version_in(const std::string& file) {
  int major = 0, minor = 0;
  const char* versions = std::strstr(file.c_str(), ".so.");
  if (!versions || std::sscanf(versions, ".so.%d.%d", &major, &minor) != 2) return kHipUntold;
  return fmt::format("{}.{}", major, minor);
}

}  // namespace meshmem::doctor
