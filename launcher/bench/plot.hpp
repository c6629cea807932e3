// SPDX-License-Identifier: Apache-2.0
//
// A picture of figures over the size: time and bandwidth, both axes logarithmic, as SVG.
// Invariant: it shows no more than its curves have; what has no size is left out. Called by the
// report, on PE 0.
#ifndef MESHMEM_BENCH_PLOT_HPP_
#define MESHMEM_BENCH_PLOT_HPP_

#include <string>
#include <vector>

namespace meshmem::bench {

struct Point {
  double bytes;
  double us;
  double least_us = us, most_us = us;  // of several runs, whose median `us` is
};

struct Curve {
  std::string label;
  bool is_beside;  // of a file: drawn with dashes
  std::vector<Point> points;
};

// The text of an SVG file.
std::string draw(const std::string& title, const std::string& subtitle,
                 const std::vector<Curve>& curves);

// The curves of a CSV file, one an operation and caller, in the file's order. It has a head with
// the names bytes and us at least, as --csv has, and may have min_us and max_us. Lines that begin
// with # are left out. Throws std::runtime_error with what is wrong with it.
std::vector<Curve> read_curves(const std::string& path);

}  // namespace meshmem::bench

#endif  // MESHMEM_BENCH_PLOT_HPP_
