// SPDX-License-Identifier: Apache-2.0
//
// shmemx_reduce_plan(): the program chooses how kernels reduce (include/shmemx.h).
// Invariant: an invalid plan changes nothing.
#include "api/entry.hpp"
#include "collectives/policy/reduce_policy.hpp"
#include "shmemx.h"

namespace meshmem {

MESHMEM_EXTENSION_ENTRY(int, reduce_plan, (const char* text)) {
  require_active("shmemx_reduce_plan");
  if (!text) {
    reduce_policy.use_plan(std::nullopt);
    return 0;
  }
  const auto plan = parse_plan(text);
  if (plan) reduce_policy.use_plan(plan);
  return plan ? 0 : 1;
}

MESHMEM_EXTENSION_ENTRY(const char*, reduce_plan_algorithm, (int number)) {
  if (number < 0) return nullptr;
  const std::string_view name = name_of_algorithm(static_cast<std::size_t>(number));
  return name.empty() ? nullptr : name.data();
}

}  // namespace meshmem
