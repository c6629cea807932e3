// SPDX-License-Identifier: Apache-2.0
//
// Times a kernel and a thread of the host that answer each other with nothing in between. A put
// with signal of a kernel to another machine is at least this much slower than the host's. The
// kernel stores a command of eight words in pinned memory of the host, whose thread sees it and
// stores the answer there. Times are of a round, the median of seven runs, on one GPU.
//   kernel_trips
#include <hip/hip_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <thread>
#include <vector>

#include "device/memory.hpp"

namespace {

using namespace meshmem::device;

constexpr std::uint64_t kRounds = 3000, kSlots = 4096;
constexpr int kWords = 8;
constexpr std::uint64_t kPhase = std::uint64_t{1} << 63;

struct alignas(64) Slot {
  std::uint64_t word[kWords];
};
struct Pinned {
  Slot slots[kSlots];
  alignas(128) std::uint64_t answer;
  alignas(128) std::uint64_t data;
};

// The steps before the command. `number`: an addition in device memory gives the number of its
// slot. `data`: a word is read from memory of the host. `fence`: the host may read the data.
struct Steps {
  bool number, data, fence;
};

__global__ void ask(Pinned* pinned, std::uint64_t* counter, Steps steps) {
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    if (steps.fence) release_fence();
    const std::uint64_t data = steps.data ? load_relaxed(&pinned->data) : 0;
    const std::uint64_t number = steps.number ? fetch_add(counter, std::uint64_t{1}) : round - 1;
    std::uint64_t* const word = pinned->slots[number % kSlots].word;
    for (int i = 0; i < kWords; ++i) store_relaxed(word + i, data | kPhase);
    while (load_relaxed(&pinned->answer) < round) meshmem::device::pause();
    acquire_fence();
  }
}

void check(hipError_t status) {
  if (status == hipSuccess) return;
  std::fprintf(stderr, "kernel_trips: %s\n", hipGetErrorString(status));
  std::exit(1);
}

void answer_all(Pinned& pinned) {
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    const std::uint64_t* const word = pinned.slots[(round - 1) % kSlots].word;
    for (int i = kWords - 1; i >= 0; --i)
      while ((__atomic_load_n(word + i, __ATOMIC_ACQUIRE) & kPhase) == 0) std::this_thread::yield();
    __atomic_store_n(&pinned.answer, round, __ATOMIC_RELEASE);
  }
}

double run(Pinned& pinned, std::uint64_t* counter, Steps steps) {
  pinned = Pinned{};
  check(hipMemset(counter, 0, sizeof *counter));
  check(hipDeviceSynchronize());
  std::thread host(answer_all, std::ref(pinned));
  const auto start = std::chrono::steady_clock::now();
  hipLaunchKernelGGL(ask, dim3(1), dim3(1), 0, nullptr, &pinned, counter, steps);
  check(hipDeviceSynchronize());
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  host.join();
  return took.count() / kRounds;
}

}  // namespace

int main() {
  static_assert(kRounds <= kSlots, "a slot is used once");
  void* memory = nullptr;
  check(hipHostMalloc(&memory, sizeof(Pinned),
                      hipHostMallocPortable | hipHostMallocMapped | hipHostMallocCoherent));
  auto& pinned = *new (memory) Pinned{};
  std::uint64_t* counter = nullptr;
  check(hipMalloc(reinterpret_cast<void**>(&counter), sizeof *counter));
  const auto say = [&](const char* what, Steps steps) {
    std::vector<double> us;
    for (int i = 0; i < 7; ++i) us.push_back(run(pinned, counter, steps));
    std::sort(us.begin(), us.end());
    std::printf("%-60s %6.2f us\n", what, us[us.size() / 2]);
  };
  say("a command, and its answer", {false, false, false});
  say("... with its number from device memory", {true, false, false});
  say("... with data from memory of the host", {false, true, false});
  say("... with both at a time", {true, true, false});
  say("... with its number and a fence, and no data", {true, false, true});
  check(hipFree(counter));
  check(hipHostFree(memory));
  return 0;
}
