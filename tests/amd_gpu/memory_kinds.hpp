// SPDX-License-Identifier: Apache-2.0
// The L2s of this process's GPUs, and how they treat its memory.
// Invariant: each process has GPUs of its own, so that memory that it has opened of another process
// belongs to another agent. Used by block_runner.cpp.
#pragma once

#include "l2.hpp"

namespace amd_gpu {

// Null where each block has one of its own.
L2* l2_of_gpu(int device);

MemoryRange memory_range_at(int device, std::uint64_t address);

}  // namespace amd_gpu
