// SPDX-License-Identifier: Apache-2.0
//
// alltoallv: an all-to-all whose blocks differ in length and lie where each PE says, in any memory
// and over any machines. The PEs tell each other where their blocks begin, and each gets its own.
// Invariant: nobody changes what others still read: all meet at the end. Called by the API, and for
// kernels whose team spans machines.
#ifndef MESHMEM_COLLECTIVES_ALLTOALLV_HPP_
#define MESHMEM_COLLECTIVES_ALLTOALLV_HPP_

#include <cstddef>
#include <vector>

#include "core/team.hpp"

namespace meshmem {

// Counted in elements: block i of the dest comes from PE i, block i of the source goes to it.
struct Blocks {
  std::vector<std::size_t> nelems, displs;
};

// Reads arrays of a program, each of a number for each PE: in memory of the host, or of the device.
// `from_kernel`: any memory that the device reaches.
Blocks blocks_of(const Team& team, const std::size_t* nelems, const std::size_t* displs,
                 bool from_kernel);

void alltoallv(Team& team, std::size_t elem_bytes, void* dest, const Blocks& dest_blocks,
               const void* source, const Blocks& source_blocks);

}  // namespace meshmem

#endif  // MESHMEM_COLLECTIVES_ALLTOALLV_HPP_
