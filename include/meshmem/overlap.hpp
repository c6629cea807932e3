// SPDX-License-Identifier: Apache-2.0
//
// GEMM with reduce-scatter, and all-gather with GEMM, overlapped tile by tile. The GEMM is the
// caller's kernel or a library's. A few blocks communicate while others compute.
// Invariant: a call that returns an error has launched nothing. The same bits in each run.
#ifndef MESHMEM_MESHMEM_OVERLAP_HPP
#define MESHMEM_MESHMEM_OVERLAP_HPP

#include <meshmem/stage.hpp>
#include <meshmem/tile_collectives.hpp>

namespace meshmem {

// The memory of a team's calls. All PEs of the world construct and destroy it together.
class TiledMemory {
 public:
  TiledMemory(shmem_team_t team, std::size_t bytes) : bytes_(bytes) {
    const auto pes = static_cast<std::size_t>(shmem_n_pes());
    const std::size_t words = 1 + pes + TiledCall::kMostTiles * (pes + TiledCall::kBlocks);
    const std::size_t head = (words * sizeof(std::uint64_t) + 255) / 256 * 256;
    if (bytes < SIZE_MAX / 2) begin_ = SymmetricMemory::allocate(head + bytes);
    if (!begin_) {
      status_ = Status::error("Overlap: no %zu bytes of symmetric device memory", bytes);
      return;
    }
    call_.team = team;
    call_.me = shmem_team_my_pe(team);
    call_.n = shmem_team_n_pes(team);
    call_.epoch = static_cast<std::uint64_t*>(begin_);
    call_.arrived = call_.epoch + 1;
    call_.words = call_.arrived + pes;
    call_.memory = static_cast<char*>(begin_) + head;
    if (call_.me < 0) status_ = Status::error("Overlap: this PE is not in the team");
    hipError_t failed = hipMemset(begin_, 0, head);
    if (failed == hipSuccess) failed = hipDeviceSynchronize();
    if (failed != hipSuccess) status_ = Status::error("Overlap: %s", hipGetErrorString(failed));
    agree("Overlap", team, status_);
    shmem_barrier_all();  // no PE arrives before all words are 0
  }
  ~TiledMemory() { SymmetricMemory::free(begin_); }
  TiledMemory(const TiledMemory&) = delete;
  TiledMemory& operator=(const TiledMemory&) = delete;

  const Status& status() const { return status_; }
  char* data() const { return call_.memory; }

  // Sets the call's numbers, of a matrix of elements of `size` bytes.
  Status plan(const TiledShape& shape, std::size_t size, bool gathers, TiledCall* call) const {
    if (!status_) return status_;
    if (shape.tile_rows == 0) return Status::error("Overlap: a tile has no rows");
    if (shape.rows > SIZE_MAX >> 34 || shape.columns > SIZE_MAX >> 34)
      return Status::error("Overlap: %zu x %zu elements are more than memory holds", shape.rows,
                           shape.columns);
    const auto n = static_cast<std::size_t>(call_.n);
    *call = call_;
    call->rows = shape.rows;
    call->row_bytes = shape.columns * size;
    call->share = (shape.rows + n - 1) / n;
    const std::size_t least = (call->share + TiledCall::kMostTiles - 1) / TiledCall::kMostTiles;
    call->tile_rows = shape.tile_rows < least ? least : shape.tile_rows;
    if (call->tile_rows > call->share) call->tile_rows = call->share;
    call->tiles = call->share == 0 ? 0 : (call->share + call->tile_rows - 1) / call->tile_rows;
    for (const std::uint64_t part :
         {std::uint64_t{call->rows}, std::uint64_t{call->row_bytes}, std::uint64_t{call->tile_rows},
          std::uint64_t{size * 2 + gathers}})
      call->digest = ((call->digest ^ part) * 0x9e3779b97f4a7c15) >> 1;
    call->digest >>= 63 - TiledCall::kDigestBits;
    const std::size_t needed = n * call->share;
    if (call->row_bytes == 0 || needed <= bytes_ / call->row_bytes) return Status();
    return Status::error("Overlap: %zu rows of %zu bytes need more than the %zu bytes it has",
                         needed, call->row_bytes, bytes_);
  }

 private:
  std::size_t bytes_;
  void* begin_ = nullptr;
  TiledCall call_ = {};
  Status status_;
};

namespace overlap {
template <typename Call>
__global__ void begin(const Call call) {
  call.arrive();
}
template <typename Tiles>
__global__ void __launch_bounds__(512) communicate(const Tiles tiles) {
  tiles.communicate();
}
template <typename E>
__global__ void announce(const ReduceScatterTiles<E> tiles, Rows stored) {
  tiles.announce(stored, tiles.row_bytes / sizeof(E));
}
template <typename E>
__global__ void wait(const AllGatherTiles<E> tiles, Rows needed) {
  tiles.wait(needed);
}
}  // namespace overlap

// All PEs construct and destroy it together; one outside the team cannot use it. The streams that
// use it end before. Calls are collectives of the team, with the same shapes and types in the same
// order, on one stream or streams that wait for each other. reduce_scatter() and all_gather() begin
// a call: they return at once, and fill *tiles for the kernels that come next on the stream.
class Overlap {
 public:
  static constexpr std::size_t kBytes = std::size_t{64} << 20;

