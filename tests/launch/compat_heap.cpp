// SPDX-License-Identifier: Apache-2.0
// A program that starts under the names of a library and asks for device memory.
// Usage: compat_heap nvshmem|nvshmem_thread|nvshmem_attr|rocshmem|rocshmem_thread|rocshmem_attr|
// shmem|failed_nvshmem_then_shmem|nvshmem_then_shmem BYTES... Prints whether it has got all. With
// "use" as the last argument it puts into the last block, whether or not there is one.
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

void* allocate(const std::string& way, size_t bytes) {
  if (way.find("nvshmem") == 0) return nvshmem_malloc(bytes);
  if (way.find("rocshmem") == 0) return rocshmem::rocshmem_malloc(bytes);
  return shmem_malloc_with_hints(bytes, SHMEMX_MALLOC_DEVICE);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string way = argv[1];
  const bool uses = std::string(argv[argc - 1]) == "use";
  if (start(way) != 0) return 3;
  bool has_all = true;
  char* last = nullptr;
  for (int i = 2; i < argc - (uses ? 1 : 0); ++i) {
    last = static_cast<char*>(allocate(way, std::strtoull(argv[i], nullptr, 10)));
    has_all = has_all && last;
  }
  if (shmem_my_pe() == 0) {
    std::printf("%s\n", has_all ? "yes" : "no");
    std::fflush(stdout);
    const long value = 1;
    if (uses) shmem_putmem(last + 128, &value, sizeof value, shmem_n_pes() - 1);
  }
  shmem_finalize();
  return 0;
}
