// SPDX-License-Identifier: Apache-2.0
//
// The transport between fake nodes of one machine: the operations of transport.hpp by mapped
// memory, so that all that several machines need can be tested on one, under ThreadSanitizer too.
// Invariant: nonblocking transfers happen no earlier than in fence, quiet or a wait, as late as a
// network might do them. Made by start-up where `oshrun --fake-nodes` has told the PEs apart.
#ifndef MESHMEM_TRANSPORT_ARENA_TRANSPORT_HPP_
#define MESHMEM_TRANSPORT_ARENA_TRANSPORT_HPP_

#include <atomic>
#include <functional>
#include <mutex>
#include <vector>

#include "gpu/device_access.hpp"
#include "transport/transport.hpp"

namespace meshmem {

inline constexpr std::size_t kInboxBytes = 64 * 1024;

// A ring of messages in the arena, one for each PE. All bytes zero: empty. Any PE writes, under the
// lock; only the owner reads.
struct alignas(4096) Inbox {
  alignas(64) std::atomic<std::uint32_t> lock;
  alignas(64) std::atomic<std::uint64_t> written;  // bytes, ever
  alignas(64) std::atomic<std::uint64_t> read;     // bytes, ever
  alignas(64) std::byte bytes[kInboxBytes];
};

class ArenaTransport : public Transport {
 public:
  struct Mapping {
    std::function<std::byte*(const RemotePlace&)> address_of;
    std::function<Inbox*(int pe)> inbox_of;
    DeviceAccess* device;  // does what is to be done with device memory
  };
  ArenaTransport(int me, Mapping mapping) : me_(me), mapping_(std::move(mapping)) {}

  void put(const RemotePlace& dest, const void* source, std::size_t bytes) override;
  void get(void* dest, const RemotePlace& source, std::size_t bytes) override;
  void put_nbi(const RemotePlace& dest, const void* source, std::size_t bytes) override;
  void get_nbi(void* dest, const RemotePlace& source, std::size_t bytes) override;
  void put_signal(const RemotePlace& dest, const void* source, std::size_t bytes,
                  const SignalUpdate& signal) override;
  std::uint64_t atomic(const RemotePlace& dest, const AtomicRequest& request) override;
  void fetch_nbi(const RemotePlace& dest, const AtomicRequest& request,
                 std::uint64_t* before) override {
    *before = atomic(dest, request);
  }
  void order() override { complete(); }
  void complete() override;
  std::unique_ptr<CompletionMark> mark() override;
  void send(int pe, const MessageKey& key, const void* data, std::size_t bytes) override;
  void progress() override;

 private:
  struct Deferred {
    bool is_put;
    RemotePlace there;
    std::byte* here;
    std::size_t bytes;
  };
  struct Frame;
  void defer(const Deferred& copy);
  void copy(const Deferred& copy);
  void copy_on_device(const Deferred& copy);
  void send_piece(int pe, const Frame& frame, const std::byte* data);

  const int me_;
  const Mapping mapping_;
  // Of the thread that completes: others wait until it has, and its own waits for a device come by.
  std::recursive_mutex completing_;
  std::mutex deferred_mutex_;
  std::vector<Deferred> deferred_;
  std::mutex inbox_mutex_;  // of this PE's threads that read it
};

}  // namespace meshmem

#endif  // MESHMEM_TRANSPORT_ARENA_TRANSPORT_HPP_
