// SPDX-License-Identifier: Apache-2.0
//
// The checks that operators for CPU tensors share, and the operators that CPUs cannot have.
#include "symm_mem_ops.hpp"

namespace meshmem::pytorch::symm_mem {

const char* bytes_of(const Operand& input, int rank, size_t offset, size_t bytes,
                     std::vector<std::vector<char>>& copies) {
  if (const void* near = input.memory->get_buffer_ptrs()[rank])
    return static_cast<const char*>(near) + input.offset + offset;
  auto& copy = copies.emplace_back(bytes);
  shmem_getmem(copy.data(), input.symmetric(rank) + offset, bytes, input.pe(rank));
  return copy.data();
}

void check_like(const at::Tensor& tensor, const at::Tensor& input, const char* name) {
  TORCH_CHECK_VALUE(tensor.device().is_cpu(), name, ": it is on ", tensor.device(), ", not a CPU");
  TORCH_CHECK_TYPE(tensor.scalar_type() == input.scalar_type(), name, ": it has dtype ",
                   tensor.scalar_type(), ", but input has ", input.scalar_type());
  TORCH_CHECK_VALUE(tensor.is_contiguous(), name, ": it is not contiguous");
}

void check_apart(const at::Tensor& out, const char* name, const at::Tensor& input,
                 const char* input_name) {
  const auto* const a = static_cast<const char*>(out.const_data_ptr());
  const auto* const b = static_cast<const char*>(input.const_data_ptr());
  TORCH_CHECK_VALUE(a + out.nbytes() <= b || b + input.nbytes() <= a, name, ": it overlaps ",
                    input_name, ", which other ranks read");
}

void check_shape(const at::Tensor& tensor, at::IntArrayRef sizes, const char* name) {
  TORCH_CHECK_VALUE(tensor.sizes() == sizes, name, ": it has shape ", tensor.sizes(), ", not ",
                    sizes);
}

int checked_rank(CpuMemory& memory, int64_t rank, const char* name) {
  TORCH_CHECK_VALUE(rank >= 0 && rank < memory.get_world_size(), name, ": ", rank, " is not in 0..",
                    memory.get_world_size() - 1);
  return static_cast<int>(rank);
}

namespace {

void refuse(const c10::OperatorHandle& op, torch::jit::Stack*) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, op.schema().name(),
                              ": processors have no multicast; one_shot_all_reduce and "
                              "two_shot_all_reduce_ work without it");
}

}  // namespace

TORCH_LIBRARY_IMPL(symm_mem, CPU, m) {
  for (const char* name :
       {"multimem_all_reduce_", "multimem_one_shot_all_reduce", "multimem_one_shot_all_reduce_out",
        "multimem_one_shot_reduce_out", "multimem_all_gather_out"})
    m.impl(name, torch::CppFunction::makeFromBoxedFunction<&refuse>());
}

}  // namespace meshmem::pytorch::symm_mem
