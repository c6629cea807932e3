// SPDX-License-Identifier: Apache-2.0
//
// A token of many numbers goes around a ring of GPUs, lap after lap, within one kernel: each PE
// waits for it, adds to it, and passes it on. The hosts only start the kernel and look at the end.
// Run it:
//   oshhip -O2 11_kernel_ring.hip arguments.cpp -o ring && oshrun -n 4 ./ring --laps 1000

// The pattern of this example is what most kernels that communicate are made of:
//   put_signal          stores data in another PE's memory, and then a signal word, so that whoever
//                       sees the signal sees the data too
//   signal_wait_until   waits for such a signal, in a PE's own memory
// Both are called in the form for a block: all threads call, and share the copying.

#include <chrono>

#include "gpu.hpp"

namespace {

// The signal is the number of the lap: it only grows, so nobody has to set it back, and a token
// that came early is not missed.
__global__ void run_ring(long* inbox, long* outbox, std::uint64_t* arrived, std::size_t numbers,
                         std::uint64_t laps) {
  const int me = shmem_my_pe();
  const int right = (me + 1) % shmem_n_pes();
  for (std::uint64_t lap = 1; lap <= laps; ++lap) {
    // PE 0 begins: in the first lap with the zeros that are in its inbox.
    if (me != 0) shmemx_signal_wait_until_block(arrived, SHMEM_CMP_GE, lap);
    for (std::size_t i = threadIdx.x; i < numbers; i += blockDim.x) outbox[i] = inbox[i] + me + 1;
    __syncthreads();  // the whole token is in the outbox, whichever thread copies which part

    // No PE gets the next token before it has passed on this one, so that inboxes are free.
    shmemx_long_put_signal_block(inbox, outbox, numbers, arrived, lap, SHMEM_SIGNAL_SET, right);
    if (me == 0) shmemx_signal_wait_until_block(arrived, SHMEM_CMP_GE, lap);
  }
}

// The sum that was added to the last token that came to `pe`: 1 + 2 + .. + n in each whole lap, and
// in the last one the numbers of the PEs before it. PE 0 gets the token at the end of a lap.
long expected_at(long pe, long n, long laps) {
  const long whole = pe == 0 ? laps : laps - 1;
  return whole * (n * (n + 1) / 2) + pe * (pe + 1) / 2;
}

void run(int argc, char** argv) {
  examples::Arguments arguments("Sends a token around a ring of GPUs from inside a kernel.");
  long laps = 100, numbers = 1024, threads = 64;
  arguments.number("--laps", laps, 1, 1L << 30, "How often around");
  arguments.number("--numbers", numbers, 1, 1L << 24, "How many numbers the token consists of");
  arguments.number("--threads", threads, 1, 1024, "Threads of the block that does it");
  arguments.parse(argc, argv);
  examples::require_gpus();

  const auto count = static_cast<std::size_t>(numbers);
  auto* inbox = examples::allocate_on_gpus<long>(count);
  auto* outbox = examples::allocate_private<long>(count);  // nobody else needs to reach it
  auto* arrived = examples::allocate_on_gpus<std::uint64_t>(1);

  const auto start = std::chrono::steady_clock::now();
  hipLaunchKernelGGL(run_ring, dim3(1), dim3(static_cast<unsigned>(threads)), 0, 0, inbox, outbox,
                     arrived, count, static_cast<std::uint64_t>(laps));
  examples::check_launch("start the ring");
  examples::wait_for_gpu();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

  std::vector<long> token(count);
  examples::copy_from_gpu(token.data(), inbox, count);
  const long expected = expected_at(shmem_my_pe(), shmem_n_pes(), laps);
  for (std::size_t i = 0; i < count; ++i) {
    if (token[i] == expected) continue;
    std::fprintf(stderr, "11_kernel_ring: PE %d has %ld as number %zu of its token, not %ld\n",
                 shmem_my_pe(), token[i], i, expected);
    shmem_global_exit(1);
  }
  shmem_barrier_all();  // all have checked
  if (shmem_my_pe() == 0) {
    std::printf("%s: %ld laps of %ld numbers, all as expected; %.2f us from PE to PE\n",
                examples::number_of_pes().c_str(), laps, numbers,
                seconds.count() * 1e6 / static_cast<double>(laps * shmem_n_pes()));
  }
}

}  // namespace

int main(int argc, char** argv) { return examples::run_between_init_and_finalize(run, argc, argv); }
