// SPDX-License-Identifier: Apache-2.0
//
// Runs the functions that find what to replace, and applies the replacements.
// Invariant: possible replacements are made only beside needed ones.
#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "launches/edits.hpp"

namespace meshmem::launches {

void Edits::replace(std::size_t token, std::string replacement) {
  replace(token, token + 1, std::move(replacement));
}

void Edits::replace(std::size_t first, std::size_t end, std::string replacement) {
  edits_.push_back({tokens_[first].begin, tokens_[end - 1].end, std::move(replacement)});
}

void Edits::insert_before(std::size_t token, std::string text) {
  edits_.push_back({tokens_[token].begin, tokens_[token].begin, std::move(text)});
}

void Edits::insert_behind(std::size_t token, std::string text) {
  edits_.push_back({tokens_[token].end, tokens_[token].end, std::move(text)});
}

void Edits::append(Edits others) {
  edits_.insert(edits_.end(), std::make_move_iterator(others.edits_.begin()),
                std::make_move_iterator(others.edits_.end()));
}

std::string Edits::apply() const {
  std::vector<Edit> sorted = edits_;
  std::sort(sorted.begin(), sorted.end(), [](const Edit& a, const Edit& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);  // insertions come first
  });
  const std::string_view text = tokens_.text();
  std::string result;
  std::size_t done = 0;
  for (const Edit& edit : sorted) {
    if (edit.begin < done) continue;
    result.append(text, done, edit.begin - done).append(edit.replacement);
    done = edit.end;
  }
  return result.append(text, done);
}

std::optional<std::string> rewrite(std::string_view preprocessed) {
  const Tokens tokens(preprocessed);
  Edits edits(tokens), possible(tokens);
  rewrite_launches(tokens, edits);
  rewrite_shared_arrays(tokens, edits);
  rewrite_casts(tokens, edits, possible);
  if (edits.empty()) return std::nullopt;
  edits.append(std::move(possible));
  return edits.apply();
}

}  // namespace meshmem::launches
