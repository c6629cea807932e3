// SPDX-License-Identifier: Apache-2.0
//
// Looks from where this code is.
#include "base/machine/library_place.hpp"

#include <dlfcn.h>
#include <unistd.h>

namespace meshmem {
namespace {

std::string folder_of_this_code() {
  Dl_info about{};
  if (dladdr(reinterpret_cast<void*>(&place_of_library), &about) == 0) return {};
  const std::string path = about.dli_fname;
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

}  // namespace

std::string place_of_library(const std::string& name) {
  for (const char* way : {"/", "/../lib/"}) {
    std::string path = folder_of_this_code() + way + name;
    if (access(path.c_str(), F_OK) == 0) return path;
  }
  return name;
}

}  // namespace meshmem
