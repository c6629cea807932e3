// SPDX-License-Identifier: Apache-2.0
//
// Answers, computed by the plainest means. Floats are small whole numbers, whose sums are exact.
#include "bench/answers.hpp"

#include <algorithm>
#include <cstring>

#include "bench/joint_steps.hpp"

namespace meshmem::bench {
namespace {

constexpr std::size_t kWord = sizeof(long);

float number_of(int pe, std::size_t i) {
  return static_cast<float>((i * 7 + static_cast<std::size_t>(pe) * 5) % 11) - 3;
}

std::byte byte_of(int pe, std::size_t i) {
  return static_cast<std::byte>((i * 7 + i / 251 + static_cast<std::size_t>(pe) * 31 + 1) % 251);
}

void put_word(Bytes& to, long value) { std::memcpy(to.data(), &value, kWord); }

void fill(Bytes& dest, std::size_t at, int pe, std::size_t from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) dest[at + i] = byte_of(pe, from + i);
}

// The sum over PEs below `end` of their numbers from `from` on.
void fill_sums(const Case& c, Bytes& dest, int end, std::size_t from) {
  for (std::size_t i = 0; i < c.bytes / sizeof(float); ++i) {
    float sum = 0;
    for (int pe = 0; pe < end; ++pe) sum += number_of(pe, from + i);
    std::memcpy(dest.data() + i * sizeof sum, &sum, sizeof sum);
  }
}

void fill_strided(const Case& c, Bytes& dest) {
  const std::size_t count = c.bytes / sizeof(float), me = static_cast<std::size_t>(c.me);
  for (int pe = 0; pe < c.n; ++pe)
    for (std::size_t i = 0; i < count; ++i) {
      const float value = number_of(pe, (me * count + i) * kStride);
      const std::size_t at = (static_cast<std::size_t>(pe) * count + i) * kStride;
      std::memcpy(dest.data() + at * sizeof value, &value, sizeof value);
    }
}

void fill_from_blocks(const Case& c, Bytes& dest) {
  for (int pe = 0; pe < c.n; ++pe) {
    const std::size_t at = c.bytes * static_cast<std::size_t>(pe);
    const std::size_t mine = c.bytes * static_cast<std::size_t>(c.me);
    if (c.answer == Answer::gather) fill(dest, at, pe, 0, c.bytes);
    if (c.answer == Answer::alltoall) fill(dest, at, pe, mine, c.bytes);
    if (c.answer == Answer::alltoallv) fill(dest, at, pe, mine, nelems(c.bytes, pe, c.me));
  }
}

std::size_t strided_bytes(const Case& c) {
  return c.bytes * kStride * static_cast<std::size_t>(c.n);
}

long first_word_of(int pe) {
  Bytes bytes(kWord);
  fill(bytes, 0, pe, 0, kWord);
  long word = 0;
  std::memcpy(&word, bytes.data(), kWord);
  return word;
}

}  // namespace

std::size_t source_bytes(const Case& c) {
  if (c.size == Size::none || c.size == Size::word) return kWord;
  if (c.answer == Answer::alltoalls) return strided_bytes(c);
  const bool of_blocks = c.answer == Answer::alltoall || c.answer == Answer::alltoallv ||
                         c.answer == Answer::sum_of_block;
  return of_blocks ? c.bytes * static_cast<std::size_t>(c.n) : c.bytes;
}

std::size_t dest_bytes(const Case& c) {
  if (c.size == Size::none || c.size == Size::word) return kWord;
  if (c.answer == Answer::alltoalls) return strided_bytes(c);
  const bool of_blocks =
      c.answer == Answer::alltoall || c.answer == Answer::alltoallv || c.answer == Answer::gather;
  return of_blocks ? c.bytes * static_cast<std::size_t>(c.n) : c.bytes;
}

std::size_t nelems(std::size_t bytes, int from, int to) {
  return (from + to) % 2 == 0 ? bytes : bytes / 2;
}

Bytes source_of(const Case& c) {
  Bytes source(source_bytes(c));
  if (c.size != Size::floats) {
    fill(source, 0, c.me, 0, source.size());
    return source;
  }
  for (std::size_t i = 0; i < source.size() / sizeof(float); ++i) {
    const float value = number_of(c.me, i);
    std::memcpy(source.data() + i * sizeof value, &value, sizeof value);
  }
  return source;
}

Bytes dest_before(const Case& c) {
  Bytes dest(dest_bytes(c) + kGuardBytes, kPoison);
  if (c.size == Size::word) put_word(dest, 0);
  return dest;
}

Bytes dest_after(const Case& c) {
  Bytes dest = dest_before(c);
  const bool is_first = c.me == 0, is_peer = c.me == c.peer;
  switch (c.answer) {
    case Answer::put:
      if (is_peer) fill(dest, 0, 0, 0, c.bytes);
      break;
    case Answer::get:
      if (is_first) fill(dest, 0, c.peer, 0, c.bytes);
      break;
    case Answer::last_round:
      if (is_peer) put_word(dest, c.rounds - 1);
      break;
    case Answer::rounds:
    case Answer::rounds_fetched:
      if (is_peer) put_word(dest, c.rounds);
      break;
    case Answer::first_word:
    case Answer::signals:
      break;
    case Answer::exchange:
      if (is_first || is_peer) fill(dest, 0, is_first ? c.peer : 0, 0, c.bytes);
      break;
    case Answer::meeting:
      put_word(dest, (c.me + c.n - 1) % c.n + 1);
      break;
    case Answer::broadcast:
      fill(dest, 0, 0, 0, c.bytes);
      break;
    case Answer::gather:
    case Answer::alltoall:
    case Answer::alltoallv:
      fill_from_blocks(c, dest);
      break;
    case Answer::alltoalls:
      fill_strided(c, dest);
      break;
    case Answer::sum:
      fill_sums(c, dest, c.n, 0);
      break;
    case Answer::sum_of_block:
      fill_sums(c, dest, c.n, c.bytes / sizeof(float) * static_cast<std::size_t>(c.me));
      break;
    case Answer::sum_up_to:
      fill_sums(c, dest, c.me + 1, 0);
      break;
    case Answer::sum_before:
      fill_sums(c, dest, c.me, 0);
      break;
  }
  return dest;
}

long fetched_after(const Case& c) {
  if (c.answer == Answer::signals) return c.me == 0 || c.me == c.peer ? c.rounds : 0;
  if (c.me != 0) return 0;
  if (c.answer == Answer::first_word) return first_word_of(c.peer);
  return c.answer == Answer::rounds_fetched ? c.rounds - 1 : 0;
}

}  // namespace meshmem::bench
