// SPDX-License-Identifier: Apache-2.0
//
// Times of kernels and streams on GPUs: puts, gets, signals, atomics, barriers and collectives.
//   oshrun -n 2 device_bench [--max-bytes N] [--quick]
// Prints lines: test, PEs, bytes, microseconds for one operation, GB/s; a ping-pong is one way.
// Point to point is between PEs 0 and 1, the others idle. Times are the device's, between two
// events, median of several runs.
#include <hip/hip_runtime.h>
#include <shmem.h>
#include <shmemx.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define CHECK(call)                                                                    \
  do {                                                                                 \
    const hipError_t error = (call);                                                   \
    if (error != hipSuccess) {                                                         \
      std::fprintf(stderr, "device_bench: %s: %s\n", #call, hipGetErrorString(error)); \
      shmem_global_exit(1);                                                            \
    }                                                                                  \
  } while (0)

namespace {

__global__ void put_quiet(long* dest, int peer, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    shmem_long_p(dest, i, peer);
    shmem_quiet();
  }
}
__global__ void put_block_quiet(char* dest, char* source, size_t bytes, int peer, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    shmemx_putmem_nbi_block(dest, source, bytes, peer);
    shmemx_quiet_block();
    __syncthreads();
  }
}
__global__ void signal_ping_pong(uint64_t* sig, int me, int peer, uint64_t base, int rounds) {
  for (int i = 1; i <= rounds; ++i) {
    if (me == 0) shmem_signal_set(sig, base + i, peer);
    shmem_signal_wait_until(sig, SHMEM_CMP_GE, base + i);
    if (me == 1) shmem_signal_set(sig, base + i, peer);
  }
}
__global__ void put_signal_ping_pong(char* dest, char* source, size_t bytes, uint64_t* sig, int me,
                                     int peer, uint64_t base, int rounds) {
  for (int i = 1; i <= rounds; ++i) {
    if (me == 0)
      shmemx_putmem_signal_block(dest, source, bytes, sig, base + i, SHMEM_SIGNAL_SET, peer);
    shmemx_signal_wait_until_block(sig, SHMEM_CMP_GE, base + i);
    if (me == 1)
      shmemx_putmem_signal_block(dest, source, bytes, sig, base + i, SHMEM_SIGNAL_SET, peer);
  }
}
__global__ void packets_ping_pong(char* packets, char* dest, char* source, size_t bytes, int me,
                                  int peer, uint64_t base, int rounds) {
  for (int i = 1; i <= rounds; ++i) {
    const auto tag = static_cast<uint32_t>(base) + static_cast<uint32_t>(i);
    if (me == 0) shmemx_put_packets_block(packets, source, bytes, tag, peer);
    shmemx_wait_packets_block(dest, packets, bytes, tag);
    if (me == 1) shmemx_put_packets_block(packets, source, bytes, tag, peer);
  }
}
__global__ void __launch_bounds__(1024)
    stripes(char* dest, char* source, size_t bytes, int peer, int rounds, bool get) {
  const size_t stripe = bytes / gridDim.x;
  const size_t at = stripe * blockIdx.x;
  for (int i = 0; i < rounds; ++i) {
    if (get)
      shmemx_getmem_nbi_block(dest + at, source + at, stripe, peer);
    else
      shmemx_putmem_nbi_block(dest + at, source + at, stripe, peer);
  }
  shmemx_quiet_block();
}
__global__ void fetch_adds(long* dest, int peer, int rounds) {  // each depends on the last
  long old = 0;
  for (int i = 0; i < rounds; ++i) old = shmem_long_atomic_fetch_add(dest, 1 + (old == -1), peer);
}
#define MEETING(name, routine)                              \
  __global__ void __launch_bounds__(512) name(int rounds) { \
    for (int i = 0; i < rounds; ++i) routine();             \
  }
