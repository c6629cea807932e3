// SPDX-License-Identifier: Apache-2.0
//
// The job as the launcher knows it: this PE's number, the PEs of its node, an exchange of data, and
// the end of the job. It uses PMIx, PMI-1 or a unique id; without any of them the job is one PE.
// Invariant: the process connects once and stays connected until it exits, since a PMIx server
// treats a PE that has disconnected as gone. Called by core/ at start-up and when the job must end.
#ifndef MESHMEM_BOOTSTRAP_JOB_HPP_
#define MESHMEM_BOOTSTRAP_JOB_HPP_

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "bootstrap/uniqueid.hpp"

namespace meshmem {

struct Job {
  int pe = 0;
  int n_pes = 1;
  std::vector<int> node_pes;  // PEs of this node, ascending, this one included
  // oshrun --fake-nodes: PEs of this machine act as if they were on several nodes, for tests.
  bool has_fake_nodes = false;
};

// Returns an id by which other processes find this one, the same at each call; or a text that says
// why there is none. For jobs without a launcher, or of only some of a launcher's processes. The id
// has no addresses if this process has connected already, or if its launcher does not say how many
// processes it has started.
std::variant<UniqueId, std::string> get_unique_id();
// Makes this process PE `pe` of the `n_pes` PEs that meet by this id in connect_to_launcher(). If
// the id has no addresses, or `n_pes` is the number of processes that the launcher of its maker has
// started, the launcher numbers the PEs instead. Returns nullopt, or why it is impossible.
std::optional<std::string> take_place(const UniqueIdBytes& id, int pe, int n_pes);
// The same for the ranks of an MPI communicator. The launcher never numbers these PEs: the id has
// addresses unless its maker is in a job already, and then every rank must be in it.
std::variant<UniqueId, std::string> get_unique_id_of_communicator();
std::optional<std::string> take_place_in_communicator(const UniqueId& id, int pe, int n_pes);

// Connects to the launcher; ends the process with a message if a launcher is there but cannot be
// reached, or does not answer in time (0: whenever it does).
const Job& connect_to_launcher(double timeout_seconds);
const Job& joined_job();  // the job that connect_to_launcher() has returned

// True in a child that fork has made of the connected process. It has a PE's memory but is not a
// PE. The launcher does not know it, and would take its end or its finalize for the PE's.
bool is_child_of_pe();

// The PEs that take part in an exchange, and can look up its values.
enum class Among { node, job };

// An exchange: publish() any number of times, exchange_published() on all PEs of the node or the
// job, then lookup(). In a job of several nodes, the exchanges of nodes come before those of the
// job.
void publish(std::string_view key, std::string_view value, Among who);
void exchange_published(Among who, double timeout_seconds);
std::string lookup(int pe, std::string_view key);

// All PEs meet by the launcher, in start-up after an exchange of the job. Timeout 0: no limit.
void meet_at_start(double timeout_seconds);
// The last meeting of all PEs by the launcher, in shmem_finalize.
void meet_at_end(double timeout_seconds);

// Called at each init but the first, and at each finalize. When end_use() has returned, all PEs
// have called it, and the process may end in any way.
void begin_use();
void end_use(double timeout_seconds);

// Ends all PEs and this process. `reason`: the error, for the launcher; nullptr: the program asked
// for the end. While PEs of other nodes may be in a meeting, this process only ends with `status`,
// which the launcher sees; an abort then hangs some launchers. A child of a PE ends alone.
[[noreturn]] void abort_job(int status, const char* reason = nullptr);

// Tells the launcher that the end of this process is not a failure. Called at exit only.
void disconnect_from_launcher();

}  // namespace meshmem

#endif  // MESHMEM_BOOTSTRAP_JOB_HPP_
