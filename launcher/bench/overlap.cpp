// SPDX-License-Identifier: Apache-2.0
//
// Three times: of the operation, of a computation that takes as long, and of both.
#include "bench/overlap.hpp"

#include <algorithm>
#include <cstdint>

namespace meshmem::bench {
namespace {

constexpr std::uint64_t kSteps = 1 << 20;

// Each step needs the one before, and no memory.
void compute(std::uint64_t steps) {
  static volatile std::uint64_t result = 1;
  std::uint64_t value = result;
  for (std::uint64_t i = 0; i < steps; ++i)
    value = value * 6364136223846793005u + 1442695040888963407u;
  result = value;
}

double steps_of_us() {
  double best = 0;
  for (int i = 0; i < 3; ++i) {
    const double begin = microseconds();
    compute(kSteps);
    best = std::max(best, static_cast<double>(kSteps) / (microseconds() - begin));
  }
  return best;
}

}  // namespace

double overlap_of(Meter& meter, const Halves& halves, const Effort& effort) {
  static const double speed = agree(steps_of_us());
  const auto time = [&](std::uint64_t steps, bool communicates) {
    Work work;
    if (halves.begin)
      work.run = [&halves, steps, communicates](int rounds, hipStream_t stream) {
        for (int i = 0; i < rounds; ++i) {
          if (communicates) halves.begin(stream);
          compute(steps);
          if (communicates) halves.complete(stream);
        }
      };
    return meter.time(work, effort).least;  // what others on this machine did is no overlap
  };
  const double operation_us = time(0, true);
  const auto steps = static_cast<std::uint64_t>(speed * operation_us);
  const double compute_us = time(steps, false), both_us = time(steps, true);
  const double hidden_us = operation_us + compute_us - both_us;
  return 100 * std::clamp(hidden_us / std::min(operation_us, compute_us), 0.0, 1.0);
}

}  // namespace meshmem::bench
