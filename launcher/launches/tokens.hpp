// SPDX-License-Identifier: Apache-2.0
// A preprocessed C++ source as tokens, and functions to navigate in it.
// Invariant: tokens point into the text and are in its order. All functions but [] accept positions
// outside the source: there is no token there. Used by the rewriting.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "launches/token.hpp"

namespace meshmem::launches {

class Tokens {
 public:
  explicit Tokens(std::string_view text);

  std::size_t size() const { return tokens_.size(); }
  const Token& operator[](std::size_t at) const { return tokens_[at]; }
  std::string_view text() const { return text_; }
  std::string_view text(std::size_t at) const;
  std::string_view text(std::size_t first, std::size_t end) const;  // with blanks and comments

  bool is(std::size_t at, std::string_view wanted) const { return text(at) == wanted; }
  bool is_name(std::size_t at) const;     // not for the keywords of tokens.cpp
  bool is_operand(std::size_t at) const;  // a name, a number or a string
  bool is_adjacent_run(std::size_t at, std::string_view characters) const;  // one token each
  std::size_t partner(std::size_t at) const { return at < size() ? tokens_[at].partner : kNone; }
  bool is_opener(std::size_t at) const;
  bool is_closer(std::size_t at) const;

  // The token after the > that closes the template arguments that begin at `open`. kNone if < is a
  // comparison: then an operand follows the >.
  std::size_t end_of_template_arguments(std::size_t open) const;
  // The < of the template arguments that > at `close` ends.
  std::size_t begin_of_template_arguments(std::size_t close) const;

 private:
  void match_brackets();

  std::string_view text_;
  std::vector<Token> tokens_;
};

}  // namespace meshmem::launches
