// SPDX-License-Identifier: Apache-2.0
//
// Times of kernels and of the host to a PE of another machine, in the same run, and of collectives
// on device memory beside those on the host heap. Times are the host's, median of several runs, a
// kernel's launch included; a ping-pong is one way.
//   MESHMEM_NETWORK=ucx oshrun -n 2 --fake-nodes 2 far_bench points
//   MESHMEM_NETWORK=ucx oshrun -n 4 --fake-nodes 2 far_bench collectives
// Point to point is between PE 0 and the first of the second half, the others wait.
#include <hip/hip_runtime.h>
#include <shmem.h>
#include <shmemx.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr size_t kMost = size_t{16} << 20;

__global__ void p_quiet(long* dest, int pe, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    shmem_long_p(dest, i, pe);
    shmem_quiet();
  }
}
__global__ void ping_pong(long* dest, long* source, uint64_t* signal, bool begins, int pe,
                          uint64_t base, int rounds) {
  for (uint64_t round = base + 1; round <= base + static_cast<uint64_t>(rounds); ++round) {
    if (begins) shmem_long_put_signal(dest, source, 1, signal, round, SHMEM_SIGNAL_SET, pe);
    shmem_signal_wait_until(signal, SHMEM_CMP_GE, round);
    if (!begins) shmem_long_put_signal(dest, source, 1, signal, round, SHMEM_SIGNAL_SET, pe);
  }
}
__global__ void many_p(long* dest, int pe, int count) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x))
    shmem_long_p(dest + i, i, pe);
  shmemx_quiet_block();
}
__global__ void large_put(char* dest, char* source, size_t bytes, int pe) {
  shmemx_putmem_nbi_block(dest, source, bytes, pe);
  shmemx_quiet_block();
}

// In the host heap, and in device memory.
struct Memory {
  const char* name;
  char *dest, *source;
  uint64_t* signals;  // the host's, and the kernel's
};

Memory take(const char* name, long hints) {
  const auto taken = [hints](size_t bytes) {
    void* const memory = shmem_malloc_with_hints(bytes, hints);
    if (!memory || hipMemset(memory, 0, bytes) != hipSuccess) shmem_global_exit(1);
    return static_cast<char*>(memory);
  };
  return {name, taken(kMost), taken(kMost), reinterpret_cast<uint64_t*>(taken(256))};
}

void synchronize() {
  if (hipDeviceSynchronize() != hipSuccess) shmem_global_exit(1);
}

// Of several runs by the PEs that act, after one that warms up.
template <typename Run>
double median_us(bool acts, const Run& run) {
  constexpr int kRuns = 7;
  std::vector<double> us;
  for (int i = 0; i <= kRuns; ++i) {
    shmem_barrier_all();
    const auto start = std::chrono::steady_clock::now();
    if (acts) run();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    if (i > 0) us.push_back(took.count());
    shmem_barrier_all();
  }
  std::sort(us.begin(), us.end());
  return us[kRuns / 2];
}

void say(const std::string& what, const char* where, double us) {
  if (shmem_my_pe() != 0) return;
  std::printf("%-36s %-14s %12.2f us\n", what.c_str(), where, us);
  std::fflush(stdout);
}

