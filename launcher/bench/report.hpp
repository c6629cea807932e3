// SPDX-License-Identifier: Apache-2.0
//
// Writes the figures as a table, CSV, JSON and a picture. Invariant: only PE 0 writes.
#ifndef MESHMEM_BENCH_REPORT_HPP_
#define MESHMEM_BENCH_REPORT_HPP_

#include <fstream>
#include <string>

#include "bench/measure.hpp"
#include "bench/options.hpp"
#include "bench/plot.hpp"

namespace meshmem::bench {

struct Figure {
  std::size_t bytes;
  Timing us;  // of one operation
  long wrong;
};

class Report {
 public:
  // Opens the output files and reads those of --beside, so that errors come before the work.
  Report(const Options& options, const std::string& nodes, bool writes);
  // The figures that follow are of `operation` by n PEs. `peer` is the PE that PE 0 works with; -1:
  // all take part.
  void begin(const Operation& operation, int n, int peer);
  void add(const Figure& figure);
  void close();

 private:
  // A column of CSV and its value, or a name and a value of JSON.
  struct Field {
    std::string name;
    std::string value;  // empty: there is none
    bool is_text;
  };
  std::vector<Field> fields(const Figure& figure) const;
  void print_row(const Figure& figure) const;
  void open_plot();
  void close_plot();
  void write_json(const std::vector<Field>& fields);

  const Options& options_;
  const bool writes_;
  const std::string nodes_;
  const Operation* operation_ = nullptr;
  int n_ = 0, peer_ = -1;
  std::ofstream json_;
  std::ofstream plot_;
  std::vector<Curve> curves_;  // of this run, one an operation
  std::vector<Curve> beside_;  // of the files
  bool is_first_ = true;       // no figure was written yet
};

// Both end the job unless the file can be written.
std::ofstream open_for_writing(const std::string& path);
void close_written(std::ofstream& file, const std::string& path);

// "64K", "1G" or "100".
std::string short_size(std::size_t bytes);

}  // namespace meshmem::bench

#endif  // MESHMEM_BENCH_REPORT_HPP_
