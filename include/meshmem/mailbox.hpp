// SPDX-License-Identifier: Apache-2.0
//
// For kernels of collectives that you write: they store into the stages of other PEs, and wait for
// what comes, without flags, fences or barriers. all_reduce_norm.hpp and quantized.hpp use it.
// Invariant: a word of a stage is blank (all bits are 1) until a PE stores to it; the thread that
// takes the word makes it blank again. So a value that has arrived needs no other sign.
#ifndef MESHMEM_MESHMEM_MAILBOX_HPP
#define MESHMEM_MESHMEM_MAILBOX_HPP

#include <shmemx.h>

#include <cstddef>
#include <cstdint>

#ifndef MESHMEM_COMPILES_KERNELS
#error "meshmem/mailbox.hpp is for kernels: compile it by oshhip"
#endif

// The rules: every kernel on a stage has Stage::kBlocks blocks. It runs on all PEs of the team, in
// one order, on one stream or on streams that wait for each other. It takes each value that it is
// sent. A block waits only for blocks of the same number, since a device starts them in order.
//
// Why no PE overwrites what another still reads: the stage has two halves, of which kernels take
// turns. leave() waits until all other PEs are in this kernel or a later one, so their kernels
// before it have ended. Those have taken all from the half that this PE's next kernel stores to.

namespace meshmem {

// A stage as kernels get it, by value.
struct StageView {
  static constexpr int kMostPes = 256;
  static constexpr std::size_t kHead = kMostPes * sizeof(std::uint64_t);
  int me, n;              // in the team
  std::size_t bytes;      // of a half
  std::uint64_t* epochs;  // of each block: how many kernels it has left
  char* mine;             // a word for each PE, the epoch that it has come to; then the halves
  char* const* memory;    // the same of each PE
};

// Made by all threads of all blocks, at a kernel's start.
class Mailbox {
 public:
  MESHMEM_DEVICE_MEMBER explicit Mailbox(const StageView& stage)
      : stage_(stage),
        epoch_(next_epoch(stage)),
        begin_(StageView::kHead + epoch_ % 2 * stage.bytes) {
    for_each_other(
        [&](int pe) { device::store_relaxed(arrived(stage_.memory[pe], stage_.me), epoch_); });
  }

  // Stores a value to offset `at` of a PE's half, a multiple of the value's size. The size is a
  // power of two up to 16 bytes, of which 8 and 8 arrive apart. Neither may be blank: see filled().
  template <typename T>
  MESHMEM_DEVICE_MEMBER void send(int pe, std::size_t at, T value) const {
    auto* const there = reinterpret_cast<Word<T>*>(stage_.memory[pe] + begin_ + at);
    store(there, device::bit_cast<Word<T>>(value));
  }

  // Awaits values in this PE's half, and takes them: value[i] is at offset at(i). If that is
  // kNowhere, value[i] stays. The loads overlap.
  static constexpr std::size_t kNowhere = ~std::size_t{0};
  template <typename T, int count, typename At>
  MESHMEM_DEVICE_MEMBER void take_all(T (&value)[count], const At& at) const {
    for (int missing = 0; missing >= 0;) {
      missing = -1;
#pragma unroll
      for (int i = 0; i < count; ++i)
        if (at(i) != kNowhere) value[i] = device::bit_cast<T>(load(mine<T>(at(i))));
#pragma unroll
      for (int i = 0; i < count; ++i)
        if (at(i) != kNowhere && is_blank(device::bit_cast<Word<T>>(value[i]))) missing = i;
      if (missing >= 0) device::pause_for([&] { return mine<T>(at(missing)); });
    }
    device::has_waited();
    Word<T> blank;
    memset(&blank, 0xff, sizeof blank);
#pragma unroll
    for (int i = 0; i < count; ++i)
      if (at(i) != kNowhere) store(mine<T>(at(i)), blank);
  }
  template <typename T>
  MESHMEM_DEVICE_MEMBER T take(std::size_t at) const {
    T value[1] = {};
    take_all(value, [at](int) { return at; });
    return value[0];
  }

  // By all threads of all blocks, when they have taken everything.
  MESHMEM_DEVICE_MEMBER void leave() const {
    for_each_other([&](int pe) {
      const std::uint64_t* there = arrived(stage_.mine, pe);
      device::pause_until(
          [&] { return static_cast<std::int64_t>(device::load_relaxed(there) - epoch_) >= 0; },
          [&] { return there; });
    });
    __syncthreads();  // all threads of the block have read its epoch, and none still waits
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");  // brings the next kernel to the GPU
#endif
    if (device::thread_in_block() == 0) device::store_relaxed(&stage_.epochs[blockIdx.x], epoch_);
  }

  // The value without a blank word: the lowest bit of such a word becomes 0, so NaNs of 2 to 8
  // bytes stay NaNs. Of 16 bytes it fills the two words of 8. If these are taken in smaller pieces,
  // fill each piece.
  template <typename T>
  MESHMEM_DEVICE_MEMBER static T filled(T value) {
    return device::bit_cast<T>(filled_word(device::bit_cast<Word<T>>(value)));
  }

 private:
  MESHMEM_DEVICE_MEMBER static std::uint64_t next_epoch(const StageView& stage) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");  // for the kernel before: Stage::launch()
#endif
    return device::load_relaxed(&stage.epochs[blockIdx.x]) + 1;
  }
  template <typename Act>
  MESHMEM_DEVICE_MEMBER void for_each_other(const Act& act) const {
    if (blockIdx.x != 0) return;
    for (int pe = device::thread_in_block(); pe < stage_.n; pe += device::threads_of_block())
      if (pe != stage_.me) act(pe);
  }
  MESHMEM_DEVICE_MEMBER static std::uint64_t* arrived(char* memory, int pe) {
    return reinterpret_cast<std::uint64_t*>(memory) + pe;
  }
  template <typename T>
  using Word = device::Bits<sizeof(T)>;
  template <typename T>
  MESHMEM_DEVICE_MEMBER Word<T>* mine(std::size_t at) const {
    return reinterpret_cast<Word<T>*>(stage_.mine + begin_ + at);
  }
  template <typename W>
  MESHMEM_DEVICE_MEMBER static bool is_blank(W word) {
    if constexpr (sizeof word == 16)
      return is_blank(word.word[0]) || is_blank(word.word[1]);
    else
      return word == static_cast<W>(-1);
  }
  template <typename W>
  MESHMEM_DEVICE_MEMBER static W filled_word(W word) {
    if constexpr (sizeof word == 16)
      return {{filled_word(word.word[0]), filled_word(word.word[1])}};
    else
      return static_cast<W>(word - is_blank(word));
  }
  template <typename W>
  MESHMEM_DEVICE_MEMBER static W load(const W* from) {
    if constexpr (sizeof(W) == 16)
      return device::load_pair(from);
    else
      return device::load_relaxed(from);
  }
  template <typename W>
  MESHMEM_DEVICE_MEMBER static void store(W* to, W word) {
    if constexpr (sizeof word == 16)
      device::store_pair(to, word);
    else
      device::store_relaxed(to, word);
  }

  const StageView& stage_;
  const std::uint64_t epoch_;
  const std::size_t begin_;  // of the half, in every PE's memory
};

}  // namespace meshmem

#endif
