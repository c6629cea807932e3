// SPDX-License-Identifier: Apache-2.0
//
// Packs and reads records. Invariant: a length is compared before it is added, so no sum wraps.
#include "transport/network/format.hpp"

#include <cstring>

namespace meshmem::network {

void pack(std::byte* to, const Record& record, const void* data) {
  std::memcpy(to, &record, record_bytes(record.kind));
  to += record_bytes(record.kind);
  const std::size_t bytes = data_bytes(record);
  if (bytes == 0) return;
  const std::uint64_t zeros = 0;  // padding must not carry other memory of this PE
  std::memcpy(to + padded(bytes) - sizeof zeros, &zeros, sizeof zeros);
  std::memcpy(to, data, bytes);
}

bool RecordReader::next() {
  if (left_ < record_bytes(RecordKind::put)) return false;
  record_ = {};
  std::memcpy(&record_, at_, record_bytes(RecordKind::put));
  const std::size_t fixed = record_bytes(record_.kind);
  if (record_.kind > kLastKind || left_ < fixed) return false;
  std::memcpy(&record_, at_, fixed);
  const std::uint64_t bytes = data_bytes(record_);
  if (bytes > left_ - fixed || padded(bytes) > left_ - fixed) return false;
  data_ = at_ + fixed;
  at_ += fixed + padded(bytes);
  left_ -= fixed + padded(bytes);
  return true;
}

}  // namespace meshmem::network
