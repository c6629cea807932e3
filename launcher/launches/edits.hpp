// SPDX-License-Identifier: Apache-2.0
// Replacements in a source, and the functions that find them.
// Invariant: an edit keeps the newlines and line markers of what it replaces, so that compilers and
// debuggers name the lines of the original.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launches/tokens.hpp"

namespace meshmem::launches {

struct Edit {
  std::size_t begin, end;  // in the text
  std::string replacement;
};

class Edits {
 public:
  explicit Edits(const Tokens& tokens) : tokens_(tokens) {}

  void replace(std::size_t token, std::string replacement);
  void replace(std::size_t first, std::size_t end, std::string replacement);  // tokens
  void insert_before(std::size_t token, std::string text);
  void insert_behind(std::size_t token, std::string text);
  void append(Edits others);

  bool empty() const { return edits_.empty(); }
  // The text with all edits. Drops an edit that lies inside another one.
  std::string apply() const;

 private:
  const Tokens& tokens_;
  std::vector<Edit> edits_;
};

// kernel<<<grid, block, ...>>>(arguments)
void rewrite_launches(const Tokens& tokens, Edits& edits);
// extern __shared__ type name[];
void rewrite_shared_arrays(const Tokens& tokens, Edits& edits);
// (void*)kernel and similar casts. `needed` gets those that must be replaced; `possible` those of
// names that may stand for a kernel, which are replaced only if anything else is.
void rewrite_casts(const Tokens& tokens, Edits& needed, Edits& possible);

// Rewrites into C++ the syntax that CUDA and HIP add to it, by the three functions above. main.cpp
// calls it with a preprocessed source. The result needs hip_on_cpu/hip/hip_runtime.h, which such a
// source includes. Returns nullopt if the source has nothing that must be rewritten.
std::optional<std::string> rewrite(std::string_view preprocessed);

}  // namespace meshmem::launches
