// SPDX-License-Identifier: Apache-2.0
//
// The doctor as a job: checks each node, starts the library, tries it between the nodes, and PE 0
// prints one table. Invariant: all PEs end with the same status. Called by meshmem-info where a
// launcher has started it.
#ifndef MESHMEM_INFO_DOCTOR_RUN_AS_JOB_HPP_
#define MESHMEM_INFO_DOCTOR_RUN_AS_JOB_HPP_

#include "info/doctor/machine.hpp"

namespace meshmem::doctor {

// The exit status: 1 if a check of any node is bad.
int run_as_job(const Machine& machine, bool as_json);

}  // namespace meshmem::doctor

#endif  // MESHMEM_INFO_DOCTOR_RUN_AS_JOB_HPP_
