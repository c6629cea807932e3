// SPDX-License-Identifier: Apache-2.0
//
// The routines of libmeshmem that the doctor's job calls. meshmem-info loads the library in a job
// alone, so it works where the library cannot be loaded.
// Invariant: a Library is complete. Made by load_library(), or by a test of routines of its own.
#ifndef MESHMEM_INFO_DOCTOR_LIBRARY_HPP_
#define MESHMEM_INFO_DOCTOR_LIBRARY_HPP_

#include <pshmem.h>
#include <shmemx.h>

#include <string>
#include <variant>

namespace meshmem::doctor {

// Their types are those of the twins, which C++ has no overloads of.
#define MESHMEM_DOCTOR_ROUTINES(X) \
  X(init)                          \
  X(finalize)                      \
  X(my_pe)                         \
  X(n_pes)                         \
  X(team_n_pes)                    \
  X(team_translate_pe)             \
  X(ptr)                           \
  X(malloc_with_hints)             \
  X(putmem)                        \
  X(getmem)                        \
  X(quiet)                         \
  X(barrier_all)                   \
  X(fcollectmem)                   \
  X(broadcastmem)

struct Library {
#define MESHMEM_MEMBER(name) decltype(pshmem_##name)* name;
  MESHMEM_DOCTOR_ROUTINES(MESHMEM_MEMBER)
#undef MESHMEM_MEMBER
};

// The library of this installation, or why it cannot be loaded. It stays until the process ends.
std::variant<Library, std::string> load_library();

}  // namespace meshmem::doctor

#endif  // MESHMEM_INFO_DOCTOR_LIBRARY_HPP_
