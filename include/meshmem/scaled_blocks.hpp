// SPDX-License-Identifier: Apache-2.0
//
// Blocks of 128 elements as codes of 8 bits with one scale, and how they travel through a Mailbox.
// Eight threads side by side have a block, 16 elements each. Used by quantized.hpp.
// Invariant: all lanes of a wave call together, since the threads of a block share values. Every PE
// that decodes a block gets the same bits.
#ifndef MESHMEM_MESHMEM_SCALED_BLOCKS_HPP
#define MESHMEM_MESHMEM_SCALED_BLOCKS_HPP

#include <meshmem/codes.hpp>
#include <meshmem/mailbox.hpp>
#include <meshmem/units.hpp>

namespace meshmem {

template <Wire wire>
struct ScaledBlock {
  static constexpr int kElems = 16, kThreads = 8;  // of a thread; of a block
  using Values = float[kElems];
  using Code = Codes<wire>;

  device::Bits128 codes;
  std::uint32_t scale;  // the bits of a float; in the first thread of a block

  // The scale makes the largest magnitude, or 2^-110, the largest code. A block with an infinity or
  // a NaN has that as scale, and codes of 0, so all of its values become NaNs.
  MESHMEM_DEVICE_MEMBER static ScaledBlock of(const Values& values) {
    int most = 0x08800000;  // 2^-110. As integers, magnitudes have the same order.
#pragma unroll
    for (int i = 0; i < kElems; ++i)
      most = larger(most, device::bit_cast<int>(values[i]) & 0x7fffffff);
    for (int other = 1; other < kThreads; other *= 2) most = larger(most, __shfl_xor(most, other));
    most -= most == 0x7f7fffff;  // 127 times the scale of the largest float would be an infinity
    const bool is_finite = most < 0x7f800000;
    const auto magnitude = device::bit_cast<float>(most);
    const float factor = Code::kMost / magnitude;
    ScaledBlock block{{{0, 0}}, device::bit_cast<std::uint32_t>(magnitude / Code::kMost)};
#pragma unroll
    for (int i = 0; i < kElems; ++i)
      block.codes.word[i / 8] |= std::uint64_t{Code::of(is_finite ? values[i] * factor : 0)}
                                 << i % 8 * 8;
    return block;
  }
  MESHMEM_DEVICE_MEMBER void add_to(Values& sum) const {
    const auto factor = device::bit_cast<float>(__shfl(static_cast<int>(scale), 0, kThreads));
#pragma unroll
    for (int i = 0; i < kElems; ++i)
      sum[i] += Code::value_of(codes.word[i / 8] >> i % 8 * 8 & 0xff) * factor;
  }

 private:
  MESHMEM_DEVICE_MEMBER static int larger(int a, int b) { return a > b ? a : b; }
};

// An array of shares that begin `stride` elements apart and have up to `length`; of one share if
// `stride` is 0. Blocks are counted from the beginning of a share.
struct Shares {
  const void* array;
  std::size_t stride, length, total;

  // Where this thread's elements of a block are, and how many elements the share has from there on.
  struct Place {
    std::size_t at, left;
  };
  MESHMEM_DEVICE_MEMBER Place find(int pe, std::size_t b) const {
    const std::size_t begin = static_cast<std::size_t>(pe) * stride;
    const std::size_t end = total < begin + length ? total : begin + length;
    const std::size_t at = begin + b * 128 + threadIdx.x % 8 * 16;
    return {at, at < end ? end - at : 0};
  }
  template <typename E, int n>
  MESHMEM_DEVICE_MEMBER void load(int pe, std::size_t b, float (&values)[n]) const {
    const Place from = find(pe, b);
    load_elems(static_cast<const E*>(array) + from.at, from.left, values);
  }
  template <typename E, int n>
  MESHMEM_DEVICE_MEMBER void store(int pe, std::size_t b, const float (&values)[n]) const {
    const Place to = find(pe, b);
    store_elems(static_cast<E*>(const_cast<void*>(array)) + to.at, to.left, values);
  }
};

// The part of a stage from offset `begin` on, with `blocks` blocks from each PE: first all codes,
// then all scales.
struct BlockStage {
  const Mailbox mail;
  const int me, n;
  const std::size_t begin, blocks;

  static constexpr std::size_t kBytes = 128 + sizeof(float);  // of a block
  MESHMEM_HOST_DEVICE_MEMBER static std::size_t bytes_for(std::size_t n, std::size_t blocks) {
    return (n * blocks * kBytes + 15) / 16 * 16;
  }

  // Sends block b of this PE, if there is one.
  template <Wire wire>
  MESHMEM_DEVICE_MEMBER void send(int pe, std::size_t b, const ScaledBlock<wire>& block) const {
    if (b >= blocks) return;
    mail.send(pe, codes_at(me, b), block.codes);
    if (lane() == 0) mail.send(pe, scale_at(me, b), block.scale);
  }
  // Takes block b of each other PE, if there is one. Calls act(pe, block) for all PEs in their
  // order; the block of this PE is not set.
  template <Wire wire, typename Act>
  MESHMEM_DEVICE_MEMBER void take(std::size_t b, const Act& act) const {
    constexpr int kTogether = 4;  // PEs whose blocks are awaited together
    for (int first = 0; first < n; first += kTogether) {
      device::Bits128 codes[kTogether] = {};
      std::uint32_t scale[kTogether] = {};
      const auto is_sent = [&](int pe) { return b < blocks && pe < n && pe != me; };
      mail.take_all(codes, [&](int i) {
        return is_sent(first + i) ? codes_at(first + i, b) : Mailbox::kNowhere;
      });
      mail.take_all(scale, [&](int i) {
        return is_sent(first + i) && lane() == 0 ? scale_at(first + i, b) : Mailbox::kNowhere;
      });
#pragma unroll
      for (int i = 0; i < kTogether; ++i)
        if (first + i < n) act(first + i, ScaledBlock<wire>{codes[i], scale[i]});
    }
  }

 private:
  MESHMEM_DEVICE_MEMBER static std::size_t lane() { return threadIdx.x % 8; }
  MESHMEM_DEVICE_MEMBER std::size_t codes_at(int pe, std::size_t b) const {
    return begin + (pe * blocks + b) * 128 + lane() * 16;
  }
  MESHMEM_DEVICE_MEMBER std::size_t scale_at(int pe, std::size_t b) const {
    return begin + n * blocks * 128 + (pe * blocks + b) * sizeof(float);
  }
};

}  // namespace meshmem

#endif
