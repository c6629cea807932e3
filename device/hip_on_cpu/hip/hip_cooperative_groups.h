// SPDX-License-Identifier: Apache-2.0
// HIP's cooperative groups: the grid, the block, tiles of a wave, and the lanes that are active.
// Invariant: the threads of a group call its sync(), shuffles and votes together; nobody waits for
// a thread that has exited. The grid can meet in cooperative launches only; a kernel that was
// launched otherwise ends with a line. Included by programs.
//
// Deliberately not there: groups of several devices (this_multi_grid), tiles larger than a wave,
// and reduce().
#pragma once

#include "hip/hip_runtime.h"

namespace cooperative_groups {

class thread_group {
 public:
  unsigned size() const { return size_; }
  unsigned num_threads() const { return size(); }
  unsigned thread_rank() const {
    if (kind_ == Kind::kLanes) return rank_of(hip_on_cpu::lane());
    const unsigned in_block = hip_on_cpu::current_thread->rank;
    return kind_ == Kind::kBlock ? in_block : block_of_grid() * size_of_block() + in_block;
  }
  bool is_valid() const {
    return kind_ != Kind::kGrid || hip_on_cpu::current_thread->block->is_cooperative;
  }
  void sync() const {
    if (kind_ == Kind::kGrid) return hip_on_cpu::grid_barrier();
    if (kind_ == Kind::kBlock) return __syncthreads();
    __syncwarp(lanes_);
  }

 protected:
  enum class Kind { kGrid, kBlock, kLanes };
  thread_group(Kind kind, unsigned size, std::uint64_t lanes = 0)
      : kind_(kind), size_(size), lanes_(lanes) {}

  static unsigned size_of_block() { return blockDim.x * blockDim.y * blockDim.z; }
  static unsigned block_of_grid() {
    return (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  }
  static unsigned blocks_of_grid() { return gridDim.x * gridDim.y * gridDim.z; }

  Kind kind() const { return kind_; }
  std::uint64_t lanes() const { return lanes_; }
  unsigned rank_of(int lane) const {
    return static_cast<unsigned>(__popcll(lanes_ & ((std::uint64_t{1} << lane) - 1)));
  }
  int lane_of(unsigned rank) const {
    std::uint64_t left = lanes_;
    for (; rank > 0; --rank) left &= left - 1;
    return __ffsll(left) - 1;
  }
  // The lanes of this thread's part, where each `size` consecutive lanes make a part.
  std::uint64_t part_of(unsigned size) const {
    if (kind_ == Kind::kBlock) {
      const unsigned first = static_cast<unsigned>(hip_on_cpu::lane()) / size * size;
      return (hip_on_cpu::kAllLanes >> (static_cast<unsigned>(warpSize) - size)) << first;
    }
    const unsigned first = thread_rank() / size * size;
    std::uint64_t part = 0;
    for (unsigned rank = first; rank < first + size && rank < size_; ++rank)
      part |= std::uint64_t{1} << lane_of(rank);
    return part;
  }

 private:
  friend thread_group tiled_partition(const thread_group& parent, unsigned size);
  template <unsigned tile_size, typename Parent>
  friend class thread_block_tile;

  Kind kind_;
  unsigned size_;
  std::uint64_t lanes_;
};

class grid_group : public thread_group {
 public:
  unsigned num_blocks() const { return blocks_of_grid(); }
  unsigned block_rank() const { return block_of_grid(); }
  dim3 group_dim() const { return gridDim; }
  dim3 block_index() const { return blockIdx; }

 private:
  friend grid_group this_grid();
  grid_group() : thread_group(Kind::kGrid, blocks_of_grid() * size_of_block()) {}
};
inline grid_group this_grid() { return {}; }

class thread_block : public thread_group {
 public:
  dim3 group_index() const { return blockIdx; }
  dim3 thread_index() const { return threadIdx; }
  dim3 group_dim() const { return blockDim; }

 private:
  friend thread_block this_thread_block();
  thread_block() : thread_group(Kind::kBlock, size_of_block()) {}
};
inline thread_block this_thread_block() { return {}; }

// Lanes of one wave. Ranks count them from the lowest; so do the bits of masks.
class lane_group : public thread_group {
 public:
  // The value of the thread of that rank, modulo the size.
  template <typename T>
  T shfl(T value, int rank) const {
    return shuffle(value, static_cast<unsigned>(rank) % size());
  }
  // A thread that would read beyond the group reads its own value.
  template <typename T>
  T shfl_up(T value, unsigned distance) const {
    const unsigned self = thread_rank();
    return shuffle(value, distance <= self ? self - distance : self);
  }
  template <typename T>
  T shfl_down(T value, unsigned distance) const {
    return shuffle(value, thread_rank() + distance);
  }
  template <typename T>
  T shfl_xor(T value, unsigned mask) const {
    return shuffle(value, thread_rank() ^ mask);
  }

