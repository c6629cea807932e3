// SPDX-License-Identifier: Apache-2.0
//
// Reads chunk by chunk what a PE has left, and trusts none of it.
#include "tools/tracing/timeline.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <tuple>

namespace meshmem::tracing {
namespace {

constexpr int kMostPes = 1 << 20;

const PartHeader* header_of(std::span<std::byte> part) {
  if (part.size() < kHeaderBytes) return nullptr;
  const auto* header = reinterpret_cast<const PartHeader*>(part.data());
  const bool is_ours = std::memcmp(header->magic, PartHeader::kMagic, sizeof header->magic) == 0 &&
                       header->n_routines == kRoutines;
  const bool has_pe = header->pe >= 0 && header->pe < header->n_pes && header->n_pes <= kMostPes;
  return is_ours && has_pe ? header : nullptr;
}

// The more ticks, the more exact is the length of one.
std::uint64_t measured_ticks(const PartHeader& header) {
  return header.last.ticks > header.first.ticks ? header.last.ticks - header.first.ticks : 0;
}

std::int64_t ns_of(const PartHeader& header, std::uint64_t ticks) {
  const TraceMoment &first = header.first, &last = header.last;
  const double rate = last.ticks > first.ticks ? static_cast<double>(last.ns - first.ns) /
                                                     static_cast<double>(last.ticks - first.ticks)
                                               : 1;
  const auto since_first = static_cast<std::int64_t>(ticks - first.ticks);
  return static_cast<std::int64_t>(first.ns) +
         static_cast<std::int64_t>(static_cast<double>(since_first) * rate);
}

// The time on PE 0's clock. Between the two measurements the offset changes evenly; elsewhere it is
// that of the nearer one. `clock`: the header that gives the rate of ticks, the same for all PEs
// that share a clock.
std::int64_t on_one_clock(const PartHeader& header, const PartHeader& clock, std::uint64_t ticks) {
  const ClockOffset &start = header.at_start, &end = header.at_end;
  const std::int64_t at_ns = ns_of(clock, ticks);
  const auto start_ns = static_cast<std::int64_t>(start.at_ns);
  const auto end_ns = static_cast<std::int64_t>(end.at_ns);
  if (end_ns <= start_ns) return at_ns + start.offset_ns;
  const double share =
      static_cast<double>(at_ns - start_ns) / static_cast<double>(end_ns - start_ns);
  const double change = static_cast<double>(end.offset_ns - start.offset_ns);
  return at_ns + start.offset_ns + static_cast<std::int64_t>(change * std::clamp(share, 0.0, 1.0));
}

void add_thread(Timeline& timeline, int pe, const ChunkHeader& chunk) {
  const bool is_known = std::any_of(
      timeline.threads.begin(), timeline.threads.end(),
      [&](const Thread& thread) { return thread.pe == pe && thread.number == chunk.thread; });
  if (!is_known) timeline.threads.push_back({pe, chunk.thread, std::string(text_of(chunk.name))});
}

void add_chunk(Timeline& timeline, const PartHeader& header, const PartHeader& clock,
               const std::byte* at) {
  const auto& chunk = *reinterpret_cast<const ChunkHeader*>(at);
  const std::span records(reinterpret_cast<const Record*>(&chunk + 1), kRecordsOfChunk);
  if (records[0].begin != 0) add_thread(timeline, header.pe, chunk);
  for (const Record& record : records) {
    if (record.begin == 0 || record.routine >= kRoutines) return;
    const bool is_finished = record.end >= record.begin;
    timeline.spans.push_back({.begin_ns = on_one_clock(header, clock, record.begin),
                              .end_ns = is_finished ? on_one_clock(header, clock, record.end) : 0,
                              .record = &record,
                              .pe = header.pe,
                              .thread = chunk.thread,
                              .is_finished = is_finished});
  }
}

// Also drops calls that are there twice: their thread was killed between writing its window and
// emptying it.
void sort_calls(Timeline& timeline) {
  const auto order = [](const Span& span) {
    return std::tuple(span.pe, span.thread, span.begin_ns);
  };
  std::vector<Span>& spans = timeline.spans;
  std::stable_sort(spans.begin(), spans.end(),
                   [&](const Span& left, const Span& right) { return order(left) < order(right); });
  const auto same = [&](const Span& left, const Span& right) {
    return order(left) == order(right) &&
           std::memcmp(left.record, right.record, sizeof(Record)) == 0;
  };
  spans.erase(std::unique(spans.begin(), spans.end(), same), spans.end());
}

// A call that has not returned lasts until the last known moment of the job.
void end_unfinished(Timeline& timeline, std::int64_t last) {
  for (const Span& span : timeline.spans) last = std::max({last, span.begin_ns, span.end_ns});
  for (Span& span : timeline.spans)
    if (!span.is_finished) span.end_ns = last;
}

bool is_in(const TraceRange& range, std::uint64_t address) {
  return address >= range.base && address - range.base < range.bytes;
}

}  // namespace

bool Span::adds() const {
  return record->comparison == SHMEM_SIGNAL_ADD ||
         what().name.find("signal_add") != std::string_view::npos;
}

std::uint64_t Span::widened(std::uint64_t value) const {
  const int bytes = what().element_bytes;
  const int unused_bits = bytes == 0 ? 0 : 64 - 8 * std::min(bytes, 8);
  if (what().is_signed)
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value << unused_bits) >>
                                      unused_bits);
  return value << unused_bits >> unused_bits;
}

Place Timeline::place_of(int pe, std::uint64_t address) const {
  const PartHeader& header = *pes[static_cast<std::size_t>(pe)];
  if (is_in(header.heap, address)) return {Area::heap, address - header.heap.base};
  if (is_in(header.statics, address)) return {Area::statics, address - header.statics.base};
  if (is_in(header.device_heap, address))
    return {Area::device_heap, address - header.device_heap.base};
  return {Area::elsewhere, address};
}

Timeline read_parts(const std::vector<std::span<std::byte>>& parts) {
  Timeline timeline;
  std::map<int, const PartHeader*> clocks;
  std::int64_t last = std::numeric_limits<std::int64_t>::min();  // the last known moment
  for (const std::span<std::byte> part : parts) {
    const PartHeader* header = header_of(part);
    if (!header) continue;
    const PartHeader*& clock = clocks[header->clock];
    if (!clock || measured_ticks(*header) > measured_ticks(*clock)) clock = header;
  }
  for (const std::span<std::byte> part : parts) {
    const PartHeader* header = header_of(part);
    if (!header) continue;
    last = std::max(last, on_one_clock(*header, *clocks[header->clock], header->last.ticks));
    const auto n_pes = static_cast<std::size_t>(header->n_pes);
    if (timeline.pes.size() < n_pes) timeline.pes.resize(n_pes);
    timeline.pes[static_cast<std::size_t>(header->pe)] = header;
    for (std::size_t at = kHeaderBytes; at + kChunkBytes <= part.size(); at += kChunkBytes)
      add_chunk(timeline, *header, *clocks[header->clock], part.data() + at);
  }
  sort_calls(timeline);
  end_unfinished(timeline, last);
  return timeline;
}

}  // namespace meshmem::tracing
