// SPDX-License-Identifier: Apache-2.0
// Which launcher for several machines is there: a DVM of PRRTE's that runs already, Slurm inside an
// allocation, prterun, Open MPI's mpirun.
// Invariant: what a launcher is, it says itself; nothing is started but to ask that. Called by
// hosts.cpp.
#ifndef MESHMEM_OSHRUN_LAUNCHER_CHOICE_HPP_
#define MESHMEM_OSHRUN_LAUNCHER_CHOICE_HPP_

#include <string>

#include "options.hpp"

namespace meshmem {

enum class LauncherKind { prun, srun, prterun, mpirun };

struct FoundLauncher {
  LauncherKind kind;
  std::string way;  // to the DVM, a file; or what srun --mpi takes; empty otherwise
};

// The first of the kinds that is there and can do what the options ask. Throws Failure if none is.
FoundLauncher choose_launcher(const Options& options);

}  // namespace meshmem

#endif  // MESHMEM_OSHRUN_LAUNCHER_CHOICE_HPP_
