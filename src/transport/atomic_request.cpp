// SPDX-License-Identifier: Apache-2.0
//
// The processor's atomics by request. Invariant: each is one access of its width.
#include "transport/atomic_request.hpp"

namespace meshmem {
namespace {

template <typename Word>
Word execute_word(const AtomicRequest& request, Word* there) {
  using device::AtomicOp;
  const Word operand = static_cast<Word>(request.operand);
  switch (request.op) {
    case AtomicOp::fetch:
      return __atomic_load_n(there, __ATOMIC_ACQUIRE);
    case AtomicOp::set:
      __atomic_store_n(there, operand, __ATOMIC_RELEASE);
      return 0;
    case AtomicOp::swap:
      return __atomic_exchange_n(there, operand, __ATOMIC_ACQ_REL);
    case AtomicOp::compare_swap: {
      Word seen = static_cast<Word>(request.condition);
      __atomic_compare_exchange_n(there, &seen, operand, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
      return seen;
    }
    case AtomicOp::add:
      return __atomic_fetch_add(there, operand, __ATOMIC_ACQ_REL);
    case AtomicOp::bit_and:
      return __atomic_fetch_and(there, operand, __ATOMIC_ACQ_REL);
    case AtomicOp::bit_or:
      return __atomic_fetch_or(there, operand, __ATOMIC_ACQ_REL);
    case AtomicOp::bit_xor:
      return __atomic_fetch_xor(there, operand, __ATOMIC_ACQ_REL);
  }
  return 0;
}

}  // namespace

std::uint64_t execute(const AtomicRequest& request, void* there) {
  return request.bytes == sizeof(std::uint32_t)
             ? execute_word(request, static_cast<std::uint32_t*>(there))
             : execute_word(request, static_cast<std::uint64_t*>(there));
}

}  // namespace meshmem
