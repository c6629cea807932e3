// SPDX-License-Identifier: Apache-2.0
//
// Variables that meshmem reads and that are not its settings: those by which launchers tell a
// process its place, those that oshrun sets, and those of NVSHMEM and rocSHMEM.
// Invariant: only reason_to_refuse_environment() looks at more than the variables that it is given.
// Called by start-up, by meshmem-info, and by oshrun, which hands variables on.
#ifndef MESHMEM_BASE_SETTINGS_FOREIGN_VARIABLES_HPP_
#define MESHMEM_BASE_SETTINGS_FOREIGN_VARIABLES_HPP_

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace meshmem {

using GetEnv = std::function<const char*(const char*)>;

// "PMI_SIZE=4 says that this is one of 4 processes", or nullopt if this process stands alone.
std::optional<std::string> launcher_without_server(const GetEnv& get_env);

// "MESHMEM_OSHRUN_PES=4 says ...", if oshrun started another number of PEs than the PMIx server
// says.
std::optional<std::string> contradiction_of_oshrun(int n_pes, const GetEnv& get_env);

// Whether a launcher has said in `entries` (NAME=VALUE, ended by a null pointer) where its PMIx
// server is. Otherwise PMIx would look for a server's address in the folder for temporary files,
// where any user may have put one.
bool names_pmix_server(const char* const* entries);

// Whether a launcher has handed over a connection for PMI-1, and said who this process is (PMI_FD,
// PMI_RANK, PMI_SIZE).
bool names_pmi_connection(const GetEnv& get_env);

// Whether a launcher that can be reached has started this process, by either protocol.
bool is_started_by_launcher(const char* const* entries, const GetEnv& get_env);

// How many processes the launcher that can be reached has started, as its variables say. 0: they do
// not say, or there is no such launcher.
int processes_of_launcher(const char* const* entries, const GetEnv& get_env);

// Why this process must not start in its environment, or nullopt. The caller of a set-uid program
// must not choose what PMIx loads, nor which files are read with the owner's rights.
std::optional<std::string> reason_to_refuse_environment();

// Variables that oshrun sets for the programs it starts.
struct OshrunVariable {
  std::string_view name;
  std::string_view text;
};
inline constexpr OshrunVariable kOshrunVariables[] = {
    {"MESHMEM_OUTPUT_TTY",
     "1 when the output of oshrun goes to a terminal. So a program may draw a progress bar, "
     "although its own output is a pipe to oshrun."},
    {"MESHMEM_ERROR_TTY", "The same for standard error of oshrun."},
    {"MESHMEM_OSHRUN_PES",
     "The number of PEs that oshrun started. shmem_init ends the job if the PMIx server that it "
     "reaches says another number. This happens if oshrun starts a second launcher, whose server "
     "the PEs then reach."},
    {"MESHMEM_OSHRUN_FAKE_NODES",
     "For tests of the library itself: oshrun tells the PEs apart as if they were on this many "
     "machines. They reach each other by the network, over the loopback."},
    {"MESHMEM_OSHRUN_STATUS",
     "Names the memory of oshrun into which the PEs write what they wait for. Without it, as "
     "under other launchers, they write it into memory of their own."},
    {"MESHMEM_OSHRUN_RECORD",
     "In a job over several machines: where PE 0 tells oshrun that the job has begun, and that it "
     "has ended well. The launcher that oshrun uses for such a job may report success after it "
     "lost a machine."},
};

// Under whose names a program starts.
enum class NamesOf { openshmem, nvshmem, rocshmem };

// A variable of another library. It counts for programs written for that library, if ours is not
// set. Ours has the same format and, but for `on_top`, the same meaning.
struct LibraryVariable {
  NamesOf library;
  std::string_view library_name;
  std::string_view name;
  std::string_view ours;
  std::size_t on_top;  // bytes that are added to what it says
};
// In those libraries a size is what a program's large blocks take. Alignment and small blocks come
// on top.
inline constexpr std::size_t kOnTop = std::size_t{16} << 20;
inline constexpr LibraryVariable kLibraryVariables[] = {
    {NamesOf::nvshmem, "NVSHMEM", "NVSHMEM_SYMMETRIC_SIZE", "MESHMEM_DEVICE_HEAP_SIZE", kOnTop},
    {NamesOf::rocshmem, "rocSHMEM", "ROCSHMEM_HEAP_SIZE", "MESHMEM_DEVICE_HEAP_SIZE", kOnTop},
};

}  // namespace meshmem

#endif  // MESHMEM_BASE_SETTINGS_FOREIGN_VARIABLES_HPP_
