// SPDX-License-Identifier: Apache-2.0
//
// MPI and meshmem in one program, as when a code written for MPI is moved over piece by piece. Data
// on the GPUs goes to the next rank in up to three ways: by MPI through the hosts, by MPI from GPU
// to GPU, and by one put. An MPI that does not take memory of GPUs has only the first. All have to
// give the same. Run it:
//   oshhip 15_mpi_interop.cpp -o interop $(mpicc --showme:compile) $(mpicc --showme:link)
//   oshrun -n 4 ./interop

// One launcher starts both libraries, which ask it who they are: oshrun (for Open MPI 4) or the
// mpirun of the MPI. Either library may be initialized first. Rank and PE have the same number, but
// nothing promises that for other launchers, so a program that relies on it should check it, as
// this one does.

// Without the C++ interface that MPI has given up: these are for Open MPI and for MPICH.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1

#include <hip/hip_runtime_api.h>
#include <mpi.h>
#if __has_include(<mpi-ext.h>)  // what an MPI has beyond the standard
#include <mpi-ext.h>
#endif
#include <shmemx.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr int kTag = 0;

// Ends all processes of the job.
[[noreturn]] void fail(const char* what, const char* why) {
  std::fprintf(stderr, "15_mpi_interop: PE %d: %s: %s\n", shmem_my_pe(), what, why);
  shmem_global_exit(1);
}

void check(hipError_t result, const char* what) {
  if (result != hipSuccess) fail(what, hipGetErrorString(result));
}

// How many numbers to send; 0 if the arguments are wrong.
int read_arguments(int argc, char** argv) {
  if (argc == 1) return 1 << 20;
  char* end = nullptr;
  const long numbers = std::strtol(argv[1], &end, 10);
  const bool valid = argc == 2 && end != argv[1] && *end == '\0';
  return valid && numbers >= 1 && numbers <= 1 << 28 ? static_cast<int>(numbers) : 0;
}

using Numbers = std::vector<double>;

std::size_t bytes_of(const Numbers& numbers) { return numbers.size() * sizeof(double); }

// Whether GPUs are processors here (MESHMEM_TARGET=cpu): any MPI takes the memory of these.
bool are_gpus_processors() {
  int device = 0;
  hipDeviceProp_t properties{};
  check(hipGetDevice(&device), "ask which GPU this is");
  check(hipGetDeviceProperties(&properties, device), "ask what GPU this is");
  return std::strcmp(properties.gcnArchName, "cpu") == 0;
}

// Whether MPI takes addresses of GPU memory. Open MPI can say so, and others that have its calls.
// An MPI that does not say so gets none.
bool mpi_takes_gpu_memory() {
  bool does = are_gpus_processors();
#if defined(MPIX_CUDA_AWARE_SUPPORT) && MPIX_CUDA_AWARE_SUPPORT
  does = does || MPIX_Query_cuda_support() == 1;
#endif
#if defined(MPIX_ROCM_AWARE_SUPPORT) && MPIX_ROCM_AWARE_SUPPORT
  does = does || MPIX_Query_rocm_support() == 1;
#endif
  return does;
}