MEETING(barrier_by_thread, shmem_barrier_all)
MEETING(barrier_by_wave, shmemx_barrier_all_wave)
MEETING(barrier_by_block, shmemx_barrier_all_block)
MEETING(sync_by_thread, shmem_sync_all)
MEETING(sync_by_wave, shmemx_sync_all_wave)
MEETING(sync_by_block, shmemx_sync_all_block)
#undef MEETING
__global__ void __launch_bounds__(512) reduce(float* dest, float* source, size_t n, int rounds) {
  for (int i = 0; i < rounds; ++i) shmemx_float_sum_reduce_block(SHMEM_TEAM_WORLD, dest, source, n);
}
__global__ void __launch_bounds__(512) gather(float* dest, float* source, size_t n, int rounds) {
  for (int i = 0; i < rounds; ++i) shmemx_float_fcollect_block(SHMEM_TEAM_WORLD, dest, source, n);
}

int me, n_pes, repeats = 5;
hipStream_t stream;
hipEvent_t begin_event, end_event;

void say(const char* what, size_t bytes, double us) {
  if (me != 0) return;
  std::printf("%-28s %d %12zu %10.3f %9.2f\n", what, n_pes, bytes, us,
              static_cast<double>(bytes) / us * 1e-3);
  std::fflush(stdout);
}

template <typename Enqueue>
double device_us(Enqueue enqueue) {
  CHECK(hipEventRecord(begin_event, stream));
  enqueue();
  CHECK(hipEventRecord(end_event, stream));
  CHECK(hipEventSynchronize(end_event));
  float ms = 0;
  CHECK(hipEventElapsedTime(&ms, begin_event, end_event));
  return ms * 1e3;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// launch(rounds) enqueues one kernel that does `rounds` rounds.
template <typename Launch>
double timed(int rounds, Launch launch) {
  launch(std::max(rounds / 8, 2));
  CHECK(hipGetLastError());
  CHECK(hipStreamSynchronize(stream));
  std::vector<double> us;
  for (int i = 0; i < repeats; ++i) {
    shmem_barrier_all();
    us.push_back(device_us([&] { launch(rounds); }) / rounds);
  }
  shmem_barrier_all();
  return median(us);
}

// enqueue() puts one operation on the stream; they are timed inside a graph.
template <typename Enqueue>
double graphed(int nodes, int launches, Enqueue enqueue) {
  for (int i = 0; i < 3; ++i) enqueue();
  CHECK(hipStreamSynchronize(stream));
  shmem_barrier_all();
  hipGraph_t graph;
  hipGraphExec_t program;
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal));
  for (int i = 0; i < nodes; ++i) enqueue();
  CHECK(hipStreamEndCapture(stream, &graph));
  CHECK(hipGraphInstantiate(&program, graph, nullptr, nullptr, 0));
  CHECK(hipGraphLaunch(program, stream));
  CHECK(hipStreamSynchronize(stream));
  std::vector<double> us;
  for (int i = 0; i < repeats; ++i) {
    shmem_barrier_all();
    us.push_back(device_us([&] {
                   for (int k = 0; k < launches; ++k) CHECK(hipGraphLaunch(program, stream));
                 }) /
                 (nodes * launches));
  }
  CHECK(hipGraphExecDestroy(program));
  CHECK(hipGraphDestroy(graph));
  shmem_barrier_all();
  return median(us);
}

// Where signals are measured, and how many words apart.
constexpr int kSignals = 16;
constexpr size_t kSignalsApart = 4624;
constexpr size_t kSignalBytes = kSignals * kSignalsApart * sizeof(uint64_t);

struct Memory {
  size_t most;
  char *source, *dest;
  uint64_t* sig;
};

int peer() { return me ^ 1; }
bool is_first() { return me == 0; }

void puts_and_quiet(const Memory& at, int scale) {
  const dim3 one(1);
  auto* word = reinterpret_cast<long*>(at.dest);
  say("p+quiet thread", 8, timed(2000 / scale, [&](int n) {
        if (is_first()) hipLaunchKernelGGL(put_quiet, one, one, 0, stream, word, peer(), n);
      }));
  for (size_t b = 8; b <= 65536 && b <= at.most; b *= 8)
    say("put_block+quiet", b, timed(1000 / scale, [&](int n) {
          if (is_first())
            hipLaunchKernelGGL(put_block_quiet, one, dim3(512 / scale), 0, stream, at.dest,
                               at.source, b, peer(), n);
        }));
}

// Ping-pongs between PEs 0 and 1. Times are one way.
class PingPongs {
 public:
  PingPongs(const Memory& at, int scale) : at_(at), scale_(scale) {}

