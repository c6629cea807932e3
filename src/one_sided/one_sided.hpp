// SPDX-License-Identifier: Apache-2.0
//
// Puts, gets, signals and atomics that the fast path does not do by itself: an end is in device
// memory, or a check is on. Each finds where both ends are, and chooses the processor or a stream.
// Invariant: a remote address that is not symmetric ends the job with a line of the address map;
// any local address is taken. Called by api/ and by the collectives by messages.
#ifndef MESHMEM_ONE_SIDED_ONE_SIDED_HPP_
#define MESHMEM_ONE_SIDED_ONE_SIDED_HPP_

#include <cstddef>
#include <cstdint>

#include "one_sided/blocks.hpp"
#include "transport/transport.hpp"

namespace meshmem::one_sided {

// The source of a put may be used again when it returns; a get's dest is filled. `pe` is a world PE
// in range, bytes are not 0.
[[gnu::cold, gnu::noinline]] void put(const char* routine, void* dest, const void* source,
                                      std::size_t bytes, int pe);
[[gnu::cold, gnu::noinline]] void get(const char* routine, void* dest, const void* source,
                                      std::size_t bytes, int pe);
// Complete only after quiet.
[[gnu::cold, gnu::noinline]] void put_nbi(const char* routine, void* dest, const void* source,
                                          std::size_t bytes, int pe);
[[gnu::cold, gnu::noinline]] void get_nbi(const char* routine, void* dest, const void* source,
                                          std::size_t bytes, int pe);

[[gnu::cold, gnu::noinline]] void put_blocks(const char* routine, void* dest, const void* source,
                                             const Blocks& blocks, int pe);
[[gnu::cold, gnu::noinline]] void get_blocks(const char* routine, void* dest, const void* source,
                                             const Blocks& blocks, int pe);

[[gnu::cold, gnu::noinline]] void signal(const char* routine, std::uint64_t* sig_addr,
                                         std::uint64_t value, int sig_op, int pe);

struct Signal {
  const std::uint64_t* address;
  std::uint64_t value;
  int op;
};
// The data and then the signal, to a far PE. False: nothing is done, since the PE is near or an
// address not symmetric.
[[gnu::cold, gnu::noinline]] bool try_put_signal(const char* routine, void* dest,
                                                 const void* source, std::size_t bytes,
                                                 const Signal& signal, int pe);

[[gnu::cold, gnu::noinline]] std::uint64_t atomic(const char* routine, const void* address,
                                                  const AtomicRequest& request, int pe);

// One that fetches; *before is filled when what was issued is complete.
[[gnu::cold, gnu::noinline]] void fetch_nbi(const char* routine, const void* address,
                                            const AtomicRequest& request, int pe,
                                            std::uint64_t* before);

}  // namespace meshmem::one_sided

namespace meshmem {

// Between two addresses of this PE; done when it returns.
void copy_local(const char* routine, void* dest, const void* source, std::size_t bytes);
void copy_local_blocks(const char* routine, void* dest, const void* source,
                       const one_sided::Blocks& blocks);

}  // namespace meshmem

#endif  // MESHMEM_ONE_SIDED_ONE_SIDED_HPP_
