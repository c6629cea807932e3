// SPDX-License-Identifier: Apache-2.0
//
// Measures how far clocks are from PE 0's, and brings the parts of all PEs to PE 0. Both go through
// symmetric memory, since machines need not have a file system in common.
// Invariant: collective; all PEs leave gather_parts() with the same answer.
#ifndef MESHMEM_TOOLS_TRACING_EXCHANGE_HPP_
#define MESHMEM_TOOLS_TRACING_EXCHANGE_HPP_

#include <span>
#include <string>
#include <vector>

#include "tools/tracing/part_file.hpp"

namespace meshmem::tracing {

// Measures what to add to times of this PE to get PE 0's, by round trips of messages. The error is
// at most half of the fastest round trip. 0 if both may have one clock, or without memory for it.
ClockOffset measure_clock(const TraceJob& job);

// The bytes of one part, mapped: of its file, or of a copy in a file without a name.
class PartCopy {
 public:
  PartCopy() = default;
  PartCopy(PartCopy&& other) noexcept : bytes_(other.bytes_) { other.bytes_ = {}; }
  PartCopy(const PartCopy&) = delete;
  ~PartCopy();

  static PartCopy of_file(int fd);  // mapped; empty if it cannot be
  static PartCopy of_bytes(std::size_t bytes, const std::string& folder);  // a copy, to be filled

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

// PE 0 calls `use` with the parts in the order of PEs, and gets its result in `error`: "" or what
// went wrong. All PEs return whether nothing went wrong.
using UseParts = std::string(const std::vector<PartCopy>&);
bool gather_parts(const TraceJob& job, int fd, UseParts* use, std::string& error);

}  // namespace meshmem::tracing

#endif  // MESHMEM_TOOLS_TRACING_EXCHANGE_HPP_