  void signals() {
    const auto us = at_each_signal(1000, [&](uint64_t* sig, int n) {
      hipLaunchKernelGGL(signal_ping_pong, one_, one_, 0, stream, sig, me, peer(), base_, n);
    });
    say("signal ping-pong one-way", 8, us[kSignals / 2]);
    say("signal, best address", 8, us.front());
    say("signal, worst address", 8, us.back());
  }

  void puts_with_signals() {
    for (size_t b = 8; b <= 65536 && b <= at_.most; b *= 8) {
      const auto us = at_each_signal(320, [&](uint64_t* sig, int n) {
        hipLaunchKernelGGL(put_signal_ping_pong, one_, dim3(512 / scale_), 0, stream, at_.dest,
                           at_.source, b, sig, me, peer(), base_, n);
      });
      say("put_signal ping-pong 1-way", b, us[kSignals / 2]);
    }
  }

  void packets() {
    for (size_t b = 8; b <= 32768 && SHMEMX_PACKETS_SIZE(b) <= at_.most; b *= 8)
      say("put_packets ping-pong 1-way", b,
          timed(1000 / scale_, [&](int n) {
            if (me < 2)
              hipLaunchKernelGGL(packets_ping_pong, one_, dim3(512 / scale_), 0, stream, at_.dest,
                                 at_.source + SHMEMX_PACKETS_SIZE(b), at_.source, b, me, peer(),
                                 base_, n);
            base_ += static_cast<uint64_t>(n);
          }) / 2);
  }

 private:
  // A flag's time depends on its address, which says what slice of the cache has it. So there is a
  // time for each of a few addresses, sorted.
  template <typename Launch>
  std::vector<double> at_each_signal(int rounds, Launch launch) {
    std::vector<double> us;
    for (size_t k = 0; k < kSignals; ++k)
      us.push_back(timed(rounds / scale_,
                         [&](int n) {
                           if (me < 2) launch(at_.sig + k * kSignalsApart, n);
                           base_ += static_cast<uint64_t>(n);
                         }) /
                   2);
    std::sort(us.begin(), us.end());
    return us;
  }

  const dim3 one_{1};
  const Memory& at_;
  const int scale_;
  uint64_t base_ = 0;  // how many rounds there have been
};

void fetching_atomics(const Memory& at, int scale) {
  const dim3 one(1);
  auto* word = reinterpret_cast<long*>(at.dest);
  say("atomic_fetch_add thread", 8, timed(2000 / scale, [&](int n) {
        if (is_first()) hipLaunchKernelGGL(fetch_adds, one, one, 0, stream, word, peer(), n);
      }));
}

void bandwidths(const Memory& at, int scale) {
  for (const bool get : {false, true})
    for (const unsigned blocks : {4u, 16u, 32u, 64u, 128u}) {
      const std::string name =
          std::string(get ? "get" : "put") + "_block bw c=" + std::to_string(blocks);
      say(name.c_str(), at.most, timed(10, [&](int n) {
            if (is_first())
              hipLaunchKernelGGL(stripes, dim3(blocks), dim3(1024 / static_cast<unsigned>(scale)),
                                 0, stream, at.dest, at.source, at.most, peer(), n, get);
          }));
    }
}

void puts_on_stream(const Memory& at, int scale) {
  for (size_t b = 8; b <= at.most; b *= 8) {
    const double us = timed(200 / scale, [&](int n) {
      if (!is_first()) return;
      for (int i = 0; i < n; ++i) shmemx_putmem_on_stream(at.dest, at.source, b, peer(), stream);
    });
    say("putmem_on_stream", b, us);
    const double in_graph = graphed(20, 3, [&] {
      if (is_first())
        shmemx_putmem_on_stream(at.dest, at.source, b, peer(), stream);
      else
        shmemx_quiet_on_stream(stream);
    });
    say("putmem_on_stream graph", b, in_graph);
  }
}

void point_to_point(const Memory& at, int scale) {
  puts_and_quiet(at, scale);
  PingPongs ping_pongs(at, scale);
  ping_pongs.signals();
  ping_pongs.puts_with_signals();
  ping_pongs.packets();
  fetching_atomics(at, scale);
  bandwidths(at, scale);
  puts_on_stream(at, scale);
}

