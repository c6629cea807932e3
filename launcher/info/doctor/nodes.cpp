// SPDX-License-Identifier: Apache-2.0
//
// Merges the checks of nodes.
#include "info/doctor/nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

namespace meshmem::doctor {
namespace {

bool are_alike(const Check& one, const Check& other) {
  return one.name == other.name && one.verdict == other.verdict && one.says == other.says &&
         one.fix == other.fix;
}

template <std::size_t bytes>
void put(char (&to)[bytes], const std::string& text) {
  to[text.copy(to, bytes - 1)] = 0;
}
template <std::size_t bytes>
std::string get(const char (&from)[bytes]) {
  return std::string(from, ::strnlen(from, bytes));
}

}  // namespace

Checks merge(const std::vector<NodeChecks>& nodes) {
  Checks merged;
  for (const NodeChecks& node : nodes)
    for (const Check& check : node.checks) {
      auto same = std::find_if(merged.begin(), merged.end(),
                               [&](const Check& one) { return are_alike(one, check); });
      if (same == merged.end()) {
        const auto behind = std::find_if(merged.rbegin(), merged.rend(), [&](const Check& one) {
                              return one.name == check.name;
                            }).base();
        same = merged.insert(behind == merged.begin() ? merged.end() : behind, check);
      }
      same->nodes.push_back(node.node);
    }
  for (Check& check : merged)
    if (check.nodes.size() == nodes.size()) check.nodes.clear();
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

void put(NodeReport& report, const NodeChecks& node) {
  put(report.node, node.node);
  report.n_checks = std::min(node.checks.size(), std::size(report.checks));
  for (std::size_t i = 0; i < report.n_checks; ++i) {
    const Check& check = node.checks[i];
    put(report.checks[i].name, check.name);
    report.checks[i].verdict = check.verdict;
    put(report.checks[i].says, check.says);
    put(report.checks[i].fix, check.fix);
  }
}

NodeChecks get(const NodeReport& report) {
  NodeChecks node{get(report.node), {}};
  for (std::size_t i = 0; i < std::min(report.n_checks, std::size(report.checks)); ++i) {
    const NodeReport::Line& line = report.checks[i];
    node.checks.push_back({get(line.name), line.verdict, get(line.says), get(line.fix), {}});
  }
  return node;
}

}  // namespace meshmem::doctor
