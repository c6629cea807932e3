// SPDX-License-Identifier: Apache-2.0
//
// Loads libmeshmem.so where the loader finds it for this program.
#include "info/doctor/library.hpp"

#include <dlfcn.h>

namespace meshmem::doctor {

std::variant<Library, std::string> load_library() {
  const auto reason = [] {
    const char* text = ::dlerror();
    return std::string(text ? text : "no reason given");
  };
  void* const file = ::dlopen(MESHMEM_LIBRARY, RTLD_NOW | RTLD_GLOBAL);
  if (!file) return reason();
  Library library{};
#define MESHMEM_FIND(name)                                                                \
  library.name = reinterpret_cast<decltype(library.name)>(::dlsym(file, "shmem_" #name)); \
  if (!library.name) return reason();
  MESHMEM_DOCTOR_ROUTINES(MESHMEM_FIND)
#undef MESHMEM_FIND
  return library;
}

}  // namespace meshmem::doctor
