// SPDX-License-Identifier: Apache-2.0
// One token of a preprocessed C++ source.
// Invariant: < and > are single tokens, so that >> may close two templates; <<< is three tokens
// without a gap. Made by the lexer.
#pragma once

#include <cstddef>

namespace meshmem::launches {

inline constexpr std::size_t kNone = static_cast<std::size_t>(-1);

enum class TokenKind { kName, kNumber, kText, kPunctuation };

struct Token {
  std::size_t begin, end;  // in the text
  TokenKind kind;
  bool in_system_header;
  std::size_t partner;  // of a bracket: the index of the bracket that matches it, or kNone
};

}  // namespace meshmem::launches
