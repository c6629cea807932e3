// SPDX-License-Identifier: Apache-2.0
//
// Draws time and bandwidth over the size, as SVG with logarithmic axes.
// Invariant: a curve joins the points that it was given, except points without a size. Called by
// the report, on PE 0.
#ifndef MESHMEM_BENCH_PLOT_HPP_
#define MESHMEM_BENCH_PLOT_HPP_

#include <string>
#include <vector>

namespace meshmem::bench {

struct Point {
  double bytes;
  double us;
  double least_us = us, most_us = us;  // if there were several runs; `us` is their median
};

struct Curve {
  std::string label;
  bool is_beside;  // the curve is from a file (--beside), and is drawn with dashes
  std::vector<Point> points;
};

// Returns the text of an SVG file.
std::string draw(const std::string& title, const std::string& subtitle,
                 const std::vector<Curve>& curves);

// Reads the curves of a CSV file, one for each operation and caller, in the file's order. The first
// line names the columns, as that of --csv does: bytes and us at least, perhaps min_us and max_us.
// Lines that begin with # are left out. Throws std::runtime_error with what is wrong with the file.
std::vector<Curve> read_curves(const std::string& path);

}  // namespace meshmem::bench

#endif  // MESHMEM_BENCH_PLOT_HPP_
