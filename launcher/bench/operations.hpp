// SPDX-License-Identifier: Apache-2.0
//
// The table of operations, on the host.
// Invariant: it has the order of operations.def, as the kernels have.
#ifndef MESHMEM_BENCH_OPERATIONS_HPP_
#define MESHMEM_BENCH_OPERATIONS_HPP_

#include <hip/hip_runtime_api.h>

#include <string>
#include <string_view>
#include <vector>

#include "bench/operation.hpp"

namespace meshmem::bench {

struct Operation {
  std::string_view name;
  Who who;
  Size size;
  Answer answer;
  int window;
  void (*on_host)(const At& at, const Rounds& rounds);
  void (*on_stream)(const At& at, const Rounds& rounds, hipStream_t stream);  // or null
  bool by_groups;
  bool by_grid;

  bool has(Caller caller) const;
  int number() const;  // the index of its row in the table
};

const std::vector<Operation>& operations();
const Operation* find_operation(std::string_view name);

std::string_view name_of(Caller caller);  // as in "thread"
std::vector<std::string> caller_names();
Caller caller_of(std::string_view name);

}  // namespace meshmem::bench

#endif  // MESHMEM_BENCH_OPERATIONS_HPP_
