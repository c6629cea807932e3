// SPDX-License-Identifier: Apache-2.0
//
// Chooses how long a step waits.
// Invariant: most steps do not wait, or all PEs would only be equally slow. A few wait for longer
// than a whole operation takes.
#include "base/waiting/schedule_fuzzing.hpp"

#if MESHMEM_SCHEDULE_FUZZING

#include <time.h>

#include <atomic>
#include <chrono>
#include <random>

#include "base/waiting/relax.hpp"

namespace meshmem {
namespace {

struct Source {
  std::uint64_t seed;
  int pe;
};
std::atomic<bool> delays_on{false};
Source source{};
std::atomic<unsigned> threads{0};

void nap(unsigned us) {
  const timespec time{0, static_cast<long>(us) * 1000};
  nanosleep(&time, nullptr);
}

// Keeps its core, as a PE that computes would.
void spin(unsigned us) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(us);
  while (std::chrono::steady_clock::now() < end) relax();
}

}  // namespace

void start_schedule_fuzzing(std::uint64_t seed, int pe) {
  source = {seed, pe};
  delays_on.store(true, std::memory_order_release);
}

void fuzz_schedule() {
  if (!delays_on.load(std::memory_order_acquire)) return;
  static thread_local std::mt19937 random = [] {
    std::seed_seq mix{static_cast<unsigned>(source.seed), static_cast<unsigned>(source.seed >> 32),
                      static_cast<unsigned>(source.pe),
                      threads.fetch_add(1, std::memory_order_relaxed)};
    return std::mt19937(mix);
  }();
  const unsigned dice = static_cast<unsigned>(random()) % 512;
  const unsigned length = static_cast<unsigned>(random());
  if (dice < 1) {
    nap(length % 2000);
  } else if (dice < 16) {
    nap(length % 100);
  } else if (dice < 64) {
    yield_core();
  } else if (dice < 96) {
    spin(length % 5);
  }
}

}  // namespace meshmem

#endif
