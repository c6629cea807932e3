// SPDX-License-Identifier: Apache-2.0
//
// Finds and changes memory of this node's PEs for records from other nodes, which name it by local
// index, segment and offset.
// Invariant: no record, whatever it says, changes memory outside the segments. PEs see a record's
// stores after those of earlier records.
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
  // Notes where the segments are. Called again at each reopening.
  void map(int n_local, const BaseOf& base_of, const std::size_t (&segment_bytes)[3]);

  void map_device(DevicePlace device_place) { device_place_ = std::move(device_place); }

  // The address of the `bytes` bytes in host memory that a record names; nullptr: outside.
  std::byte* find(const Record& record, std::uint64_t bytes) const;
  // The same in device memory, which the processor must not touch.
  std::byte* find_on_device(const Record& record, std::uint64_t bytes) const;

  // Execute a record on host memory. False: the record names memory outside the segments, or an
  // unknown operation, and no memory was changed.
  bool put(const Record& record, const std::byte* data) const;
  bool put_signal(const Record& record, const std::byte* data) const;
  // Executes an atomic or a fetch. *before gets the value before.
  bool execute_atomic(const Record& record, std::uint64_t* before) const;

 private:
  std::vector<std::byte*> bases_;  // three segments for each local index
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

// The atomic that a record asks for; nullopt: the record is invalid.
std::optional<AtomicRequest> atomic_of(const Record& record);
// Executes an atomic on host memory that is mapped here. Returns the value before. Acquire and
// release, as near atomics.
std::uint64_t execute(const AtomicRequest& request, void* there);
// The signal of a put_signal, as a record of kind atomic.
Record signal_of(const Record& record);

// True for an aligned place of 1, 2, 4 or 8 bytes, which a PE may use as a flag.
inline bool is_flag(const std::byte* place, std::size_t bytes) {
  return (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8) &&
         reinterpret_cast<std::uintptr_t>(place) % bytes == 0;
}

// Reads memory that others may be changing. A flag is read by one load.
void load_bytes(void* to, const std::byte* from, std::size_t bytes);
// Writes memory that others may be reading, after all earlier stores. A flag is written by one
// store.
void store_bytes(std::byte* to, const void* from, std::size_t bytes);

}  // namespace meshmem::network

#endif  // MESHMEM_TRANSPORT_NETWORK_SEGMENTS_HPP_
