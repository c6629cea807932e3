// SPDX-License-Identifier: Apache-2.0
//
// Set-up, exit and query (OpenSHMEM 1.6, sections 9.1 and 9.2).
// Invariant: queries never communicate.
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "api/entry.hpp"
#include "base/error.hpp"
#include "bootstrap/job.hpp"
#include "gpu/host_stores.hpp"
#include "library/init_finalize.hpp"
#include "meshmem/compat/other_names.h"

namespace meshmem {

namespace {

// Returns PE `pe`'s copy of this address, in host memory or in device memory that may_use()
// accepts. Returns nullptr where this process has none.
template <typename MayUse>
std::byte* find_copy_for(const void* address, int pe, const MayUse& may_use) {
  std::byte* there = find_copy(address_map, address, 1, pe);
  if (is_mapped(there)) return there;
  if (!may_be_on_device(address)) return nullptr;
  const auto place = device_segments().find(address, 1, pe);
  return place && may_use(*place) ? place->address : nullptr;
}
// For shmem_ptr: device memory only if kernels of this PE's device reach it.
std::byte* find_loadable_copy(const void* address, int pe) {
  return find_copy_for(address, pe, [](const DevicePlace& place) { return place.for_kernels; });
}
// For shmemx_host_ptr: device memory only if the processor can store into it.
std::byte* find_host_copy(const void* address, int pe) {
  return find_copy_for(
      address, pe, [](const DevicePlace& place) { return host_stores().holds(place.address, 1); });
}

constexpr int kGrantedThreadLevel = SHMEM_THREAD_MULTIPLE;

int my_pe(const char* routine) {
  require_active(routine);
  return address_map.my_pe;
}
int n_pes(const char* routine) {
  require_active(routine);
  return static_cast<int>(address_map.n_pes);
}

}  // namespace

extern "C" MESHMEM_VISIBLE void shmemx_start_under_names_of(int library) {
  runtime().start_under_names_of(library == SHMEMX_NAMES_OF_NVSHMEM    ? NamesOf::nvshmem
                                 : library == SHMEMX_NAMES_OF_ROCSHMEM ? NamesOf::rocshmem
                                                                       : NamesOf::openshmem);
}

MESHMEM_ENTRY(void, init, (void)) {
  if (const auto error = start_or_say_why("shmem_init", SHMEM_THREAD_SINGLE))
    fail_together("shmem_init: " + *error);
}

MESHMEM_ENTRY(int, init_thread, (int requested, int* provided)) {
  if (const auto error = start_or_say_why("shmem_init_thread", requested)) {
    print_line("shmem_init_thread: " + *error);
    return 1;
  }
  if (provided) *provided = kGrantedThreadLevel;
  return 0;
}

MESHMEM_ENTRY(void, finalize, (void)) {
  host_only("shmem_finalize");
  if (!runtime().is_active()) return debug_finalize_of_nothing();
  if (is_child_of_pe()) return debug("shmem_finalize: called by a child of fork; it does nothing");
  finish("shmem_finalize");
}

// start_pes() does not use atexit, which does not pass the status on. A PE that exits with a
// nonzero status has probably failed, and to finalize would wait for PEs that wait for it. The
// launcher sees the failure.
MESHMEM_NAMED_ENTRY(void, start_pes, (int)) {
  static std::atomic<bool> is_first{true};
  if (!is_first.exchange(false)) return;
  if (const auto error = start_or_say_why("start_pes", SHMEM_THREAD_SINGLE))
    fail_together("start_pes: " + *error);
  on_exit(
      [](int status, void*) {
        if (status == 0 && !is_child_of_pe() && runtime().is_active())
          finish("the end of the program");
      },
      nullptr);
}

MESHMEM_ENTRY(void, global_exit, (int status)) {
  flush_streams();
  abort_job(status);
}

MESHMEM_ENTRY(void, query_initialized, (int* initialized)) {
  *initialized = runtime().is_active() ? 1 : 0;
}
MESHMEM_ENTRY(void, query_thread, (int* provided)) { *provided = kGrantedThreadLevel; }

MESHMEM_ENTRY(int, my_pe, (void)) { return my_pe("shmem_my_pe"); }
MESHMEM_ENTRY(int, n_pes, (void)) { return n_pes("shmem_n_pes"); }
MESHMEM_NAMED_ENTRY(int, _my_pe, (void)) { return my_pe("_my_pe"); }
MESHMEM_NAMED_ENTRY(int, _num_pes, (void)) { return n_pes("_num_pes"); }

MESHMEM_ENTRY(int, pe_accessible, (int pe)) {
  require_active("shmem_pe_accessible");
  return static_cast<unsigned>(pe) < address_map.n_pes ? 1 : 0;
}

MESHMEM_ENTRY(int, addr_accessible, (const void* addr, int pe)) {
  require_active("shmem_addr_accessible");
  if (static_cast<unsigned>(pe) >= address_map.n_pes) return 0;
  return is_in_segment(address_map, addr, 1) || is_on_device(addr) ? 1 : 0;
}

MESHMEM_ENTRY(void*, ptr, (const void* dest, int pe)) {
  require_active("shmem_ptr");
  return static_cast<unsigned>(pe) < address_map.n_pes ? find_loadable_copy(dest, pe) : nullptr;
}

MESHMEM_EXTENSION_ENTRY(void*, host_ptr, (const void* dest, int pe)) {
  require_active("shmemx_host_ptr");
  return static_cast<unsigned>(pe) < address_map.n_pes ? find_host_copy(dest, pe) : nullptr;
}

MESHMEM_ENTRY(void*, team_ptr, (shmem_team_t handle, const void* dest, int pe)) {
  const Team* team = team_of(handle, "shmem_team_ptr");
  if (!team || static_cast<unsigned>(pe) >= static_cast<unsigned>(team->n)) return nullptr;
  return find_loadable_copy(dest, team->world_pe(pe));
}

MESHMEM_ENTRY(void, info_get_version, (int* major, int* minor)) {
  *major = SHMEM_MAJOR_VERSION;
  *minor = SHMEM_MINOR_VERSION;
}
MESHMEM_ENTRY(void, info_get_name, (char* name)) {
  static_assert(sizeof SHMEM_VENDOR_STRING <= SHMEM_MAX_NAME_LEN);
  std::memcpy(name, SHMEM_VENDOR_STRING, sizeof SHMEM_VENDOR_STRING);
}

}  // namespace meshmem
