// SPDX-License-Identifier: Apache-2.0
// A program that starts by a unique id under the names of NVSHMEM or of rocSHMEM.
// Usage: uniqueid_compat nvshmem|rocshmem ID RANK N, where ID is as uniqueid_program's
#include <meshmem/compat/nvshmemx.h>

#include <cstdio>
#include <cstdlib>
#include <meshmem/compat/rocshmem.hpp>
#include <string>

namespace {

// `make` fills an id, which is printed; or the digits are one.
template <typename Id, typename Make>
bool find_id(const std::string& digits, Id& id, Make make) {
  if (digits == "make") {
    if (make(&id) != 0) return false;
    for (const unsigned char byte : id.bytes) std::printf("%02x", byte);
    std::printf("\n");
    return std::fflush(stdout) == 0;
  }
  for (std::size_t i = 0; i < sizeof id.bytes; ++i)
    id.bytes[i] =
        static_cast<unsigned char>(std::strtoul(digits.substr(2 * i, 2).c_str(), nullptr, 16));
  return true;
}

int start_as_nvshmem(const std::string& digits, int rank, int n) {
  nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
  nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
  if (!find_id(digits, id, nvshmemx_get_uniqueid)) return 1;
  nvshmemx_set_attr_uniqueid_args(rank, n, &id, &attributes);
  return nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes);
}

int start_as_rocshmem(const std::string& digits, int rank, int n) {
  rocshmem::rocshmem_uniqueid_t id{};
  rocshmem::rocshmem_init_attr_t attributes;
  if (!find_id(digits, id, rocshmem::rocshmem_get_uniqueid)) return 1;
  rocshmem::rocshmem_set_attr_uniqueid_args(rank, n, &id, &attributes);
  return rocshmem::rocshmem_init_attr(rocshmem::ROCSHMEM_INIT_WITH_UNIQUEID, &attributes);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const bool is_nvshmem = std::string(argv[1]) == "nvshmem";
  const int rank = std::atoi(argv[3]), n = std::atoi(argv[4]);
  if ((is_nvshmem ? start_as_nvshmem : start_as_rocshmem)(argv[2], rank, n) != 0) return 3;
  std::printf("PE %d of %d\n", nvshmem_my_pe(), rocshmem::rocshmem_n_pes());
  nvshmem_finalize();
  return 0;
}
