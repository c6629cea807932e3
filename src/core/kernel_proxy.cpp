// SPDX-License-Identifier: Apache-2.0
//
// Opens the ring for kernels, and starts and stops the thread that serves it.
// Invariant: the thread ends before the collectives that it has begun are stopped.
#include "core/kernel_proxy.hpp"

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "base/error.hpp"
#include "bootstrap/job.hpp"
#include "gpu/device_target.hpp"
#include "gpu/modules.hpp"

namespace meshmem {
namespace {

// Abandons the proxy at exit(). A GPU's driver may take back the memory of the commands in an exit
// handler of its own, which runs before those that libraries registered when they were loaded.
void abandon_before_the_driver(Proxy& thread) {
  if constexpr (kDevicesAreProcessors) return;
  static Proxy* const of_process = &thread;
  [[maybe_unused]] static const int once = std::atexit([] {
    if (!is_child_of_pe()) of_process->abandon();
  });
}

std::vector<std::uint8_t> far_pes_of(const Nodes& nodes) {
  std::vector<std::uint8_t> is_far;
  for (int pe = 0; pe < nodes.n_pes(); ++pe) is_far.push_back(nodes.is_near(pe) ? 0 : 1);
  return is_far;
}

}  // namespace

device::ProxyRing KernelProxy::open(int device, const Nodes& nodes, ProxyKind kind) {
  memory_.open(device, far_pes_of(nodes));
  device::ProxyRing ring = memory_.ring();
  if (kind == ProxyKind::off) {
    ring.slots = nullptr;
    ring.first_far = 0;
    return ring;
  }
  thread_.start({.slots = memory_.slots(),
                 .progress = memory_.progress(),
                 .results = memory_.results(),
                 .n_slots = ring.n_slots,
                 .n_results = ring.n_results,
                 .head = memory_.head()},
                collectives_.begin);
  modules().when_programs_have_kernels([this] { thread_.wake(); });
  abandon_before_the_driver(thread_);
  return ring;
}

void KernelProxy::close() {
  if (!thread_.is_running()) return;
  modules().when_programs_have_kernels([] {});
  thread_.stop();
  if (collectives_.stop) collectives_.stop();
}

}  // namespace meshmem
