// SPDX-License-Identifier: Apache-2.0
//
// Lines and files. Invariant: algorithm bandwidth is bytes over time. The bus bandwidth of an
// all-reduce is that times 2 (n - 1) / n: each PE must send and receive at least that much.
#include "bench/report.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdio>
#include <ctime>

#include "bench/joint_steps.hpp"

namespace meshmem::bench {

namespace {

constexpr std::size_t kMostNames = 6;  // of operations in a title

double gbs_of(const Figure& figure) {
  return static_cast<double>(figure.bytes) / figure.us.median * 1e-3;
}
double rate_of(const Figure& figure) { return 1e6 / figure.us.median; }

// Bus bandwidth over algorithm bandwidth; 0: the operation has no bus bandwidth.
double bus_factor(const Operation& operation, int n) {
  return operation.answer == Answer::sum ? 2.0 * (n - 1) / n : 0;
}

// Small times get more digits: some calls take a few nanoseconds.
std::string text_of(double us) { return fmt::format("{:.{}f}", us, us < 10 ? 5 : 3); }

const char* memory_of(const Options& options) { return options.on_device ? "device" : "host"; }

}  // namespace

Report::Report(const Options& options, const std::string& nodes, bool writes)
    : options_(options), writes_(writes), nodes_(nodes) {
  if (!writes_) return;
  open_plot();
  const bool on_device = options_.on_device || options_.caller != Caller::host;
  const std::string device = on_device ? device_name() : "";
  if (!options_.json.empty()) {
    json_ = open_for_writing(options_.json);
    const auto& all = options_.operations;
    json_ << fmt::format(
        "{{\"operation\": \"{}\", \"version\": \"{}\", \"pes\": {}, \"nodes\": \"{}\",\n"
        " \"type\": \"{}\", \"op\": \"{}\", \"memory\": \"{}\", \"device\": \"{}\", "
        "\"runs\": {}, \"figures\": [",
        all.size() == 1 ? all[0]->name : "all", MESHMEM_VERSION, shmem_n_pes(), nodes,
        options_.type, options_.op, memory_of(options_), device, options_.runs);
  }
  if (!options_.csv)
    fmt::print("# meshmem {}: {}{}{}; median of {} runs\n", MESHMEM_VERSION, nodes,
               device.empty() ? "" : "; ", device, options_.runs);
}

void Report::begin(const Operation& operation, int n, int peer) {
  operation_ = &operation;
  n_ = n;
  peer_ = peer;
  curves_.push_back({std::string(operation.name), false, {}});
  if (!writes_ || options_.csv) return;
  std::string what = fmt::format("{} from {}, {} memory", operation.name, name_of(options_.caller),
                                 memory_of(options_));
  if (operation.is_typed()) what += fmt::format(", {} {}", operation.type, operation.op);
  if (peer == 0)
    what += ", PE 0 with itself";
  else
    what += peer > 0 ? fmt::format(", PE 0 and PE {}", peer) : fmt::format(", {} PEs", n);
  fmt::print("# {}\n# {:>10} {:>12} {:>10} {:>10} {:>16} {:>10} {:>14} {:>8}\n", what, "Size",
             "Latency (us)", "Min (us)", "Max (us)", "Bandwidth (MB/s)", "Bus (MB/s)", "Rate (1/s)",
             "Wrong");
}

std::vector<Report::Field> Report::fields(const Figure& figure) const {
  const double gbs = gbs_of(figure), factor = bus_factor(*operation_, n_);
  const auto number = [](double value) { return fmt::format("{:.3f}", value); };
  const bool has_bus = factor > 0 || operation_->is_typed();
  return {{"operation", std::string(operation_->name), true},
          {"pes", std::to_string(n_), false},
          {"type", std::string(operation_->type), true},
          {"op", std::string(operation_->op), true},
          {"memory", memory_of(options_), true},
          {"bytes", std::to_string(figure.bytes), false},
          {"us", text_of(figure.us.median), false},
          {"algbw_gbs", number(gbs), false},
          {"busbw_gbs", has_bus ? number(gbs * factor) : "", false},
          {"wrong", std::to_string(figure.wrong), false},
          {"from", std::string(name_of(options_.caller)), true},
          {"peer", peer_ < 0 ? "" : std::to_string(peer_), false},
          {"min_us", text_of(figure.us.least), false},
          {"max_us", text_of(figure.us.most), false},
          {"rate", fmt::format("{:.0f}", rate_of(figure)), false}};
}

void Report::print_row(const Figure& figure) const {
  const double mbs = gbs_of(figure) * 1e3, factor = bus_factor(*operation_, n_);
  fmt::print("  {:>10} {:>12} {:>10} {:>10} {:>16} {:>10} {:>14.0f} {:>8}\n", figure.bytes,
             text_of(figure.us.median), text_of(figure.us.least), text_of(figure.us.most),
             figure.bytes > 0 ? fmt::format("{:.2f}", mbs) : "-",
             factor > 0 ? fmt::format("{:.2f}", mbs * factor) : "-", rate_of(figure), figure.wrong);
}

void Report::write_json(const std::vector<Field>& fields) {
  const char* separator = "";
  json_ << (is_first_ ? "\n  {" : ",\n  {");
  for (const Field& field : fields) {
    const std::string value = field.value.empty() ? "null"
                              : field.is_text     ? "\"" + field.value + "\""
                                                  : field.value;
    json_ << fmt::format("{}\"{}\": {}", separator, field.name, value);
    separator = ", ";
  }
  json_ << "}";
}

void Report::add(const Figure& figure) {
  if (!writes_) return;
  curves_.back().points.push_back(
      {static_cast<double>(figure.bytes), figure.us.median, figure.us.least, figure.us.most});
  const std::vector<Field> row = fields(figure);
  if (options_.csv) {
    std::string names, values;
    for (const Field& field : row) {
      names += (names.empty() ? "" : ",") + field.name;
      values += (values.empty() ? "" : ",") + field.value;
    }
    if (is_first_) fmt::print("{}\n", names);
    fmt::print("{}\n", values);
  } else {
    print_row(figure);
  }
  std::fflush(stdout);
  if (json_.is_open()) write_json(row);
  is_first_ = false;
}

void Report::open_plot() {
  if (options_.plot.empty()) return;
  for (const std::string& path : options_.beside) try {
      const std::vector<Curve> found = read_curves(path);
      beside_.insert(beside_.end(), found.begin(), found.end());
    } catch (const std::exception& error) {
      fail(fmt::format("{} is not a file of figures: {}; make one with --csv", path, error.what()));
    }
  plot_ = open_for_writing(options_.plot);
}

void Report::close_plot() {
  std::string names;
  for (const Curve& curve : curves_) names += (names.empty() ? "" : ", ") + curve.label;
  if (curves_.size() > kMostNames) names = fmt::format("{} operations", curves_.size());
  const std::string title =
      fmt::format("{} from {}, {} memory", names, name_of(options_.caller), memory_of(options_));
  std::vector<Curve> all = curves_;
  all.insert(all.end(), beside_.begin(), beside_.end());
  try {
    plot_ << draw(
        title,
        fmt::format("meshmem {}, {:%F}: {}; bands: least to most of {} runs", MESHMEM_VERSION,
                    fmt::localtime(std::time(nullptr)), nodes_, options_.runs),
        all);
  } catch (const std::exception& error) {
    fail(fmt::format("{} is not drawn: {}", options_.plot, error.what()));
  }
  close_written(plot_, options_.plot);
}

void Report::close() {
  if (json_.is_open()) {
    json_ << "\n]}\n";
    close_written(json_, options_.json);
  }
  if (plot_.is_open()) close_plot();
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
