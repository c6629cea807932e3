// SPDX-License-Identifier: Apache-2.0
//
// The figures, for people and for programs. Invariant: PE 0 alone writes.
#ifndef MESHMEM_BENCH_REPORT_HPP_
#define MESHMEM_BENCH_REPORT_HPP_

#include <fstream>
#include <string>

#include "bench/options.hpp"

namespace meshmem::bench {

struct Figure {
  std::size_t bytes;
  double us;   // of one operation
  long wrong;  // elements; -1: not looked at
};

class Report {
 public:
  // Opens the files, so that what is wrong with them shows before the work.
  Report(const Options& options, int n, bool writes);
  void add(const Figure& figure);
  void close();

 private:
  double bus_factor() const;
  void print_head() const;
  void print_row(const Figure& figure) const;
  void write_json(const Figure& figure);

  const Options& options_;
  const int n_;
  const bool writes_;
  std::ofstream json_;
  bool is_first_ = true;
};

// Ends the job unless the file can be written.
std::ofstream open_for_writing(const std::string& path);
void close_written(std::ofstream& file, const std::string& path);

// "64K", "1G" or "100".
std::string short_size(std::size_t bytes);

}  // namespace meshmem::bench

#endif  // MESHMEM_BENCH_REPORT_HPP_
