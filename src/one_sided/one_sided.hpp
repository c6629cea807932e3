// SPDX-License-Identifier: Apache-2.0
//
// Puts, gets, signals and atomics that the fast path does not handle: an end is in device memory,
// the PE is far, or MESHMEM_CHECK is on. Each finds where both ends are, and uses the processor, a
// stream or the transport.
// Invariant: a remote address that is not symmetric ends the job with a line; a local address may
// be any memory. Called by the fast paths of this folder, proxy/, core/, collectives/ and library/.
#ifndef MESHMEM_ONE_SIDED_ONE_SIDED_HPP_
#define MESHMEM_ONE_SIDED_ONE_SIDED_HPP_

#include <cstddef>
#include <cstdint>

#include "one_sided/blocks.hpp"
#include "transport/transport.hpp"

namespace meshmem::one_sided {

// In all functions here, `pe` is a world PE in range, and `bytes` is not 0 unless noted. When put()
// returns, the source may be used again. When get() returns, dest is filled.
[[gnu::cold, gnu::noinline]] void put(const char* routine, void* dest, const void* source,
                                      std::size_t bytes, int pe);
[[gnu::cold, gnu::noinline]] void get(const char* routine, void* dest, const void* source,
                                      std::size_t bytes, int pe);
// These are complete only after quiet.
[[gnu::cold, gnu::noinline]] void put_nbi(const char* routine, void* dest, const void* source,
                                          std::size_t bytes, int pe);
[[gnu::cold, gnu::noinline]] void get_nbi(const char* routine, void* dest, const void* source,
                                          std::size_t bytes, int pe);

[[gnu::cold, gnu::noinline]] void put_blocks(const char* routine, void* dest, const void* source,
                                             const Blocks& blocks, int pe);
[[gnu::cold, gnu::noinline]] void get_blocks(const char* routine, void* dest, const void* source,
                                             const Blocks& blocks, int pe);

// Updates a signal that is in device memory or in a far PE.
[[gnu::cold, gnu::noinline]] void signal(const char* routine, std::uint64_t* sig_addr,
                                         std::uint64_t value, int sig_op, int pe);

struct Signal {
  const std::uint64_t* address;
  std::uint64_t value;
  int op;  // SHMEM_SIGNAL_*
};
// Puts the data and then the signal to a far PE; `bytes` may be 0. Does nothing and returns
// false if the PE is near, or an address is not symmetric.
[[gnu::cold, gnu::noinline]] bool try_put_signal(const char* routine, void* dest,
                                                 const void* source, std::size_t bytes,
                                                 const Signal& signal, int pe);

// Returns the value before; 0 if the request does not fetch.
[[gnu::cold, gnu::noinline]] std::uint64_t atomic(const char* routine, const void* address,
                                                  const AtomicRequest& request, int pe);

// A fetching atomic; *before has the old value after quiet.
[[gnu::cold, gnu::noinline]] void fetch_nbi(const char* routine, const void* address,
                                            const AtomicRequest& request, int pe,
                                            std::uint64_t* before);

}  // namespace meshmem::one_sided

namespace meshmem {

// Copy between two addresses of this PE, in host or device memory. Done when they return.
void copy_local(const char* routine, void* dest, const void* source, std::size_t bytes);
void copy_local_blocks(const char* routine, void* dest, const void* source,
                       const one_sided::Blocks& blocks);

}  // namespace meshmem

#endif  // MESHMEM_ONE_SIDED_ONE_SIDED_HPP_
