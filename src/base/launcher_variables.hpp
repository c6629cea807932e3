// SPDX-License-Identifier: Apache-2.0
//
// Reads environment variables of launchers: whether one has started this process, and which
// protocol it speaks.
// Invariant: pure; the answer is made of the variables given. Called by start-up, so that such a
// process never takes itself for "PE 0 of 1", and by meshmem-info.
#ifndef MESHMEM_BASE_LAUNCHER_VARIABLES_HPP_
#define MESHMEM_BASE_LAUNCHER_VARIABLES_HPP_

#include <functional>
#include <optional>
#include <string>

namespace meshmem {

// "PMI_SIZE=4 says that this is one of 4 processes", or nullopt if this process stands alone.
std::optional<std::string> launcher_without_server(
    const std::function<const char*(const char*)>& get_env);

// "MESHMEM_OSHRUN_PES=4 says ...", if oshrun started another number of PEs than the job has that
// the PMIx server knows.
std::optional<std::string> contradiction_of_oshrun(
    int n_pes, const std::function<const char*(const char*)>& get_env);

// Whether a launcher has said in `entries` (NAME=VALUE, ended by a null pointer) where its PMIx
// server is. Without that PMIx would look for the server of a machine in the folder for temporary
// files, where any user may have laid the address of his own.
bool names_pmix_server(const char* const* entries);

// Whether a launcher has handed over a connection for PMI-1, and said who this process is (PMI_FD,
// PMI_RANK, PMI_SIZE).
bool names_pmi_connection(const std::function<const char*(const char*)>& get_env);

// Whether a launcher that can be reached has started this process, by either protocol.
bool names_launcher(const char* const* entries,
                    const std::function<const char*(const char*)>& get_env);

// How many processes the launcher has started that can be asked, as far as its variables say; 0:
// they do not, or there is none.
int processes_of_launcher(const char* const* entries,
                          const std::function<const char*(const char*)>& get_env);

// Why this process must not start by its environment, or nullopt. The caller of a set-uid program
// must not choose what PMIx loads nor which file is read as whose.
std::optional<std::string> refuse_foreign_environment();

}  // namespace meshmem

#endif  // MESHMEM_BASE_LAUNCHER_VARIABLES_HPP_
