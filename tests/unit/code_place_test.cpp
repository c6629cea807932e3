// SPDX-License-Identifier: Apache-2.0
//
// Functions and lines by addresses of code. This file alone is compiled with -g.
// Invariant: the functions here are static or exported, as those of programs are.
#include "base/code_place.hpp"

#include <gnu/libc-version.h>  // sanitizers have no such function of their own
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

using meshmem::CodePlace;
using meshmem::functions_at;

constexpr bool kKnowsLines = MESHMEM_HAS_BACKTRACE;  // else only the names that a program exports

[[gnu::noinline]] const void* return_address() { return __builtin_return_address(0); }

// Does something after the call, so that compilers do not make the call a jump.
[[gnu::always_inline]] inline const void* shmem_inline_call() {
  const void* volatile address = return_address();
  return address;
}
[[gnu::noinline]] const void* exchange_halos() {
  const void* volatile address = shmem_inline_call();
  return address;
}

std::uintptr_t number_of(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

TEST(CodePlace, SaysFunctionAndLine) {
  if (!kKnowsLines) GTEST_SKIP() << "without libbacktrace";
  const std::vector<CodePlace> places =
      functions_at(number_of(reinterpret_cast<const void*>(&exchange_halos)));
  ASSERT_FALSE(places.empty());
  EXPECT_TRUE(places.back().text().starts_with("exchange_halos at code_place_test.cpp:"))
      << places.back().text();
  EXPECT_EQ(places.back().object, "unit_code_place");
}

// Read as a C++ name, f would be float.
extern "C" [[gnu::noinline]] const void* f() { return exchange_halos(); }

TEST(CodePlace, LeavesNamesOfCAlone) {
  if (!kKnowsLines) GTEST_SKIP() << "without libbacktrace";
  const std::vector<CodePlace> places = functions_at(number_of(reinterpret_cast<const void*>(&f)));
  ASSERT_FALSE(places.empty());
  EXPECT_TRUE(places.back().text().starts_with("f at code_place_test.cpp:"))
      << places.back().text();
}

struct Functor {
  [[gnu::noinline]] const void* operator()(int) const { return exchange_halos(); }
};

TEST(CodePlace, CutsParametersOnly) {
  if (!kKnowsLines) GTEST_SKIP() << "without libbacktrace";
  using Call = const void* (Functor::*)(int) const;
  const Call member = &Functor::operator();
  const void* address = nullptr;
  std::memcpy(&address, &member, sizeof address);
  const std::vector<CodePlace> places = functions_at(number_of(address));
  ASSERT_FALSE(places.empty());
  EXPECT_NE(places.back().function.find("operator()"), std::string::npos) << places.back().function;
}

TEST(CodePlace, TellsInlineFunctionsApart) {
  if (!kKnowsLines) GTEST_SKIP() << "without libbacktrace";
  const void* const address = exchange_halos();
  const std::vector<CodePlace> places = functions_at(number_of(address) - 1);
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[0].text(), "shmem_inline_call at code_place_test.cpp:26");
  EXPECT_EQ(places[1].text(), "exchange_halos at code_place_test.cpp:30");
  // The first place is the library's.
  EXPECT_EQ(meshmem::return_address_text(address), places[1].text());
}

TEST(CodePlace, SaysTheOffsetWhereThereIsNoLine) {
  const CodePlace without_line{"exchange_halos", "", "heat", 0x2f41};
  EXPECT_EQ(without_line.text(), "exchange_halos at heat+0x2f41");
  const CodePlace without_name{"", "", "heat", 0x2f41};
  EXPECT_EQ(without_name.text(), "heat+0x2f41");
}

TEST(CodePlace, NamesFunctionsOfLibraries) {
  const std::vector<CodePlace> places =
      functions_at(number_of(reinterpret_cast<const void*>(&gnu_get_libc_version)));
  ASSERT_FALSE(places.empty());
  EXPECT_TRUE(places.back().function.ends_with("gnu_get_libc_version")) << places.back().function;
  EXPECT_TRUE(places.back().object.starts_with("libc.so")) << places.back().object;
}

TEST(CodePlace, IsNothingForWhatIsNoCode) {
  int on_stack = 0;
  EXPECT_TRUE(functions_at(number_of(&on_stack)).empty());
  EXPECT_TRUE(functions_at(16).empty());
}

// The unit tests contain the library, so every caller counts as the library's.
TEST(ProgramCallText, IsOfAnotherFileThanTheLibrary) {
  EXPECT_EQ(meshmem::program_call_text(), "");
}

}  // namespace
