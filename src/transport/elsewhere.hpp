// SPDX-License-Identifier: Apache-2.0
//
// What the API does where an address is not, or may not be, in host memory: the cold sides of its
// branches. Each finds out where both ends are, and lets the processor or the device do the work.
// Invariant: a far address that is nowhere ends the job, with the words of the address map; any
// local address is taken. Called by api/ and by the staged collectives.
#ifndef MESHMEM_TRANSPORT_ELSEWHERE_HPP_
#define MESHMEM_TRANSPORT_ELSEWHERE_HPP_

#include <cstddef>
#include <cstdint>

#include "device/operations.hpp"

namespace meshmem {

// The source of a put may be used again when it returns; a get's dest is filled. `pe` is a world PE
// in range, bytes are not 0.
[[gnu::cold, gnu::noinline]] void put_elsewhere(const char* routine, void* dest, const void* source,
                                                std::size_t bytes, int pe);
[[gnu::cold, gnu::noinline]] void get_elsewhere(const char* routine, void* dest, const void* source,
                                                std::size_t bytes, int pe);
// Complete only after quiet.
[[gnu::cold, gnu::noinline]] void put_nbi_elsewhere(const char* routine, void* dest,
                                                    const void* source, std::size_t bytes, int pe);
[[gnu::cold, gnu::noinline]] void get_nbi_elsewhere(const char* routine, void* dest,
                                                    const void* source, std::size_t bytes, int pe);

// At least one block, at strides, both in bytes.
struct Blocks {
  std::size_t bytes;
  std::size_t count;
  std::ptrdiff_t dest_stride;
  std::ptrdiff_t source_stride;

  // From the first block to the end of the last.
  std::size_t dest_span() const { return span(dest_stride); }
  std::size_t source_span() const { return span(source_stride); }

 private:
  std::size_t span(std::ptrdiff_t stride) const {
    return (count - 1) * static_cast<std::size_t>(stride) + bytes;
  }
};
[[gnu::cold, gnu::noinline]] void put_blocks_elsewhere(const char* routine, void* dest,
                                                       const void* source, const Blocks& blocks,
                                                       int pe);
[[gnu::cold, gnu::noinline]] void get_blocks_elsewhere(const char* routine, void* dest,
                                                       const void* source, const Blocks& blocks,
                                                       int pe);

[[gnu::cold, gnu::noinline]] void signal_elsewhere(const char* routine, std::uint64_t* sig_addr,
                                                   std::uint64_t value, int sig_op, int pe);

// An atomic of 4 or 8 bytes, and the value before; of those that fetch nothing, 0.
struct Atomic {
  device::AtomicOp op;
  std::size_t bytes;
  std::uint64_t operand;
  std::uint64_t condition;
  bool fetches;
};
[[gnu::cold, gnu::noinline]] std::uint64_t atomic_elsewhere(const char* routine,
                                                            const void* address,
                                                            const Atomic& atomic, int pe);

// Between two addresses of this PE; done when it returns.
void copy_local(const char* routine, void* dest, const void* source, std::size_t bytes);
void copy_local_blocks(const char* routine, void* dest, const void* source, const Blocks& blocks);

}  // namespace meshmem

#endif  // MESHMEM_TRANSPORT_ELSEWHERE_HPP_
