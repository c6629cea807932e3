// SPDX-License-Identifier: Apache-2.0
//
// Where modules of device code make themselves known (include/shmem/module.h). Invariant: called by
// static initializers, so nothing here needs the library to be initialized.
#include "gpu/modules.hpp"

#include "api/entry.hpp"
#include "base/error.hpp"
#include "shmemx.h"

namespace meshmem {

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

}  // namespace meshmem
