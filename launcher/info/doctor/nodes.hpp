// SPDX-License-Identifier: Apache-2.0
//
// Makes one table of the checks of several nodes: lines that all nodes have once, the rest with the
// nodes' names. Invariant: pure; what comes back from bytes is what went in, each text cut to the
// room there is. Called by the doctor's job.
#ifndef MESHMEM_INFO_DOCTOR_NODES_HPP_
#define MESHMEM_INFO_DOCTOR_NODES_HPP_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "info/doctor/check.hpp"

namespace meshmem::doctor {

struct NodeChecks {
  std::string node;
  Checks checks;
};

// In the order of the first node; a check that other nodes alone have comes last.
Checks merge(const std::vector<NodeChecks>& nodes);

// A node is called by its machine, and where several have that name, by its first PE too:
// "left (PE 2)".
struct NodePlace {
  std::string machine;
  int first_pe;
};
std::vector<std::string> names_of(const std::vector<NodePlace>& places);

// Checks in at most `most` bytes, and back.
std::string pack(const Checks& checks, std::size_t most);
Checks unpack(std::string_view bytes);

}  // namespace meshmem::doctor

#endif  // MESHMEM_INFO_DOCTOR_NODES_HPP_
