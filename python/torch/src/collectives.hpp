// SPDX-License-Identifier: Apache-2.0
//
// The collectives of process groups, over any lane. Tensors go through the stages in pieces, unless
// the lane takes them where they are.
// Invariant: all members make the same number of meetings, whatever their tensors are.
#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

#include "lane.hpp"

namespace meshmem::pytorch {

Span span_of(const at::Tensor& tensor);

void exchange(Lane& lane, const Exchange& plan);

// The tensor becomes the combination of all members' tensors. It stays where it is if it is
// symmetric.
void all_reduce_in_place(Lane& lane, const Reduction& reduction, const at::Tensor& tensor);
// `to` becomes the combination of all members' `from`, which may be the same. Undefined `to`: this
// member needs no result.
void all_reduce(Lane& lane, const Reduction& reduction, const at::Tensor& from,
                const at::Tensor& to);
// `to` becomes the combination of the members' from[me].
void reduce_scatter(Lane& lane, const Reduction& reduction, const std::vector<at::Tensor>& from,
                    const at::Tensor& to);

}  // namespace meshmem::pytorch
