// SPDX-License-Identifier: Apache-2.0
// Makes the environment that the PEs get, and takes an outer launcher's identity (rank, size,
// server to call) out of oshrun's own. An outer launcher is one that has started oshrun.
// Invariant: no PE inherits an outer launcher's identity. Called by main() before the PMIx server
// starts, and by hosts.cpp for another launcher.
#ifndef MESHMEM_OSHRUN_ENVIRONMENT_HPP_
#define MESHMEM_OSHRUN_ENVIRONMENT_HPP_

#include <map>
#include <string>
#include <vector>

namespace meshmem {

using Environment = std::map<std::string, std::string>;

// oshrun's environment without the identities. It also has the -x options, whether the output goes
// to a terminal, the number of PEs, and what Open MPI needs to find oshrun and to leave no files.
Environment make_base_environment(const std::vector<std::string>& exports, int pes,
                                  const std::string& scratch_path);

// 128 random bits from the kernel, as 32 hexadecimal digits. Only a job's processes know them, from
// their environment, which only their user can read.
std::string make_secret();

// Takes an outer launcher's identity out of oshrun's own environment, which the PMIx server reads.
void forget_outer_identity();

}  // namespace meshmem

#endif  // MESHMEM_OSHRUN_ENVIRONMENT_HPP_
