// SPDX-License-Identifier: Apache-2.0
//
// The command line. Invariant: one PE of a job speaks, so that a slip is told once.
#include "bench/options.hpp"

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "base/environment.hpp"
#include "bench/routines.hpp"

namespace meshmem::bench {
namespace {

#if defined(MESHMEM_TARGET_CPU)
constexpr std::size_t kDefaultMaxBytes = std::size_t{16} << 20;
#else
constexpr std::size_t kDefaultMaxBytes = std::size_t{1} << 30;
#endif

std::string check_size(const std::string& text) {
  const auto bytes = parse_size(text);
  return bytes && *bytes > 0 && *bytes <= std::size_t{1} << 40
             ? ""
             : "'" + text + "' is no size; give bytes, as in 65536, 64K or 1G";
}

struct Words {
  std::string min_bytes, max_bytes, memory = "device", team = "world";
};

void add_options(CLI::App& app, Options& options, Words& words) {
  app.set_version_flag("--version", std::string("meshmem ") + MESHMEM_VERSION);
  app.add_option("operation", options.operation, "What to measure: allreduce")
      ->check(CLI::IsMember({"allreduce"}));
  app.add_option("--min-bytes", words.min_bytes, "The smallest size (8)")->check(check_size);
  app.add_option("--max-bytes", words.max_bytes,
                 "The largest (1G; 16M where processors are devices)")
      ->check(check_size);
  app.add_option("--type", options.type, "Of the elements")->check(CLI::IsMember(type_names()));
  app.add_option("--op", options.op, "What elements are combined by")
      ->check(CLI::IsMember(op_names()));
  app.add_option("--memory", words.memory, "Buffers on the device, or on the host by host calls")
      ->check(CLI::IsMember({"device", "host"}));
  app.add_option("--team", words.team, "All PEs, or every second one")
      ->check(CLI::IsMember({"world", "even"}));
  app.add_flag("--count-odd", options.count_odd, "One element less: counts that are no multiple");
  app.add_flag("--misaligned", options.misaligned, "Buffers that begin an element later");
  app.add_flag("--in-place", options.in_place, "dest is source");
  app.add_flag("--check", options.check,
               "Compare results with the known answer; 1 if one is wrong");
  app.add_option("--runs", options.runs, "The figure is the median of so many (5)")
      ->check(CLI::Range(1, 1000));
  app.add_flag("--csv", options.csv, "Print lines for programs to read");
  app.add_option("--json", options.json, "Write the figures to this file too");
  auto* tune = app.add_flag("--tune", options.tune, "Find the fastest plan for each size instead");
  app.add_option("--out", options.out, "The file for what --tune finds; else it is printed")
      ->needs(tune);
  app.add_flag("--quick", options.quick, "Of --tune: every fourth size only")->needs(tune);
}

void settle(Options& options, const Words& words) {
  if (!words.min_bytes.empty()) options.min_bytes = *parse_size(words.min_bytes);
  options.all_sizes = words.max_bytes.empty();
  options.max_bytes = options.all_sizes ? std::max(kDefaultMaxBytes, options.min_bytes)
                                        : *parse_size(words.max_bytes);
  options.on_device = words.memory == "device";
  options.even_team = words.team == "even";
  if (options.min_bytes > options.max_bytes)
    throw CLI::ValidationError("--min-bytes", "is more than --max-bytes");
  const Routine* routine = find_routine(options.type, options.op);
  if (!options.on_device && !routine->on_host)
    throw CLI::ValidationError("--type", options.type + " is for --memory device only");
  if (!options.on_device && options.tune)
    throw CLI::ValidationError("--tune", "is for --memory device only");
  if (options.tune && (options.csv || !options.json.empty() || options.check))
    throw CLI::ValidationError("--tune", "writes a table of its own: no --csv, --json or --check");
}

// The launcher's word; the library has not been started.
bool is_first_pe() {
  const char* rank = std::getenv("PMIX_RANK");
  if (rank == nullptr) rank = std::getenv("PMI_RANK");
  return rank == nullptr || std::string_view(rank) == "0";
}

// The others leave time for the first to speak: launchers end a job when a PE fails.
int report(const CLI::App& app, const CLI::ParseError& error) {
  const bool failed = error.get_exit_code() != 0;
  if (is_first_pe()) {
    if (failed) {
      std::fprintf(stderr, "meshmem-bench: %s; see meshmem-bench --help\n", error.what());
    } else {
      app.exit(error);
    }
  } else if (failed) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  return failed ? 2 : 0;
}

}  // namespace

std::optional<Options> parse_options(int argc, char** argv, int& status) {
  CLI::App app("What reductions take on this machine. Run it under oshrun or mpirun.",
               "meshmem-bench");
  Options options;
  Words words;
  add_options(app, options, words);
  try {
    app.parse(argc, argv);
    settle(options, words);
  } catch (const CLI::ParseError& error) {
    status = report(app, error);
    return std::nullopt;
  }
  return options;
}

}  // namespace meshmem::bench
