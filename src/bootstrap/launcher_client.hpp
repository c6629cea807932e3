// SPDX-License-Identifier: Apache-2.0
//
// A PE's questions to its launcher, in the launcher's protocol: PMIx (pmix_client.cpp) or PMI-1
// (pmi_client.cpp). Without a launcher the PE asks the process that has made the job's unique id
// (uniqueid_client.cpp).
// Invariant: a client lives as long as the process; a failure that the others would wait for ends
// the process with a line. Called by join_job.cpp alone, which chooses.
#ifndef MESHMEM_BOOTSTRAP_LAUNCHER_CLIENT_HPP_
#define MESHMEM_BOOTSTRAP_LAUNCHER_CLIENT_HPP_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/job.hpp"

namespace meshmem {

// The variable that says how long the PEs wait for each other in shmem_init.
inline constexpr const char* kStartLimit = "MESHMEM_START_TIMEOUT";

struct Meeting {
  Among who;
  bool exchanges;       // whether the PEs also get what the others have published
  const char* routine;  // the program's call, for messages
  double seconds;       // the time limit; 0: none
  const char* limit;    // the variable that sets the limit
};

struct Awaited {
  std::string what;  // continues "waited 60 s for "
  double seconds;    // 0: for ever
  const char* limit;
};

class LauncherClient {
 public:
  virtual ~LauncherClient() = default;

  // As the functions of job.hpp.
  virtual void publish(std::string_view key, std::string_view value, Among who) = 0;
  virtual void meet(const Meeting& meeting) = 0;
  virtual std::string lookup(int pe, std::string_view key) = 0;
  virtual void begin_use() {}
  virtual void end_use(double /*timeout_seconds*/) {}
  virtual void disconnect() = 0;

  // Asks for the end of all PEs, where that may be asked now. Returns, and any thread may call it.
  virtual void abort(int status, const char* reason) = 0;
};

// Each fills the job and says who prints (set_identity). If no PMIx server can be reached, `client`
// is null, and `refusal` says why.
struct PmixAnswer {
  LauncherClient* client = nullptr;
  bool may_stand_alone = false;
  std::string refusal{};
};
PmixAnswer connect_by_pmix(Job& job, double timeout_seconds);
LauncherClient& connect_by_pmi(Job& job, double timeout_seconds);

// The number of this process as the program says it, and the id by which it finds the others.
struct PlaceById {
  int pe;
  int n_pes;
  UniqueId id;
  bool is_maker;  // this process has made the id
};
LauncherClient& connect_by_unique_id(Job& job, const PlaceById& place, double timeout_seconds);

// --- What the clients share ------------------------------------------------------------------

// Fills in the PEs of this node; `nodes` has a number for each PE. Returns whether any two PEs of
// the job share a node.
bool fill_in_nodes(Job& job, const std::vector<int>& nodes);

// The meeting of all PEs in shmem_finalize.
Meeting last_meeting(double timeout_seconds);

// The text for the wait in a meeting, such as "all 4 PEs to call shmem_init".
Awaited awaited_in(const Meeting& meeting);
// The same for a protocol in which always all PEs meet, whatever `meeting.who` is.
Awaited awaited_of_all(Meeting meeting);

// Prints the line and the table for a wait that has reached its limit. The caller then ends the
// process.
void print_end_of_wait(const Awaited& awaited, const std::string& addition = "");

// A text that says which processes may share memory, for launchers that do not say it. Two
// processes have equal texts if the machine's name and its last start are the same for both.
// Containers have names of their own, so each is a machine of its own.
std::string identity_of_host();

}  // namespace meshmem

#endif  // MESHMEM_BOOTSTRAP_LAUNCHER_CLIENT_HPP_
