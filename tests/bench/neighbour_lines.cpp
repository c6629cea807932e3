// SPDX-License-Identifier: Apache-2.0
//
// Measures whether a core is slower while another one writes a word nearby. Each line begins with
// the distance in bytes. Then come the nanoseconds of an atomic add while the other core adds to
// that word. The last are those of a round trip if the other core writes that word before it
// answers. Pin it: taskset -c 0,1 ./neighbour_lines
// Invariant: an add counts only if the other thread ran meanwhile.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

constexpr int kAdds = 2000, kTrips = 500, kWindows = 1000;
alignas(4096) std::atomic<long> words[512];
std::atomic<long>& ask = words[256];

double now_ns() {
  return std::chrono::duration<double, std::nano>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + kWindows / 2, times.end());
  return times[kWindows / 2];
}

double time_add(std::atomic<long>& theirs) {
  std::atomic<bool> ends{false};
  std::thread other([&] {
    while (!ends) theirs.fetch_add(1, std::memory_order_relaxed);
  });
  std::vector<double> times;
  while (times.size() < kWindows) {
    const long before = theirs;
    const double start = now_ns();
    for (int i = 0; i < kAdds; ++i) words[0].fetch_add(1, std::memory_order_relaxed);
    const double took = now_ns() - start;
    if (theirs - before > kAdds / 4) times.push_back(took / kAdds);
  }
  ends = true;
  other.join();
  return median(times);
}

double time_trip(std::atomic<long>& theirs) {
  ask = words[0] = 0;
  std::thread other([&] {
    for (long trip = 1; trip <= kWindows * kTrips; ++trip) {
      while (ask.load(std::memory_order_acquire) < trip) continue;
      theirs.store(trip, std::memory_order_relaxed);
      words[0].store(trip, std::memory_order_release);
    }
  });
  std::vector<double> times;
  double start = now_ns();
  for (long trip = 1; trip <= kWindows * kTrips; ++trip) {
    ask.store(trip, std::memory_order_release);
    while (words[0].load(std::memory_order_acquire) < trip) continue;
    if (trip % kTrips != 0) continue;
    times.push_back((now_ns() - start) / kTrips);
    start = now_ns();
  }
  other.join();
  return median(times);
}

}  // namespace

int main() {
  for (const int bytes : {8, 64, 128, 256}) {
    std::atomic<long>& theirs = words[bytes / 8];
    std::printf("%3d %5.2f %5.0f\n", bytes, time_add(theirs), time_trip(theirs));
  }
}
