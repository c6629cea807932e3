// SPDX-License-Identifier: Apache-2.0
//
// Times of fused and quantized collectives on GPUs, beside a plain all-reduce of as many bytes.
//   oshrun -n 2 fused_bench [--max-bytes N] [--hidden N]
// Prints lines: what, PEs, bytes, microseconds for one operation, GB/s, times the all-reduce. Bytes
// are those of bf16 data in each PE's larger array. Operations are timed in a graph of one stream,
// between two events; each line is the median of several runs.
#include <hip/hip_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <meshmem/all_reduce_norm.hpp>
#include <meshmem/quantized.hpp>
#include <vector>

#define CHECK(call)                                                                   \
  do {                                                                                \
    const hipError_t error = (call);                                                  \
    if (error != hipSuccess) {                                                        \
      std::fprintf(stderr, "fused_bench: %s: %s\n", #call, hipGetErrorString(error)); \
      shmem_global_exit(1);                                                           \
    }                                                                                 \
  } while (0)

namespace {

using meshmem::DataType;
using meshmem::Status;
using meshmem::Wire;

hipStream_t stream;
hipEvent_t begin_event, end_event;

void must(const Status& status) {
  if (status) return;
  std::fprintf(stderr, "fused_bench: %s\n", status.text());
  shmem_global_exit(1);
}

double time_of(hipGraphExec_t program) {
  shmem_barrier_all();
  CHECK(hipEventRecord(begin_event, stream));
  CHECK(hipGraphLaunch(program, stream));
  CHECK(hipEventRecord(end_event, stream));
  CHECK(hipEventSynchronize(end_event));
  float ms = 0;
  CHECK(hipEventElapsedTime(&ms, begin_event, end_event));
  return 1e3 * static_cast<double>(ms);
}

// put() puts an operation on the stream. Returns its microseconds.
template <typename Put>
double graphed(std::size_t bytes, const Put& put) {
  constexpr int kRuns = 7;
  const int nodes = bytes > (16u << 20) ? 5 : 50;
  hipGraph_t graph;
  hipGraphExec_t program;
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal));
  for (int i = 0; i < nodes; ++i) must(put());
  CHECK(hipStreamEndCapture(stream, &graph));
  CHECK(hipGraphInstantiate(&program, graph, nullptr, nullptr, 0));
  time_of(program);
  std::vector<double> us;
  for (int i = 0; i < kRuns; ++i) us.push_back(time_of(program) / nodes);
  CHECK(hipGraphExecDestroy(program));
  CHECK(hipGraphDestroy(graph));
  std::sort(us.begin(), us.end());
  return us[us.size() / 2];
}

void say(const char* what, std::size_t bytes, double us, double all_reduce) {
  if (shmem_my_pe() != 0) return;
  std::printf("%-24s %d %11zu %10.2f %8.2f %6.2f\n", what, shmem_n_pes(), bytes, us,
              static_cast<double>(bytes) / us * 1e-3, us / all_reduce);
  std::fflush(stdout);
}

std::size_t number_of(int argc, char** argv, const char* name, std::size_t otherwise) {
  for (int i = 1; i + 1 < argc; ++i)
    if (std::strcmp(argv[i], name) == 0) return std::strtoull(argv[i + 1], nullptr, 0);
  return otherwise;
}

void run(std::size_t most, std::size_t hidden) {
  meshmem::AllReduce plain;
  meshmem::AllReduceNorm norm;
  meshmem::Quantized quantized;
  for (const Status& status : {plain.status(), norm.status(), quantized.status()}) must(status);
  char *x, *residual, *weight;
  auto* y = static_cast<char*>(meshmem::SymmetricMemory::allocate(most));
  for (char** memory : {&x, &residual, &weight}) {
    *memory = static_cast<char*>(meshmem::SymmetricMemory::allocate(most));
    if (!*memory || !y) {
      std::fprintf(stderr,
                   "fused_bench: set MESHMEM_DEVICE_HEAP_SIZE to 4 times --max-bytes, and "
                   "168 MiB\n");
      shmem_global_exit(1);
    }
    CHECK(hipMemset(*memory, 0, most));
  }
  CHECK(hipDeviceSynchronize());
  const auto n = static_cast<std::size_t>(shmem_n_pes());
  for (std::size_t rows = 1; 2 * rows * hidden <= most; rows *= rows < 16 ? 2 : 4) {
    const std::size_t count = rows * hidden, bytes = 2 * count;
    const double sum = graphed(bytes, [&] {
      return plain.execute(x, y, count, DataType::bf16, meshmem::ReduceOp::sum, stream);
    });
    say("all-reduce", bytes, sum, sum);
    say("all-reduce, norm", bytes,
        graphed(bytes,
                [&] {
                  return norm.execute({x, residual, weight, y, residual, rows, hidden, 1e-5F},
                                      DataType::bf16, stream);
                }),
        sum);
    for (const Wire wire : {Wire::e4m3, Wire::e5m2, Wire::int8}) {
      const meshmem::Quantized::Format format{DataType::bf16, wire};
      const auto line = [&](const char* what, const auto& put) {
        const char* const name = wire == Wire::e4m3 ? "e4m3" : wire == Wire::e5m2 ? "e5m2" : "int8";
        char text[64];
        std::snprintf(text, sizeof text, "%s %s", name, what);
        say(text, bytes, graphed(bytes, put), sum);
      };
      line("all-reduce", [&] { return quantized.all_reduce(x, y, count, format, stream); });
      line("reduce-scatter",
           [&] { return quantized.reduce_scatter(x, y, count / n, format, stream); });
      line("all-gather", [&] { return quantized.all_gather(x, y, count / n, format, stream); });
    }
  }
  CHECK(hipStreamSynchronize(stream));
  for (char* memory : {y, x, residual, weight}) meshmem::SymmetricMemory::free(memory);
}

}  // namespace

int main(int argc, char** argv) {
  shmem_init();
  CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  CHECK(hipEventCreate(&begin_event));
  CHECK(hipEventCreate(&end_event));
  run(number_of(argc, argv, "--max-bytes", std::size_t{64} << 20),
      number_of(argc, argv, "--hidden", 4096));
  shmem_finalize();
}
