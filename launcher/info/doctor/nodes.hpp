// SPDX-License-Identifier: Apache-2.0
//
// Makes one table of the checks of several nodes. A result that all nodes share is one line. Any
// other line names the nodes that have it.
// Invariant: the functions are pure. get() returns what put() got, with each text cut to the length
// of its array. Called by run_as_job.
#ifndef MESHMEM_INFO_DOCTOR_NODES_HPP_
#define MESHMEM_INFO_DOCTOR_NODES_HPP_

#include <cstddef>
#include <string>
#include <vector>

#include "info/doctor/checks.hpp"

namespace meshmem::doctor {

struct NodeChecks {
  std::string node;
  Checks checks;
};

// Merges the checks in the order of the first node. Checks that the first node does not have come
// last. No node may have a check twice.
Checks merge(const std::vector<NodeChecks>& nodes);

// A node is called by its machine and, if several nodes have that name, also by its first PE:
// "left (PE 2)".
struct NodePlace {
  std::string machine;
  int first_pe;
};
std::vector<std::string> names_of(const std::vector<NodePlace>& places);

// The checks of a node as they lie in symmetric memory.
struct NodeReport {
  struct Line {
    char name[32];
    Verdict verdict;
    char says[480];
    char fix[320];
  };
  char node[256];
  std::size_t n_checks;
  Line checks[40];
};
void put(NodeReport& report, const NodeChecks& node);
NodeChecks get(const NodeReport& report);

}  // namespace meshmem::doctor

#endif  // MESHMEM_INFO_DOCTOR_NODES_HPP_
