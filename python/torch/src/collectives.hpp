// SPDX-License-Identifier: Apache-2.0
//
// The collectives of process groups, over any lane. Tensors go through the stages in pieces.
// Invariant: all members make the same number of meetings, whatever their tensors are.
#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

#include "lane.hpp"

namespace meshmem::pytorch {

struct Span {
  char* data = nullptr;
  std::size_t bytes = 0;
};
Span span_of(const at::Tensor& tensor);

// Each member publishes a block for each member, or one block for all, and gets those for it.
struct Exchange {
  bool is_same_for_all = false;
  std::vector<Span> sources;     // by member, or one for all. Empty: this PE publishes nothing
  std::vector<Span> dests;       // by member; empty spans: this PE gets nothing from there
  std::size_t longest = 0;       // published block of any member, or of this one if not all know
  bool is_longest_known = true;  // the same on all members
};
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
