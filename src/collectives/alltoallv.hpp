// SPDX-License-Identifier: Apache-2.0
//
// alltoallv: an all-to-all whose blocks differ in length and lie where each PE says, in any memory
// and over any machines. The PEs tell each other where their blocks begin, and each gets its own.
// Invariant: nobody changes what others still read: all meet at the end. Called by the API, and for
// kernels whose team spans machines.
#ifndef MESHMEM_COLLECTIVES_ALLTOALLV_HPP_
#define MESHMEM_COLLECTIVES_ALLTOALLV_HPP_

#include "collectives/collective.hpp"
#include "core/team.hpp"

namespace meshmem {

// The arrays of a call have a number for each PE, which counts elements: block i of the dest comes
// from PE i, block i of the source goes to it. They are in memory of the host or of the device;
// those that a kernel gives (`from_kernel`) in any that the device reaches.
void alltoallv(Team& team, const Collective& call, bool from_kernel);

}  // namespace meshmem

#endif  // MESHMEM_COLLECTIVES_ALLTOALLV_HPP_
