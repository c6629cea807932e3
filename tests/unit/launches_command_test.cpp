// SPDX-License-Identifier: Apache-2.0
// Tests how meshmem-launches divides a compiler command in two.
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "launches/command.hpp"

namespace {

using meshmem::launches::Command;
using meshmem::launches::Words;

Command command_of(const std::string& line) {
  std::istringstream stream(line);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return Command(words);
}

std::string line_of(const Words& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  return line;
}

std::string preprocess(const std::string& line) {
  const Command command = command_of(line);
  return line_of(command.preprocess(command.sources().at(0)));
}

// The compile command, with each source replaced by a file that is named for its position.
std::string compile(const std::string& line) {
  const Command command = command_of(line);
  std::map<std::size_t, std::string> files;
  for (const std::size_t source : command.sources())
    files[source] = std::to_string(files.size()) + ".ii";
  return line_of(command.compile(files));
}

TEST(LaunchesCommand, KeepsOptionsAndTheOneSource) {
  const std::string line =
      "ccache g++ -O2 -DA=1 -x c++ a.cu b.cu -x none c.o -o p -Llib -lm -Wl,-x";
  EXPECT_EQ(preprocess(line), "ccache g++ -O2 -DA=1 -x c++ a.cu -x none -E");
  EXPECT_EQ(compile(line),
            "ccache g++ -O2 -x c++ -x c++-cpp-output 0.ii -x c++ -x c++-cpp-output 1.ii -x none "
            "c.o -o p -Llib -lm -Wl,-x");
}

TEST(LaunchesCommand, WritesDependenciesWhenItPreprocesses) {
  const std::string line = "g++ -MD -MT a.o -MF a.d -xc++ -o a.o -c a.cu -Iinclude";
  EXPECT_EQ(preprocess(line), "g++ -MD -MT a.o -MF a.d -xc++ a.cu -Iinclude -E");
  EXPECT_EQ(compile(line), "g++ -xc++ -o a.o -c -x c++-cpp-output 0.ii");
  EXPECT_EQ(preprocess("g++ -MMD -xc++ -c s/a.cu -o d/a.o"),
            "g++ -MMD -xc++ s/a.cu -E -MF d/a.d -MT d/a.o");
  EXPECT_EQ(preprocess("g++ -MD -xc++ -c s/a.cu"), "g++ -MD -xc++ s/a.cu -E -MF a.d -MT a.o");
}

TEST(LaunchesCommand, KeepsOptionsForSourcesThatStay) {
  const Command command = command_of("g++ -DA -x c++ a.cu b.cu");
  EXPECT_EQ(line_of(command.compile({{command.sources().at(1), "b.ii"}})),
            "g++ -DA -x c++ a.cu -x c++-cpp-output b.ii");
  EXPECT_EQ(compile("g++ -DA -Ii -x c++ a.cu -x none b.c"),
            "g++ -DA -Ii -x c++ -x c++-cpp-output 0.ii -x none b.c");
}

TEST(LaunchesCommand, KeepsFilesOfOptions) {
  const std::string line = "g++ -O2 -x c++ @options a.cu -c";
  EXPECT_EQ(preprocess(line), "g++ -O2 -x c++ @options a.cu -E");
  EXPECT_EQ(compile(line), "g++ -O2 -x c++ @options -x c++-cpp-output 0.ii -c");
}

TEST(LaunchesCommand, HasNoSourcesWhereNothingIsToRewrite) {
  for (const char* line :
       {"g++ a.cpp -o p", "g++ -x c++ -E a.cu", "g++ -x c++ -M a.cu", "g++ -x c++ -MM a.cu",
        "g++ -x c++ -", "g++ -x c++-header a.h", "g++ -x none a.o", "g++ --version", "g++",
        "g++ -x c++ -o a.cu -include b.cu -isystem c.cu"}) {
    EXPECT_TRUE(command_of(line).sources().empty()) << line;
  }
}

}  // namespace
