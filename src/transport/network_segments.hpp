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
#include <string>
#include <vector>

#include "transport/network_format.hpp"
#include "transport/transport.hpp"

namespace meshmem::network {

class LocalSegments {
 public:
  using BaseOf = std::function<std::byte*(int local_index, RemoteSegment segment)>;
  // Where the segments are now.
  void map(int n_local, const BaseOf& base_of, const std::size_t (&segment_bytes)[3]);

  // Where a record's `bytes` bytes are; nullptr: in no segment.
  std::byte* find(const Record& record, std::uint64_t bytes) const {
    return find(record.index, record.segment, record.offset, bytes);
  }

  // False: the record names a place that is not there, or no operation; nothing has been done.
  bool put(const Record& record, const std::byte* data) const;
  bool put_signal(const Record& record, const std::byte* data) const;
  // Of an atomic or a fetch; *before is the value before.
  bool execute_atomic(const Record& record, std::uint64_t* before) const;

 private:
  std::byte* find(std::uint64_t index, std::uint64_t segment, std::uint64_t offset,
                  std::uint64_t bytes) const;

  std::vector<std::byte*> bases_;  // three of each PE
  std::size_t segment_bytes_[3] = {0, 0, 0};
};

// Reads memory that others may be changing: a flag of 1, 2, 4 or 8 bytes is read by one load.
void load_bytes(void* to, const std::byte* from, std::size_t bytes);
// Writes memory that others may be reading: a flag by one store, after all earlier ones.
void store_bytes(std::byte* to, const void* from, std::size_t bytes);

}  // namespace meshmem::network

#endif  // MESHMEM_TRANSPORT_NETWORK_SEGMENTS_HPP_
