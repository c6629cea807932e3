// SPDX-License-Identifier: Apache-2.0
//
// Devices as HIP shows them. Invariant: says the same as start-up does: MESHMEM_DEVICE, else PEs in
// turn.
#include "info/devices.hpp"

#include <fmt/format.h>
#include <hip/hip_runtime_api.h>

#include <cstdlib>
#include <string>

#include "base/settings/environment.hpp"
#if defined(MESHMEM_TARGET_CPU)
#include <hip/on_cpu/for_meshmem.h>
#endif

namespace meshmem {
namespace {

bool succeeds(hipError_t error) {
  if (error != hipSuccess) (void)hipGetLastError();
  return error == hipSuccess;
}

std::string describe(int device) {
  hipDeviceProp_t properties{};
  char bus_id[32] = "?";
  if (!succeeds(hipGetDeviceProperties(&properties, device))) return "cannot be asked";
  (void)succeeds(hipDeviceGetPCIBusId(bus_id, sizeof bus_id, device));
  return fmt::format("{}, {:.1f} GiB, at {}", properties.name,
                     static_cast<double>(properties.totalGlobalMem) / (1 << 30), bus_id);
}

// Whether the host's small puts to device heaps may be stores; start-up tries them, too.
std::string large_bar_of([[maybe_unused]] int device, const Environment& environment) {
  bool has = false;
#if defined(MESHMEM_TARGET_CPU)
  has = hip_on_cpu::has_large_bar();
#elif defined(MESHMEM_TARGET_HIP)
  hipDeviceProp_t properties{};
  has = succeeds(hipGetDeviceProperties(&properties, device)) && properties.isLargeBar;
#endif
  return !has ? "no" : environment.large_bar ? "yes" : "yes, not used: MESHMEM_LARGE_BAR is 0";
}

// "0, 2, 4, ..."
std::string users_of(int device, int count, const Environment& environment) {
  if (environment.device)
    return *environment.device == static_cast<unsigned>(device) ? "all" : "none";
  return fmt::format("{}, {}, ...", device, device + count);
}

std::string link_to(int device, int peer) {
  int can = 0;
  if (!succeeds(hipDeviceCanAccessPeer(&can, device, peer)) || !can)
    return fmt::format("{}: copies only", peer);
  std::uint32_t link = 0, hops = 0;
  if (!succeeds(hipExtGetLinkTypeAndHopCount(device, peer, &link, &hops)))
    return fmt::format("{}: yes", peer);
  return fmt::format("{}: link type {}, {} hop{}", peer, link, hops, hops == 1 ? "" : "s");
}

std::string links_of(int device, int count) {
  std::string text;
  for (int peer = 0; peer < count; ++peer) {
    if (peer == device) continue;
    text += (text.empty() ? "" : "; ") + link_to(device, peer);
  }
  return text;
}

}  // namespace

void print_devices(const PrintRow& print_row) {
  Environment environment;
  (void)parse_environment(environment, std::getenv);  // a bad value is reported elsewhere
  int count = 0;
  const hipError_t error = hipGetDeviceCount(&count);
  if (!succeeds(error) || count == 0) {
    print_row("none", error == hipSuccess ? "host memory only" : hipGetErrorString(error));
    return;
  }
  if (environment.device_heap_size == std::size_t{0})
    print_row("not used", "MESHMEM_DEVICE_HEAP_SIZE is 0");
  for (int device = 0; device < count; ++device) {
    print_row(fmt::format("device {}", device), describe(device));
    print_row("  large BAR", large_bar_of(device, environment));
    print_row("  used by PEs", users_of(device, count, environment));
    if (count > 1) print_row("  reaches device", links_of(device, count));
  }
}

}  // namespace meshmem
