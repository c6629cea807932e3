// SPDX-License-Identifier: Apache-2.0
//
// The options of meshmem-bench. Invariant: options that parse_options() returns do not contradict
// each other. Called before the library is initialized.
#ifndef MESHMEM_BENCH_OPTIONS_HPP_
#define MESHMEM_BENCH_OPTIONS_HPP_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "bench/operations.hpp"

namespace meshmem::bench {

struct Options {
  std::vector<const Operation*> operations;
  Caller caller = Caller::stream;
  std::size_t min_bytes = 8;
  std::size_t max_bytes = 0;
  bool all_sizes = false;  // no --max-bytes: the last plan of --tune also holds for larger sizes
  std::string type = "float";
  std::string op = "sum";
  bool on_device = true;
  bool even_team = false;  // the team is every second PE
  bool count_odd = false;
  bool misaligned = false;
  bool in_place = false;
  bool check = false;
  bool csv = false;
  std::string json;
  std::string plot;                 // the SVG file
  std::vector<std::string> beside;  // CSV files; --plot draws their curves too
  bool list = false;
  bool tune = false;
  bool quick = false;
  std::string out;
  int runs = 5;
  int iterations = 0;                // rounds of a run; 0: meshmem-bench chooses
  int window = 0;                    // calls of a round; 0: by operation and caller
  unsigned blocks = 0, threads = 0;  // of kernels
  std::string peer;                  // PE 0's peer: near, far or a number; empty: PE 1
};

// Returns nullopt if there is nothing to measure: the program then ends with `status`. Only PE 0
// prints why.
std::optional<Options> parse_options(int argc, char** argv, int& status);

}  // namespace meshmem::bench

#endif  // MESHMEM_BENCH_OPTIONS_HPP_
