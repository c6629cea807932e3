// SPDX-License-Identifier: Apache-2.0
// Divides a preprocessed C++ source into tokens.
// Invariant: every step advances, whatever the text. A string or comment that is not closed ends
// with its line or with the text. Used by tokens.cpp.
#pragma once

#include <string_view>
#include <vector>

#include "launches/token.hpp"

namespace meshmem::launches {

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}
  std::vector<Token> run();

 private:
  char peek(std::size_t ahead = 0) const;
  bool starts_with(std::string_view what) const;
  void skip_line();
  void skip_to_behind(std::string_view what);
  bool skip_blank_or_comment();
  void read_directive();
  void read_quoted(char quote);
  void read_raw_string();
  void read_number();
  void read_token();
  void read_name_or_text();
  void read_punctuation();
  void add(std::size_t begin, TokenKind kind);

  std::string_view text_;
  std::size_t at_ = 0;
  bool at_line_start_ = true, in_system_header_ = false;
  std::vector<Token> tokens_;
};

}  // namespace meshmem::launches
