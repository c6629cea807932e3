// SPDX-License-Identifier: Apache-2.0
//
// What meshmem-bench is asked to do. Invariant: values that are read here make sense together.
// Called before the library is initialized.
#ifndef MESHMEM_BENCH_OPTIONS_HPP_
#define MESHMEM_BENCH_OPTIONS_HPP_

#include <cstddef>
#include <optional>
#include <string>

namespace meshmem::bench {

struct Options {
  std::string operation = "allreduce";
  std::size_t min_bytes = 8;
  std::size_t max_bytes = 0;
  bool all_sizes = false;  // max_bytes is the default: beyond it nothing changes any more
  std::string type = "float";
  std::string op = "sum";
  bool on_device = true;
  bool even_team = false;  // every second PE
  bool count_odd = false;
  bool misaligned = false;
  bool in_place = false;
  bool check = false;
  bool csv = false;
  std::string json;
  bool tune = false;
  bool quick = false;
  std::string out;
  int runs = 5;
};

// nullopt: there is nothing to do, and the program ends with `status`. PE 0 alone says why.
std::optional<Options> parse_options(int argc, char** argv, int& status);

}  // namespace meshmem::bench

#endif  // MESHMEM_BENCH_OPTIONS_HPP_
