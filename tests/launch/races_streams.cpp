// SPDX-License-Identifier: Apache-2.0
//
// A program without races, whose calls are ordered by work on a stream; compiled with WITH_KERNELS,
// by kernels.
// Invariant: the host's calls have no other order.
#ifdef WITH_KERNELS
#include <hip/hip_runtime.h>
#else
#include <hip/hip_runtime_api.h>
#endif
#include <sched.h>
#include <shmem.h>
#include <shmemx.h>

#include <cstdio>
#include <cstdlib>

namespace {

long x[8], y[8];
hipStream_t stream;

void expect(bool is_right, const char* what) {
  if (is_right) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  std::abort();
}

#ifdef WITH_KERNELS
__global__ void barrier() { shmemx_barrier_all_block(); }
void meet() {
  hipLaunchKernelGGL(barrier, dim3(1), dim3(1), 0, stream);
  expect(hipStreamSynchronize(stream) == hipSuccess, "a kernel");
}
#else
void meet() {
  shmemx_barrier_all_on_stream(stream);
  expect(hipStreamSynchronize(stream) == hipSuccess, "a stream");
}

long told;

// The last PE, which has used no stream, looks by gets for what PE 0's stream puts there.
void tell_the_last() {
  const int last = shmem_n_pes() - 1;
  if (shmem_my_pe() == 0) {
    static long one = 1;
    y[7] = 7;
    shmem_long_put(x, y, 8, last);
    shmem_quiet();
    shmemx_putmem_on_stream(&told, &one, sizeof one, last, stream);
    shmemx_quiet_on_stream(stream);
    expect(hipStreamSynchronize(stream) == hipSuccess, "a put");
  }
  if (shmem_my_pe() == last) {
    long found[8];
    while (shmem_long_g(&told, last) != 1) sched_yield();
    shmem_long_get(found, x, 8, last);
    expect(found[7] == 7, "what was put first");
  }
  shmem_barrier_all();
}
#endif

}  // namespace

int main() {
  shmem_init();
  const int me = shmem_my_pe(), next = (me + 1) % shmem_n_pes();
  expect(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking) == hipSuccess, "no stream");
#ifndef WITH_KERNELS
  tell_the_last();
#endif
  long found[8];
  for (long round = 1; round <= 5; ++round) {
    for (long& value : y) value = round;
    shmem_long_put(x, y, 8, next);
    shmem_quiet();
    meet();
    shmem_long_get(found, x, 8, me);
    expect(found[7] == round, "what was put");
    meet();
  }
#ifndef WITH_KERNELS
  shmem_long_put_nbi(x, y, 8, next);
  shmemx_quiet_on_stream(stream);
  expect(hipStreamSynchronize(stream) == hipSuccess, "quiet");
  shmem_long_p(y, 1, me);
#endif
  expect(hipStreamDestroy(stream) == hipSuccess, "no end of a stream");
  shmem_finalize();
}
