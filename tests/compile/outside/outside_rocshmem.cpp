// SPDX-License-Identifier: Apache-2.0
// A program of rocSHMEM, with its own name of the header.
#include <cstdio>
#include <rocshmem/rocshmem.hpp>

int main() {
  rocshmem::rocshmem_init();
  const int pes = std::max(rocshmem::rocshmem_n_pes(), 0);  // of <algorithm>, as there
  if (rocshmem::rocshmem_my_pe() == 0) std::printf("%d PEs of rocSHMEM\n", pes);
  rocshmem::rocshmem_finalize();
}
