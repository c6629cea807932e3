// SPDX-License-Identifier: Apache-2.0
//
// Checks as text. Invariant: the JSON is valid, whatever a file of the machine contains.
#include "info/doctor/checks.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace meshmem::doctor {
namespace {

long count(const Checks& checks, Verdict verdict) {
  return std::count_if(checks.begin(), checks.end(),
                       [verdict](const Check& check) { return check.verdict == verdict; });
}

// "left, right: ", with kMost names at most; "" for no nodes.
std::string nodes_prefix(const std::vector<std::string>& nodes) {
  constexpr std::size_t kMost = 4;
  if (nodes.empty()) return "";
  const std::size_t shown = std::min(nodes.size(), kMost);
  std::string text = fmt::format("{}", fmt::join(nodes.begin(), nodes.begin() + shown, ", "));
  if (nodes.size() > shown) text += fmt::format(" and {} more", nodes.size() - shown);
  return text + ": ";
}

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + json_text(name);
  return "[" + text + "]";
}

}  // namespace

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') {
      out += fmt::format("\\{}", letter);
    } else if (code < 0x20) {
      out += fmt::format("\\u{:04x}", code);
    } else {
      out += code < 0x7f ? letter : '?';
    }
  }
  return out + '"';
}

std::string_view word_of(Verdict verdict) {
  return verdict == Verdict::ok ? "OK" : verdict == Verdict::warn ? "WARN" : "BAD";
}

bool has_bad(const Checks& checks) { return count(checks, Verdict::bad) != 0; }

std::string lines_of(const Checks& checks) {
  std::string text;
  for (const Check& check : checks) {
    text += fmt::format("{:<5} {:<20}  {}{}\n", word_of(check.verdict), check.name,
                        nodes_prefix(check.nodes), check.says);
    if (!check.fix.empty()) text += fmt::format("{:<28}fix: {}\n", "", check.fix);
  }
  return text;
}

std::string table_of(const Checks& checks) {
  return lines_of(checks) + fmt::format("{} checks: {} OK, {} WARN, {} BAD\n", checks.size(),
                                        count(checks, Verdict::ok), count(checks, Verdict::warn),
                                        count(checks, Verdict::bad));
}

std::string json_of(const Checks& checks) {
  std::string text = "{\"checks\": [";
  const char* separator = "";
  for (const Check& check : checks) {
    text += fmt::format("{}\n  {{\"name\": {}, \"verdict\": {}, \"says\": {}, \"fix\": {}{}}}",
                        separator, json_text(check.name), json_text(word_of(check.verdict)),
                        json_text(check.says), json_text(check.fix),
                        check.nodes.empty() ? "" : ", \"nodes\": " + list_of(check.nodes));
    separator = ",";
  }
  return text + fmt::format("\n], \"bad\": {}}}\n", count(checks, Verdict::bad));
}

// Networks come first: that check forks, which would break the runtime of GPUs.
Checks check_all(const Machine& machine) {
  Checks all;
  for (const auto family : {check_networks, check_launchers, check_resources, check_gpus})
    for (Check& check : family(machine)) all.push_back(std::move(check));
  return all;
}

}  // namespace meshmem::doctor
