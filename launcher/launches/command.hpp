// SPDX-License-Identifier: Apache-2.0
// A command line of g++ or clang++. If a source has to be rewritten, two commands replace it: one
// preprocesses the source, the other compiles the result and links.
// Invariant: both commands keep the words that this class does not know. Used by main.cpp.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace meshmem::launches {

using Words = std::vector<std::string>;

class Command {
 public:
  explicit Command(Words words);

  const Words& words() const { return words_; }
  // The positions of the sources that -x c++ marks as C++. Empty for a command that only
  // preprocesses, or that reads its standard input.
  const std::vector<std::size_t>& sources() const { return sources_; }

  // A command that writes the preprocessed source to standard output, and the requested dependency
  // file.
  Words preprocess(std::size_t source) const;
  // The same command with the preprocessed files instead of their sources. Writes no dependencies.
  Words compile(const std::map<std::size_t, std::string>& preprocessed) const;

 private:
  enum class Role { kOption, kValue, kOutput, kLinking, kPreprocessing, kDependencies, kInput };

  // Whether another input follows the word `behind` before the next -x.
  bool has_input_of_language(std::size_t behind) const;
  std::string dependencies_of(std::size_t source) const;

  Words words_;
  std::vector<Role> roles_;
  std::vector<std::size_t> sources_;
  std::string output_;  // the value of -o
  bool stops_at_object_ = false;
  bool wants_dependencies_ = false, names_their_file_ = false, names_their_target_ = false;
};

}  // namespace meshmem::launches
