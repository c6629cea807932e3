// SPDX-License-Identifier: Apache-2.0
//
// The file that a PE writes while it runs: its part of the trace. When the job ends, the parts are
// joined. A part is a header, then chunks. A chunk is a ChunkHeader and records of one thread in
// the order of time; chunks have no order.
// Invariant: a record that has begun has begin != 0; one whose call has not returned has end == 0.
// So the part of a PE that was killed can be read. Written by recorder, read by timeline.
#ifndef MESHMEM_TOOLS_TRACING_PART_FILE_HPP_
#define MESHMEM_TOOLS_TRACING_PART_FILE_HPP_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/hooks/trace_job.hpp"

namespace meshmem::tracing {

// One call. The meaning of a field depends on the routine's kind (routines.hpp).
struct Record {
  std::uint64_t begin;  // ticks
  std::uint64_t end;
  std::uint64_t dest;    // the address; of waits and locks the variable's
  std::uint64_t source;  // or the result, if the routine has no source
  std::uint64_t count;   // elements
  std::uint64_t value;
  std::uint64_t other;  // the address of a signal, or the key of a team
  std::uint16_t routine;
  std::uint8_t comparison;      // SHMEM_CMP_, or SHMEM_SIGNAL_
  std::uint8_t has_result : 1;  // `source` is the result
  std::uint8_t by_stream : 1;   // of a routine on a stream: what the stream did, not the call
  std::int32_t pe;              // of the world; -1: none
};
static_assert(sizeof(Record) == 64);

inline constexpr std::size_t kChunkBytes = 64 << 10;  // the largest page: each is mapped apart
inline constexpr std::size_t kRecordsOfChunk = kChunkBytes / sizeof(Record) - 1;
struct ChunkHeader {
  std::uint32_t thread;  // 0, 1, ... in the order in which the threads first called
  std::uint32_t reserved;
  char name[56];
};
static_assert(sizeof(ChunkHeader) == sizeof(Record));

// The correction of this PE's clock, as measured when it showed at_ns.
struct ClockOffset {
  std::uint64_t at_ns;
  std::int64_t offset_ns;
};

struct TeamName {
  std::uint64_t key;
  char members[56];
};

struct PartHeader {
  static constexpr char kMagic[16] = "meshmem trace 4";
  static constexpr std::size_t kTeams = 192;
  char magic[16];
  std::uint32_t n_routines;  // of the library that wrote it
  std::int32_t pe, n_pes, node;
  std::int32_t clock;  // PEs with the same number share a clock
  std::int32_t reserved;
  std::uint64_t left_out;  // calls for which there was no room
  TraceRange heap, statics, device_heap;
  TraceMoment first, last;  // in ticks and ns: they give the rate of ticks
  ClockOffset at_start, at_end;
  char host[64];
  char program[64];
  std::uint64_t slow_ways[std::size(kSlowWays)];  // calls of each kind; 0 before the end
  std::uint32_t n_teams;
  TeamName teams[kTeams];
};
// The text of such a field, whether or not it ends in a 0.
template <std::size_t bytes>
std::string_view text_of(const char (&field)[bytes]) {
  return {field, strnlen(field, bytes)};
}

inline constexpr std::size_t kHeaderBytes = kChunkBytes;
static_assert(sizeof(PartHeader) <= kHeaderBytes);

}  // namespace meshmem::tracing

#endif  // MESHMEM_TOOLS_TRACING_PART_FILE_HPP_
