// SPDX-License-Identifier: Apache-2.0
// A preprocessed C++ source as tokens, and functions to navigate in it.
// Invariant: tokens point into the text and are in its order. All functions but [] accept positions
// outside the source: there is no token there. Used by the rewriting.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace meshmem::launches {

inline constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// < and > are single tokens, so that >> may close two templates; <<< is three tokens without a gap.
// kText is a string or a character.
enum class TokenKind { kName, kNumber, kText, kPunctuation };

struct Token {
  std::size_t begin, end;  // in the text
  TokenKind kind;
  bool in_system_header;
  std::size_t partner;  // of a bracket: the index of the bracket that matches it, or kNone
};

// Divides the text into tokens, whose `partner` is not set yet. A string or comment that is not
// closed ends with its line or with the text.
std::vector<Token> read_tokens(std::string_view text);

class Tokens {
 public:
  explicit Tokens(std::string_view text);

  std::size_t size() const { return tokens_.size(); }
  const Token& operator[](std::size_t at) const { return tokens_[at]; }
  std::string_view text() const { return text_; }
  std::string_view text(std::size_t at) const;
  std::string_view text(std::size_t first, std::size_t end) const;  // with blanks and comments

  bool is(std::size_t at, std::string_view wanted) const { return text(at) == wanted; }
  bool is_one_of(std::size_t at, std::initializer_list<std::string_view> wanted) const;
  bool is_name(std::size_t at) const;     // false for the keywords in tokens.cpp
  bool is_operand(std::size_t at) const;  // a name, a number or a string
  bool is_adjacent_run(std::size_t at, std::string_view characters) const;  // one token for each
  std::size_t partner(std::size_t at) const { return at < size() ? tokens_[at].partner : kNone; }
  bool is_opener(std::size_t at) const { return is_one_of(at, {"(", "[", "{"}); }
  bool is_closer(std::size_t at) const { return is_one_of(at, {")", "]", "}"}); }
  // The token after `at`, or after the bracket that matches it.
  std::size_t behind(std::size_t at) const {
    return (is_opener(at) && partner(at) != kNone ? partner(at) : at) + 1;
  }

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
