// SPDX-License-Identifier: Apache-2.0
//
// Modules of device code make themselves known here (include/shmem/module.h), and programs make
// modules known that they have loaded (shmemx.h). Invariant: static initializers call the former,
// so it does not need an initialized library.
#include "gpu/modules.hpp"

#include "api/entry.hpp"
#include "base/error.hpp"
#include "gpu/device_target.hpp"
#include "memory/address_map.hpp"
#include "shmemx.h"

namespace meshmem {
namespace {

bool is_active() { return address_map.n_pes != 0; }

std::optional<std::string> init_loaded_module(void* module) {
  if (kDevicesAreProcessors)
    return "there are no modules on processors (target cpu): a library with kernels is loaded by "
           "dlopen, and knows the job by itself";
  if (!is_active()) return "the library is not initialized";
  if (!module) return "the module is NULL";
  return modules().add_loaded(module);
}

}  // namespace

extern "C" MESHMEM_VISIBLE void shmemx_register_module(std::size_t state_bytes, void* (*place)()) {
  if (state_bytes != sizeof(device::State)) {
    fatal(
        "a module of device code was compiled with headers of another version of meshmem (its "
        "state has {} bytes, the library's {}); compile it again with this library's oshhip",
        state_bytes, sizeof(device::State));
  }
  modules().add(place);
}

extern "C" MESHMEM_VISIBLE void shmemx_unregister_module(void* (*place)()) {
  modules().remove(place);
}

MESHMEM_EXTENSION_ENTRY(void, module_init, ()) { modules().publish_again(); }

MESHMEM_EXTENSION_ENTRY(int, loaded_module_init, (void* module)) {
  const auto why = init_loaded_module(module);
  if (why) print_line(fmt::format("shmemx_loaded_module_init: {}", *why));
  return why ? 1 : 0;
}

MESHMEM_EXTENSION_ENTRY(int, loaded_module_finalize, (void* module)) {
  if (!is_active() || modules().remove_loaded(module)) return 0;
  print_line(
      fmt::format("shmemx_loaded_module_finalize: {} is not a module that was given to "
                  "shmemx_loaded_module_init in this job",
                  module));
  return 1;
}

extern "C" MESHMEM_VISIBLE void* shmemx_module_of_library(void* library) {
  return module_of_library(library);
}

}  // namespace meshmem
