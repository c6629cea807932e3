// SPDX-License-Identifier: Apache-2.0
//
// The table of operations, as the host calls them and as it puts them on streams. A second table
// has the all-reduces of every type, which the benchmark does not call from kernels.
// Invariant: the table of operations and that of kernels (kernels.cpp) have the order of rows.def.
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
  void (*on_host)(const At& at, const Rounds& rounds);                        // or null
  void (*on_stream)(const At& at, const Rounds& rounds, hipStream_t stream);  // or null
  std::string_view type{}, op{};  // set in the table of all-reduces only

  bool is_typed() const { return !type.empty(); }
  bool has_sizes() const { return size == Size::bytes || size == Size::elems; }
  bool has(Caller caller) const;  // whether this caller can call it
  int number() const;             // the index of its row in the table
};

const std::vector<Operation>& operations();
const Operation* find_operation(std::string_view name);

const Operation* find_allreduce(std::string_view type, std::string_view op);
std::vector<std::string> type_names();
std::vector<std::string> op_names();

std::string_view name_of(Caller caller);  // as in "thread"
std::vector<std::string> caller_names();
Caller caller_of(std::string_view name);

}  // namespace meshmem::bench

#endif  // MESHMEM_BENCH_OPERATIONS_HPP_
