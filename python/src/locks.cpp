// SPDX-License-Identifier: Apache-2.0
//
// Locks (OpenSHMEM 1.6, 9.13), from which meshmem.Lock is made.
// Invariant: a wait for a lock releases Python's own. Routines are called by name: tools that watch
// calls do not see those by an address that was taken before shmem_init.
#include "array.hpp"

namespace meshmem::python {

void bind_locks(nb::module_& module) {
  const auto bind_lock = [&](const char* name, auto routine) {
    module.def(
        name,
        [routine](const Array& lock) {
          if (lock.code != Code::int64) fail(PyExc_TypeError, "lock: its dtype is not int64");
          auto* const address = reinterpret_cast<long*>(lock.element(0, "lock"));
          const Unlocked unlocked;
          return routine(address);
        },
        nb::arg("lock"));
  };
  bind_lock("set_lock", [](long* lock) { shmem_set_lock(lock); });
  bind_lock("clear_lock", [](long* lock) { shmem_clear_lock(lock); });
  bind_lock("test_lock", [](long* lock) { return shmem_test_lock(lock) == 0; });
}

}  // namespace meshmem::python