void collectives(const Memory& at, int scale) {
  const dim3 one(1);
  const unsigned block = 512 / static_cast<unsigned>(scale);
  auto* dest = reinterpret_cast<float*>(at.dest);
  auto* source = reinterpret_cast<float*>(at.source);
  const struct {
    const char* name;
    void (*kernel)(int);
    unsigned threads;
  } meetings[] = {{"barrier_all thread", barrier_by_thread, 1},
                  {"barrier_all warp", barrier_by_wave, 32},
                  {"barrier_all block", barrier_by_block, block},
                  {"sync_all thread", sync_by_thread, 1},
                  {"sync_all warp", sync_by_wave, 32},
                  {"sync_all block", sync_by_block, block}};
  for (const auto& meeting : meetings)
    say(meeting.name, 0, timed(4000 / scale, [&](int n) {
          hipLaunchKernelGGL(meeting.kernel, one, dim3(meeting.threads), 0, stream, n);
        }));
  for (size_t b = 8; b <= (size_t{1} << 20) && b <= at.most; b *= 2)
    say("device sum_reduce_block f32", b, timed((b > 65536 ? 50 : 400) / scale, [&](int n) {
          hipLaunchKernelGGL(reduce, one, dim3(block), 0, stream, dest, source, b / 4, n);
        }));
  for (size_t b = 8; b <= (size_t{1} << 20) && b <= at.most; b *= 4)
    say("device fcollect_block f32", b, timed((b > 65536 ? 50 : 400) / scale, [&](int n) {
          hipLaunchKernelGGL(gather, one, dim3(block), 0, stream, dest, source, b / 4, n);
        }));
  say("barrier_all_on_stream graph", 0,
      graphed(50, 20 / scale, [] { shmemx_barrier_all_on_stream(stream); }));
  for (size_t b = 8; b <= at.most && b <= (size_t{4} << 20); b *= 2)
    say("sum_reduce_on_stream graph", b,
        graphed(b > (1 << 20) ? 4 : 50, b > (1 << 20) ? 3 : 10 / scale, [&] {
          shmemx_float_sum_reduce_on_stream(SHMEM_TEAM_WORLD, dest, source, b / 4, stream);
        }));
}

}  // namespace

int main(int argc, char** argv) {
  size_t most = size_t{64} << 20;
  int scale = 1;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--max-bytes") && i + 1 < argc) {
      most = std::strtoull(argv[++i], nullptr, 0);
    } else if (!std::strcmp(argv[i], "--quick")) {
      scale = 8;
      repeats = 1;
    } else {
      std::fprintf(stderr, "device_bench: %s is no option; there are --max-bytes N and --quick\n",
                   argv[i]);
      return 2;
    }
  }
  shmem_init();
  me = shmem_my_pe();
  n_pes = shmem_n_pes();
  CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  CHECK(hipEventCreate(&begin_event));
  CHECK(hipEventCreate(&end_event));
  const auto bytes = std::max(most * static_cast<size_t>(n_pes), size_t{1} << 21);
  Memory at{most, static_cast<char*>(shmem_malloc_with_hints(bytes, SHMEMX_MALLOC_DEVICE)),
            static_cast<char*>(shmem_malloc_with_hints(bytes, SHMEMX_MALLOC_DEVICE)),
            static_cast<uint64_t*>(shmem_malloc_with_hints(kSignalBytes, SHMEMX_MALLOC_DEVICE))};
  if (!at.source || !at.dest || !at.sig) {
    if (me == 0)
      std::fprintf(stderr,
                   "device_bench: the device heap is too small for two buffers of %zu bytes; raise "
                   "MESHMEM_DEVICE_HEAP_SIZE or lower --max-bytes\n",
                   bytes);
    shmem_global_exit(1);
  }
  CHECK(hipMemset(at.source, 0, bytes));
  CHECK(hipMemset(at.dest, 0, bytes));
  CHECK(hipMemset(at.sig, 0, kSignalBytes));
  CHECK(hipDeviceSynchronize());
  shmem_barrier_all();
  if (n_pes >= 2) point_to_point(at, scale);
  collectives(at, scale);
  shmem_free(at.sig);
  shmem_free(at.dest);
  shmem_free(at.source);
  CHECK(hipStreamDestroy(stream));
  shmem_finalize();
}
