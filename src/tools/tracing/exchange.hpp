// SPDX-License-Identifier: Apache-2.0
//
// Measures how far clocks are from PE 0's, and brings the parts of the trace, one of each PE, to
// PE 0. Both go through symmetric memory, since machines need not have a file system in common.
// Invariant: collective; all PEs leave gather_parts() with the same answer.
#ifndef MESHMEM_TOOLS_TRACING_EXCHANGE_HPP_
#define MESHMEM_TOOLS_TRACING_EXCHANGE_HPP_

#include <span>
#include <string>
#include <vector>

#include "tools/tracing/part_file.hpp"

namespace meshmem::tracing {

// Measures by round trips of messages what to add to a time of this PE to get PE 0's time. The
// error is at most half of the fastest round trip. The offset is 0 if both clocks may be the same
// one, or if the heap has no room for the messages.
ClockOffset measure_clock(const TraceJob& job);

// The bytes of one part, mapped: of its file, or of a copy in a file without a name.
class PartCopy {
 public:
  PartCopy() = default;
  PartCopy(PartCopy&& other) noexcept : bytes_(other.bytes_) { other.bytes_ = {}; }
  PartCopy(const PartCopy&) = delete;
  ~PartCopy();

  // Maps the file itself; empty if that fails.
  static PartCopy of_file(int fd);
  // Maps a new file in `folder`, to be filled; empty if the disk has no room.
  static PartCopy of_bytes(std::size_t bytes, const std::string& folder);

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

// PE 0 calls `use` with the parts in the order of PEs. `use` returns what went wrong, or "", and
// PE 0 gets this in `error`. True on all PEs if nothing went wrong.
using UseParts = std::string(const std::vector<PartCopy>&);
bool gather_parts(const TraceJob& job, int fd, UseParts* use, std::string& error);

}  // namespace meshmem::tracing

#endif  // MESHMEM_TOOLS_TRACING_EXCHANGE_HPP_
