// SPDX-License-Identifier: Apache-2.0
//
// The calls of all PEs, read from their parts, on one clock.
// Invariant: the parts outlive it; a part that is damaged gives what can be read of it. Made by
// join, completed by causes, written by trace_json.
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

// Symmetric memory, as all PEs call it; of memory elsewhere the address.
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
  // Of one that waited: for whom, and how long. `cause`: the span that ended it, if that is known.
  std::int32_t waited_for = -1;
  std::uint32_t cause = UINT32_MAX;
  std::int64_t waited_ns = 0;

  const Routine& what() const { return routine(record->routine); }
  // The host's call of a routine on a stream, which puts it there and returns.
  bool is_enqueued() const { return what().on_stream && !record->by_stream; }
  bool adds() const;  // to a signal, which others set
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
  std::vector<Span> spans;  // of a thread in the order of time, the PEs one after the other

  Place place_of(int pe, std::uint64_t address) const;
};

// The number of PEs is that of the parts; others than readable ones are left out.
Timeline read_parts(const std::vector<std::span<std::byte>>& parts);

// Fills in who waited for whom.
void find_causes(Timeline& timeline);

// As the trace format of Chrome, which Perfetto reads. False and errno: it could not be written.
bool write_json(const Timeline& timeline, const std::string& path);

}  // namespace meshmem::tracing

#endif  // MESHMEM_TOOLS_TRACING_TIMELINE_HPP_
