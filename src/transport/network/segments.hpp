// SPDX-License-Identifier: Apache-2.0
//
// The memory of this node's PEs, as records from other nodes name it: local index, segment, offset.
// Invariant: nothing outside the segments is touched, whatever a record says. A record's stores are
// seen after those of the records before it.
#ifndef MESHMEM_TRANSPORT_NETWORK_SEGMENTS_HPP_
#define MESHMEM_TRANSPORT_NETWORK_SEGMENTS_HPP_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "transport/network/format.hpp"
#include "transport/transport.hpp"

namespace meshmem::network {

class LocalSegments {
 public:
  using DevicePlace =
      std::function<std::byte*(int local_index, std::size_t offset, std::size_t bytes)>;
  using BaseOf = std::function<std::byte*(int local_index, RemoteSegment segment)>;
  // Where the segments are now.
  void map(int n_local, const BaseOf& base_of, const std::size_t (&segment_bytes)[3]);

  void map_device(DevicePlace device_place) { device_place_ = std::move(device_place); }

  // Where a record's `bytes` bytes are, in host memory; nullptr: in no segment.
  std::byte* find(const Record& record, std::uint64_t bytes) const {
    return find(record.index, record.segment, record.offset, bytes);
  }
  // The same in device memory, which is not for the processor.
  std::byte* find_on_device(const Record& record, std::uint64_t bytes) const;

  // False: the record names a place that is not there, or no operation; nothing has been done. In
  // host memory.
  bool put(const Record& record, const std::byte* data) const;
  bool put_signal(const Record& record, const std::byte* data) const;
  // Of an atomic or a fetch; *before is the value before.
  bool execute_atomic(const Record& record, std::uint64_t* before) const;

 private:
  std::byte* find(std::uint64_t index, std::uint64_t segment, std::uint64_t offset,
                  std::uint64_t bytes) const;

  std::vector<std::byte*> bases_;  // three of each PE
  std::size_t segment_bytes_[3] = {0, 0, 0};
  DevicePlace device_place_;
};

inline bool is_on_device(std::uint8_t segment) {
  return segment == static_cast<std::uint8_t>(RemoteSegment::device);
}
inline bool is_for_device(const Record& record) {
  return is_on_device(record.segment) ||
         (record.kind == RecordKind::put_signal && is_on_device(record.width));
}
inline std::size_t chunk_bytes_of(const Record& record) {
  return is_for_device(record) ? kDeviceChunkBytes : kChunkBytes;
}

// The atomic that a record asks for; nullopt: none that there is.
std::optional<AtomicRequest> atomic_of(const Record& record);
// Executes one on memory that is mapped here, by the processor. Returns the value before. Acquire
// and release, as near atomics.
std::uint64_t execute(const AtomicRequest& request, void* there);
// The signal of a put_signal, as a record of an atomic.
Record signal_of(const Record& record);

// A flag of 1, 2, 4 or 8 bytes.
inline bool is_flag(const std::byte* place, std::size_t bytes) {
  return (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8) &&
         reinterpret_cast<std::uintptr_t>(place) % bytes == 0;
}

// Reads memory that others may be changing: a flag of 1, 2, 4 or 8 bytes is read by one load.
void load_bytes(void* to, const std::byte* from, std::size_t bytes);
// Writes memory that others may be reading: a flag by one store, after all earlier ones.
void store_bytes(std::byte* to, const void* from, std::size_t bytes);

}  // namespace meshmem::network

#endif  // MESHMEM_TRANSPORT_NETWORK_SEGMENTS_HPP_
