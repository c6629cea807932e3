// SPDX-License-Identifier: Apache-2.0
//
// Pinned host memory, of any size, that the host and the device both reach.
// Invariant: a piece has one owner at a time, and is kept for the next owner: pinning memory takes
// longer than using it. Called by collectives/ and start-up.
#ifndef MESHMEM_GPU_PINNED_ROOM_HPP_
#define MESHMEM_GPU_PINNED_ROOM_HPP_

#include <cstddef>

namespace meshmem {

class PinnedRoom {
 public:
  explicit PinnedRoom(std::size_t bytes);
  ~PinnedRoom();
  PinnedRoom(const PinnedRoom&) = delete;
  PinnedRoom& operator=(const PinnedRoom&) = delete;
  std::byte* get() const { return memory_; }

 private:
  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace meshmem

#endif  // MESHMEM_GPU_PINNED_ROOM_HPP_