  int any(int predicate) const { return __any_sync(lanes(), predicate); }
  int all(int predicate) const { return __all_sync(lanes(), predicate); }
  unsigned long long ballot(int predicate) const {
    return by_rank(__ballot_sync(lanes(), predicate));
  }
  template <typename T>
  unsigned long long match_any(T value) const {
    return by_rank(__match_any_sync(lanes(), value));
  }
  template <typename T>
  unsigned long long match_all(T value, int& are_same) const {
    return by_rank(__match_all_sync(lanes(), value, &are_same));
  }

  // Which part of its parent this group is, and of how many.
  unsigned meta_group_rank() const { return meta_rank_; }
  unsigned meta_group_size() const { return meta_size_; }

 protected:
  lane_group(unsigned size, std::uint64_t lanes, unsigned meta_rank, unsigned meta_size)
      : thread_group(Kind::kLanes, size, lanes), meta_rank_(meta_rank), meta_size_(meta_size) {}

 private:
  template <typename T>
  T shuffle(T value, unsigned rank) const {
    const bool is_there = rank < static_cast<unsigned>(__popcll(lanes()));
    const int source = is_there ? lane_of(rank) : hip_on_cpu::lane();
    return hip_on_cpu::shuffle(value, source, hip_on_cpu::lanes_of(lanes()));
  }
  unsigned long long by_rank(unsigned long long by_lane) const {
    unsigned long long result = 0;
    for (unsigned rank = 0; rank < static_cast<unsigned>(__popcll(lanes())); ++rank)
      result |= (by_lane >> lane_of(rank) & 1) << rank;
    return result;
  }

  unsigned meta_rank_, meta_size_;
};

class coalesced_group : public lane_group {
 private:
  friend coalesced_group coalesced_threads(const char* file, int line);
  friend coalesced_group tiled_partition(const coalesced_group& parent, unsigned size);
  explicit coalesced_group(std::uint64_t lanes, unsigned meta_rank = 0, unsigned meta_size = 1)
      : lane_group(static_cast<unsigned>(__popcll(lanes)), lanes, meta_rank, meta_size) {}
};
// The lanes that came to this call together, as in __activemask().
inline coalesced_group coalesced_threads(const char* file = __builtin_FILE(),
                                         int line = __builtin_LINE()) {
  return coalesced_group(__activemask(file, line));
}

template <unsigned tile_size, typename Parent = void>
class thread_block_tile : public lane_group {
  static_assert(tile_size > 0 && (tile_size & (tile_size - 1)) == 0 && tile_size <= warpSize,
                "the size of a tile is a power of two, and at most that of a wave");

 public:
  explicit thread_block_tile(const thread_group& parent)
      : lane_group(tile_size, parent.part_of(tile_size), parent.thread_rank() / tile_size,
                   (parent.size() + tile_size - 1) / tile_size) {}
  template <typename Other>
  thread_block_tile(const thread_block_tile<tile_size, Other>& other) : lane_group(other) {}
};
template <unsigned tile_size, typename Parent>
inline thread_block_tile<tile_size, Parent> tiled_partition(const Parent& parent) {
  return thread_block_tile<tile_size, Parent>(parent);
}
// `parent` is a block or a tile; `size` is a power of two, and at most that of a wave.
inline thread_group tiled_partition(const thread_group& parent, unsigned size) {
  assert(size > 0 && size <= static_cast<unsigned>(warpSize) && (size & (size - 1)) == 0);
  return {thread_group::Kind::kLanes, size, parent.part_of(size)};
}
inline coalesced_group tiled_partition(const coalesced_group& parent, unsigned size) {
  return coalesced_group(parent.part_of(size), parent.thread_rank() / size,
                         (parent.size() + size - 1) / size);
}

template <typename Group>
inline void sync(const Group& group) {
  group.sync();
}
template <typename Group>
inline unsigned thread_rank(const Group& group) {
  return group.thread_rank();
}
template <typename Group>
inline unsigned group_size(const Group& group) {
  return group.size();
}
template <typename Group>
inline bool is_valid(const Group& group) {
  return group.is_valid();
}

}  // namespace cooperative_groups
