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
  bool exchanges;       // what has been published
  const char* routine;  // that brings the PEs here
  double seconds;       // 0: without a limit
  const char* limit;    // the variable that sets it
};

struct Awaited {
  std::string what;  // goes on from "waited 60 s for "
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

// Each fills the job and says who prints (set_identity). PMIx answers with null where no server can
// be reached; `refusal` is then its reason.
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
  bool is_host;  // this process has made the id
};
LauncherClient& connect_by_unique_id(Job& job, const PlaceById& place, double timeout_seconds);

// --- What the clients share ------------------------------------------------------------------

// Fills in the PEs of this node; `nodes` has a number for each PE. Returns whether any two PEs of
// the job share a node.
bool fill_in_nodes(Job& job, const std::vector<int>& nodes);

// Of all PEs, at the end.
Meeting last_meeting(double timeout_seconds);

// "all 4 PEs to call shmem_init"
Awaited awaited_in(const Meeting& meeting);
// The same in a protocol that has meetings of all PEs only.
Awaited awaited_of_all(Meeting meeting);

// The line and the table of a wait that has reached its limit; the process is about to end.
void print_end_of_wait(const Awaited& awaited, const std::string& addition = "");

// Which processes may share memory, for launchers that do not say it: two processes on one machine
// since its start, under one name of it, have equal texts. Containers have names of their own, and
// so are machines of their own.
std::string identity_of_host();

}  // namespace meshmem

#endif  // MESHMEM_BOOTSTRAP_LAUNCHER_CLIENT_HPP_
