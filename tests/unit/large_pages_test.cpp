// SPDX-License-Identifier: Apache-2.0
//
// Tests of what the tests with large pages run under: tests/harness/large_pages.c has been loaded
// before this program, so calls that pages of 64 KiB would refuse fail.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace {

constexpr std::size_t kPage = 64 * 1024, kSmallPage = 4096;
constexpr int kAccess = PROT_READ | PROT_WRITE;

class LargePages : public testing::Test {
 protected:
  LargePages() { EXPECT_EQ(ftruncate(file_, 4 * kPage), 0); }
  ~LargePages() override { close(file_); }
  std::byte* map(std::byte* at, std::size_t bytes, std::size_t offset) const {
    const int flags = MAP_SHARED | (at != nullptr ? MAP_FIXED : 0);
    void* mapped = mmap(at, bytes, kAccess, flags, file_, static_cast<off_t>(offset));
    return mapped == MAP_FAILED ? nullptr : static_cast<std::byte*>(mapped);
  }

 private:
  int file_ = memfd_create("large_pages", MFD_CLOEXEC);
};

TEST_F(LargePages, AreOfTheSizeThatTheSystemTells) {
  EXPECT_EQ(sysconf(_SC_PAGESIZE), static_cast<long>(kPage));
}

TEST_F(LargePages, AreMappedAtMultiplesOfTheirSize) {
  for (std::size_t bytes : {std::size_t{1}, kPage, kPage + 1}) {
    std::byte* mapped = map(nullptr, bytes, kPage);
    ASSERT_NE(mapped, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(mapped) % kPage, 0U);
    EXPECT_EQ(munmap(mapped, bytes), 0);
  }
}

TEST_F(LargePages, RefuseOtherOffsetsInFiles) {
  errno = 0;
  EXPECT_EQ(map(nullptr, kPage, kSmallPage), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(LargePages, RefuseOtherAddresses) {
  std::byte* mapped = map(nullptr, 2 * kPage, 0);
  ASSERT_NE(mapped, nullptr);
  errno = 0;
  EXPECT_EQ(map(mapped + kSmallPage, kPage, 0), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_NE(map(mapped + kPage, kPage, 0), nullptr);
  munmap(mapped, 2 * kPage);
}

TEST_F(LargePages, RefuseToChangeAPartThatBeginsWithinOne) {
  std::byte* mapped = map(nullptr, 2 * kPage, 0);
  ASSERT_NE(mapped, nullptr);
  EXPECT_NE(mprotect(mapped + kSmallPage, kSmallPage, PROT_READ), 0);
  EXPECT_NE(madvise(mapped + kSmallPage, kSmallPage, MADV_DONTNEED), 0);
  EXPECT_NE(munmap(mapped + kSmallPage, kSmallPage), 0);
  EXPECT_EQ(mprotect(mapped + kPage, kSmallPage, PROT_READ), 0);
  EXPECT_EQ(madvise(mapped + kPage, kSmallPage, MADV_DONTNEED), 0);
  munmap(mapped, 2 * kPage);
}

}  // namespace
