// SPDX-License-Identifier: Apache-2.0
//
// The parser of plans and of their tables.
// Invariant: every message names the word that is wrong and what would be right.
#include "collectives/policy/plan_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/settings/environment.hpp"

namespace meshmem {
namespace {

constexpr std::string_view kHeader = "meshmem-tuning";
constexpr std::string_view kVersion = "1";
constexpr std::string_view kOwnChoice = "auto";
constexpr std::string_view kBlank = " \t\r";

// The next word, which is taken off the text; empty at its end.
std::string_view take_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(kBlank));
  text.remove_prefix(word.size());
  return word;
}

std::string shown(std::string_view word) {
  if (word.empty()) return "nothing";
  std::string text = "'";
  for (const char c : word.substr(0, 40)) text += c < ' ' || c == 0x7F ? '?' : c;
  return text + "'";
}

bool parse_algorithm(std::string_view word, ReduceAlgorithm& out, std::string& why) {
  std::string known;
  for (int i = 0; i < device::kReduceAlgorithmCount; ++i) {
    const std::string_view name = device::kReduceAlgorithms[i].name;
    if (name == word) out = static_cast<ReduceAlgorithm>(i);
    if (name == word) return true;
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  why = fmt::format("{} is not an algorithm; there are {}", shown(word), known);
  return false;
}

bool parse_number(std::string_view word, const char* what, int most, int& out, std::string& why) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
  if (error == std::errc{} && end == word.data() + word.size() && out >= 1 && out <= most)
    return true;
  why = fmt::format("{} is not a number of {}; give one from 1 to {}", shown(word), what, most);
  return false;
}

bool parse_end(std::string_view text, std::string& why) {
  const std::string_view word = take_word(text);
  if (!word.empty()) why = fmt::format("{} is one word too many; remove it", shown(word));
  return word.empty();
}

bool parse_bytes(std::string_view word, std::size_t& out, std::string& why) {
  const auto bytes = word == "any" ? std::optional(kAnySize) : parse_size(word);
  if (!bytes)
    why = fmt::format("{} is not a size; give bytes, as in 65536 or 64k, or any", shown(word));
  out = bytes.value_or(0);
  return bytes.has_value();
}

bool parse_pes(std::string_view word, int& out, std::string& why) {
  out = kAnyPes;
  return word == "any" || parse_number(word, "PEs (or any)", kAnyPes, out, why);
}

bool parse_plan_words(std::string_view& text, device::Plan& plan, std::string& why) {
  return parse_algorithm(take_word(text), plan.algorithm, why) &&
         parse_number(take_word(text), "blocks", device::kChannels, plan.blocks, why) &&
         parse_number(take_word(text), "threads", device::row_of(plan.algorithm).most_threads,
                      plan.threads, why) &&
         parse_end(text, why);
}

bool parse_row(std::string_view text, PlanRow& row, std::string& why) {
  if (!parse_bytes(take_word(text), row.max_bytes, why) ||
      !parse_pes(take_word(text), row.max_pes, why))
    return false;
  std::string_view after = text;
  if (take_word(after) == kOwnChoice) return parse_end(after, why);
  return parse_plan_words(text, row.plan, why);
}

bool parse_header(std::string_view text, std::string& architecture, std::string& why) {
  if (take_word(text) == kHeader && take_word(text) == kVersion) {
    architecture = take_word(text);
    if (!architecture.empty() && parse_end(text, why)) return true;
  }
  why = fmt::format(
      "the first line that is not a comment must be `{} {} ARCHITECTURE`; write the file with "
      "meshmem-bench --tune",
      kHeader, kVersion);
  return false;
}

}  // namespace

std::string_view name_of_algorithm(std::size_t index) {
  return index < device::kReduceAlgorithmCount ? device::kReduceAlgorithms[index].name : "";
}

std::optional<device::Plan> parse_plan(std::string_view text, std::string* why) {
  device::Plan plan{};
  std::string reason;
  if (parse_plan_words(text, plan, reason)) return plan;
  if (why) *why = reason;
  return std::nullopt;
}

std::optional<std::string> parse_plan_table(PlanTable& table, std::string_view text) {
  PlanTable read;
  std::string why;
  bool has_header = false;
  int number = 0;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    ++number;
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(kBlank) == std::string_view::npos) continue;
    PlanRow row{};
    const bool is_right =
        has_header ? parse_row(line, row, why) : parse_header(line, read.architecture, why);
    if (!is_right) return fmt::format("line {}: {}", number, why);
    if (has_header) read.rows.push_back(row);
    has_header = true;
  }
  if (read.rows.empty())
    return fmt::format("line {}: the file ends without a row; write it with meshmem-bench --tune",
                       number + 1);
  table = std::move(read);
  return std::nullopt;
}

std::optional<std::string> reason_against(const PlanTable& table, std::string_view architecture,
                                          int n_pes) {
  constexpr std::string_view kAdvice =
      "make one for this job with meshmem-bench --tune --out FILE, or unset the variable";
  if (!architecture.empty() && table.architecture != architecture)
    return fmt::format("the file is for {}, and the device here is {}; {}",
                       shown(table.architecture), shown(architecture), kAdvice);
  int most = 0;
  for (const PlanRow& row : table.rows) most = std::max(most, row.max_pes);
  if (n_pes > most)
    return fmt::format("the file has rows for up to {} PEs, but this job has {}; {}", most, n_pes,
                       kAdvice);
  return std::nullopt;
}

}  // namespace meshmem
