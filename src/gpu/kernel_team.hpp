// SPDX-License-Identifier: Apache-2.0
//
// The facts that kernels need to know of a team. Invariant: it is read within the call that it is
// handed to. Made of a Team by whoever launches kernels for it.
#ifndef MESHMEM_GPU_KERNEL_TEAM_HPP_
#define MESHMEM_GPU_KERNEL_TEAM_HPP_

#include <span>

namespace meshmem {

struct KernelTeam {
  int slot;
  int me;
  std::span<const int> pes;  // world PE of each PE of the team
};

}  // namespace meshmem

#endif  // MESHMEM_GPU_KERNEL_TEAM_HPP_
