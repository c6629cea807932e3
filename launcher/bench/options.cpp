// SPDX-License-Identifier: Apache-2.0
//
// Reads the command line. Invariant: only PE 0 prints, so that a mistake is reported once.
#include "bench/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "base/settings/environment.hpp"

namespace meshmem::bench {
namespace {

// Defaults of --max-bytes, --blocks and --threads.
#if defined(MESHMEM_TARGET_CPU)
constexpr std::size_t kAllreduceMaxBytes = std::size_t{16} << 20;
constexpr std::size_t kOtherMaxBytes = std::size_t{1} << 20;
constexpr unsigned kDefaultBlocks = 4, kDefaultThreads = 64;
#else
constexpr std::size_t kAllreduceMaxBytes = std::size_t{1} << 30;
constexpr std::size_t kOtherMaxBytes = std::size_t{4} << 20;
constexpr unsigned kDefaultBlocks = 32, kDefaultThreads = 512;
#endif
// The name that stands for all operations.
const std::string kAll = "all";

// Turns a size such as 64K into a number of bytes. Returns what is wrong with it, or "".
std::string read_size(std::string& text) {
  const auto bytes = parse_size(text);
  if (!bytes || *bytes == 0 || *bytes > std::size_t{1} << 40)
    return "'" + text + "' is not a size; give bytes, as in 65536, 64K or 1G";
  text = std::to_string(*bytes);
  return "";
}

std::string check_plot(const std::string& path) {
  return path.size() > 4 && path.ends_with(".svg") ? "" : "'" + path + "' does not end in .svg";
}

// Values as the user gave them; settle() turns them into Options.
struct Words {
  std::vector<std::string> operations;
  std::string from, memory, team = "world";
};

std::vector<std::string> operation_names() {
  std::vector<std::string> names{kAll};
  for (const Operation& operation : operations()) names.emplace_back(operation.name);
  return names;
}

std::string check_peer(const std::string& text) {
  const bool is_number =
      !text.empty() && text.size() < 9 && text.find_first_not_of("0123456789") == std::string::npos;
  return is_number || text == "near" || text == "far"
             ? ""
             : "'" + text + "' is not a PE; give near, far or a number";
}

void add_options(CLI::App& app, Options& options, Words& words) {
  app.set_version_flag("--version", std::string("meshmem ") + MESHMEM_VERSION);
  app.add_option("operation", words.operations,
                 "The operation to measure (allreduce); --list prints all")
      ->check(CLI::IsMember(operation_names()));
  app.add_flag("--list", options.list, "Print the operations, and the callers of each");
  app.add_option("--from", words.from, "The caller (host; for allreduce alone stream)")
      ->check(CLI::IsMember(caller_names()));
  app.add_option("--peer", options.peer, "The PE that PE 0 works with (1)")->check(check_peer);
  const CLI::Validator size(read_size, "");
  app.add_option("--min-bytes", options.min_bytes, "The smallest size (8)")
      ->transform(size)
      ->type_name("SIZE");
  app.add_option("--max-bytes", options.max_bytes,
                 "The largest size (1G; 16M on processors; less for others than allreduce)")
      ->transform(size)
      ->type_name("SIZE");
  app.add_option("--type", options.type, "Of the elements")->check(CLI::IsMember(type_names()));
  app.add_option("--op", options.op, "The operation that combines elements")
      ->check(CLI::IsMember(op_names()));
  app.add_option("--memory", words.memory, "Buffers of the device heap or the host's")
      ->check(CLI::IsMember({"device", "host"}));
  app.add_option("--team", words.team, "All PEs, or every second one")
      ->check(CLI::IsMember({"world", "even"}));
  app.add_flag("--count-odd", options.count_odd,
               "One element less: counts that are not a multiple");
  app.add_flag("--misaligned", options.misaligned, "Buffers that begin an element later");
  app.add_flag("--in-place", options.in_place, "dest is source");
  app.add_flag("--check", options.check,
               "Compare the results of three times with the known answer instead of one");
  app.add_option("--runs", options.runs, "How many runs; the figure is their median (5)")
      ->check(CLI::Range(1, 1000));
  app.add_option("--iterations", options.iterations, "Rounds of a run (as many as it needs)")
      ->check(CLI::Range(1, 10000000));
  app.add_option("--window", options.window, "Calls of a round, before a quiet")
      ->check(CLI::Range(1, 1000000));
  app.add_option("--blocks", options.blocks, "Of a grid")->check(CLI::Range(1, 1024));
  app.add_option("--threads", options.threads, "Of a block")->check(CLI::Range(1, 512));
  app.add_flag("--csv", options.csv, "Print lines for programs to read");
  app.add_option("--json", options.json, "Write the figures to this file too");
  auto* plot = app.add_option("--plot", options.plot, "Draw the figures into this SVG file")
                   ->check(check_plot);
  app.add_option("--beside", options.beside,
                 "With --plot: a CSV file of others' figures; repeatable")
      ->needs(plot)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  auto* tune = app.add_flag("--tune", options.tune, "Find the fastest plan for each size instead");
  app.add_option("--out", options.out, "Write the table of --tune to this file too")->needs(tune);
  app.add_flag("--quick", options.quick, "With --tune: only every fourth size")->needs(tune);
}

void choose_operations(Options& options, const Words& words) {
  const bool all =
      std::find(words.operations.begin(), words.operations.end(), kAll) != words.operations.end();
  for (const Operation& operation : operations())
    if (all && operation.has(options.caller)) options.operations.push_back(&operation);
  if (all) return;
  for (const std::string& name : words.operations) {
    const Operation* const operation = find_operation(name);
    if (!operation->has(options.caller))
      throw CLI::ValidationError(name, "has no form for --from " + words.from);
    options.operations.push_back(operation);
  }
}

// allreduce as the only operation has all types if the host or a stream calls it.
void choose_type(const CLI::App& app, Options& options) {
  const bool is_called_by_host = options.caller == Caller::host;
  const bool has_types = options.operations == std::vector{find_operation("allreduce")} &&
                         (is_called_by_host || options.caller == Caller::stream);
  if (!has_types) {
    for (const char* name :
         {"--type", "--op", "--team", "--count-odd", "--misaligned", "--in-place", "--tune"})
      if (app.count(name) > 0)
        throw CLI::ValidationError(name, "works only with allreduce, from host or stream");
    return;
  }
  options.operations = {find_allreduce(options.type, options.op)};
  if (!is_called_by_host && !options.on_device)
    throw CLI::ValidationError("--memory", "host is not for allreduce --from stream");
  if (!options.operations[0]->has(options.caller))
    throw CLI::ValidationError("--type", options.type + " is for --memory device only");
  if (is_called_by_host && options.tune)
    throw CLI::ValidationError("--tune", "is for --memory device only");
  if (options.tune &&
      (options.csv || !options.json.empty() || !options.plot.empty() || options.check))
    throw CLI::ValidationError("--tune",
                               "writes a table of its own: no --csv, --json, --plot or --check");
}

void settle(const CLI::App& app, Options& options, Words& words) {
  if (words.operations.empty()) words.operations = {"allreduce"};
  // allreduce alone, without --from, is called on a stream, with device memory.
  const bool is_allreduce_alone =
      words.operations == std::vector<std::string>{"allreduce"} && words.from.empty();
  if (words.memory.empty())
    words.memory =
        !is_allreduce_alone && (words.from.empty() || words.from == "host") ? "host" : "device";
  if (words.from.empty())
    words.from = is_allreduce_alone && words.memory == "device" ? "stream" : "host";
  options.caller = caller_of(words.from);
  options.on_device = words.memory == "device";
  choose_operations(options, words);
  choose_type(app, options);
  options.all_sizes = app.count("--max-bytes") == 0;
  if (options.all_sizes)
    options.max_bytes = std::max(
        options.operations[0]->is_typed() ? kAllreduceMaxBytes : kOtherMaxBytes, options.min_bytes);
  options.even_team = words.team == "even";
  if (options.blocks == 0) options.blocks = kDefaultBlocks;
  if (options.threads == 0) options.threads = kDefaultThreads;
  if (options.min_bytes > options.max_bytes)
    throw CLI::ValidationError("--min-bytes", "is more than --max-bytes");
}

// Asks the launcher's variables, as the library has not been started.
bool is_first_pe() {
  const char* rank = std::getenv("PMIX_RANK");
  if (rank == nullptr) rank = std::getenv("PMI_RANK");
  return rank == nullptr || std::string_view(rank) == "0";
}

// Returns the exit status. Other PEs give PE 0 time to print: launchers end a job when a PE fails.
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

void print_list() {
  std::printf("%-16s called from\n", "operation");
  for (const Operation& operation : operations()) {
    std::string callers;
    for (const std::string& name : caller_names())
      if (operation.has(caller_of(name))) callers += " " + name;
    std::printf("%-16s%s\n", std::string(operation.name).c_str(), callers.c_str());
  }
}

}  // namespace

std::optional<Options> parse_options(int argc, char** argv, int& status) {
  CLI::App app("Measures operations on this machine. Run it under oshrun or mpirun.",
               "meshmem-bench");
  Options options;
  Words words;
  add_options(app, options, words);
  try {
    app.parse(argc, argv);
    settle(app, options, words);
  } catch (const CLI::ParseError& error) {
    status = report(app, error);
    return std::nullopt;
  }
  if (!options.list) return options;
  if (is_first_pe()) print_list();
  return std::nullopt;
}

}  // namespace meshmem::bench
