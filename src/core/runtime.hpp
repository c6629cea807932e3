// SPDX-License-Identifier: Apache-2.0
//
// The one object that is the library's state in this process: from the first shmem_init to the last
// shmem_finalize.
// Invariant: the connection to the launcher, the arena and the place of the static data are made
// once a process and stay until it ends. Heap, teams and contexts live from a first init to its
// last finalize. Called by api/.
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
#include "core/context.hpp"
#include "core/job_connection.hpp"
#include "core/kernel_proxy.hpp"
#include "core/team.hpp"
#include "core/team_table.hpp"
#include "gpu/device_memory.hpp"
#include "gpu/device_state.hpp"
#include "memory/symmetric_heap.hpp"

namespace meshmem {

class Runtime {
 public:
  // One more user of the library. nullopt, or one line that says why it cannot start (the process
  // may go on without it).
  std::optional<std::string> enter();
  // Whose variables count beside our own for the next enter(), which reads them unless one has.
  void read_variables_of(NamesOf names) { names_of_ = names; }
  // One user less: a barrier, and with the last one heap, teams and contexts end.
  void leave();
  // The process is about to end: says goodbye to the launcher, or has the last leave() do so, which
  // may still come: by a destructor, or what was registered before the library.
  void disconnect();
  // Ends the library's threads: the process ends, and no leave() comes any more.
  void abandon();
  // The program has ended with status 0 and without shmem_finalize: ends the job with a line.
  [[noreturn]] void end_unfinished();
  // So that the next leave() closes it.
  bool has_one_user() const { return depth_.load(std::memory_order_acquire) == 1; }
  bool is_active() const { return depth_.load(std::memory_order_acquire) > 0; }

  const Environment& environment() const { return environment_; }
  // The text of the file that MESHMEM_TUNING names, the same on all PEs; empty without it.
  const std::string& tuning() const { return tuning_; }
  SymmetricHeap& heap() { return heap_; }
  // Empty, and open on no PE, where there are no devices.
  SymmetricHeap& device_heap() { return device_heap_; }
  bool has_devices() const { return device_state_.is_open(); }
  DeviceMemory& device_memory() { return device_memory_; }
  DeviceState& device_state() { return device_state_; }
  // The PEs whose device memory can be mapped here, in the order of its indexes.
  const std::vector<int>& pes_with_device_memory() { return job_.memory().pes(); }
  JobConnection& job() { return job_; }
  const Nodes& nodes() const { return job_.nodes(); }
  bool is_near(int pe) const { return nodes().is_near(pe); }
  // nullptr: all nodes share a memory.
  NetworkTransport* network_transport() const {
    return job_.network().is_connected() ? &job_.network().transport() : nullptr;
  }
  // Fills in what the segment has by world PE, of the near ones.
  void find_copies_of(DeviceSegment& segment) const;
  Team& world() { return *world_; }
  TeamTable& teams() { return *teams_; }
  ContextTable& contexts() { return contexts_; }
  KernelProxy& kernel_proxy() { return kernel_proxy_; }
  // The proxy's thread. It runs where there are PEs on other nodes, and devices.
  Proxy& proxy() { return kernel_proxy_.thread(); }
  // A team that host and kernels know. Its members meet before they use it in kernels.
  Team& add_team(std::vector<int> pes, int slot, std::uint64_t start_sequence,
                 const shmem_team_config_t& config);
  void remove_team(Team& team);
  ActiveSetTeams& active_set_teams() { return active_set_teams_; }

  // Returns when nothing is left to do on any stream of the device. There is one.
  void await_streams(const char* routine);

 private:
  std::optional<std::string> read_settings(NamesOf names);

  // Once a process.
  void connect();
  void connect_device();
  bool choose_device();
  std::size_t device_heap_bytes();
  void map_host_heaps_for_kernels();
  NodePeers node_peers();
  // From each first init to its last finalize.
  void open();
  void open_host_heap();
  void open_teams();
  void open_device();
  std::vector<std::byte*> by_world_pe(const std::vector<std::byte*>& by_index) const;
  const std::vector<DeviceRoute>& device_routes() const;
  void find_device_routes();
  std::vector<std::byte*> host_heaps_for_kernels() const;
  void add_predefined_teams();
  void close();
  void close_device_segments();

  std::mutex mutex_;
  std::atomic<int> depth_{0};
  std::atomic<bool> is_ending_{false};  // the process
  Environment environment_;
  std::atomic<NamesOf> names_of_{NamesOf::openshmem};  // of the next enter()
  NamesOf names_ = NamesOf::openshmem;                 // of the round
  std::string tuning_;
  JobConnection job_;

  DeviceMemory device_memory_;
  DeviceState device_state_;
  std::vector<DeviceRoute> device_routes_;  // by world PE, in jobs over several nodes
  std::size_t device_heap_alignment_ = 0;   // of all PEs
  // The host heaps as kernels of GPUs see them, by index; empty if these do not reach all.
  std::vector<std::byte*> registered_heaps_;

  SymmetricHeap heap_{"symmetric heap", "SHMEM_SYMMETRIC_SIZE", kMinAlignment};
  SymmetricHeap device_heap_{"device heap", "MESHMEM_DEVICE_HEAP_SIZE", kMinDeviceAlignment};
  std::optional<TeamTable> teams_;
  Team* world_ = nullptr;
  std::uint64_t first_sequence_ = 0;  // of the teams that need no agreement on it
  ActiveSetTeams active_set_teams_;
  ContextTable contexts_;
  KernelProxy kernel_proxy_;
};

// Lives for ever: threads may still look at it while the process ends.
Runtime& runtime();

}  // namespace meshmem

#endif  // MESHMEM_CORE_RUNTIME_HPP_
