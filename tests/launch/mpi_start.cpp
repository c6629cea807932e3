// SPDX-License-Identifier: Apache-2.0
// A program that starts MPI, and then this library under the names of others by what MPI gives it:
// a unique id that MPI broadcasts, or a communicator. It checks that the PEs are its ranks.
// Usage: mpi_start WAY PARTS [NO_PART]. WAY is below; PARTS: of how many colours communicators are,
// 0: all ranks in reversed order. Ranks of the colour NO_PART are PEs of no job. With
// MPI_START_WITHOUT_RANDOM_NUMBERS set nobody can make a unique id. Or: mpi_start no_mpi_init 1
#include <mpi.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "meshmem/compat/nvshmemx.h"
#include "meshmem/compat/rocshmem.hpp"

// The library's call comes here, before the C library's.
extern "C" ssize_t getrandom(void* bytes, size_t size, unsigned flags) {
  if (!std::getenv("MPI_START_WITHOUT_RANDOM_NUMBERS"))
    return syscall(SYS_getrandom, bytes, size, flags);
  errno = ENOSYS;
  return -1;
}

namespace {

MPI_Comm communicator = MPI_COMM_NULL;
int rank = 0, ranks = 0;

// The id of the communicator's first rank.
template <typename Id, typename Make>
Id broadcast_id(Make make) {
  Id id{};
  if (rank == 0 && make(&id) != 0) std::exit(6);
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, communicator);
  return id;
}

int start(const std::string& way) {
  if (way == "shmemx_id") {
    const auto id = broadcast_id<shmemx_uniqueid_t>(shmemx_get_uniqueid);
    return shmemx_init_attr(SHMEMX_INIT_WITH_UNIQUEID, rank, ranks, &id);
  }
  if (way == "shmemx_comm") return shmemx_init_mpi_comm(&communicator);
  if (way == "shmemx_another") {  // the first rank has been in a job of its own
    MPI_Comm self = MPI_COMM_SELF;
    if (rank == 0 && shmemx_init_mpi_comm(&self) != 0) return 1;
    if (rank == 0) shmem_finalize();
    MPI_Barrier(communicator);
    return shmemx_init_mpi_comm(&communicator);
  }
  if (way == "shmemx_null") return shmemx_init_mpi_comm(nullptr);
  nvshmemx_init_attr_t nvshmem = NVSHMEMX_INIT_ATTR_INITIALIZER;
  if (way == "nvshmem_id") {
    const auto id = broadcast_id<nvshmemx_uniqueid_t>(nvshmemx_get_uniqueid);
    nvshmemx_set_attr_uniqueid_args(rank, ranks, &id, &nvshmem);
    return nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &nvshmem);
  }
  if (way == "nvshmem_comm") {
    nvshmem.mpi_comm = &communicator;
    return nvshmemx_init_attr(NVSHMEMX_INIT_WITH_MPI_COMM, &nvshmem);
  }
  rocshmem::rocshmem_init_attr_t rocshmem;
  if (way == "rocshmem_id") {
    auto id = broadcast_id<rocshmem::rocshmem_uniqueid_t>(rocshmem::rocshmem_get_uniqueid);
    rocshmem::rocshmem_set_attr_uniqueid_args(rank, ranks, &id, &rocshmem);
    return rocshmem::rocshmem_init_attr(rocshmem::ROCSHMEM_INIT_WITH_UNIQUEID, &rocshmem);
  }
  if (way == "rocshmem_comm") {
    rocshmem.mpi_comm = &communicator;
    return rocshmem::rocshmem_init_attr(rocshmem::ROCSHMEM_INIT_WITH_MPI_COMM, &rocshmem);
  }
  if (way == "rocshmem_init") {
    rocshmem::rocshmem_init(communicator);
    return 0;
  }
  int provided = 0;
  if (way == "rocshmem_init_thread")
    return rocshmem::rocshmem_init_thread(rocshmem::ROCSHMEM_THREAD_MULTIPLE, &provided,
                                          communicator);
  return 7;
}

// The members' ranks in MPI_COMM_WORLD by puts, a reduction and MPI itself.
bool do_pes_and_ranks_agree(int world_rank) {
  if (nvshmem_my_pe() != rank || nvshmem_n_pes() != ranks) return false;
  static int of_neighbour, mine, sum;
  mine = world_rank;
  nvshmem_int_p(&of_neighbour, world_rank, (rank + 1) % ranks);
  nvshmem_barrier_all();
  nvshmem_int_sum_reduce(NVSHMEM_TEAM_WORLD, &sum, &mine, 1);
  int expected_sum = 0, expected = 0;
  MPI_Allreduce(&mine, &expected_sum, 1, MPI_INT, MPI_SUM, communicator);
  MPI_Sendrecv(&mine, 1, MPI_INT, (rank + 1) % ranks, 0, &expected, 1, MPI_INT,
               (rank + ranks - 1) % ranks, 0, communicator, MPI_STATUS_IGNORE);
  return sum == expected_sum && of_neighbour == expected;
}

// The whole of a program for rocSHMEM that leaves MPI's start and end to it.
int leave_mpi_to_rocshmem() {
  rocshmem::rocshmem_init();
  communicator = MPI_COMM_WORLD;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &ranks);
  const bool is_right = do_pes_and_ranks_agree(rank);
  std::printf("%d is PE %d of %d\n", rank, nvshmem_my_pe(), nvshmem_n_pes());
  rocshmem::rocshmem_finalize();
  return is_right ? 0 : 4;
}

int run(const std::string& way, int world_rank) {
  if (const int status = start(way); status != 0) return 3;
  const bool is_right = do_pes_and_ranks_agree(world_rank);
  std::printf("%d is PE %d of %d\n", world_rank, nvshmem_my_pe(), nvshmem_n_pes());
  std::fflush(stdout);
  nvshmem_finalize();
  return is_right ? 0 : 4;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  if (argv[1] == std::string("no_mpi_init")) return leave_mpi_to_rocshmem();
  const int parts = std::atoi(argv[2]);
  MPI_Init(&argc, &argv);
  int world_rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  const int colour = parts > 0 ? world_rank % parts : 0;
  MPI_Comm_split(MPI_COMM_WORLD, colour, parts > 0 ? world_rank : -world_rank, &communicator);
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &ranks);
  const bool is_pe = argc < 4 || std::atoi(argv[3]) != colour;
  const int status = is_pe ? run(argv[1], world_rank) : 0;
  if (status != 0) return status;  // the launcher ends the others
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
