// SPDX-License-Identifier: Apache-2.0
// Streams that write a word, and that wait until another one, or the host, or a kernel has written
// it.
// Invariant: the word lies in memory that the runtime knows, at a multiple of its size. What is
// before a write in the stream is seen by whoever sees the written word.
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>

#include "allocations.hpp"
#include "errors.hpp"
#include "streams.hpp"

namespace hip_on_cpu {
namespace {

constexpr int kYieldsBeforeNaps = 200;
constexpr auto kNap = std::chrono::microseconds(50);

hipError_t check_word(const void* address, std::size_t size) {
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  const auto found = Allocations::get().find(address);
  const bool is_there = found && found->base + found->size - number >= size;
  return is_there && number % size == 0 ? hipSuccess : hipErrorInvalidValue;
}

template <typename Word>
bool is_met(Word now, Word value, Word mask, unsigned condition) {
  switch (condition) {
    case hipStreamWaitValueGte:
      return (now & mask) >= value;
    case hipStreamWaitValueEq:
      return (now & mask) == value;
    case hipStreamWaitValueAnd:
      return (now & mask & value) != 0;
    default:  // hipStreamWaitValueNor
      return static_cast<Word>(~((now & mask) | (value & mask))) != 0;
  }
}

template <typename Word>
hipError_t wait_for(hipStream_t stream, const void* address, Word value, unsigned condition,
                    Word mask) {
  if (condition > hipStreamWaitValueNor) return hipErrorInvalidValue;
  if (const hipError_t error = check_word(address, sizeof(Word)); error != hipSuccess) return error;
  return submit(stream, [=, word = static_cast<const Word*>(address)] {
    for (int polls = 0; !is_met(__atomic_load_n(word, __ATOMIC_ACQUIRE), value, mask, condition);
         ++polls) {
      if (polls < kYieldsBeforeNaps) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(kNap);
      }
    }
    return hipSuccess;
  });
}

template <typename Word>
hipError_t write(hipStream_t stream, void* address, Word value, unsigned flags) {
  if (flags != 0) return hipErrorInvalidValue;
  if (const hipError_t error = check_word(address, sizeof(Word)); error != hipSuccess) return error;
  return submit(stream, [word = static_cast<Word*>(address), value] {
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
    return hipSuccess;
  });
}

}  // namespace
}  // namespace hip_on_cpu

using namespace hip_on_cpu;

extern "C" {

hipError_t hipStreamWaitValue32(hipStream_t stream, void* address, std::uint32_t value,
                                unsigned condition, std::uint32_t mask) {
  host_only();
  return remember(wait_for(stream, address, value, condition, mask));
}
hipError_t hipStreamWaitValue64(hipStream_t stream, void* address, std::uint64_t value,
                                unsigned condition, std::uint64_t mask) {
  host_only();
  return remember(wait_for(stream, address, value, condition, mask));
}

hipError_t hipStreamWriteValue32(hipStream_t stream, void* address, std::uint32_t value,
                                 unsigned flags) {
  host_only();
  return remember(write(stream, address, value, flags));
}
hipError_t hipStreamWriteValue64(hipStream_t stream, void* address, std::uint64_t value,
                                 unsigned flags) {
  host_only();
  return remember(write(stream, address, value, flags));
}

}  // extern "C"
