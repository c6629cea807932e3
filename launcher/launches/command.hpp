// SPDX-License-Identifier: Apache-2.0
// A command of the compiler for C++, g++'s or clang++'s, and the two that stand for it where a
// source has to be rewritten: one that preprocesses it, one that does the rest.
// Invariant: words that are not understood are the compiler's in both. Used by the program.
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
  // The places of the sources that -x c++ says to be C++; none in a command that only preprocesses,
  // or that reads its standard input.
  const std::vector<std::size_t>& sources() const { return sources_; }

  // Writes the preprocessed source to standard output, and the dependencies that are asked for.
  Words preprocess(std::size_t source) const;
  // The same command with other files in the places of sources. Writes no dependencies.
  Words compile(const std::map<std::size_t, std::string>& preprocessed) const;

 private:
  enum class Role { kOption, kValue, kOutput, kLinking, kPreprocessing, kDependencies, kInput };

  // Whether what -x says of the input at `behind` is said of another one too.
  bool has_input_of_language(std::size_t behind) const;
  std::string dependencies_of(std::size_t source) const;

  Words words_;
  std::vector<Role> roles_;
  std::vector<std::size_t> sources_;
  std::string output_;  // behind -o
  bool stops_at_object_ = false;
  bool wants_dependencies_ = false, names_their_file_ = false, names_their_target_ = false;
};

}  // namespace meshmem::launches
