// SPDX-License-Identifier: Apache-2.0
//
// The job as the launcher knows it: who am I, who is on my node, one exchange of data, and the end
// of the job. PMIx, PMI-1 or a unique id is behind it; without any the job is one PE.
// Invariant: the process connects once and stays connected until it exits, since a PMIx server
// takes a PE that has disconnected for gone. Called by core/ at start-up and when the job must end.
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
  // oshrun tells the PEs apart as if they were on several nodes, for tests; they can map one arena.
  bool has_fake_nodes = false;
};

// For jobs without a launcher, and of a part of its processes: an id by which the others find this
// process, the same whenever it is asked for. One without addresses where an earlier id has said
// who this process is, or a launcher that does not say how many processes it has. Or why there is
// none.
std::variant<UniqueId, std::string> get_unique_id();
// This process is PE `pe` of `n_pes` that meet by this id: connect_to_launcher() goes there. An id
// without addresses leaves it to the launcher, and so does one of as many processes as that has.
// nullopt, or why that cannot be.
std::optional<std::string> take_place(const UniqueIdBytes& id, int pe, int n_pes);
// The same of the ranks of a communicator, which is not left to a launcher: the id has addresses
// unless its maker is in a job already, and then every rank has to be.
std::variant<UniqueId, std::string> get_unique_id_of_communicator();
std::optional<std::string> take_place_in_communicator(const UniqueId& id, int pe, int n_pes);

// Connects to the launcher; ends the process with a message if a launcher is there but cannot be
// reached, or does not answer in time (0: whenever it does).
const Job& connect_to_launcher(double timeout_seconds);
const Job& joined_job();  // what it has found

// A child that fork has made of the process that has connected: it has a PE's memory and is not a
// PE. The launcher does not know it, and its end or its finalize would be taken for the PE's.
bool is_child_of_pe();

enum class Among { node, job };  // who exchanges, and can look it up

// One exchange: publish() any number of times, exchange_published() by all PEs of the node or the
// job, then lookup(). Over several nodes an exchange of each node comes before that of all.
void publish(std::string_view key, std::string_view value, Among who);
void exchange_published(Among who, double timeout_seconds);
std::string lookup(int pe, std::string_view key);

// A meeting of all PEs by the launcher in start-up, after an exchange of the job.
void meet_at_start(double timeout_seconds);
// A meeting of all PEs by the launcher, for their last one. 0: without a limit.
void meet_at_end(double timeout_seconds);

// Around the time from an init to its finalize, but for the first init. A process that has been in
// end_use() may end in any way, since all others have come there too.
void begin_use();
void end_use(double timeout_seconds);

// Ends all PEs and this process. `reason` tells the launcher that it was an error; nullptr: the
// program asked for it. While PEs of other nodes may be in an exchange the launcher is not asked,
// since some answer with a hang; it sees this process end with `status`. A child of a PE ends
// alone.
[[noreturn]] void abort_job(int status, const char* reason = nullptr);

// Says goodbye, so that the end of the process is no failure. At exit only.
void disconnect_from_launcher();

}  // namespace meshmem

#endif  // MESHMEM_BOOTSTRAP_JOB_HPP_
