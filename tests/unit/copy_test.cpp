// SPDX-License-Identifier: Apache-2.0
//
// Copies of buffers: every length and alignment around a cache line, and nothing beside them.
#include "memory/copy.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace meshmem {
namespace {

using Copy = void (*)(void* dest, const void* source, std::size_t bytes);

void expect_copy(Copy copy, std::size_t to, std::size_t from, std::size_t bytes) {
  std::vector<std::byte> source(from + bytes + 1), dest(to + bytes + 64, std::byte{0xee});
  for (std::size_t i = 0; i < bytes; ++i)
    source[from + i] = static_cast<std::byte>(i * 7 + i / 251);
  std::vector<std::byte> expected = dest;
  std::copy_n(source.data() + from, bytes, expected.data() + to);
  copy(dest.data() + to, source.data() + from, bytes);
  EXPECT_EQ(dest, expected) << bytes << " bytes from " << from << " to " << to;
}

class Copies : public testing::TestWithParam<Copy> {};
INSTANTIATE_TEST_SUITE_P(Of, Copies, testing::Values(&copy_buffer, &copy_past_caches));

TEST_P(Copies, OfAnyLengthAndAlignment) {
  for (std::size_t to = 0; to < 64; to += 7) {
    for (std::size_t from = 0; from < 64; from += 9) {
      for (std::size_t bytes = 0; bytes < 200; ++bytes) expect_copy(GetParam(), to, from, bytes);
    }
  }
}

TEST_P(Copies, OfLargeBuffers) {
  for (const std::size_t bytes : {32768, 100'003, 5 << 20}) {
    for (const std::size_t at : {0, 1, 63}) expect_copy(GetParam(), at, 64 - at, bytes);
  }
}

}  // namespace
}  // namespace meshmem
