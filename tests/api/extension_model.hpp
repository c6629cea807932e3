// SPDX-License-Identifier: Apache-2.0
//
// What the reductions beyond the standard are to give: each row of MESHMEM_EXTENSIONS by its
// operation's name, what a PE brings, and what it gets.
// Invariant: a scatter's source holds a block for each PE of the team, and the result is block `me` of
// what a reduction of all of it would be. Used by the tests of host calls, of streams and of kernels.
#ifndef MESHMEM_TESTS_API_EXTENSION_MODEL_HPP
#define MESHMEM_TESTS_API_EXTENSION_MODEL_HPP

#include <vector>

#include "reduction_model.hpp"

namespace meshmem {

struct Extension {
  Op op;
  bool scatters;

  // Elements of the source, and where the result begins in it when there is no other dest.
  size_t source_size(const TeamView& view, size_t n) const {
    return scatters ? view.size() * n : n;
  }
  size_t place(const TeamView& view, size_t n) const {
    return scatters ? static_cast<size_t>(view.me) * n : 0;
  }
};

constexpr Extension avg_reduce{Op::kAvg, false};
constexpr Extension avg_reduce_scatter{Op::kAvg, true}, sum_reduce_scatter{Op::kSum, true},
    prod_reduce_scatter{Op::kProd, true}, max_reduce_scatter{Op::kMax, true},
    min_reduce_scatter{Op::kMin, true}, and_reduce_scatter{Op::kAnd, true},
    or_reduce_scatter{Op::kOr, true}, xor_reduce_scatter{Op::kXor, true};

template <typename E>
std::vector<E> source_of(const Extension& extension, const TeamView& view, size_t n) {
  std::vector<E> values(extension.source_size(view, n));
  contribute(extension.op, values.data(), values.size());
  return values;
}

template <typename E>
std::vector<E> result_of(const Extension& extension, const TeamView& view, size_t n) {
  const std::vector<E> period = model<E>(extension.op, view, view.size() - 1);
  std::vector<E> result(n);
  for (size_t i = 0; i < n; ++i) result[i] = period[(extension.place(view, n) + i) % kPeriod];
  return result;
}

}  // namespace meshmem

#endif
