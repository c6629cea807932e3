// SPDX-License-Identifier: Apache-2.0
//
// A program whose streams are known, for test_trace.py: trace_streams. Each PE of a ring tells the
// next one by a stream, and waits for the one before on another stream. Then all reduce, by a graph
// that is launched three times.
// Invariant: captured operations run exactly as often as the graph is launched.
#include <hip/hip_runtime_api.h>
#include <shmem.h>
#include <shmemx.h>

#include <cstdio>
#include <cstdlib>

namespace {

constexpr int kLaunches = 3, kElements = 4;

void check(hipError_t error) {
  if (error == hipSuccess) return;
  std::fprintf(stderr, "trace_streams: %s\n", hipGetErrorString(error));
  std::exit(1);
}

void* take(std::size_t bytes) {
  void* const memory = shmem_malloc_with_hints(bytes, SHMEMX_MALLOC_DEVICE);
  check(hipMemset(memory, 0, bytes));
  check(hipDeviceSynchronize());
  shmem_barrier_all();
  return memory;
}

void tell_the_next(float* memory, std::uint64_t* signal, hipStream_t sends, hipStream_t waits) {
  const int next = (shmem_my_pe() + 1) % shmem_n_pes();
  shmemx_signal_wait_until_on_stream(signal, SHMEM_CMP_EQ, 7, waits);
  shmemx_putmem_signal_on_stream(memory, memory + kElements, sizeof(float), signal, 7,
                                 SHMEM_SIGNAL_SET, next, sends);
  check(hipStreamSynchronize(sends));
  check(hipStreamSynchronize(waits));
}

void reduce_by_a_graph(float* memory, hipStream_t stream) {
  hipGraph_t graph = nullptr;
  hipGraphExec_t launched = nullptr;
  check(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal));
  shmemx_float_sum_reduce_on_stream(SHMEM_TEAM_WORLD, memory, memory + kElements, kElements,
                                    stream);
  check(hipStreamEndCapture(stream, &graph));
  check(hipGraphInstantiate(&launched, graph, nullptr, nullptr, 0));
  for (int i = 0; i < kLaunches; ++i) check(hipGraphLaunch(launched, stream));
  check(hipStreamSynchronize(stream));
  check(hipGraphExecDestroy(launched));
  check(hipGraphDestroy(graph));
}

}  // namespace

int main() {
  shmem_init();
  auto* const memory = static_cast<float*>(take(2 * kElements * sizeof(float)));
  auto* const signal = static_cast<std::uint64_t*>(take(sizeof(std::uint64_t)));
  hipStream_t streams[3];
  for (hipStream_t& stream : streams) check(hipStreamCreate(&stream));
  tell_the_next(memory, signal, streams[0], streams[1]);
  reduce_by_a_graph(memory, streams[2]);
  for (hipStream_t& stream : streams) check(hipStreamDestroy(stream));
  shmem_barrier_all();
  shmem_free(signal);
  shmem_free(memory);
  shmem_finalize();
  return 0;
}
