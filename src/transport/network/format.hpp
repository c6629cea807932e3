// SPDX-License-Identifier: Apache-2.0
//
// The format of data on a wire. A parcel is a head and a body. The body holds records one behind
// the other, or the data of the one record that is in the head.
// Invariant: the structures have no gaps, and all processes of a job have the same layout. A reader
// must check each field of a record, since it comes from another process.
#ifndef MESHMEM_TRANSPORT_NETWORK_FORMAT_HPP_
#define MESHMEM_TRANSPORT_NETWORK_FORMAT_HPP_

#include <cstddef>
#include <cstdint>

#include "transport/wire.hpp"

namespace meshmem::network {

inline constexpr std::uint8_t kFormatVersion = 4;
inline constexpr std::size_t kRoomBytes = 32 * 1024;    // room for a parcel's records
inline constexpr std::size_t kMostCombined = 8 * 1024;  // most data of one of these records
// Most data of a parcel with one record. With its head it leaves as one segment of TCP (64 KB), and
// its copies on both sides stay in a core's cache.
inline constexpr std::size_t kChunkBytes = 60 * 1024;
// The same for device memory, where each parcel costs a copy by the device.
inline constexpr std::size_t kDeviceChunkBytes = 256 * 1024;

// The fields of a record by kind. `index` is the local index of a PE unless noted otherwise. In
// parentheses: what a field means in this kind.
//   put         segment index offset bytes; data
//   put_signal  the same as put, and the signal: op, width (its segment), first (offset), second
//               (value)
//   atomic      segment index offset op width, first (operand), second (condition)
//   fetch       the same as atomic, and bytes (the number of the request)
//   get         segment index offset bytes, first (the number of the request)
//   reply       first (the number of the request), bytes; data
//   message     index (slot), offset (step), first (sequence), second (all bytes), bytes; data
//   credit      index (slot), first (cost of the messages that have been received)
//   question    index (Asker), first (the number of the request), second (bytes of the answer),
//               bytes; data
//   hello       first (the second half of the token)
//   bye         first (which opening of the transport it ends, counted from 1)
// With follows_fence, PEs see a record's effect after those of all earlier records.
enum class RecordKind : std::uint8_t {
  none,
  hello,
  bye,
  put,
  put_signal,
  atomic,
  fetch,
  get,
  reply,
  message,
  credit,
  question,
};
inline constexpr auto kLastKind = RecordKind::question;

struct Record {
  RecordKind kind = RecordKind::none;
  std::uint8_t segment : 7 = 0;
  std::uint8_t follows_fence : 1 = 0;
  std::uint8_t op = 0;
  std::uint8_t width = 0;
  std::uint32_t index = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};
static_assert(sizeof(Record) == 40);

struct Head {
  std::uint64_t token;
  std::uint32_t source;  // PE of the world
  std::uint8_t version;
  std::uint8_t flags;
  std::uint16_t unused;
  std::uint64_t acknowledged;  // how many counted parcels of the receiver the sender has executed
  Record lone;                 // kind none: the body holds records
};
static_assert(sizeof(Head) == Wire::kMaxHeadBytes);

inline constexpr std::uint8_t kCounted = 1;  // quiet waits for one of its records
inline constexpr std::uint8_t kAsks = 2;     // the receiver acknowledges at once

// True for records that read or change the memory of a PE.
inline bool touches_memory(RecordKind kind) {
  return kind == RecordKind::put || kind == RecordKind::put_signal || kind == RecordKind::atomic ||
         kind == RecordKind::fetch || kind == RecordKind::get;
}
static_assert(kDeviceChunkBytes <= Wire::kMaxBodyBytes && kRoomBytes <= Wire::kMaxBodyBytes);

// True for records whose acknowledgement quiet waits for. For a get or a fetch it waits for the
// answer.
inline bool is_counted(RecordKind kind) {
  return kind == RecordKind::put || kind == RecordKind::put_signal || kind == RecordKind::atomic;
}

// Bytes of data behind a record.
inline std::uint64_t data_bytes(const Record& record) {
  const bool has_data = record.kind == RecordKind::put || record.kind == RecordKind::put_signal ||
                        record.kind == RecordKind::reply || record.kind == RecordKind::message ||
                        record.kind == RecordKind::question;
  return has_data ? record.bytes : 0;
}

// The length of a record in a body, without data. A put leaves out the fields that it does not use.
inline std::size_t record_bytes(RecordKind kind) {
  return kind == RecordKind::put ? offsetof(Record, first) : sizeof(Record);
}
inline std::size_t padded(std::size_t bytes) { return (bytes + 7) / 8 * 8; }
inline std::size_t packed_bytes(const Record& record) {
  return record_bytes(record.kind) + padded(data_bytes(record));
}

// Writes a record and its data, packed_bytes(record) in all.
void pack(std::byte* to, const Record& record, const void* data);

// Goes through the records of a body.
class RecordReader {
 public:
  RecordReader(const std::byte* body, std::size_t bytes) : at_(body), left_(bytes) {}
  // Reads the next record. False at the end, and if the rest is not a whole record.
  bool next();
  const Record& record() const { return record_; }
  const std::byte* data() const { return data_; }
  bool is_at_end() const { return left_ == 0; }

 private:
  const std::byte* at_;
  std::size_t left_;
  Record record_;
  const std::byte* data_ = nullptr;
};

}  // namespace meshmem::network

#endif  // MESHMEM_TRANSPORT_NETWORK_FORMAT_HPP_