// From GPU to GPU, if MPI can.
void send_by_mpi(double* received, const double* outbox, int count, int right, int left) {
  MPI_Sendrecv(outbox, count, MPI_DOUBLE, right, kTag, received, count, MPI_DOUBLE, left, kTag,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// From my GPU to my host, from there to the host of `right`; and from my host to my GPU what came.
void send_by_hosts(double* received, const double* outbox, int count, int right, int left) {
  Numbers going(static_cast<std::size_t>(count)), coming(going.size());
  check(hipMemcpy(going.data(), outbox, bytes_of(going), hipMemcpyDeviceToHost), "copy to host");
  MPI_Sendrecv(going.data(), count, MPI_DOUBLE, right, kTag, coming.data(), count, MPI_DOUBLE, left,
               kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  check(hipMemcpy(received, coming.data(), bytes_of(coming), hipMemcpyHostToDevice), "copy to GPU");
}

// By one put, from GPU to GPU.
void send_by_put(double* inbox, const double* outbox, int count, int right) {
  shmem_double_put(inbox, outbox, static_cast<std::size_t>(count), right);
  shmem_barrier_all();  // all puts of the others have arrived
}

Numbers read(const double* on_gpu, int count) {
  Numbers numbers(static_cast<std::size_t>(count));
  check(hipMemcpy(numbers.data(), on_gpu, bytes_of(numbers), hipMemcpyDeviceToHost), "copy back");
  return numbers;
}

double* allocate(int count) {
  return static_cast<double*>(shmem_malloc_with_hints(
      static_cast<std::size_t>(count) * sizeof(double), SHMEMX_MALLOC_DEVICE));
}

bool on_all_ranks(bool here) {
  const int mine = here ? 1 : 0;
  int least = 0;
  MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return least == 1;
}

// Returns the exit status.
int exchange(int count) {
  const int me = shmem_my_pe();
  const int n = shmem_n_pes();
  const int right = (me + 1) % n;
  const int left = (me + n - 1) % n;
  double* outbox = allocate(count);
  double* by_hosts = allocate(count);
  double* by_mpi = allocate(count);
  double* by_put = allocate(count);
  if (outbox == nullptr || by_hosts == nullptr || by_mpi == nullptr || by_put == nullptr) {
    // Then it is so on all PEs.
    if (me == 0) std::fprintf(stderr, "15_mpi_interop: no GPU memory for the PEs to share\n");
    return 1;
  }
  Numbers numbers(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) numbers[static_cast<std::size_t>(i)] = me + i / 1e6;
  check(hipMemcpy(outbox, numbers.data(), bytes_of(numbers), hipMemcpyHostToDevice), "copy to GPU");
  for (double* inbox : {by_hosts, by_mpi, by_put})
    check(hipMemset(inbox, 0, bytes_of(numbers)), "clear");
  check(hipDeviceSynchronize(), "clear");
  shmem_sync_all();  // nobody puts into an inbox that its owner has yet to clear

  send_by_hosts(by_hosts, outbox, count, right, left);
  const bool has_direct = on_all_ranks(mpi_takes_gpu_memory());
  if (has_direct) send_by_mpi(by_mpi, outbox, count, right, left);
  send_by_put(by_put, outbox, count, right);

  const Numbers a = read(by_hosts, count);
  bool equal = a.front() == left && a.back() == left + (count - 1) / 1e6;
  for (const double* inbox : {by_mpi, by_put}) {
    if (inbox == by_mpi && !has_direct) continue;
    const Numbers b = read(inbox, count);
    equal = equal && std::memcmp(a.data(), b.data(), bytes_of(a)) == 0;
  }
  if (!equal) std::fprintf(stderr, "15_mpi_interop: PE %d has got different numbers\n", me);
  const bool all_equal = on_all_ranks(equal);
  if (me == 0 && all_equal) {
    std::printf("%d %s: %d numbers from GPU to GPU by MPI through hosts%s and by a put: the same\n",
                n, n == 1 ? "PE" : "PEs", count, has_direct ? ", by MPI directly" : "");
  }
  return all_equal ? 0 : 1;
}

int run(int argc, char** argv) {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank != shmem_my_pe() || ranks != shmem_n_pes()) {
    fail("MPI and meshmem differ on who this is", "start the program by the MPI's own mpirun");
  }
  const int count = read_arguments(argc, argv);
  if (count > 0) return exchange(count);
  if (rank == 0) {
    std::fprintf(stderr, "15_mpi_interop: give one number of numbers, from 1 to %d\n", 1 << 28);
  }
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  shmem_init();
  const int status = run(argc, argv);
  shmem_finalize();
  MPI_Finalize();
  return status;
}
