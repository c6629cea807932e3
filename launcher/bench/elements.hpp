// SPDX-License-Identifier: Apache-2.0
//
// The types of elements that are reduced, as the host computes with them: by way of double.
// Invariant: a type is one row of the table.
#ifndef MESHMEM_BENCH_ELEMENTS_HPP_
#define MESHMEM_BENCH_ELEMENTS_HPP_

#include <cstddef>
#include <string_view>

namespace meshmem::bench {

struct Element {
  std::string_view type;
  std::size_t bytes;
  double rounding;  // of one operation, relative
  void (*store)(std::byte* to, double value);
  double (*load)(const std::byte* from);
};

const Element& find_element(std::string_view type);  // a name of the table

}  // namespace meshmem::bench

#endif  // MESHMEM_BENCH_ELEMENTS_HPP_
