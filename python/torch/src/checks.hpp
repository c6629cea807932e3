// SPDX-License-Identifier: Apache-2.0
//
// Checks of tensors. Invariant: they throw TypeError for the kind of a tensor, ValueError for its
// shape, and name the argument as torch.distributed does.
#pragma once
#include <ATen/ATen.h>

namespace meshmem::pytorch {

inline void require_usable(const at::Tensor& tensor, const char* argument) {
  TORCH_CHECK_TYPE(tensor.defined() && tensor.layout() == at::kStrided, argument,
                   ": a dense tensor is needed, and this one is ",
                   tensor.defined() ? c10::str(tensor.layout()) : "undefined");
  TORCH_CHECK_TYPE(tensor.is_cpu() || tensor.is_cuda(), argument, ": on ", tensor.device(),
                   ", but meshmem takes tensors of cpu and cuda");
  TORCH_CHECK_VALUE(tensor.is_contiguous(), argument, ": not contiguous");
  TORCH_CHECK_VALUE(!tensor.is_neg() && !tensor.is_conj(), argument,
                    ": a view whose values are computed; call resolve_neg() or resolve_conj()");
}

// One tensor as the list that c10d makes of it.
inline void require_one(const std::vector<at::Tensor>& tensors, const char* argument) {
  TORCH_CHECK_VALUE(tensors.size() == 1, argument, ": ", tensors.size(),
                    " tensors, but each process has one");
  require_usable(tensors[0], argument);
}

inline void require_like(const at::Tensor& tensor, const char* argument, const at::Tensor& other,
                         const char* other_argument) {
  require_usable(tensor, argument);
  TORCH_CHECK_TYPE(tensor.scalar_type() == other.scalar_type(), argument, ": its dtype is ",
                   tensor.scalar_type(), ", but that of ", other_argument, " is ",
                   other.scalar_type());
  TORCH_CHECK_TYPE(tensor.device() == other.device(), argument, ": on ", tensor.device(), ", but ",
                   other_argument, " is on ", other.device());
}

inline void require_elements(const at::Tensor& tensor, const char* argument, std::int64_t n) {
  TORCH_CHECK_VALUE(tensor.numel() == n, argument, ": ", tensor.numel(), " elements, but ", n,
                    " are needed");
}

}  // namespace meshmem::pytorch
