// SPDX-License-Identifier: Apache-2.0
//
// The names of functions, by their addresses.
// Invariant: the functions here are static or exported, as those of programs are.
#include "base/caller.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace meshmem {
namespace {

[[gnu::noinline]] int exchange_halos(int argument) { return argument + 1; }

TEST(Caller, NamesStaticFunctionsAndTheirPlace) {
  const auto inside = reinterpret_cast<std::uintptr_t>(&exchange_halos) + 2;
  const std::string text = function_at(inside);
  EXPECT_NE(text.find("exchange_halos"), std::string::npos) << text;
  EXPECT_NE(text.find(" (unit_caller+0x"), std::string::npos) << text;
  EXPECT_EQ(function_at(inside), text);  // remembered
}

TEST(Caller, NamesFunctionsOfLibraries) {
  const std::string text = function_at(reinterpret_cast<std::uintptr_t>(&std::abort) + 2);
  EXPECT_NE(text.find("abort ("), std::string::npos) << text;
}

TEST(Caller, HasNoNameForWhatIsNoCode) {
  int on_stack = 0;
  EXPECT_EQ(function_at(reinterpret_cast<std::uintptr_t>(&on_stack)), "");
  EXPECT_EQ(function_at(16), "");
}

}  // namespace
}  // namespace meshmem
