// SPDX-License-Identifier: Apache-2.0
//
// The search. For each size every algorithm is first tried with a few shapes (blocks and threads).
// They are its best shape at the size before, as much of the device as there is work for, and some
// fixed ones. If all are far behind the best plan so far, the algorithm is left out at this size.
// Otherwise all its shapes get a short measurement. The best few of all get a thorough one.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "bench/report.hpp"
#include "bench/trial.hpp"

namespace meshmem::bench {
namespace {

constexpr unsigned kBlocks[] = {1, 2, 4, 8, 16, 32, 64, 128, 256};  // the library refuses too many
constexpr unsigned kThreads[] = {1, 64, 128, 256, 512};             // 1 is for processors
constexpr unsigned kMostThreads = 576;  // few algorithms have plans with 576
constexpr double kHopelessRatio = 2.5;  // times the best: such a plan is not measured further
constexpr std::size_t kFinalists = 6;
// A gain below 2 % keeps the plan of the size before, for fewer rows.
constexpr double kSameRatio = 0.98;

struct Candidate {
  std::string plan;  // "two_shot 16 512"
  Shape shape;
  double us;
};
bool is_faster(const Candidate& a, const Candidate& b) { return a.us < b.us; }

struct Algorithm {
  std::string name;
  Shape best{1, 64};  // at the size before
};

// A load is 16 bytes. Threads without a load only cost, and a thread should not have thousands of
// loads while more threads could share them. On processors threads take turns, so that one is as
// good as many.
bool makes_sense(const Shape& shape, std::size_t bytes) {
  static const bool on_processors = architecture() == "cpu";
  constexpr std::size_t kLoad = 16, kMostLoads = 4096, kManyThreads = 64 * 256;
  const std::size_t threads = std::size_t{shape.blocks} * shape.threads;
  const std::size_t loads = std::max<std::size_t>(bytes / kLoad, 1);
  const bool too_many = threads > std::max<std::size_t>(4 * loads, 64);
  const bool too_few =
      shape.threads == 1 || (threads < kManyThreads && loads / threads > kMostLoads);
  return !too_many && (on_processors || !too_few);
}

class Search {
 public:
  Search(Meter& meter, Trial& all_reduce)
      : meter_(meter), all_reduce_(all_reduce), work_(all_reduce.work()) {
    for (int i = 0; const char* name = shmemx_reduce_plan_algorithm(i); ++i)
      algorithms_.push_back({name});
  }

  // The fastest plan for `bytes`; `default_us`: what the library's own choice takes.
  Candidate find(std::size_t bytes, double& default_us) {
    all_reduce_.resize(bytes);
    tried_.clear();
    shmemx_reduce_plan(nullptr);
    default_us = meter_.time(work_, thorough_effort(bytes, 3)).median;
    for (Algorithm& algorithm : algorithms_) try_shapes(algorithm, bytes);
    return best_of_finalists(bytes);
  }

 private:
  // The best of the candidates from number `first` on.
  Candidate best_since(std::size_t first) const {
    const auto begin = tried_.begin() + static_cast<std::ptrdiff_t>(first);
    const auto best = std::min_element(begin, tried_.end(), is_faster);
    return best == tried_.end() ? Candidate{"", {}, std::numeric_limits<double>::infinity()}
                                : *best;
  }

  // Measures a plan, unless it makes no sense, was tried before, or the library refuses it.
  void try_plan(const Algorithm& algorithm, const Shape& shape, std::size_t bytes) {
    const std::string plan = fmt::format("{} {} {}", algorithm.name, shape.blocks, shape.threads);
    const auto is_it = [&](const Candidate& other) { return other.plan == plan; };
    if (!makes_sense(shape, bytes) || std::any_of(tried_.begin(), tried_.end(), is_it)) return;
    if (shmemx_reduce_plan(plan.c_str()) != 0) return;
    const double give_up_us = kHopelessRatio * best_since(0).us;
    tried_.push_back({plan, shape, meter_.time(work_, brief_effort(bytes), give_up_us).median});
  }

  void try_shapes(Algorithm& algorithm, std::size_t bytes) {
    const std::size_t first = tried_.size();
    const double hopeless_us = kHopelessRatio * best_since(0).us;
    for (const Shape& shape : {largest_shape(bytes), algorithm.best, Shape{1, 1}, Shape{1, 64},
                               Shape{8, 256}, Shape{16, 512}})
      try_plan(algorithm, shape, bytes);
    if (tried_.size() == first || best_since(first).us > hopeless_us) return;
    for (const unsigned blocks : kBlocks)
      for (const unsigned threads : kThreads) try_plan(algorithm, {blocks, threads}, bytes);
    for (const unsigned blocks : kBlocks) try_plan(algorithm, {blocks, kMostThreads}, bytes);
    algorithm.best = best_since(first).shape;
  }