  // bytes: of the largest matrix, with its rows rounded up to a multiple of the team's PEs.
  explicit Overlap(shmem_team_t team = SHMEM_TEAM_WORLD, std::size_t bytes = kBytes)
      : memory_(team, bytes) {}
  const Status& status() const { return memory_.status(); }
  // Other PEs' rows come here. It keeps what all_gather() has brought until the next call begins.
  void* gathered() const { return memory_.data(); }

  // E: float, meshmem_half or meshmem_bfloat16. partial: [rows][columns] in any memory of the GPU
  // outside gathered(). result: also this PE's share there, from row me * share on.
  template <typename E>
  Status reduce_scatter(const E* partial, E* result, const TiledShape& shape,
                        shmemx_stream_t stream, ReduceScatterTiles<E>* tiles) {
    tiles->partial = partial;
    tiles->result = result;
    return begin({"result", result, 0}, {"partial", partial, 0}, sizeof(E), false, shape, stream,
                 tiles);
  }
  // mine: [rows of the share][columns] in any memory of the GPU, or their place in gathered().
  template <typename E>
  Status all_gather(const E* mine, const TiledShape& shape, shmemx_stream_t stream,
                    AllGatherTiles<E>* tiles) {
    tiles->mine = mine;
    return begin({"mine", mine, 0}, {"gathered()", gathered(), 0}, sizeof(E), true, shape, stream,
                 tiles);
  }

  // For a GEMM that cannot be changed. communicate() runs the communication blocks as a kernel of
  // their own; the others announce or await rows between two kernels of a stream.
  template <typename Tiles>
  static Status communicate(const Tiles& tiles, shmemx_stream_t stream) {
    return start(overlap::communicate<Tiles>, TiledCall::kBlocks, kThreads, stream, tiles);
  }
  template <typename E>
  static Status announce(const ReduceScatterTiles<E>& tiles, Rows stored, shmemx_stream_t stream) {
    return start(overlap::announce<E>, 1, 64, stream, tiles, stored);
  }
  template <typename E>
  static Status wait(const AllGatherTiles<E>& tiles, Rows needed, shmemx_stream_t stream) {
    return start(overlap::wait<E>, 1, 64, stream, tiles, needed);
  }

 private:
  static constexpr unsigned kThreads = Stage::kThreads;

  Status begin(Array one, Array whole, std::size_t size, bool gathers, const TiledShape& shape,
               shmemx_stream_t stream, TiledCall* call) {
    if (const Status wrong = memory_.plan(shape, size, gathers, call); !wrong) return wrong;
    const Rows mine = call->share_of(call->me);
    one.bytes = mine.count * call->row_bytes;
    whole.bytes = call->rows * call->row_bytes;
    if (one.bytes == 0) one.at = static_cast<const char*>(whole.at) + whole.bytes;
    if (whole.bytes > 0)
      if (const Status wrong =
              check_share("Overlap", one, whole, mine.first * call->row_bytes, size);
          !wrong)
        return wrong;
    const Array room{"gathered()", gathered(),
                     static_cast<std::size_t>(call->n) * call->share * call->row_bytes};
    if (!gathers && room.bytes > 0) {
      const Array none{room.name, room.at, 0};  // in the place of an array that may be the room
      if (const Status wrong = check_arrays("Overlap", {room, none, whole}, 1, size); !wrong)
        return wrong;
      if (const Status wrong =
              check_share("Overlap", one, room, mine.first * call->row_bytes, size);
          !wrong)
        return wrong;
    }
    return start(overlap::begin<TiledCall>, 1, kThreads, stream, *call);
  }
  template <typename... Parameters>
  static Status start(void (*kernel)(Parameters...), unsigned blocks, unsigned threads,
                      shmemx_stream_t stream, std::decay_t<Parameters>... arguments) {
    void* addresses[] = {&arguments...};
#if defined(MESHMEM_TARGET_IS_CPU)
    const auto function = kernel;
#else
    const auto* const function = reinterpret_cast<const void*>(kernel);
#endif
    const hipError_t failed = hipLaunchKernel(function, dim3(blocks), dim3(threads), addresses, 0,
                                              static_cast<hipStream_t>(stream));
    if (failed == hipSuccess) return Status();
    return Status::error("Overlap: %s", hipGetErrorString(failed));
  }

  TiledMemory memory_;
};

}  // namespace meshmem

#endif
