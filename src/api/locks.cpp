// SPDX-License-Identifier: Apache-2.0
//
// Locks (OpenSHMEM 1.6, section 9.13).
// Invariant: what a PE did to symmetric memory under a lock, on the default context, is complete
// before the next PE has the lock. The queue itself is in core/lock.hpp.
#include "api/entry.hpp"
#include "base/waiting/wait.hpp"
#include "core/lock.hpp"
#include "one_sided/completion.hpp"

namespace meshmem {
namespace {

Lock lock_at(long* lock, const char* routine) {
  require_active(routine);
  return Lock(address_map, lock, routine);
}

}  // namespace

MESHMEM_ENTRY(void, set_lock, (long* lock)) { lock_at(lock, "shmem_set_lock").acquire(); }

MESHMEM_ENTRY(int, test_lock, (long* lock)) {
  if (lock_at(lock, "shmem_test_lock").try_acquire()) return 0;
  note_failed_test();
  return 1;
}

MESHMEM_ENTRY(void, clear_lock, (long* lock)) {
  constexpr const char* kRoutine = "shmem_clear_lock";
  Lock held = lock_at(lock, kRoutine);
  held.require_held();
  complete_transfers(kRoutine);
  held.release();
}

}  // namespace meshmem