void points(const Memory& host, const Memory& device) {
  constexpr int kRounds = 2000, kMany = 10000;
  const int me = shmem_my_pe(), half = shmem_n_pes() / 2;
  const bool begins = me == 0, acts = begins || me == half;
  const int peer = begins ? half : 0;
  auto* const word = reinterpret_cast<long*>(host.dest);
  auto* const source = reinterpret_cast<long*>(host.source);
  say("host: p and quiet", host.name, median_us(begins, [&] {
                                        for (int i = 0; i < kRounds; ++i) {
                                          shmem_long_p(word, i, peer);
                                          shmem_quiet();
                                        }
                                      }) / kRounds);
  uint64_t base = 0;
  say("host: put_signal, one way", host.name,
      median_us(
          acts,
          [&] {
            for (const uint64_t end = base + kRounds; base < end;) {
              ++base;
              if (begins)
                shmem_long_put_signal(word, source, 1, host.signals, base, SHMEM_SIGNAL_SET, peer);
              shmem_signal_wait_until(host.signals, SHMEM_CMP_GE, base);
              if (!begins)
                shmem_long_put_signal(word, source, 1, host.signals, base, SHMEM_SIGNAL_SET, peer);
            }
          }) /
          kRounds / 2);
  say("host: 10,000 p and quiet, each", host.name, median_us(begins, [&] {
                                                     for (int i = 0; i < kMany; ++i)
                                                       shmem_long_p(word + i, i, peer);
                                                     shmem_quiet();
                                                   }) / kMany);
  const dim3 one(1), block(64);
  for (const Memory* at : {&host, &device}) {
    auto* const dest = reinterpret_cast<long*>(at->dest);
    auto* const from = reinterpret_cast<long*>(at->source);
    say("host: put of 16 MiB and quiet", at->name, median_us(begins, [&] {
          shmem_putmem(at->dest, at->source, kMost, peer);
          shmem_quiet();
        }));
    say("kernel: p and quiet", at->name, median_us(begins, [&] {
                                           hipLaunchKernelGGL(p_quiet, one, one, 0, nullptr, dest,
                                                              peer, kRounds);
                                           synchronize();
                                         }) / kRounds);
    base = 0;
    say("kernel: put_signal, one way", at->name,
        median_us(acts,
                  [&] {
                    hipLaunchKernelGGL(ping_pong, one, one, 0, nullptr, dest, from,
                                       at->signals + 16, begins, peer, base, kRounds);
                    synchronize();
                    base += kRounds;
                  }) /
            kRounds / 2);
    say("kernel: 10,000 p and quiet, each", at->name,
        median_us(begins, [&] {
          hipLaunchKernelGGL(many_p, one, block, 0, nullptr, dest, peer, kMany);
          synchronize();
        }) / kMany);
    say("kernel: put of 16 MiB and quiet", at->name, median_us(begins, [&] {
          hipLaunchKernelGGL(large_put, one, block, 0, nullptr, at->dest, at->source, kMost, peer);
          synchronize();
        }));
  }
}

void collectives(const Memory& at, bool on_stream) {
  auto* const dest = reinterpret_cast<float*>(at.dest);
  auto* const source = reinterpret_cast<float*>(at.source);
  for (const size_t bytes : {size_t{64} << 10, size_t{1} << 20, size_t{8} << 20}) {
    const std::string size = " of " + std::to_string(bytes >> 10) + " KiB";
    say("float sum" + size, at.name, median_us(true, [&] {
          shmem_float_sum_reduce(SHMEM_TEAM_WORLD, dest, source, bytes / 4);
        }));
    if (on_stream)
      say("float sum on a stream" + size, at.name, median_us(true, [&] {
            shmemx_float_sum_reduce_on_stream(SHMEM_TEAM_WORLD, dest, source, bytes / 4, nullptr);
            synchronize();
          }));
    if (bytes * static_cast<size_t>(shmem_n_pes()) > kMost) continue;
    say("broadcast" + size, at.name,
        median_us(true, [&] { shmem_broadcastmem(SHMEM_TEAM_WORLD, dest, source, bytes, 0); }));
    say("fcollect" + size + " each", at.name,
        median_us(true, [&] { shmem_fcollectmem(SHMEM_TEAM_WORLD, dest, source, bytes); }));
    say("alltoall" + size + " each", at.name,
        median_us(true, [&] { shmem_alltoallmem(SHMEM_TEAM_WORLD, dest, source, bytes); }));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc == 2 ? argv[1] : "";
  if (what != "points" && what != "collectives") {
    std::fprintf(stderr, "far_bench: it takes points or collectives\n");
    return 2;
  }
  shmem_init();
  const Memory host = take("host heap", 0), device = take("device memory", SHMEMX_MALLOC_DEVICE);
  synchronize();
  shmem_barrier_all();
  if (what == "points") {
    points(host, device);
  } else {
    collectives(host, false);
    collectives(device, true);
  }
  shmem_finalize();
}
