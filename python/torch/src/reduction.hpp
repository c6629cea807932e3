// SPDX-License-Identifier: Apache-2.0
//
// Which routine of the library does a reduction of PyTorch, and in which type.
// Invariant: what cannot be reduced is refused before anything is sent.
#pragma once
#include <shmemx.h>

#include <cstddef>
#include <torch/csrc/distributed/c10d/Types.hpp>

namespace meshmem::pytorch {

struct Reduction {
  using Host = int (*)(shmem_team_t, void* dest, const void* source, std::size_t n);
  using OnStream = int (*)(shmem_team_t, void* dest, const void* source, std::size_t n,
                           shmemx_stream_t stream);

  at::ScalarType staged;         // the type of the elements in the stage
  std::size_t staged_bytes = 0;  // of an element
  std::size_t per_element = 1;   // elements in the stage for each of a tensor: 2 for complex ones
  at::Tensor factor;             // multiplies what goes in; undefined: nothing does
  Host reduce = nullptr;
  Host reduce_scatter = nullptr;  // null: there is none, so reduce and take a part
  OnStream reduce_on_stream = nullptr;
  OnStream reduce_scatter_on_stream = nullptr;

  // Whether tensors of this type go into the stage as they are.
  bool takes_as_it_is(at::ScalarType type) const {
    return !factor.defined() && at::elementSize(type) == staged_bytes * per_element;
  }
};

// For tensors of the type on this device. Throws ValueError or TypeError that names `op` or
// `argument`.
Reduction find_reduction(const c10d::ReduceOp& op, at::ScalarType type, bool is_on_host,
                         const char* argument);

}  // namespace meshmem::pytorch
