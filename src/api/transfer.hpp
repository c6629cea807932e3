// SPDX-License-Identifier: Apache-2.0
//
// Copies and signals between this PE and a mapped one: the bodies that puts, gets and
// put-with-signal share.
// Invariant: between host memory no lock, no allocation, no system call and no indirect call but
// memcpy's. Included by api/ only.
#ifndef MESHMEM_API_TRANSFER_HPP_
#define MESHMEM_API_TRANSFER_HPP_

#include <atomic>
#include <cstdint>
#include <cstring>

#include "api/entry.hpp"
#include "base/error.hpp"
#include "base/schedule_fuzzing.hpp"
#include "memory/address_map.hpp"
#include "memory/room.hpp"
#include "transport/one_sided.hpp"

#define MESHMEM_UNWRAP(...) __VA_ARGS__

namespace meshmem {

// Out of line, once for all types: what the typed routines jump to. `pe` is a world PE, not checked
// yet.
void put_bytes(const char* routine, void* dest, const void* source, std::size_t bytes, int pe);
void get_bytes(const char* routine, void* dest, const void* source, std::size_t bytes, int pe);
// Complete, within host memory, when they return, which a nonblocking form may be.
void put_nbi_bytes(const char* routine, void* dest, const void* source, std::size_t bytes, int pe);
void get_nbi_bytes(const char* routine, void* dest, const void* source, std::size_t bytes, int pe);

// Release: publishes the data of the same call to whoever waits for the signal.
template <typename Where>
inline void update_signal(Where where, std::uint64_t* sig_addr, std::uint64_t value, int sig_op,
                          int pe) {
  if (sig_op != SHMEM_SIGNAL_SET && sig_op != SHMEM_SIGNAL_ADD) [[unlikely]]
    fatal("{}: sig_op {} is neither SHMEM_SIGNAL_SET nor SHMEM_SIGNAL_ADD", where.routine, sig_op);
  const int to = where.world_pe(pe);
  check_pe(direct_map, to, where.routine);
  std::byte* copy = find_copy(direct_map, sig_addr, sizeof *sig_addr, to);
  if (!is_mapped(copy)) [[unlikely]]
    copy = find_in_block(where.routine, sig_addr, sizeof *sig_addr, to);
  if (!is_mapped(copy)) [[unlikely]]
    return one_sided::signal(where.routine, sig_addr, value, sig_op, to);
  auto* there = reinterpret_cast<std::uint64_t*>(copy);
  fuzz_schedule();
  if (sig_op == SHMEM_SIGNAL_SET) {
    __atomic_store_n(there, value, __ATOMIC_RELEASE);
  } else {
    __atomic_fetch_add(there, value, __ATOMIC_RELEASE);
  }
}

}  // namespace meshmem

#endif  // MESHMEM_API_TRANSFER_HPP_