  // The most blocks and threads that there is work for.
  static Shape largest_shape(std::size_t bytes) {
    Shape shape{1, 64};
    for (const unsigned blocks : {1u, 2u, 4u, 8u, 16u, 32u, 64u})
      for (const unsigned threads : kThreads)
        if (makes_sense({blocks, threads}, bytes)) shape = {blocks, threads};
    return shape;
  }

  // The plan of the size before is among the finalists if it was tried, and wins if it is as good.
  Candidate best_of_finalists(std::size_t bytes) {
    const auto key = [this](const Candidate& one) {
      return one.plan == previous_plan_ ? 0 : one.us;
    };
    std::sort(tried_.begin(), tried_.end(),
              [&](const Candidate& a, const Candidate& b) { return key(a) < key(b); });
    tried_.resize(std::min(kFinalists, tried_.size()));
    for (Candidate& candidate : tried_) {
      shmemx_reduce_plan(candidate.plan.c_str());
      candidate.us = meter_.time(work_, thorough_effort(bytes, 5)).median;
    }
    Candidate best = best_since(0);
    const Candidate& first = tried_.front();
    if (first.plan == previous_plan_ && best.us > kSameRatio * first.us) best = first;
    previous_plan_ = best.plan;
    return best;
  }

  Meter& meter_;
  Trial& all_reduce_;
  const Work work_;
  std::vector<Algorithm> algorithms_;
  std::vector<Candidate> tried_;
  std::string previous_plan_;  // the plan of the size before
};

// The table, which PE 0 prints, and with --out also writes to a file.
class Table {
 public:
  Table(const Options& options, int n) : path_(options.out), n_(n) {
    if (writes_ && !path_.empty()) file_ = open_for_writing(path_);
    put(
        fmt::format("# Written by meshmem-bench --tune: meshmem {}, {} PEs, {}, {} {}.\n"
                    "# MESHMEM_TUNING=FILE reads it; the first row that fits counts.\n"
                    "# auto is what the library does without a table.\n"
                    "meshmem-tuning 1 {}\n# max_bytes max_pes algorithm blocks threads\n",
                    MESHMEM_VERSION, n_, device_name(), options.type, options.op, architecture()));
    if (options.min_bytes <= Options{}.min_bytes) return;
    plan_ = "auto";  // below what is measured
    last_bytes_ = options.min_bytes / 2;
  }

  // Sizes that have the same plan become one row.
  void add(std::size_t bytes, const Candidate& best, double default_us) {
    const std::string plan = best.us < default_us ? best.plan : "auto";
    if (!plan_.empty() && plan_ != plan) put_row(short_size(last_bytes_));
    plan_ = plan;
    last_bytes_ = bytes;
    put(fmt::format("# {}: {} takes {:.3f} us; without a row {:.3f} us\n", short_size(bytes),
                    best.plan, best.us, default_us));
  }

  // `is_for_all_sizes`: the last plan holds for all larger sizes. Otherwise those are left to the
  // library's own table.
  void close(bool is_for_all_sizes) {
    put_row(is_for_all_sizes ? "any" : short_size(last_bytes_));
    if (file_.is_open()) close_written(file_, path_);
  }

 private:
  void put_row(const std::string& bytes) { put(fmt::format("{} {} {}\n", bytes, n_, plan_)); }
  void put(const std::string& text) {
    if (!writes_) return;
    fmt::print("{}", text);
    std::fflush(stdout);
    if (file_.is_open()) file_ << text;
  }

  const std::string path_;
  const int n_;
  const bool writes_ = shmem_my_pe() == 0;
  std::ofstream file_;
  std::string plan_;
  std::size_t last_bytes_ = 0;
};

}  // namespace

void tune(Meter& meter, Trial& all_reduce, const Options& options) {
  Table table(options, all_reduce.n_pes());
  Search search(meter, all_reduce);
  for (std::size_t bytes = options.min_bytes; bytes <= options.max_bytes;) {
    double default_us = 0;
    const Candidate best = search.find(bytes, default_us);
    table.add(bytes, best, default_us);
    const std::size_t next = bytes * (options.quick ? 4 : 2);
    bytes = bytes < options.max_bytes ? std::min(next, options.max_bytes) : next;
  }
  shmemx_reduce_plan(nullptr);
  table.close(options.all_sizes);
}

}  // namespace meshmem::bench
