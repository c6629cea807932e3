// SPDX-License-Identifier: Apache-2.0
//
// Lines and files. Invariant: algorithm bandwidth is bytes over time; the bus bandwidth multiplies
// it by 2 (n - 1) / n, what each PE must send and receive at least.
#include "bench/report.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "bench/job.hpp"

namespace meshmem::bench {

Report::Report(const Options& options, int n, bool writes)
    : options_(options), n_(n), writes_(writes) {
  if (!writes_) return;
  if (!options_.json.empty()) {
    json_ = open_for_writing(options_.json);
    json_ << fmt::format(
        "{{\"operation\": \"{}\", \"version\": \"{}\", \"pes\": {}, \"type\": \"{}\", \"op\": "
        "\"{}\", \"memory\": \"{}\",\n \"device\": \"{}\", \"runs\": {}, \"figures\": [",
        options_.operation, MESHMEM_VERSION, n_, options_.type, options_.op,
        options_.on_device ? "device" : "host", options_.on_device ? device_name() : "",
        options_.runs);
  }
  print_head();
}

double Report::bus_factor() const { return 2.0 * (n_ - 1) / n_; }

void Report::print_head() const {
  if (options_.csv) {
    fmt::print("operation,pes,type,op,memory,bytes,us,algbw_gbs,busbw_gbs,wrong\n");
    return;
  }
  fmt::print("# meshmem {} {}: {} PEs, {} {}, ", MESHMEM_VERSION, options_.operation, n_,
             options_.type, options_.op);
  fmt::print("{}, median of {} runs\n",
             options_.on_device ? "graphs of operations on " + device_name()
                                : std::string("host calls on host memory"),
             options_.runs);
  fmt::print("# {:>12} {:>12} {:>10} {:>10} {:>8}\n", "bytes", "us", "GB/s", "bus GB/s", "wrong");
}

void Report::print_row(const Figure& figure) const {
  const double gbs = static_cast<double>(figure.bytes) / figure.us * 1e-3;
  if (options_.csv) {
    fmt::print("{},{},{},{},{},{},{:.3f},{:.3f},{:.3f},{}\n", options_.operation, n_, options_.type,
               options_.op, options_.on_device ? "device" : "host", figure.bytes, figure.us, gbs,
               gbs * bus_factor(), figure.wrong < 0 ? "" : std::to_string(figure.wrong));
  } else {
    fmt::print("  {:>12} {:>12.3f} {:>10.2f} {:>10.2f} {:>8}\n", figure.bytes, figure.us, gbs,
               gbs * bus_factor(), figure.wrong < 0 ? "-" : std::to_string(figure.wrong));
  }
  std::fflush(stdout);
}

void Report::write_json(const Figure& figure) {
  const double gbs = static_cast<double>(figure.bytes) / figure.us * 1e-3;
  json_ << fmt::format(
      "{}\n  {{\"bytes\": {}, \"us\": {:.3f}, \"algbw_gbs\": {:.3f}, \"busbw_gbs\": {:.3f}, "
      "\"wrong\": {}}}",
      is_first_ ? "" : ",", figure.bytes, figure.us, gbs, gbs * bus_factor(),
      figure.wrong < 0 ? "null" : std::to_string(figure.wrong));
  is_first_ = false;
}

void Report::add(const Figure& figure) {
  if (!writes_) return;
  print_row(figure);
  if (json_.is_open()) write_json(figure);
}

void Report::close() {
  if (!json_.is_open()) return;
  json_ << "\n]}\n";
  close_written(json_, options_.json);
}

std::ofstream open_for_writing(const std::string& path) {
  std::ofstream file(path);
  if (!file) fail(fmt::format("{} cannot be written; name a file in a folder that can", path));
  return file;
}

void close_written(std::ofstream& file, const std::string& path) {
  file.close();
  if (!file) fail(fmt::format("{} could not be written to its end; is the disk full?", path));
}

std::string short_size(std::size_t bytes) {
  constexpr char kSuffixes[] = " KMG";
  int shift = 0;
  while (shift < 3 && bytes % 1024 == 0 && bytes > 0) {
    bytes /= 1024;
    ++shift;
  }
  return shift == 0 ? std::to_string(bytes) : std::to_string(bytes) + kSuffixes[shift];
}

}  // namespace meshmem::bench
