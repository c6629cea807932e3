// SPDX-License-Identifier: Apache-2.0
//
// The data that an operation gets, and the result that it must give. Invariant: the data says which
// PE it is from and where it lay, so that what went to a wrong place shows.
#ifndef MESHMEM_BENCH_ANSWERS_HPP_
#define MESHMEM_BENCH_ANSWERS_HPP_

#include <cstddef>
#include <vector>

#include "bench/operations.hpp"

namespace meshmem::bench {

using Bytes = std::vector<std::byte>;

// One call of an operation, as one PE sees it.
struct Case {
  const Operation& operation;
  int me;
  int n;
  int peer;  // of PE 0
  std::size_t bytes;
  int rounds;
  unsigned turn;  // data of another turn differs
};

std::size_t elem_bytes(const Operation& operation);
std::size_t source_bytes(const Case& c);
std::size_t dest_bytes(const Case& c);
// Of alltoallv: how much goes from one PE to another.
std::size_t nelems(std::size_t bytes, int from, int to);

Bytes source_of(const Case& c);
Bytes dest_before(const Case& c);
// How many elements or bytes of a dest are wrong after the call, with those behind it.
long count_wrong(const Case& c, const Bytes& dest);
long fetched_after(const Case& c);  // 0: nothing is fetched

}  // namespace meshmem::bench

#endif  // MESHMEM_BENCH_ANSWERS_HPP_
