// SPDX-License-Identifier: Apache-2.0
//
// Puts to and gets from far PEs. If this PE's end is device memory, its data is staged through
// pinned memory: one piece is copied while another is on the network.
// Invariant: the functions guarantee what those of Transport do, but a nonblocking transfer of this
// PE's device memory acts as a blocking one. Called by one_sided.cpp.
#ifndef MESHMEM_ONE_SIDED_FAR_TRANSFER_HPP_
#define MESHMEM_ONE_SIDED_FAR_TRANSFER_HPP_

#include <cstddef>
#include <optional>

#include "one_sided/blocks.hpp"
#include "transport/transport.hpp"

namespace meshmem::far {

// Returns the place of a far PE's copy, or nullopt if the PE is near or the address is not
// symmetric.
std::optional<RemotePlace> find(const char* routine, const void* address, std::size_t bytes,
                                int pe);

// How far a transfer has come when its call returns. A nonblocking one is only issued.
enum class Until { issued, source_is_free, done };
void put(const char* routine, const RemotePlace& dest, const void* source, std::size_t bytes,
         Until until);
void get(const char* routine, void* dest, const RemotePlace& source, std::size_t bytes,
         Until until);
void put_signal(const char* routine, const RemotePlace& dest, const void* source, std::size_t bytes,
                const SignalUpdate& signal);
void put_blocks(const char* routine, const RemotePlace& dest, const void* source,
                const one_sided::Blocks& blocks);
void get_blocks(const char* routine, void* dest, const RemotePlace& source,
                const one_sided::Blocks& blocks);

}  // namespace meshmem::far

#endif  // MESHMEM_ONE_SIDED_FAR_TRANSFER_HPP_
