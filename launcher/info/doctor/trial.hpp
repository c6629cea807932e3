// SPDX-License-Identifier: Apache-2.0
//
// The trials of the doctor in a job once the library has started: memory of the node, the network
// to each other node, memory of devices. Invariant: every PE calls try_job(), and the first PE of
// each node tries; the others wait. Called by the doctor's job.
#ifndef MESHMEM_INFO_DOCTOR_TRIAL_HPP_
#define MESHMEM_INFO_DOCTOR_TRIAL_HPP_

#include <pshmem.h>
#include <shmemx.h>

#include <cstddef>
#include <string>
#include <vector>

#include "info/doctor/checks.hpp"

namespace meshmem::doctor {

// All routines of libmeshmem that the doctor's job calls; tests put their own in their place. Their
// types are taken from their twins pshmem_*, which C++ does not overload.
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

// Where this PE is, and where all nodes are.
struct Places {
  int me, n_pes;
  int first;                // PE of this node
  int neighbour;            // the next PE of this node; this one if it is alone there
  std::vector<int> firsts;  // the first PE of each node, ascending

  bool is_first() const { return me == first; }
};
Places find_places(const Library& library);

// Symmetric memory of kTrialBytes. `device` is null where there is no device heap.
inline constexpr std::size_t kTrialBytes = 4096;
struct TrialMemory {
  void* host;
  void* device;
};

struct JobFacts {
  std::string target;    // cpu, hip or cuda
  std::string networks;  // that reach other nodes, as in "UCX 1.13.1: tcp over eth0"
};

// Returns no checks on a PE that is not its node's first.
Checks try_job(const Library& library, const Places& places, const TrialMemory& memory,
               const JobFacts& facts);

}  // namespace meshmem::doctor

#endif  // MESHMEM_INFO_DOCTOR_TRIAL_HPP_
