// SPDX-License-Identifier: Apache-2.0
//
// Averages gradients in buckets, as data-parallel training does, with the all-reduce of
// meshmem/allreduce.hpp. While kernels still make the gradients of earlier layers, those of later
// ones are already being averaged on a second stream. Nothing is trained here; the averages are
// checked. Run it:
//   oshhip -O2 16_allreduce.hip arguments.cpp -o allreduce && oshrun -n 4 ./allreduce
// Invariant: every average is exact, since all gradients are small whole numbers.

// The gradients lie in plain memory of the GPU, as a framework has it. First each bucket is copied
// through a buffer of the AllReduce; then the memory is registered, and averaged where it is.

#include <chrono>
#include <meshmem/allreduce.hpp>

#include "gpu.hpp"

namespace {

using meshmem::DataType;
using meshmem::ReduceOp;

// A run of gradients that are averaged together.
struct Bucket {
  std::size_t begin, count;
};

// Layers differ in size. The last layer's gradients are made first, and so lie first.
std::size_t size_of_layer(long layer) { return 1000 * static_cast<std::size_t>(layer % 5 + 1) + 7; }

std::vector<Bucket> buckets_of(long layers, std::size_t most) {
  std::vector<Bucket> buckets;
  std::size_t end = 0;
  for (long layer = layers - 1; layer >= 0; --layer) {
    const std::size_t count = size_of_layer(layer);
    if (buckets.empty() || buckets.back().count + count > most) buckets.push_back({end, 0});
    buckets.back().count += count;
    end += count;
  }
  return buckets;
}

// Gradient i of a PE in a step, and the average over n PEs: both are whole numbers.
__device__ inline float gradient(int pe, long step, std::size_t i) {
  return static_cast<float>(2 * pe * static_cast<int>(i % 13) + static_cast<int>(step % 100));
}
float average(int n, long step, std::size_t i) {
  return static_cast<float>((n - 1) * static_cast<int>(i % 13) + static_cast<int>(step % 100));
}

// A stand-in for the backward pass through some layers.
__global__ void make_gradients(float* gradients, Bucket bucket, int pe, long step) {
  const std::size_t threads = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < bucket.count; i += threads)
    gradients[bucket.begin + i] = gradient(pe, step, bucket.begin + i);
}

struct Streams {
  hipStream_t compute = nullptr, communicate = nullptr;
  hipEvent_t event = nullptr;

  Streams() {
    examples::check(hipStreamCreateWithFlags(&compute, hipStreamNonBlocking), "make a stream");
    examples::check(hipStreamCreateWithFlags(&communicate, hipStreamNonBlocking), "make a stream");
    examples::check(hipEventCreateWithFlags(&event, hipEventDisableTiming), "make an event");
  }
  ~Streams() {
    examples::check(hipStreamDestroy(compute), "end a stream");
    examples::check(hipStreamDestroy(communicate), "end a stream");
    examples::check(hipEventDestroy(event), "end an event");
  }
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  // The next work of `second` comes after the work that `first` has been given so far.
  void order(hipStream_t first, hipStream_t second) const {
    examples::check(hipEventRecord(event, first), "record an event");
    examples::check(hipStreamWaitEvent(second, event, 0), "wait for an event");
  }
};

// One step: each bucket is averaged as soon as it is filled. Nothing here waits.
meshmem::Status run_step(meshmem::AllReduce& all_reduce, const Streams& streams,
                         const std::vector<Bucket>& buckets, float* gradients, long step) {
  for (const Bucket& bucket : buckets) {
    hipLaunchKernelGGL(make_gradients, dim3(4), dim3(64), 0, streams.compute, gradients, bucket,
                       shmem_my_pe(), step);
    examples::check_launch("start make_gradients");
    streams.order(streams.compute, streams.communicate);
    float* const data = gradients + bucket.begin;
    const meshmem::Status done = all_reduce.execute(data, data, bucket.count, DataType::f32,
                                                    ReduceOp::avg, streams.communicate);
    if (!done) return done;
  }
  streams.order(streams.communicate, streams.compute);  // here an optimizer would go on
  return meshmem::Status();
}

// Runs all steps; returns microseconds a step.
double run_steps(meshmem::AllReduce& all_reduce, const std::vector<Bucket>& buckets,
                 float* gradients, long steps) {
  const Streams streams;
  std::vector<float> averages(buckets.back().begin + buckets.back().count);
  double seconds = 0;
  for (long step = 0; step < steps; ++step) {
    const auto start = std::chrono::steady_clock::now();
    const meshmem::Status done = run_step(all_reduce, streams, buckets, gradients, step);
    examples::agree(done ? "" : done.text());
    examples::check(hipStreamSynchronize(streams.compute), "average the gradients");
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    examples::copy_from_gpu(averages.data(), gradients, averages.size());
    std::string wrong;
    for (std::size_t i = 0; i < averages.size() && wrong.empty(); ++i) {
      if (averages[i] != average(shmem_n_pes(), step, i))
        wrong = "step " + std::to_string(step) + ": the average of gradient " + std::to_string(i) +
                " is " + std::to_string(averages[i]);
    }
    examples::agree(wrong);
  }
  return 1e6 * seconds / static_cast<double>(steps);
}

void run(int argc, char** argv) {
  examples::Arguments arguments(
      "Averages the gradients of layers over the PEs, in buckets, and checks them.");
  long layers = 12, bucket_kib = 64, steps = 5;
  arguments.number("--layers", layers, 1, 1L << 12, "Layers");
  arguments.number("--bucket", bucket_kib, 1, 1L << 16, "KiB of a bucket");
  arguments.number("--steps", steps, 1, 1L << 20, "Steps");
  arguments.parse(argc, argv);
  examples::require_gpus();

  meshmem::AllReduce all_reduce;
  examples::agree(all_reduce.status() ? "" : "no GPU memory for the PEs to share");
  const std::vector<Bucket> buckets =
      buckets_of(layers, static_cast<std::size_t>(bucket_kib) * 1024 / sizeof(float));
  const std::size_t count = buckets.back().begin + buckets.back().count;
  auto* gradients = examples::allocate_private<float>(count);
  examples::wait_for_gpu();

  const double copied = run_steps(all_reduce, buckets, gradients, steps);
  const meshmem::Status registered =
      meshmem::SymmetricMemory::register_buffer(gradients, count * sizeof(float));
  examples::agree(registered ? "" : registered.text());
  const double in_place = run_steps(all_reduce, buckets, gradients, steps);
  const meshmem::Status deregistered = meshmem::SymmetricMemory::deregister(gradients);
  examples::agree(deregistered ? "" : deregistered.text());
  examples::check(hipFree(gradients), "free memory of its GPU");

  if (shmem_my_pe() != 0) return;
  std::printf(
      "%s: %zu gradients of %ld layers in %zu buckets, averaged %ld times: all as expected\n",
      examples::number_of_pes().c_str(), count, layers, buckets.size(), 2 * steps);
  std::printf("%.0f us a step through the buffer of the AllReduce, %.0f us registered\n", copied,
              in_place);
}

}  // namespace

int main(int argc, char** argv) { return examples::run_between_init_and_finalize(run, argc, argv); }
