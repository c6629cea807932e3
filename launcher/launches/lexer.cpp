// SPDX-License-Identifier: Apache-2.0
// Divides a preprocessed C++ source into tokens. Invariant: every step advances, whatever the text.
#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <iterator>
#include <string>

#include "launches/tokens.hpp"

namespace meshmem::launches {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool starts_name(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return std::isalpha(byte) != 0 || c == '_' || c == '$' || byte >= 0x80;
}
bool continues_name(char c) { return starts_name(c) || is_digit(c); }

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The operators that are one token; every other one is a token for each character (tokens.hpp). An
// operator comes before those that it begins with.
constexpr std::string_view kOperators[] = {"...", "->*", "<=>", "::", "->", "<=", ">="};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}
  std::vector<Token> run();

 private:
  char peek(std::size_t ahead = 0) const;
  bool starts_with(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  void skip_line();
  void skip_past(std::string_view what);
  bool skip_blank_or_comment();
  void read_directive();
  void read_quoted(char quote);
  void read_raw_string();
  void read_number();
  TokenKind read_token();
  TokenKind read_name_or_text();

  std::string_view text_;
  std::size_t at_ = 0;
  bool at_line_start_ = true, in_system_header_ = false;
};

std::vector<Token> Lexer::run() {
  std::vector<Token> tokens;
  while (at_ < text_.size()) {
    if (skip_blank_or_comment()) continue;
    if (at_line_start_ && peek() == '#') {
      read_directive();
    } else {
      at_line_start_ = false;
      const std::size_t begin = at_;
      const TokenKind kind = read_token();
      tokens.push_back({begin, at_, kind, in_system_header_, kNone});
    }
  }
  return tokens;
}

char Lexer::peek(std::size_t ahead) const {
  return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
}

// Skips to the end of the line, but not over the newline.
void Lexer::skip_line() {
  for (; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
    if (text_[at_] == '\\' && peek(1) == '\n') ++at_;
  }
}

void Lexer::skip_past(std::string_view what) {
  const std::size_t found = text_.find(what, at_);
  at_ = found == std::string_view::npos ? text_.size() : found + what.size();
}

bool Lexer::skip_blank_or_comment() {
  if (starts_with("//")) {
    skip_line();
    return true;
  }
  if (starts_with("/*")) {
    at_ += 2;
    skip_past("*/");
    return true;
  }
  const char c = text_[at_];
  if (std::isspace(static_cast<unsigned char>(c)) == 0) return false;
  if (c == '\n') at_line_start_ = true;
  ++at_;
  return true;
}

// Skips a directive. Only line markers count: `# LINE "FILE" FLAGS`, with the flag 3 if a system
// header follows.
void Lexer::read_directive() {
  const std::size_t begin = at_;
  skip_line();
  const std::string_view line = text_.substr(begin, at_ - begin);
  if (line.size() < 3 || line[1] != ' ' || !is_digit(line[2])) return;
  const std::size_t quote = line.rfind('"');
  if (quote != std::string_view::npos)
    in_system_header_ = line.find(" 3", quote) != std::string_view::npos;
}

void Lexer::read_quoted(char quote) {
  for (++at_; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
    if (text_[at_] == quote) {
      ++at_;
      return;
    }
    if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
  }
}

// Reads R"delimiter(...)delimiter" from the first quote on.
void Lexer::read_raw_string() {
  const std::size_t open = text_.find_first_of("(\n", at_);
  if (open == std::string_view::npos || text_[open] == '\n') return read_quoted('"');
  const std::string_view delimiter = text_.substr(at_ + 1, open - at_ - 1);
  at_ = open + 1;
  skip_past(std::string(")").append(delimiter).append("\""));
}

void Lexer::read_number() {
  while (at_ < text_.size()) {
    const char c = peek(), next = peek(1);
    const bool is_exponent =
        std::string_view("eEpP").find(c) != std::string_view::npos && (next == '+' || next == '-');
    const bool is_separator = c == '\'' && continues_name(next);
    if (is_exponent || is_separator) {
      at_ += 2;
    } else if (continues_name(c) || c == '.') {
      ++at_;
    } else {
      return;
    }
  }
}

TokenKind Lexer::read_token() {
  const char c = peek();
  if (starts_name(c)) return read_name_or_text();
  if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
    read_number();
    return TokenKind::kNumber;
  }
  if (c == '"' || c == '\'') {
    read_quoted(c);
    return TokenKind::kText;
  }
  const auto* const found = std::find_if(std::begin(kOperators), std::end(kOperators),
                                         [this](std::string_view one) { return starts_with(one); });
  at_ += found == std::end(kOperators) ? 1 : found->size();
  return TokenKind::kPunctuation;
}

// Reads a name, or a string with a prefix.
TokenKind Lexer::read_name_or_text() {
  const std::size_t begin = at_;
  while (continues_name(peek())) ++at_;
  const std::string_view name = text_.substr(begin, at_ - begin);
  const char next = peek();
  if (next == '"' && is_one_of(name, {"R", "LR", "uR", "UR", "u8R"})) {
    read_raw_string();
    return TokenKind::kText;
  }
  if ((next == '"' || next == '\'') && is_one_of(name, {"L", "u", "U", "u8"})) {
    read_quoted(next);
    return TokenKind::kText;
  }
  return TokenKind::kName;
}

}  // namespace

std::vector<Token> read_tokens(std::string_view text) { return Lexer(text).run(); }

}  // namespace meshmem::launches
