// SPDX-License-Identifier: Apache-2.0
#include "launches/tokens.hpp"

#include <algorithm>
#include <unordered_set>

namespace meshmem::launches {
namespace {

// The keywords that may stand beside an expression without being part of it.
bool is_keyword(std::string_view word) {
  static const std::unordered_set<std::string_view> keywords = {
      "alignas",   "alignof",  "and",      "bool",      "break",    "case",     "catch",
      "char",      "class",    "co_await", "co_return", "co_yield", "const",    "constexpr",
      "continue",  "decltype", "default",  "delete",    "do",       "double",   "else",
      "enum",      "explicit", "extern",   "final",     "float",    "for",      "friend",
      "goto",      "if",       "inline",   "int",       "long",     "mutable",  "namespace",
      "new",       "noexcept", "not",      "operator",  "or",       "override", "private",
      "protected", "public",   "requires", "return",    "short",    "signed",   "sizeof",
      "static",    "struct",   "switch",   "template",  "throw",    "try",      "typedef",
      "typeid",    "typename", "union",    "unsigned",  "using",    "virtual",  "void",
      "volatile",  "while"};
  return keywords.count(word) != 0;
}

}  // namespace

Tokens::Tokens(std::string_view text) : text_(text), tokens_(read_tokens(text)) {
  match_brackets();
}

std::string_view Tokens::text(std::size_t at) const { return text(at, at + 1); }

std::string_view Tokens::text(std::size_t first, std::size_t end) const {
  if (first >= size() || end > size() || first >= end) return {};
  return text_.substr(tokens_[first].begin, tokens_[end - 1].end - tokens_[first].begin);
}

bool Tokens::is_one_of(std::size_t at, std::initializer_list<std::string_view> wanted) const {
  return std::find(wanted.begin(), wanted.end(), text(at)) != wanted.end();
}

bool Tokens::is_name(std::size_t at) const {
  return at < size() && tokens_[at].kind == TokenKind::kName && !is_keyword(text(at));
}

bool Tokens::is_adjacent_run(std::size_t at, std::string_view characters) const {
  return at < size() && characters.size() <= size() - at &&
         text(at, at + characters.size()) == characters;
}

bool Tokens::is_operand(std::size_t at) const {
  return at < size() && (is_name(at) || tokens_[at].kind == TokenKind::kNumber ||
                         tokens_[at].kind == TokenKind::kText);
}

// A } ignores unmatched brackets before it, so that one mistake does not spoil the rest of the
// source.
void Tokens::match_brackets() {
  std::vector<std::size_t> open;
  for (std::size_t at = 0; at < size(); ++at) {
    if (tokens_[at].kind != TokenKind::kPunctuation) continue;
    if (is_opener(at)) open.push_back(at);
    if (!is_closer(at)) continue;
    const std::string_view wanted = is(at, ")") ? "(" : is(at, "]") ? "[" : "{";
    while (wanted == "{" && !open.empty() && !is(open.back(), wanted)) open.pop_back();
    if (open.empty() || !is(open.back(), wanted)) continue;
    tokens_[at].partner = open.back();
    tokens_[open.back()].partner = at;
    open.pop_back();
  }
}

std::size_t Tokens::end_of_template_arguments(std::size_t open) const {
  std::size_t depth = 0;
  for (std::size_t at = open; at < size(); ++at) {
    if (is(at, ";") || is(at, "?") || is_closer(at)) return kNone;
    if (is_opener(at)) {
      if (partner(at) == kNone) return kNone;
      at = partner(at);
    } else if (at > open && is_adjacent_run(at, "<<")) {
      ++at;
    } else if (is(at, "<")) {
      ++depth;
    } else if (is(at, ">") && --depth == 0) {
      return is_operand(at + 1) ? kNone : at + 1;
    }
  }
  return kNone;
}

std::size_t Tokens::begin_of_template_arguments(std::size_t close) const {
  std::size_t open = 0;                              // number of > that have no < yet
  for (std::size_t at = close; at < size(); --at) {  // --at wraps from 0 to SIZE_MAX
    if (is(at, ">")) ++open;
    if (is(at, ";") || is_opener(at)) return kNone;
    if (is_closer(at)) {
      if (partner(at) == kNone) return kNone;
      at = partner(at);
    } else if (is_adjacent_run(at - 1, "<<")) {
      --at;
    } else if (is(at, "<") && --open == 0) {
      return is_name(at - 1) ? at : kNone;
    }
  }
  return kNone;
}

}  // namespace meshmem::launches
