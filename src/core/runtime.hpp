// SPDX-License-Identifier: Apache-2.0
//
// The one object that is the library's state in this process: from the first shmem_init to the last
// shmem_finalize.
// Invariant: the connection to the launcher, the arena and the place of the static data are made
// once a process and stay until it ends. Heap and teams live from the init that opens the library
// to the finalize that closes it. Used by api/ and library/, and by core/, gpu/ and collectives/
// where they need its parts.
#ifndef MESHMEM_CORE_RUNTIME_HPP_
#define MESHMEM_CORE_RUNTIME_HPP_

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/settings/environment.hpp"
#include "core/active_set_teams.hpp"
#include "core/devices.hpp"
#include "core/job_connection.hpp"
#include "core/kernel_proxy.hpp"
#include "core/team.hpp"
#include "core/team_table.hpp"
#include "memory/symmetric_heap.hpp"

namespace meshmem {

class Runtime {
 public:
  // Adds a user of the library. Returns nullopt, or one line that says why it cannot start (the
  // process may go on without it).
  std::optional<std::string> enter();
  // Notes by which library's names the program has called the init that makes the next enter().
  // That library's environment variables count too, unless an earlier enter() has read the
  // environment.
  void start_under_names_of(NamesOf names) { next_names_ = names; }
  NamesOf names() const { return names_; }
  // Removes a user. The last one closes heap and teams, and meets all PEs.
  void leave();
  // The process is about to end. Disconnects from the launcher, or has the last leave() do so,
  // which may still come: from a destructor, or an exit handler registered before the library's.
  void disconnect();
  // Ends the library's threads: the process ends, and no leave() comes any more.
  void abandon();
  // The program has ended with status 0 and without shmem_finalize: ends the job with a line.
  [[noreturn]] void end_unfinished();
  // True if the next leave() will close the library.
  bool has_one_user() const { return depth_.load(std::memory_order_acquire) == 1; }
  bool is_active() const { return depth_.load(std::memory_order_acquire) > 0; }

  const Environment& environment() const { return environment_; }
  // The text of the file that MESHMEM_TUNING names, the same on all PEs; empty without it.
  const std::string& tuning() const { return tuning_; }
  SymmetricHeap& heap() { return heap_; }
  Devices& devices() { return devices_; }
  bool has_devices() { return device_state().is_open(); }
  SymmetricHeap& device_heap() { return devices_.heap(); }
  DeviceMemory& device_memory() { return devices_.memory(); }
  DeviceState& device_state() { return devices_.state(); }
  JobConnection& job() { return job_; }
  const Nodes& nodes() const { return job_.nodes(); }
  bool is_near(int pe) const { return nodes().is_near(pe); }
  Team& world() { return *world_; }
  TeamTable& teams() { return *teams_; }
  KernelProxy& kernel_proxy() { return kernel_proxy_; }
  // The proxy's thread. It runs where there are devices and far PEs, unless MESHMEM_PROXY=off.
  Proxy& proxy() { return kernel_proxy_.thread(); }
  // Makes a team that host and kernels know. Its members meet before they use it in kernels.
  // Threads find it once it is published.
  Team& make_team(std::vector<int> pes, int slot, std::uint64_t start_sequence,
                  const shmem_team_config_t& config);
  // The same, and publishes it.
  Team& add_team(std::vector<int> pes, int slot, std::uint64_t start_sequence,
                 const shmem_team_config_t& config);
  void remove_team(Team& team);
  ActiveSetTeams& active_set_teams() { return active_set_teams_; }

 private:
  std::optional<std::string> read_settings(NamesOf names);

  // Once a process.
  void connect();

  // Each time that the library opens or closes.
  void open();
  void open_host_heap();
  void open_teams();
  void add_predefined_teams();
  void close();

  std::mutex mutex_;
  std::atomic<int> depth_{0};
  bool was_nested_ = false;             // the program has called an init while the library was open
  std::atomic<bool> is_ending_{false};  // the process
  Environment environment_;
  std::atomic<NamesOf> next_names_{NamesOf::openshmem};  // of the next enter()
  NamesOf names_ = NamesOf::openshmem;                   // of the init that opened the library
  std::string tuning_;
  JobConnection job_;
  Devices devices_;
  SymmetricHeap heap_{"symmetric heap", "SHMEM_SYMMETRIC_SIZE", kMinAlignment};
  std::optional<TeamTable> teams_;
  Team* world_ = nullptr;
  std::uint64_t first_sequence_ = 0;  // of predefined teams and those of active sets
  ActiveSetTeams active_set_teams_;
  KernelProxy kernel_proxy_;
};

// Lives for ever: threads may still look at it while the process ends.
Runtime& runtime();

}  // namespace meshmem

#endif  // MESHMEM_CORE_RUNTIME_HPP_
