// SPDX-License-Identifier: Apache-2.0
//
// The table of operations, for the host and for streams; and all-reduces of every type, which
// kernels do not have. Invariant: the table has the order of rows.def, as has that of the kernels.
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
  std::string_view type{}, op{};  // of an all-reduce that has all; else empty

  bool is_typed() const { return !type.empty(); }
  bool has_sizes() const { return size == Size::bytes || size == Size::elems; }
  bool has(Caller caller) const;
  int number() const;  // the index of its row in the table
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
