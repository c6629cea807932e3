// SPDX-License-Identifier: Apache-2.0
//
// Checks three things: an interface is up, as PMIx needs; jobs over several machines have a
// network; and processes may lock enough memory for RDMA devices.
#include <fmt/format.h>

#include "info/doctor/checks.hpp"

namespace meshmem::doctor {
namespace {

constexpr std::uint64_t kMuchLocked = std::uint64_t{1} << 30;  // with less, RDMA gets a warning

Check check_interface(const Machine& machine) {
  if (const auto lack = machine.lack_of_interface())
    return bad("interfaces", *lack, "ip link set lo up");
  return ok("interfaces", "a network interface is up");
}

Check check_networks_of_jobs(const Machine& machine) {
  const std::vector<NetworkRow> rows = machine.networks();
  std::string version, used;
  for (const NetworkRow& row : rows) {
    if (row.name == "none")
      return warn("networks", fmt::format("jobs of one machine only: {}", row.about),
                  "ip link set up an interface; for MESHMEM_NETWORK=ucx: apt-get install libucx0, "
                  "and build meshmem with -DMESHMEM_UCX=ON");
    if (row.name == "not used")
      return warn("networks", fmt::format("jobs of one machine only: {}", row.about),
                  "unset MESHMEM_NETWORK");
    if (row.name == "UCX") version = row.about;
    if (row.about.find("used where") != std::string::npos)
      used += (used.empty() ? "" : ", ") + row.name;
  }
  if (version.empty() && used.empty())
    return warn("networks", "jobs of one machine only: no interface leads to another",
                "ip link set up an interface, or name one in MESHMEM_NETWORK_DEVICE");
  if (version.empty()) return ok("networks", used);
  if (version_in(version) < version_in(machine.ucx_of_build))
    return warn("networks",
                fmt::format("UCX {} is loaded, older than the {} of the build", version,
                            machine.ucx_of_build),
                fmt::format("install UCX {} or newer, or build meshmem anew on this machine",
                            machine.ucx_of_build));
  if (used.empty())
    return warn("networks", fmt::format("UCX {} finds no network that meshmem uses", version),
                "name one of meshmem-info's list in MESHMEM_NETWORK_DEVICE");
  return ok("networks", fmt::format("UCX {}: {}", version, used));
}

// RDMA devices use only memory that is locked, and the system limits how much a process may lock.
Check check_locked(const Machine& machine) {
  const auto limit = machine.limit("Max locked memory");
  const std::string text = limit ? fmt::format("{} KiB", *limit >> 10) : "no limit";
  const bool has_rdma = !machine.list("/sys/class/infiniband").empty();
  if (has_rdma && limit && *limit < kMuchLocked)
    return warn("locked memory", text + ", little for this machine's RDMA devices",
                "ulimit -l unlimited (for good: 'memlock' in /etc/security/limits.conf)");
  return ok("locked memory", text + (has_rdma ? "" : "; no RDMA device that would need it"));
}

}  // namespace

Checks check_networks(const Machine& machine) {
  return {check_networks_of_jobs(machine), check_interface(machine), check_locked(machine)};
}

}  // namespace meshmem::doctor
