// SPDX-License-Identifier: Apache-2.0
//
// The line that ends a job is printed, whatever keeps the library from finding its place in the
// program.
// Invariant: dladdr1 here stands for libc's; the lookup begins with it.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <new>

#include "base/error.hpp"

namespace {
enum class Lookup { hangs, has_no_memory };
Lookup lookup;
bool has_no_memory = false;
}  // namespace

extern "C" int dladdr1(const void* address, Dl_info* about, void** extra, int flags) noexcept {
  // As behind the loader's lock, which another thread may hold.
  while (lookup == Lookup::hangs) pause();
  has_no_memory = true;
  const auto next = reinterpret_cast<decltype(&dladdr1)>(dlsym(RTLD_NEXT, "dladdr1"));
  return next(address, about, extra, flags);
}

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* const memory = has_no_memory ? nullptr : std::malloc(bytes);
  if (!memory) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace meshmem {
namespace {

using testing::ExitedWithCode;

TEST(FatalDeathTest, SaysItsMessageWhereTheLookupHangs) {
  lookup = Lookup::hangs;
  EXPECT_EXIT(fatal("PE {} is not in 0..3", 9), ExitedWithCode(1), "PE 9 is not in 0..3\n");
}

TEST(FatalDeathTest, SaysItsMessageWhereTheLookupHasNoMemory) {
  lookup = Lookup::has_no_memory;
  EXPECT_EXIT(fatal("PE {} is not in 0..3", 9), ExitedWithCode(1), "PE 9 is not in 0..3\n");
}

}  // namespace
}  // namespace meshmem
