// SPDX-License-Identifier: Apache-2.0
//
// The data that an operation gets, and the result that it must give. Invariant: data depends on its
// PE and its place, so that data in a wrong place is noticed.
#ifndef MESHMEM_BENCH_ANSWERS_HPP_
#define MESHMEM_BENCH_ANSWERS_HPP_

#include <cstddef>
#include <vector>

#include "bench/operations.hpp"

namespace meshmem::bench {

using Bytes = std::vector<std::byte>;

// One round of an operation, as one PE sees it.
struct Case {
  const Operation& operation;
  int me;
  int n;
  int peer;  // of PE 0
  std::size_t bytes;
  int calls;      // of the round
  unsigned turn;  // number of the check; each has other data
};

std::size_t elem_bytes(const Operation& operation);
std::size_t source_bytes(const Case& c);
std::size_t dest_bytes(const Case& c);
// The bytes that an alltoallv moves from one PE to another.
std::size_t nelems(std::size_t bytes, int from, int to);

Bytes source_of(const Case& c);
Bytes dest_before(const Case& c);
// Returns how many elements or bytes of a dest, and of the guard behind it, are wrong afterwards.
long count_wrong(const Case& c, const Bytes& dest);
long fetched_after(const Case& c);  // the value fetched last; 0 if none is

}  // namespace meshmem::bench

#endif  // MESHMEM_BENCH_ANSWERS_HPP_
