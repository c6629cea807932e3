// SPDX-License-Identifier: Apache-2.0
//
// A model of reductions and scans, with those beyond the standard. It has each row of
// MESHMEM_COMPUTED_ON_STREAM by its operation's name, each PE's contribution, and its result.
// Invariant: a scatter's source holds a block for each PE of the team, and the result is block `me`
// of the reduction of all blocks. Used by the tests of host calls, of streams and of kernels.
#ifndef MESHMEM_TESTS_API_EXTENSION_MODEL_HPP
#define MESHMEM_TESTS_API_EXTENSION_MODEL_HPP

#include <vector>

#include "reduction_model.hpp"

namespace meshmem {

// Which PEs' elements are combined: all PEs', those up to this PE's, those before it.
enum class Reach { all, inclusive, exclusive };

struct Extension {
  Op op;
  bool scatters;
  Reach reach = Reach::all;

  // Elements of the source, and where the result begins in it when there is no other dest.
  size_t source_size(const TeamView& view, size_t n) const {
    return scatters ? view.size() * n : n;
  }
  size_t place(const TeamView& view, size_t n) const {
    return scatters ? static_cast<size_t>(view.me) * n : 0;
  }
  // How many PEs of the team, from the first, bring something.
  size_t contributors(const TeamView& view) const {
    const auto me = static_cast<size_t>(view.me);
    return reach == Reach::all ? view.size() : reach == Reach::inclusive ? me + 1 : me;
  }
};

constexpr Extension sum_reduce{Op::kSum, false}, prod_reduce{Op::kProd, false},
    max_reduce{Op::kMax, false}, min_reduce{Op::kMin, false}, and_reduce{Op::kAnd, false},
    or_reduce{Op::kOr, false}, xor_reduce{Op::kXor, false};
constexpr Extension sum_inscan{Op::kSum, false, Reach::inclusive},
    sum_exscan{Op::kSum, false, Reach::exclusive};
constexpr Extension avg_reduce{Op::kAvg, false};
constexpr Extension avg_reduce_scatter{Op::kAvg, true}, sum_reduce_scatter{Op::kSum, true},
    prod_reduce_scatter{Op::kProd, true}, max_reduce_scatter{Op::kMax, true},
    min_reduce_scatter{Op::kMin, true}, and_reduce_scatter{Op::kAnd, true},
    or_reduce_scatter{Op::kOr, true}, xor_reduce_scatter{Op::kXor, true};

// The short floating-point types are compared by their bits, since hosts know little of them.
template <typename E>
using Stored = std::conditional_t<is_short_float<E>, uint16_t, E>;

// A PE's contribution of a short type: sums and products of eight are exact in 8 bits.
inline float short_contribution(Op op, int pe, size_t i) {
  const uint64_t bits = scramble(seed_of(pe, i % kPeriod, static_cast<int>(op)));
  return op == Op::kProd ? factor<float>(bits) : static_cast<float>(bits % 15) - 7;
}

template <typename E, typename Value>
Stored<E> stored(Value value) {
  return shown(E(value));
}

// Element i of a PE's contribution to an operation, and the result of the first `contributors` PEs
// of a team.
template <typename E>
Stored<E> brought_element(Op op, int pe, size_t i) {
  if constexpr (is_short_float<E>) return stored<E>(short_contribution(op, pe, i));
  if constexpr (!is_short_float<E>) return contribution<E>(op, pe, i);
}
template <typename E>
std::vector<Stored<E>> period_of(const Extension& extension, const TeamView& view) {
  const size_t contributors = extension.contributors(view);
  std::vector<Stored<E>> period(kPeriod);
  if (contributors == 0) return period;
  if constexpr (is_short_float<E>) {
    const std::vector<float> in_float =
        model_of<float>(extension.op, view, contributors - 1, short_contribution);
    for (size_t i = 0; i < kPeriod; ++i) period[i] = stored<E>(in_float[i]);
  } else {
    period = model<E>(extension.op, view, contributors - 1);
  }
  return period;
}

// The values that the calling PE brings and gets, of the round that begins `first` elements later.
template <typename E>
std::vector<Stored<E>> source_of(const Extension& extension, const TeamView& view, size_t n,
                                 size_t first = 0) {
  std::vector<Stored<E>> values(extension.source_size(view, n));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] =
        i < kPeriod ? brought_element<E>(extension.op, my_pe(), first + i) : values[i - kPeriod];
  return values;
}

template <typename E>
std::vector<Stored<E>> result_of(const Extension& extension, const TeamView& view, size_t n,
                                 size_t first = 0) {
  const std::vector<Stored<E>> period = period_of<E>(extension, view);
  std::vector<Stored<E>> result(n);
  for (size_t i = 0; i < n; ++i)
    result[i] = period[(first + extension.place(view, n) + i) % kPeriod];
  return result;
}

}  // namespace meshmem

#endif
