// SPDX-License-Identifier: Apache-2.0
//
// The kernel by which a stream hands the proxy a command, in its turn.
// Invariant: one thread, always of the same block and wave, so that a quiet on any stream waits for
// all that streams have handed over.
#include "device/kernels/launch_kernel.hpp"
#include "device/proxy.hpp"

namespace meshmem {
namespace device {
namespace {

__global__ void proxy_command_kernel(ProxyCommand command, ProxyEnd end) {
  after_earlier_kernels();
  const ProxyRing& ring = state().proxy;
  release_fence();  // publishes the stream's earlier stores to the host
  if (end == ProxyEnd::answered) {
    quiet_far();
    post_and_await_result(command, kResultOfCollective);
  } else {
    const std::uint64_t ticket = post(command);
    if (end == ProxyEnd::source_is_free) await_consumed(ring, ticket + 1);
    if (end == ProxyEnd::done) await_completed(ring, ticket + 1);
  }
  acquire_fence();  // the stream's next work can read the host's writes
}

}  // namespace

hipError_t launch_proxy_command(const ProxyCommand& command, ProxyEnd end, hipStream_t stream) {
  return launch(proxy_command_kernel, dim3(1), 1, stream, command, end);
}

hipError_t load_far_kernels() { return load(proxy_command_kernel); }

}  // namespace device
}  // namespace meshmem
