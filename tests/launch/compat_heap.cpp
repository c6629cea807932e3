// SPDX-License-Identifier: Apache-2.0
// A program that starts under the names of a library and asks for device memory.
// Usage: compat_heap nvshmem|nvshmem_thread|nvshmem_attr|rocshmem|rocshmem_thread|rocshmem_attr|
// shmem|failed_nvshmem_then_shmem|nvshmem_then_shmem BYTES. Prints whether it has got them.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "meshmem/compat/nvshmemx.h"
#include "meshmem/compat/rocshmem.hpp"

namespace {

int start(const std::string& way) {
  int provided = 0;
  if (way == "nvshmem_thread") return nvshmem_init_thread(NVSHMEM_THREAD_MULTIPLE, &provided);
  if (way == "nvshmem_attr") return nvshmemx_init_attr(0, nullptr);
  if (way == "rocshmem_thread")
    return rocshmem::rocshmem_init_thread(rocshmem::ROCSHMEM_THREAD_MULTIPLE, &provided);
  if (way == "rocshmem_attr") return rocshmem::rocshmem_init_attr(0, nullptr);
  if (way == "nvshmem") nvshmem_init();
  if (way == "rocshmem") rocshmem::rocshmem_init();
  if (way == "shmem") shmem_init();
  if (way == "failed_nvshmem_then_shmem") {
    if (nvshmem_init_thread(NVSHMEM_THREAD_MULTIPLE, &provided) == 0) return 4;
    shmem_init();
  }
  if (way == "nvshmem_then_shmem") {
    nvshmem_init();
    nvshmem_finalize();
    shmem_init();
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  if (start(argv[1]) != 0) return 3;
  const void* memory =
      shmem_malloc_with_hints(std::strtoull(argv[2], nullptr, 10), SHMEMX_MALLOC_DEVICE);
  if (shmem_my_pe() == 0) std::printf("%s\n", memory ? "yes" : "no");
  shmem_finalize();
  return 0;
}
