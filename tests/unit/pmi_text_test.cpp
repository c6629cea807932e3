// SPDX-License-Identifier: Apache-2.0
//
// The words of PMI-1: what a launcher answers is taken apart, and bytes go there and back.
#include "bootstrap/pmi_text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace meshmem {
namespace {

using Nodes = std::vector<int>;

TEST(PmiWord, IsFoundByItsWholeName) {
  const std::string line = "cmd=get_result rc=-1 msg=no value=a=b";
  EXPECT_EQ(pmi_word(line, "cmd"), "get_result");
  EXPECT_EQ(pmi_word(line, "value"), "a=b");
  EXPECT_EQ(pmi_word(line, "rc"), "-1");
  EXPECT_EQ(pmi_number(line, "rc"), -1);
  EXPECT_EQ(pmi_word("value= rc=0", "value"), "");
  for (const char* name : {"c", "cm", "cmd=get_result", "alue", "msgs", ""})
    EXPECT_EQ(pmi_word(line, name), std::nullopt) << name;
  for (const char* text : {"rc=", "rc=x", "rc=1x", "rc=99999999999", "RC=1", "", " "})
    EXPECT_EQ(pmi_number(text, "rc"), std::nullopt) << text;
}

TEST(PmiLetters, BringBackTheBytes) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    const std::string letters = as_pmi_letters(bytes);
    EXPECT_EQ(letters.find_first_of(" =\n;,."), letters.npos);
    EXPECT_EQ(from_pmi_letters(letters), bytes);
    bytes += static_cast<char>(255 - i % 256);
  }
  EXPECT_EQ(as_pmi_letters(std::string("\xff\x00\x10", 3)), "_wAQ");
}

TEST(PmiLetters, OthersAreRefused) {
  for (const char* letters : {"A", "AAAAA", "AA=A", "AA A", "AA.A", "\xff\xff"})
    EXPECT_EQ(from_pmi_letters(letters), std::nullopt) << letters;
}

TEST(PmiValues, AreAsShortAsTheyHaveToBe) {
  for (const std::size_t most : {32u, 33u, 100u, 1023u}) {
    for (const std::size_t n : {0u, 1u, 21u, 22u, 23u, 24u, 230u, 250u, 3000u}) {
      const std::string bytes(n, '\x80');
      const std::vector<std::string> values = as_pmi_values(bytes, most);
      std::string all;
      for (const std::string& value : values) {
        EXPECT_LE(value.size(), most);
        EXPECT_FALSE(value.empty());
        all += value;
      }
      const std::size_t dot = all.find('.');
      EXPECT_EQ(all.substr(0, dot), std::to_string(values.size()));
      EXPECT_EQ(from_pmi_letters(all.substr(dot + 1)), bytes);
    }
  }
}

TEST(PmiMapping, SaysTheNodeOfEachPe) {
  EXPECT_EQ(nodes_of_mapping("(vector,(0,1,1))", 1), Nodes({0}));
  EXPECT_EQ(nodes_of_mapping("(vector,(0,1,1))", 3), Nodes({0, 0, 0}));
  EXPECT_EQ(nodes_of_mapping("(vector,(0,2,2))", 4), Nodes({0, 0, 1, 1}));
  EXPECT_EQ(nodes_of_mapping("(vector,(0,2,1))", 5), Nodes({0, 1, 0, 1, 0}));
  EXPECT_EQ(nodes_of_mapping("(vector,(0,1,3),(1,1,1),(2,1,2))", 6), Nodes({0, 0, 0, 1, 2, 2}));
  EXPECT_EQ(nodes_of_mapping("(vector,(1,1,1),(0,1,2))", 3), Nodes({1, 0, 0}));
  EXPECT_EQ(nodes_of_mapping("(vector,(0,2147483647,2147483647))", 2), Nodes({0, 0}));
}

TEST(PmiMapping, AnythingElseIsNone) {
  for (const char* text :
       {"", "unknown", "(vector)", "(vector,)", "(vector,())", "(vector,(0,1))", "(vector,(0,0,1))",
        "(vector,(0,1,0))", "(vector,(-1,1,1))", "(vector,(0,1,1)", "(vector,(0,1,1)) ",
        "(vector,(2147483647,2,1))", "(vector,(0,1,99999999999))", "(block,(0,1,1))"})
    EXPECT_EQ(nodes_of_mapping(text, 2), std::nullopt) << text;
  EXPECT_EQ(nodes_of_mapping("(vector,(0,1,1))", 0), std::nullopt);
}

}  // namespace
}  // namespace meshmem
