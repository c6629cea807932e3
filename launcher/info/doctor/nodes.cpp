// SPDX-License-Identifier: Apache-2.0
//
// Merges the checks of nodes. In bytes a check is four texts, each ended by a NUL: name, verdict as
// a digit, what it says, what to fix.
#include "info/doctor/nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace meshmem::doctor {
namespace {

bool are_alike(const Check& one, const Check& other) {
  return one.name == other.name && one.verdict == other.verdict && one.says == other.says &&
         one.fix == other.fix;
}

}  // namespace

Checks merge(const std::vector<NodeChecks>& nodes) {
  std::vector<std::string> names;  // of checks
  for (const NodeChecks& node : nodes)
    for (const Check& check : node.checks)
      if (std::find(names.begin(), names.end(), check.name) == names.end())
        names.push_back(check.name);

  Checks merged;
  for (const std::string& name : names) {
    const std::size_t first = merged.size();
    for (const NodeChecks& node : nodes) {
      for (const Check& check : node.checks) {
        if (check.name != name) continue;
        const auto begin = merged.begin() + static_cast<std::ptrdiff_t>(first);
        auto same = std::find_if(begin, merged.end(),
                                 [&check](const Check& one) { return are_alike(one, check); });
        if (same == merged.end()) same = merged.insert(same, check);
        same->nodes.push_back(node.node);
      }
    }
    if (merged.size() == first + 1 && merged[first].nodes.size() == nodes.size())
      merged[first].nodes.clear();
  }
  return merged;
}

std::vector<std::string> names_of(const std::vector<NodePlace>& places) {
  std::map<std::string, int> count;
  for (const NodePlace& place : places) ++count[place.machine];
  std::vector<std::string> names;
  for (const NodePlace& place : places)
    names.push_back(count[place.machine] == 1
                        ? place.machine
                        : fmt::format("{} (PE {})", place.machine, place.first_pe));
  return names;
}

std::string pack(const Checks& checks, std::size_t most) {
  constexpr std::size_t kTexts = 3;   // of a check, beside the verdict
  constexpr std::size_t kBeside = 5;  // NULs and the digit
  std::string bytes;
  if (checks.empty()) return bytes;
  const std::size_t share = most / checks.size();
  const std::size_t longest = share > kBeside ? (share - kBeside) / kTexts : 0;
  const auto add = [&bytes, longest](const std::string& text) {
    bytes += text.substr(0, std::min(longest, text.find('\0')));
    bytes += '\0';
  };
  for (const Check& check : checks) {
    add(check.name);
    bytes += static_cast<char>('0' + static_cast<int>(check.verdict));
    bytes += '\0';
    add(check.says);
    add(check.fix);
  }
  return bytes;
}

Checks unpack(std::string_view bytes) {
  const auto take = [&bytes] {
    const std::string_view text = bytes.substr(0, bytes.find('\0'));
    bytes.remove_prefix(std::min(bytes.size(), text.size() + 1));
    return std::string(text);
  };
  Checks checks;
  while (!bytes.empty()) {
    Check check{};
    check.name = take();
    const std::string verdict = take();
    check.verdict = verdict == "0" ? Verdict::ok : verdict == "1" ? Verdict::warn : Verdict::bad;
    check.says = take();
    check.fix = take();
    checks.push_back(std::move(check));
  }
  return checks;
}

}  // namespace meshmem::doctor
