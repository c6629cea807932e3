// SPDX-License-Identifier: Apache-2.0
//
// Shared by probe_kernels.cpp and probe_violations.cpp: types, and a kernel's use of data.
#ifndef MESHMEM_TESTS_COMPILE_PROBE_HPP_
#define MESHMEM_TESTS_COMPILE_PROBE_HPP_

#include <hip/hip_runtime.h>

#include "device/extension_routines.hpp"

namespace {

using namespace meshmem::device;
using Word = std::uint64_t;
using Data = unsigned char;
using Result = std::uint16_t;
constexpr WorldPes kWorld;
constexpr std::size_t kMany = 1000;  // more than what one wave of a block moves by itself
constexpr std::size_t kFew = 8;

MESHMEM_DEVICE std::size_t here() { return blockIdx.x * blockDim.x + threadIdx.x; }

MESHMEM_DEVICE Result made_of(Word value) {
  return static_cast<Result>(value * 0x9e3779b97f4a7c15u >> 48);
}
// A thread reads an address that is the same for all; compilers read such addresses through the
// scalar cache.
template <typename Group>
MESHMEM_DEVICE void use(Group, Result* result, const Word* data) {
  result[here()] = made_of(data[here()]);
}
// A thread that has waited for a load has waited for the stores before it. Their data may still lie
// in caches: it is yet to be written back, and that to be awaited.
MESHMEM_DEVICE bool is_drained(const Word* other) { return load_relaxed(other) == 0; }
// Whoever speaks for the group need not be its leader.
template <typename Group>
MESHMEM_DEVICE bool is_last(const Group& group) {
  return group.rank() + 1 == group.size();
}
MESHMEM_DEVICE void use(Thread, Result* result, const Word* data) { *result = made_of(*data); }

}  // namespace

#endif  // MESHMEM_TESTS_COMPILE_PROBE_HPP_
