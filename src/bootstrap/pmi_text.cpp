// SPDX-License-Identifier: Apache-2.0
//
// Reading and writing PMI-1's lines.
// Invariant: nothing here allocates more than its arguments ask for.
#include "bootstrap/pmi_text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace meshmem {
namespace {

constexpr std::string_view kLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::size_t kNoLetter = std::string_view::npos;

// The steps of nodes_of_mapping: remove what they expect from the beginning of `text`. False: it is
// not there.
bool take(std::string_view& text, std::string_view expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

bool take(std::string_view& text, int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

struct Block {  // consecutive nodes with the same number of PEs each
  int first_node, n_nodes, pes_of_each;
};

bool take(std::string_view& text, Block& block) {
  return take(text, "(") && take(text, block.first_node) && take(text, ",") &&
         take(text, block.n_nodes) && take(text, ",") && take(text, block.pes_of_each) &&
         take(text, ")") && block.first_node >= 0 && block.first_node < 1 << 30 &&
         block.n_nodes > 0 && block.pes_of_each > 0;
}

void add_nodes(const Block& block, std::size_t n_pes, std::vector<int>& nodes) {
  for (int i = 0; i < block.n_nodes && nodes.size() < n_pes; ++i) {
    const auto pes = std::min<std::size_t>(block.pes_of_each, n_pes - nodes.size());
    nodes.insert(nodes.end(), pes, block.first_node + i);
  }
}

}  // namespace

std::optional<std::string_view> pmi_word(std::string_view line, std::string_view name) {
  while (!line.empty()) {
    const std::string_view word = line.substr(0, line.find(' '));
    if (word.size() > name.size() && word.starts_with(name) && word[name.size()] == '=')
      return word.substr(name.size() + 1);
    line.remove_prefix(std::min(line.size(), word.size() + 1));
  }
  return std::nullopt;
}

std::optional<int> pmi_number(std::string_view line, std::string_view name) {
  return as_number(pmi_word(line, name).value_or(""));
}

std::optional<int> as_number(std::string_view text) {
  int number = 0;
  if (!take(text, number) || !text.empty()) return std::nullopt;
  return number;
}

std::string as_pmi_letters(std::string_view bytes) {
  std::string letters;
  letters.reserve((bytes.size() * 4 + 2) / 3);
  std::uint32_t bits = 0;
  int n_bits = 0;
  for (const char byte : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(byte);
    for (n_bits += 8; n_bits >= 6; n_bits -= 6) letters += kLetters[bits >> (n_bits - 6) & 63];
  }
  if (n_bits > 0) letters += kLetters[bits << (6 - n_bits) & 63];
  return letters;
}

std::optional<std::string> from_pmi_letters(std::string_view letters) {
  std::string bytes;
  bytes.reserve(letters.size() * 3 / 4);
  std::uint32_t bits = 0;
  int n_bits = 0;
  for (const char letter : letters) {
    const std::size_t value = kLetters.find(letter);
    if (value == kNoLetter) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    n_bits += 6;
    if (n_bits < 8) continue;
    n_bits -= 8;
    bytes += static_cast<char>(bits >> n_bits & 255);
  }
  if (n_bits >= 6) return std::nullopt;  // a letter too many
  return bytes;
}

std::vector<std::string> as_pmi_values(std::string_view bytes, std::size_t most) {
  const std::string letters = as_pmi_letters(bytes);
  // The count and its '.' take some of the first value's letters, so the count may grow.
  std::size_t count = letters.size() / most + 1;
  while (fmt::formatted_size("{}.", count) + letters.size() > count * most) ++count;
  const std::string all = fmt::format("{}.{}", count, letters);
  std::vector<std::string> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(all.substr(i * most, most));
  return values;
}

std::optional<std::vector<int>> nodes_of_mapping(std::string_view text, int n_pes) {
  if (n_pes < 1 || !take(text, "(vector")) return std::nullopt;
  std::vector<Block> blocks;
  while (!take(text, ")")) {
    Block block{};
    if (!take(text, ",") || !take(text, block)) return std::nullopt;
    blocks.push_back(block);
  }
  if (blocks.empty() || !text.empty()) return std::nullopt;
  std::vector<int> nodes;
  while (nodes.size() < static_cast<std::size_t>(n_pes)) {
    for (const Block& block : blocks) add_nodes(block, static_cast<std::size_t>(n_pes), nodes);
  }
  return nodes;
}

}  // namespace meshmem
