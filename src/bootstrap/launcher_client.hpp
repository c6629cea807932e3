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

#include "bootstrap/job.hpp"

namespace meshmem {

// The variable that says how long the PEs wait for each other in shmem_init.
inline constexpr const char* kStartLimit = "MESHMEM_START_TIMEOUT";

class LauncherClient {
 public:
  virtual ~LauncherClient() = default;

  // As the functions of job.hpp.
  virtual void publish(std::string_view key, std::string_view value, Among who) = 0;
  virtual void exchange_published(Among who, double timeout_seconds) = 0;
  virtual std::string lookup(int pe, std::string_view key) = 0;
  virtual void meet_at_start(double timeout_seconds) {
    exchange_published(Among::job, timeout_seconds);
  }
  virtual void meet_at_end(double timeout_seconds) = 0;
  virtual void begin_use() {}
  virtual void end_use(double /*timeout_seconds*/) {}
  virtual void disconnect() = 0;

  // Asks for the end of all PEs, where that may be asked now. Returns, and any thread may call it.
  virtual void abort(int status, const char* reason) = 0;
};

// Either fills the job and says who prints (set_identity). PMIx answers with null where no server
// can be reached; `refusal` is then its reason, and nullopt if this process may stand alone.
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

}  // namespace meshmem

#endif  // MESHMEM_BOOTSTRAP_LAUNCHER_CLIENT_HPP_
