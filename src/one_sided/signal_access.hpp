// SPDX-License-Identifier: Apache-2.0
//
// Updates a signal of a PE (OpenSHMEM 1.6, section 9.8): by a store or an atomic of this processor
// if the signal is mapped here, else by one_sided.hpp.
// Invariant: a PE that sees the signal's new value also sees the data of the same call. `Where`
// knows the routine's name, and the world PE for a PE number. Called by api/wait.cpp and by puts
// with a signal.
#ifndef MESHMEM_ONE_SIDED_SIGNAL_ACCESS_HPP_
#define MESHMEM_ONE_SIDED_SIGNAL_ACCESS_HPP_

#include <cstdint>

#include "base/error.hpp"
#include "base/waiting/schedule_fuzzing.hpp"
#include "memory/address_map.hpp"
#include "memory/argument_checks.hpp"
#include "one_sided/one_sided.hpp"
#include "shmem.h"

namespace meshmem {

inline void check_signal_op(const char* routine, int sig_op) {
  if (sig_op != SHMEM_SIGNAL_SET && sig_op != SHMEM_SIGNAL_ADD) [[unlikely]]
    fatal("{}: sig_op {} is neither SHMEM_SIGNAL_SET nor SHMEM_SIGNAL_ADD", routine, sig_op);
}

// Release: publishes the data of the same call to the PE that waits for the signal.
template <typename Where>
inline void update_signal(Where where, std::uint64_t* sig_addr, std::uint64_t value, int sig_op,
                          int pe) {
  check_signal_op(where.routine, sig_op);
  const int to = where.world_pe(pe);
  check_pe(direct_map, to, where.routine);
  check_alignment(where.routine, sig_addr, sizeof *sig_addr);
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

#endif  // MESHMEM_ONE_SIDED_SIGNAL_ACCESS_HPP_
