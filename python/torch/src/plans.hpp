// SPDX-License-Identifier: Apache-2.0
//
// Spans of the tensors that torch.distributed hands over, which collectives move.
// Invariant: what does not fit together on this rank raises an exception that names the argument.
#pragma once
#include <vector>

#include "collectives.hpp"

namespace meshmem::pytorch {

using Tensors = std::vector<at::Tensor>;

void require_root(std::int64_t root, int n);
void require_count(const Tensors& tensors, int n, const char* argument);

Tensors all_of(const std::vector<Tensors>& lists);
Tensors with(Tensors tensors, const at::Tensor& another);
std::vector<Span> spans_of(const Tensors& tensors);
std::size_t longest_of(const std::vector<Span>& spans);

// Consecutive parts of a tensor, whose rows `splits` counts. Without splits `n` equal parts.
std::vector<Span> split_spans(const at::Tensor& tensor, const std::vector<std::int64_t>& splits,
                              int n, const char* argument, const char* splits_argument);
// Equal consecutive parts of a tensor, flat.
Tensors blocks_of(const at::Tensor& tensor, int n, const char* argument);
// Outputs may differ in length: each rank's is as long as its input.
Exchange all_gather_plan(int me, const Tensors& outputs, const at::Tensor& input);

}  // namespace meshmem::pytorch
