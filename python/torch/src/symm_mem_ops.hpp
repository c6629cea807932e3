// SPDX-License-Identifier: Apache-2.0
//
// Operators of torch.ops.symm_mem for CPU tensors: their barriers, checks and registration, which
// all of them share. torch declares the operators; its own code for them is for GPUs.
// Invariant: a collective operator checks its arguments first. Then all ranks pass the same
// barriers, also a rank that raises an exception between them.
// Included by the files that have operators.
#pragma once
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/library.h>

#include <exception>

#include "symm_mem_cpu.hpp"

namespace meshmem::pytorch::symm_mem {

constexpr int kChannel = 0;
constexpr const char* kWorld = "0";  // the name of the default group

// A barrier before and after each phase of an operator: all inputs are complete, and no rank
// changes an input while another reads it. After an exception a rank skips its other phases.
template <class... Phases>
void between_barriers(CpuMemory& memory, Phases... phases) {
  memory.barrier(kChannel, 0);
  std::exception_ptr error;
  const auto run = [&](auto& phase) {
    try {
      if (!error) phase();
    } catch (...) {
      error = std::current_exception();
    }
    memory.barrier(kChannel, 0);
  };
  (run(phases), ...);
  if (error) std::rethrow_exception(error);
}

// The bytes of a rank, here or copied from another machine to `copies`.
const char* bytes_of(const Operand& input, int rank, size_t offset, size_t bytes,
                     std::vector<std::vector<char>>& copies);

// ---- Checks

void check_like(const at::Tensor& tensor, const at::Tensor& input, const char* name);
void check_shape(const at::Tensor& tensor, at::IntArrayRef sizes, const char* name);
// Other ranks read `input` while this one writes `out`.
void check_apart(const at::Tensor& out, const char* name, const at::Tensor& input,
                 const char* input_name);
int checked_rank(CpuMemory& memory, int64_t rank, const char* name);

// ---- Registration

// Boxed, since a kernel of C++ must have exactly the parameters of torch's kernels for GPUs.
template <auto* function>
void boxed(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  using Pointer =
      c10::CompileTimeFunctionPointer<std::remove_pointer_t<decltype(function)>, function>;
  using Functor = typename c10::impl::WrapFunctionIntoFunctor<Pointer>::type;
  Functor functor;
  // Copies into memory that ranks share are not part of the caller's graph for gradients.
  const at::AutoDispatchBelowAutograd below;
  c10::impl::make_boxed_from_unboxed_functor<Functor, false>::call(&functor, op, keys, stack);
}

template <auto* function>
torch::CppFunction kernel() {
  return torch::CppFunction::makeFromBoxedFunction<&boxed<function>>();
}

}  // namespace meshmem::pytorch::symm_mem
