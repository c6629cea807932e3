// SPDX-License-Identifier: Apache-2.0
// Copies and fills as operations, for graphs that are made by hand.
// Invariant: they are checked as those on streams are. Used by graph_nodes.cpp.
#pragma once

#include "stream.hpp"

namespace hip_on_cpu {

hipError_t make_copy(Operation* operation, void* dest, const void* source, std::size_t size,
                     hipMemcpyKind kind);
hipError_t make_fill(Operation* operation, const hipMemsetParams& fill);

}  // namespace hip_on_cpu
