// SPDX-License-Identifier: Apache-2.0
// Launches as programs of CUDA write them; cuda_syntax.sh compiles and runs it.
#include "pe_program.hpp"

__global__ void set(int* to, int value) { *to = value; }
__global__ void set_default(int* to, int value = 8) { *to = value; }
__global__ void is_null(int* to, const int* pointer) { *to = pointer == nullptr ? 1 : 2; }
template <typename T, int kFactor>
__global__ void multiply(int* to, T value) {
  *to = value * kFactor;
}
__global__ void index_sum(int* to) {
  atomicAdd(to, static_cast<int>(blockIdx.x * blockDim.x * blockDim.y + threadIdx.y * blockDim.x +
                                 threadIdx.x));
}
template <typename Function>
__global__ void for_each(int n, Function function) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    function(i);
}
__global__ void pass_on(int* to) {
  shmem_int_p(to, 70 + shmem_my_pe(), (shmem_my_pe() + 1) % shmem_n_pes());
}

namespace inner {
template <typename... Ts>
__global__ void add(int* to, Ts... values) {
  *to = (values + ...);
}
}  // namespace inner

struct Solver {
  void (*kernel)(int*, int);
  template <int kStep>
  static __global__ void step(int* to) {
    *to = kStep;
  }
  void run(int* to) { this->kernel<<<1, 1>>>(to, 21); }
};

template <typename T>
void launch_template(int* to, T value, hipStream_t stream) {
  multiply<T, sizeof(T)><<<1, 1, 0, stream>>>(to, value);
}

using Kernel = void (*)(int*, int);
Kernel choose(bool other) { return other ? set_default : set; }

int main() {
  Program program;
  int* const to = program.values();
  hipStream_t stream;
  if (hipStreamCreate(&stream) != hipSuccess) return 1;
  const int me = shmem_my_pe(), n = shmem_n_pes();

  set<<<1, 1>>>(to, 5);
  program.expect("two values of a shape", 0, 5);
  set<<<dim3(1, 1), dim3{1}, 16>>>(to, 6);
  program.expect("three values of a shape", 0, 6);
  set<<<1, 1, 0, stream>>>(to, 7);
  program.expect("four values of a shape", 0, 7);
  set_default<<<1, 1>>>(to);
  program.expect("a default argument", 0, 8);
  is_null<<<1, 1>>>(to, NULL);
  program.expect("NULL", 0, 1);

  hipMemset(to, 0, sizeof(int));
  const int threads = 64;
  index_sum<<<(threads < 100 ? 2 : 1), dim3(threads >> 2, 2)>>>(to);
  program.expect("a shape of expressions", 0, 64 * 63 / 2);

  if (me >= 0)
    set<<<1, 1>>>(to, 9);
  else
    set<<<1, 1>>>(to, 10);
  program.expect("a launch behind if", 0, 9);
  for (int i = 0; i < 3; ++i) multiply<long, 3><<<1, 1>>>(to + i, i);
  program.expect("a launch behind for", 2, 6);
  LAUNCH((multiply<short, 4>), 1, 1, to, 3);
  program.expect("a macro of the header", 0, 12);

  inner::add<int, long><<<1, 1>>>(to, 6, 7);
  program.expect("a template of a namespace", 0, 13);
  ::inner::add<<<1, 1>>>(to, 6, 7, 1);
  program.expect("a template without arguments", 0, 14);
  launch_template<double>(to, 2, stream);
  program.expect("a template in a template", 0, 16);
  Solver::step<17><<<1, 1>>>(to);
  program.expect("a member", 0, 17);

  Kernel variable = set;
  variable<<<1, 1>>>(to, 18);
  program.expect("a variable", 0, 18);
  const Kernel table[] = {set, set_default};
  table[1]<<<1, 1>>>(to, 19);
  program.expect("an element", 0, 19);
  (me > 100 ? set_default : set)<<<1, 1>>>(to, 20);
  program.expect("a choice", 0, 20);
  Solver{set}.run(to);
  program.expect("a member's value", 0, 21);
  choose(true)<<<1, 1>>>(to, 22);
  program.expect("a call", 0, 22);

  for_each<<<2, 8>>>(Program::kValues, [=] __device__(int i) { to[i] = i << 1; });
  program.expect("a lambda", Program::kValues - 1, 2 * (Program::kValues - 1));
  const auto launch = [&](int value) { set<<<1, 1, 0, stream>>>(to, value); };
  launch(23);
  program.expect("a launch in a lambda", 0, 23);

  shmem_barrier_all();
  pass_on<<<1, 1>>>(to);
  hipDeviceSynchronize();
  shmem_barrier_all();
  program.expect("a kernel that puts", 0, 70 + (me + n - 1) % n);

  set<<<1, 2000>>>(to, 0);
  if (hipGetLastError() != hipErrorInvalidConfiguration) return 1;
  hipStreamDestroy(stream);
  return program.end();
}
