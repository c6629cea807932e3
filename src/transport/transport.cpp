// SPDX-License-Identifier: Apache-2.0
//
// The transport of this job, and how all transports receive.
// Invariant: it lives until the process ends, since a thread may still wait.
#include "transport/transport.hpp"

#include "base/waiting/wait.hpp"
#include "gpu/device_segments.hpp"

namespace meshmem {

std::byte* find_in_device_memory(int index, std::size_t offset, std::size_t bytes) {
  const std::size_t in_segment = offset & ((std::size_t{1} << kDeviceOffsetBits) - 1);
  const auto number = static_cast<int>(offset >> kDeviceOffsetBits);
  return device_segments().find_mapped(index, {number, in_segment}, bytes);
}

void Transport::receive(int pe, const MessageKey& key, const MessageDest& dest,
                        const std::function<std::string()>& what) {
  wait_until_ready<ProgressBy::ready>(
      [&] {
        if (mailbox_.try_take(pe, key, dest)) return true;
        progress();
        return false;
      },
      what);
  note_received(pe, key.slot, dest.bytes);
}

void use_transport(std::unique_ptr<Transport> implementation) {
  the_transport = implementation.release();
  progress_of_waits = [] { the_transport->progress(); };
}

}  // namespace meshmem
