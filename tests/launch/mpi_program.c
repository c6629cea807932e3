// SPDX-License-Identifier: Apache-2.0
// A program that uses MPI alone, with which a launch test tries oshrun as the launcher of MPI.
// Invariant: where a rank ends the job, the others wait in a barrier. Usage: mpi_program sum |
// wait | die RANK | abort RANK CODE
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void end_job(char** words) {
  if (strcmp(words[1], "abort") == 0) MPI_Abort(MPI_COMM_WORLD, atoi(words[3]));
  raise(SIGKILL);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, sum = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (strcmp(argv[1], "sum") == 0) printf("rank %d of %d, sum %d\n", rank, ranks, sum);
  if (strcmp(argv[1], "wait") == 0) {
    printf("waiting\n");
    fflush(stdout);
    sleep(60);
  }
  if (argc > 2 && atoi(argv[2]) == rank) end_job(argv);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
