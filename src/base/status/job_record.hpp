// SPDX-License-Identifier: Apache-2.0
//
// Tells oshrun how a job over several machines has ended, if oshrun handed the job to another
// launcher: some launchers report success after they lost a machine. PE 0 keeps a connection to
// oshrun.
// Invariant: a job whose oshrun cannot be reached runs as it would without the record. Called by
// bootstrap/ and core/job_connection.cpp; oshrun sets the variable and listens.
#ifndef MESHMEM_BASE_STATUS_JOB_RECORD_HPP_
#define MESHMEM_BASE_STATUS_JOB_RECORD_HPP_

namespace meshmem {

// MESHMEM_OSHRUN_RECORD is "<secret>/<port>/<address>/<address>...".
inline constexpr const char* kJobRecordVariable = "MESHMEM_OSHRUN_RECORD";

enum class JobNote : char {
  begun = 'b',       // PE 0 is between init and finalize: its end would be a failure
  ended_well = 'e',  // all PEs have come to the last finalize, or the program called global_exit(0)
};

// Tells oshrun, if there is one that wants to know.
void note_for_oshrun(JobNote note);

}  // namespace meshmem

#endif  // MESHMEM_BASE_STATUS_JOB_RECORD_HPP_
