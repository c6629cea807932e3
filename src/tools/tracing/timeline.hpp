// SPDX-License-Identifier: Apache-2.0
//
// The calls of all PEs, read from their parts, on one clock.
// Invariant: the parts outlive it. All that can be read of a damaged part is used. Made by library,
// completed by causes, written by trace_json.
#ifndef MESHMEM_TOOLS_TRACING_TIMELINE_HPP_
#define MESHMEM_TOOLS_TRACING_TIMELINE_HPP_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tools/interpose/routines.hpp"
#include "tools/tracing/part_file.hpp"

namespace meshmem::tracing {

enum class Area : std::uint8_t { elsewhere, heap, statics, device_heap };

// Symmetric memory, named alike on all PEs. For memory elsewhere `offset` is the address.
struct Place {
  Area area = Area::elsewhere;
  std::uint64_t offset = 0;
  auto operator<=>(const Place&) const = default;
};

struct Span {
  std::int64_t begin_ns, end_ns;
  const Record* record;
  std::int32_t pe;
  std::uint32_t thread;
  bool is_finished;
  // Of a span that waited: for which PE and how long. `cause`: the span that ended it, if known.
  std::int32_t waited_for = -1;
  std::uint32_t cause = UINT32_MAX;
  std::int64_t waited_ns = 0;

  const Routine& what() const { return routine(record->routine); }
  // The host's call of a routine on a stream, which puts it there and returns.
  bool is_enqueued() const { return what().on_stream && !record->by_stream; }
  bool adds() const;  // adds to a signal instead of setting it
  // A value of the routine's type, or of a signal, in 64 bits.
  std::uint64_t widened(std::uint64_t value) const;
};

struct Thread {
  int pe;
  std::uint32_t number;
  std::string name;
};

struct Timeline {
  std::vector<const PartHeader*> pes;  // by PE; nullptr where there is no part
  std::vector<Thread> threads;
  std::vector<Span> spans;  // ordered by PE, thread and time

  Place place_of(int pe, std::uint64_t address) const;
};

// Takes the number of PEs from the parts, and leaves out those that cannot be read.
Timeline read_parts(const std::vector<std::span<std::byte>>& parts);

// Fills in who waited for whom.
void find_causes(Timeline& timeline);

// Writes Chrome's trace format, which Perfetto reads. False and errno: it could not be written.
bool write_json(const Timeline& timeline, const std::string& path);

}  // namespace meshmem::tracing

#endif  // MESHMEM_TOOLS_TRACING_TIMELINE_HPP_
