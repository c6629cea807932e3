// SPDX-License-Identifier: Apache-2.0
// Jobs over several machines. oshrun does not start them itself: it runs a launcher that can.
// Invariant: every option of oshrun is translated or refused by name, and one line says what is
// run. The user's variables for the library (SHMEM_*, MESHMEM_*, UCX_*) go to all machines. Called
// by main().
#ifndef MESHMEM_OSHRUN_HOSTS_HPP_
#define MESHMEM_OSHRUN_HOSTS_HPP_

#include <functional>
#include <string>
#include <vector>

#include "options.hpp"

namespace meshmem {

// Runs the job by another launcher. Returns oshrun's status. Throws Failure if there is no such
// launcher, or an option has no translation.
int hand_over(const Options& options);

// --- Its steps -------------------------------------------------------------------------------

struct FoundLauncher {
  std::string program;   // prun, srun, prterun or mpirun, which is Open MPI's
  std::string argument;  // prun: the contact file of its DVM; srun: its --mpi; else empty
};

// Returns the first launcher that is there and can do what the options ask: a DVM of PRRTE's that
// runs already, Slurm inside an allocation, prterun, Open MPI's mpirun. Throws Failure if none is.
FoundLauncher choose_launcher(const Options& options);

// Runs a launcher to its end, and passes on signals. Returns oshrun's status: a job that has begun
// and has not ended well is a failure, whatever the launcher says. make_words() returns the command
// line. It is called after the environment got the variable by which PE 0 finds oshrun
// (base/status/job_record.hpp).
int run_launcher(const std::function<std::vector<std::string>()>& make_words);

}  // namespace meshmem

#endif  // MESHMEM_OSHRUN_HOSTS_HPP_
