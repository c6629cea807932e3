// SPDX-License-Identifier: Apache-2.0
// Finds vector instructions in machine code that no lane ever executes: exec is 0 on every path to
// them. A compiler that fetches a spilt register there, before it brings the lanes back, has made a
// mistake (docs/amd.md): lanes go on with the register's old value.
// Invariant: paths are branches, and calls that return; code behind an indirect jump counts as code
// where lanes may be active. Called by known_code.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "code_object.hpp"

namespace amd_gpu {

// All instructions of a code object, as they follow each other.
struct Listing {
  std::vector<std::unique_ptr<const Instruction>> instructions;
  std::vector<std::uint64_t> places;  // of each: how far it is from the first one
};
Listing list_of(const CodeObject& object);

// The numbers of these instructions in the listing.
std::vector<std::size_t> executed_by_no_lane(const Listing& listing);

}  // namespace amd_gpu
