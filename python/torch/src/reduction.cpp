// SPDX-License-Identifier: Apache-2.0
//
// The table of reductions. Half and bfloat16 are summed as float on the host and rounded once.
// Bools are bytes of 0 and 1, whose sum is their greatest value.
#include "reduction.hpp"

#include <ATen/ATen.h>

#include <type_traits>

namespace meshmem::pytorch {
namespace {

using Op = c10d::ReduceOp::RedOpType;

#define MESHMEM_HOST_CALL(routine)                                                 \
  [](shmem_team_t team, void* dest, const void* source, std::size_t n) -> int {    \
    return routine(team, static_cast<T*>(dest), static_cast<const T*>(source), n); \
  }
#define MESHMEM_STREAM_CALL(routine)                                                       \
  [](shmem_team_t team, void* dest, const void* source, std::size_t n,                     \
     shmemx_stream_t stream) -> int {                                                      \
    return routine(team, static_cast<T*>(dest), static_cast<const T*>(source), n, stream); \
  }
// The four routines of an operation: `standard` is shmem or shmemx, where its host form is.
#define MESHMEM_OF_OP(standard, op)                                                               \
  do {                                                                                            \
    found.reduce = MESHMEM_HOST_CALL(standard##_##op##_reduce);                                   \
    found.reduce_scatter = MESHMEM_HOST_CALL(shmemx_##op##_reduce_scatter);                       \
    found.reduce_on_stream = MESHMEM_STREAM_CALL(shmemx_##op##_reduce_on_stream);                 \
    found.reduce_scatter_on_stream = MESHMEM_STREAM_CALL(shmemx_##op##_reduce_scatter_on_stream); \
  } while (false)

template <class T>
void fill_logic(Reduction& found, Op op) {
  if constexpr (std::is_integral_v<T>) {
    if (op == Op::BAND) MESHMEM_OF_OP(shmem, and);
    if (op == Op::BOR) MESHMEM_OF_OP(shmem, or);
    if (op == Op::BXOR) MESHMEM_OF_OP(shmem, xor);
  }
}

// A factor of integers would lose its fraction.
template <class T>
void fill(Reduction& found, Op op) {
  if (op == Op::SUM) MESHMEM_OF_OP(shmem, sum);
  if (op == Op::PREMUL_SUM && !std::is_integral_v<T>) MESHMEM_OF_OP(shmem, sum);
  if (op == Op::AVG) MESHMEM_OF_OP(shmemx, avg);
  if (op == Op::PRODUCT) MESHMEM_OF_OP(shmem, prod);
  if (op == Op::MIN) MESHMEM_OF_OP(shmem, min);
  if (op == Op::MAX) MESHMEM_OF_OP(shmem, max);
  fill_logic<T>(found, op);
}
#undef MESHMEM_OF_OP

// half and bfloat16 on streams.
#define MESHMEM_OF_SHORT(name, op)                                                         \
  do {                                                                                     \
    found.reduce_on_stream = MESHMEM_STREAM_CALL(shmemx_##name##_##op##_reduce_on_stream); \
    found.reduce_scatter_on_stream =                                                       \
        MESHMEM_STREAM_CALL(shmemx_##name##_##op##_reduce_scatter_on_stream);              \
  } while (false)
#define MESHMEM_FILL_SHORT(name)                                          \
  using T = void;                                                         \
  if (op == Op::SUM || op == Op::PREMUL_SUM) MESHMEM_OF_SHORT(name, sum); \
  if (op == Op::AVG) MESHMEM_OF_SHORT(name, avg);                         \
  if (op == Op::PRODUCT) MESHMEM_OF_SHORT(name, prod);                    \
  if (op == Op::MIN) MESHMEM_OF_SHORT(name, min);                         \
  if (op == Op::MAX) MESHMEM_OF_SHORT(name, max)
void fill_half(Reduction& found, Op op) { MESHMEM_FILL_SHORT(half); }
void fill_bfloat16(Reduction& found, Op op) { MESHMEM_FILL_SHORT(bfloat16); }
#undef MESHMEM_FILL_SHORT
#undef MESHMEM_OF_SHORT

// The products of complex numbers, which only the host has.
template <class T>
void fill_complex_product(Reduction& found) {
  found.reduce = MESHMEM_HOST_CALL(shmem_prod_reduce);
}
#undef MESHMEM_STREAM_CALL
#undef MESHMEM_HOST_CALL

Op op_of_bools(Op op) {
  switch (op) {
    case Op::SUM:
    case Op::BOR:
      return Op::MAX;
    case Op::PRODUCT:
    case Op::BAND:
      return Op::MIN;
    case Op::AVG:
    case Op::PREMUL_SUM:
      return Op::UNUSED;
    default:
      return op;
  }
}

// In which type tensors are reduced.
at::ScalarType staged_type(at::ScalarType type, Op op, bool is_on_host) {
  if (type == at::kBool) return at::kByte;
  if (at::isComplexType(type) && op != Op::PRODUCT) return at::toRealValueType(type);
  if (is_on_host && at::isReducedFloatingType(type)) return at::kFloat;
  return type;
}

void fill_of_type(Reduction& found, Op op) {
  switch (found.staged) {
    case at::kFloat:
      return fill<float>(found, op);
    case at::kDouble:
      return fill<double>(found, op);
    case at::kChar:
      return fill<std::int8_t>(found, op);
    case at::kShort:
      return fill<std::int16_t>(found, op);
    case at::kInt:
      return fill<std::int32_t>(found, op);
    case at::kLong:
      return fill<std::int64_t>(found, op);
    case at::kByte:
      return fill<std::uint8_t>(found, op);
    case at::kUInt16:
      return fill<std::uint16_t>(found, op);
    case at::kUInt32:
      return fill<std::uint32_t>(found, op);
    case at::kUInt64:
      return fill<std::uint64_t>(found, op);
    case at::kHalf:
      return fill_half(found, op);
    case at::kBFloat16:
      return fill_bfloat16(found, op);
    case at::kComplexFloat:
      return fill_complex_product<meshmem_complexf>(found);
    case at::kComplexDouble:
      return fill_complex_product<meshmem_complexd>(found);
    default:
      return;
  }
}

at::Tensor factor_of(const c10d::ReduceOp& op) {
  if (op.op_ != Op::PREMUL_SUM) return {};
  const auto* given = dynamic_cast<c10d::NCCLPreMulSumSupplement*>(op.supplement_.get());
  TORCH_CHECK_VALUE(given, "op: PREMUL_SUM has no factor");
  if (given->tensor_factor.defined()) return given->tensor_factor;
  return at::scalar_tensor(given->double_factor, at::kDouble);
}

}  // namespace

Reduction find_reduction(const c10d::ReduceOp& op, at::ScalarType type, bool is_on_host,
                         const char* argument) {
  Reduction found;
  Op wanted = op.op_;
  found.staged = staged_type(type, wanted, is_on_host);
  found.staged_bytes = at::elementSize(found.staged);
  if (at::isComplexType(type) && found.staged != type) found.per_element = 2;
  found.factor = factor_of(op);
  if (type == at::kBool) wanted = op_of_bools(wanted);
  const bool is_ordered = wanted == Op::MIN || wanted == Op::MAX;
  if (!(at::isComplexType(type) && is_ordered)) fill_of_type(found, wanted);
  static const char* const names[] = {"SUM",  "AVG", "PRODUCT", "MIN",        "MAX",
                                      "BAND", "BOR", "BXOR",    "PREMUL_SUM", "UNUSED"};
  TORCH_CHECK_TYPE(is_on_host ? found.reduce != nullptr : found.reduce_on_stream != nullptr,
                   argument, ": ReduceOp.", names[op.op_], " does not reduce tensors of ", type,
                   is_on_host ? "" : " on GPUs");
  return found;
}

}  // namespace meshmem::pytorch
