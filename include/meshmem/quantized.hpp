// SPDX-License-Identifier: Apache-2.0
//
// All-reduce, reduce-scatter and all-gather of float, bf16 and half whose data travels as numbers
// of 8 bits, with a scale for each block of 128 elements. A header over stage.hpp.
// Invariant: all PEs get the same bits. A result is within the bound below.
#ifndef MESHMEM_MESHMEM_QUANTIZED_HPP
#define MESHMEM_MESHMEM_QUANTIZED_HPP

#include <meshmem/scaled_blocks.hpp>
#include <meshmem/stage.hpp>
#include <meshmem/units.hpp>

// The bound. Blocks are counted from the beginning of each PE's share. Let a be the largest
// magnitude in a block, or 2^-110 if that is more. An element v of the block changes on its way by
// at most
//
//   int8   a / 254        e4m3   |v| / 16 + a / 2^18        e5m2   |v| / 8 + a / 2^32
//
// and roundings of float. In an all-gather this happens to all elements. In a reduce-scatter it
// happens to those of all PEs but the receiver. In an all-reduce it happens to those of all PEs but
// one, and then to the sum. Sums are formed in float, in the order of PEs, and results are rounded
// to their type. A block with an infinity or a NaN arrives as NaNs only.

namespace meshmem {
namespace quantized {

// A kernel does `blocks` blocks of each share, from `first` on.
struct Call {
  Shares send, recv;  // of one share if nothing is reduced, or nothing is gathered
  bool reduces, gathers;
  std::size_t first = 0, blocks = 0;
};

// A thread has the same elements of each share in all steps, so recv may be send.
template <typename E, Wire wire>
struct Grid {
  using Scaled = ScaledBlock<wire>;
  using Values = typename Scaled::Values;
  const StageView& stage;
  const Call& call;
  const Mailbox mail{stage};
  const int me = stage.me, n = stage.n;
  const BlockStage terms{mail, me, n, 0, call.blocks};
  const BlockStage sums{mail, me, n, call.reduces ? BlockStage::bytes_for(n, call.blocks) : 0,
                        call.blocks};

  // Calls act(b) for this thread's blocks of a share; one beyond the end is neither sent nor taken.
  template <typename Act>
  MESHMEM_DEVICE_MEMBER void for_blocks(const Act& act) const {
    const std::size_t step = blockDim.x / Scaled::kThreads;
    for (std::size_t b = blockIdx.x * step; b < call.blocks; b += gridDim.x * step)
      act(b + threadIdx.x / Scaled::kThreads);
  }
  MESHMEM_DEVICE_MEMBER void store(int pe, std::size_t b, const Values& values) const {
    if (b < call.blocks) call.recv.store<E>(pe, call.first + b, values);
  }

  MESHMEM_DEVICE_MEMBER void run() const {
    if (call.reduces)
      for_blocks([&](std::size_t b) {
        for (int i = 1; i < n; ++i) {
          Values values;
          call.send.load<E>((me + i) % n, call.first + b, values);
          terms.send((me + i) % n, b, Scaled::of(values));
        }
      });
    for_blocks([&](std::size_t b) { finish_share(b); });
    if (call.gathers)
      for_blocks([&](std::size_t b) {
        sums.take<wire>(b, [&](int pe, const Scaled& block) {
          if (pe == me) return;
          Values values = {};
          block.add_to(values);
          store(pe, b, values);
        });
      });
    mail.leave();
  }

  MESHMEM_DEVICE_MEMBER void finish_share(std::size_t b) const {
    Values mine, sum = {};
    call.send.load<E>(me, call.first + b, mine);
    const auto add = [&](int pe, const Scaled& block) {
      if (pe != me) return block.add_to(sum);
#pragma unroll
      for (int i = 0; i < Scaled::kElems; ++i) sum[i] += mine[i];
    };
    if (call.reduces)
      terms.take<wire>(b, add);
    else
      add(me, {});
    if (call.gathers) {
      const Scaled block = Scaled::of(sum);
      for (int i = 1; i < n; ++i) sums.send((me + i) % n, b, block);
      for (float& value : sum) value = 0;
      block.add_to(sum);  // as the others get it
    }
    store(me, b, sum);
  }
};

template <typename E, Wire wire>
__global__ void __launch_bounds__(Stage::kThreads)
    move(MESHMEM_GRID_CONSTANT const StageView stage, MESHMEM_GRID_CONSTANT const Call call) {
  Grid<E, wire>{stage, call}.run();
}

}  // namespace quantized

// All PEs construct and destroy it together, as a Stage; one outside the team cannot use it. Arrays
// are in any memory of the GPU, aligned to their elements. All PEs of the team call with the same
// count and format. The calls return at once; the stream has one kernel or several.
class Quantized {
 public:
  static constexpr std::size_t kStageBytes = std::size_t{64} << 20;  // twice that is allocated
  struct Format {
    DataType type;  // f32, f16 or bf16
    Wire wire;
  };

