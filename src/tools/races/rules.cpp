// SPDX-License-Identifier: Apache-2.0
//
// Reads the names of operations, once for each routine.
#include "tools/races/rules.hpp"

#include <array>

namespace meshmem::races {
namespace {

Rule make_rule(const Call& call) {
  const std::string_view op = call.op;
  const auto has = [op](std::string_view part) { return op.find(part) != op.npos; };
  Rule rule;
  rule.kind = call.what().kind;
  rule.is_nonblocking = op.ends_with("_nbi");
  rule.is_plain = op == "p";
  rule.fetches = has("fetch") || has("swap") || op == "finc" || op == "fadd";
  rule.compares = !rule.is_nonblocking && (has("compare_swap") || op == "cswap");
  // A context that ends completes what was given to it.
  rule.completes = has("quiet") || op.starts_with("barrier") ||
                   rule.kind == tracing::Kind::allocation || op == "ctx_destroy" ||
                   op == "team_destroy";
  rule.orders = op.ends_with("fence");  // of a context too
  rule.has_source_of_all = has("alltoall") || has("_reduce_scatter");
  rule.has_dest_of_all = has("alltoall") || has("fcollect");
  rule.leaves_root = op == "set_broadcast";
  rule.has_counts = op.starts_with("alltoallv");
  return rule;
}

}  // namespace

Rule rule_of(const Call& call) {
  static std::array<Rule, tracing::kRoutines> rules;
  static std::array<bool, tracing::kRoutines> is_known;
  if (!is_known[call.number]) rules[call.number] = make_rule(call);
  is_known[call.number] = true;
  return rules[call.number];
}

}  // namespace meshmem::races
