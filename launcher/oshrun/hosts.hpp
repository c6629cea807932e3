// SPDX-License-Identifier: Apache-2.0
// Jobs over several machines: oshrun starts none itself, it runs the launcher that can.
// Invariant: every option of oshrun is translated or refused by name, and one line says what is
// run. The user's variables for the library (SHMEM_*, MESHMEM_*, UCX_*) go to all machines. Called
// by main().
#ifndef MESHMEM_OSHRUN_HOSTS_HPP_
#define MESHMEM_OSHRUN_HOSTS_HPP_

#include "options.hpp"

namespace meshmem {

// Returns oshrun's status. Throws Failure where there is no such launcher, or an option has no
// translation.
int hand_over(const Options& options);

}  // namespace meshmem

#endif  // MESHMEM_OSHRUN_HOSTS_HPP_