  explicit Quantized(shmem_team_t team = SHMEM_TEAM_WORLD, std::size_t stage = kStageBytes)
      : stage_(team, stage) {}
  const Status& status() const { return stage_.status(); }

  // recv[count] = the sum of send[count] over the PEs. recv may be send.
  Status all_reduce(const void* send, void* recv, std::size_t count, Format format,
                    shmemx_stream_t stream) {
    const std::size_t share = (count / 128 + pes() - (count % 128 == 0)) / pes() * 128;
    return run({{send, share, share, count}, {recv, share, share, count}, true, true}, format,
               stream);
  }
  // recv[count] = the sum of share `me` of send[n][count]. recv may be this share.
  Status reduce_scatter(const void* send, void* recv, std::size_t count, Format format,
                        shmemx_stream_t stream) {
    return run({{send, count, count, pes() * count}, {recv, 0, count, count}, true, false}, format,
               stream);
  }
  // recv[n][count] = send[count] of each PE. send may be share `me` of recv.
  Status all_gather(const void* send, void* recv, std::size_t count, Format format,
                    shmemx_stream_t stream) {
    return run({{send, 0, count, count}, {recv, count, count, pes() * count}, false, true}, format,
               stream);
  }

 private:
  std::size_t pes() const { return status() ? static_cast<std::size_t>(stage_.view().n) : 1; }

  template <Wire wire>
  static auto kernel_for(DataType type) {
    using quantized::move;
    return type == DataType::f32   ? move<float, wire>
           : type == DataType::f16 ? move<meshmem_half, wire>
                                   : move<meshmem_bfloat16, wire>;
  }

  Status run(quantized::Call call, Format format, shmemx_stream_t stream) {
    if (!status()) return status();
    if (const Status wrong = check(call, format); !wrong) return wrong;
    const auto kernel = format.wire == Wire::e4m3   ? kernel_for<Wire::e4m3>(format.type)
                        : format.wire == Wire::e5m2 ? kernel_for<Wire::e5m2>(format.type)
                                                    : kernel_for<Wire::int8>(format.type);
    const std::size_t blocks = (call.send.length + 127) / 128;  // of a share
    const std::size_t steps = call.reduces && call.gathers ? 2 : 1;
    const std::size_t most = stage_.view().bytes / steps / (pes() * BlockStage::kBytes);
    if (most == 0) return Status::error("Quantized: the stage has no place for a block");
    for (; call.first < blocks; call.first += call.blocks) {
      call.blocks = blocks - call.first < most ? blocks - call.first : most;
      if (Status done = stage_.launch(kernel, Stage::kThreads, stream, call); !done) return done;
    }
    return Status();
  }

  Status check(const quantized::Call& call, Format format) const {
    const bool is_short = format.type == DataType::f16 || format.type == DataType::bf16;
    const std::size_t size = is_short ? 2 : 4;
    if (!is_short && format.type != DataType::f32)
      return Status::error("Quantized: %d is neither f32, f16 nor bf16",
                           static_cast<int>(format.type));
    if (format.wire < Wire::e4m3 || format.wire > Wire::int8)
      return Status::error("Quantized: %d is no Wire", static_cast<int>(format.wire));
    const Shares &one = call.reduces ? call.recv : call.send,
                 &all = call.reduces ? call.send : call.recv;
    if (one.length > SIZE_MAX >> 16 || all.total > SIZE_MAX >> 8)
      return Status::error("Quantized: more elements than memory holds");
    if (all.total == 0) return Status();
    const std::size_t before =
        one.stride == 0 ? static_cast<std::size_t>(stage_.view().me) * one.total : 0;
    return check_share("Quantized", {call.reduces ? "recv" : "send", one.array, one.total * size},
                       {call.reduces ? "send" : "recv", all.array, all.total * size}, before * size,
                       size);
  }

  Stage stage_;
};

}  // namespace meshmem

#endif
