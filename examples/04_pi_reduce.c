// SPDX-License-Identifier: Apache-2.0
//
// Reductions: every PE adds up a part of a sum, and one call adds the parts. The sum is the area
// under 4 / (1 + x * x) from 0 to 1, cut into thin strips; it is pi.
// Run it:
//   oshcc 04_pi_reduce.c -o pi && oshrun -n 4 ./pi
//   oshrun -n 4 ./pi 1000000      with another number of strips

#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

// Reductions take symmetric variables: other PEs read my part and write the total that I get.
static double my_part;
static double total;

// Strips me, me + n, me + 2n, ...: equal shares for any number of PEs.
static double area_of_my_strips(long strips) {
  double sum = 0;
  for (long strip = shmem_my_pe(); strip < strips; strip += shmem_n_pes()) {
    double x = ((double)strip + 0.5) / (double)strips;
    sum += 4 / (1 + x * x);
  }
  return sum / (double)strips;
}

// The number in `text`, or 0 if it is not a number above 0.
static long positive_number(const char* text) {
  char* end;
  long number = strtol(text, &end, 10);
  return *end == '\0' && number > 0 ? number : 0;
}

int main(int argc, char** argv) {
  shmem_init();
  int me = shmem_my_pe();

  long strips = argc < 2 ? 10000000 : argc == 2 ? positive_number(argv[1]) : 0;
  if (strips == 0) {  // the same on every PE: all leave, one says why
    if (me == 0) fprintf(stderr, "04_pi_reduce: give one number of strips, at least 1\n");
    shmem_finalize();
    return 2;
  }

  my_part = area_of_my_strips(strips);
  shmem_double_sum_reduce(SHMEM_TEAM_WORLD, &total, &my_part, 1);

  // Every PE has the total; it is enough that one prints it.
  if (me == 0) {
    const double pi = 3.14159265358979323846;
    printf("pi is about %.12f (off by %.1e): %ld strips on %d PEs\n", total,
           total > pi ? total - pi : pi - total, strips, shmem_n_pes());
  }
  shmem_finalize();
  return 0;
}
