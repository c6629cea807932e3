// SPDX-License-Identifier: Apache-2.0
//
// Collects the memory that one call on a stream uses and, when the call ends, enters it in the list
// of gpu/unfinished_uses.hpp.
// Invariant: without MESHMEM_CHECK a call costs a branch; calls on captured streams enter nothing.
// Made by the routines on streams of core/ and collectives/.
#ifndef MESHMEM_CORE_MEMORY_OF_CALL_HPP_
#define MESHMEM_CORE_MEMORY_OF_CALL_HPP_

#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

#include "core/runtime.hpp"
#include "gpu/launch_on_stream.hpp"
#include "gpu/unfinished_uses.hpp"

namespace meshmem {

// Destroyed when the work of the call is on the stream.
class MemoryOfCall {
 public:
  MemoryOfCall(const char* routine, hipStream_t stream, std::initializer_list<UsedRange> used = {})
      : is_kept_(has(runtime().environment().check, Check::calls)),
        routine_(routine),
        stream_(stream) {
    for (const auto& [address, bytes] : used) add(address, bytes);
  }
  MemoryOfCall(const MemoryOfCall&) = delete;
  MemoryOfCall& operator=(const MemoryOfCall&) = delete;
  ~MemoryOfCall() {
    if (!ranges_.empty() && !is_captured(stream_))
      keep_unfinished_use(routine_, stream_, runtime().device_memory().device(),
                          std::move(ranges_));
  }
  void add(const void* address, std::size_t bytes) {
    if (is_kept_ && bytes > 0) [[unlikely]]
      ranges_.push_back({address, bytes});
  }

 private:
  bool is_kept_;
  const char* routine_;
  hipStream_t stream_;
  std::vector<UsedRange> ranges_;
};

}  // namespace meshmem

#endif  // MESHMEM_CORE_MEMORY_OF_CALL_HPP_
