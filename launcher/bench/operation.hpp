// SPDX-License-Identifier: Apache-2.0
//
// The columns of rows.def, the arguments of an operation that is measured, and its kernels.
// Invariant: this is C++17 and includes nothing of the library, since kernels.cpp reads it as
// device code.
#ifndef MESHMEM_BENCH_OPERATION_HPP_
#define MESHMEM_BENCH_OPERATION_HPP_

#include <hip/hip_runtime_api.h>

#include <cstddef>
#include <cstdint>

struct meshmem_team;

namespace meshmem::bench {

// An operation is called by the host, by a group of a kernel's threads, or on a stream.
enum class Caller { host, thread, wave, block, grid, stream };

// Columns of rows.def, which explains the first two.
enum class Who { first, pair, all };
enum class Size { none, word, bytes, elems };
enum class Answer {
  put,            // the peer's dest is PE 0's source
  get,            // PE 0's dest is its peer's source
  last_call,      // the peer's word is the number of the last call
  first_word,     // PE 0 has fetched the first word of its peer's source
  calls,          // the peer's word is how many calls there were
  calls_fetched,  // likewise, and PE 0 has fetched one less
  signals,        // the last signal that each of the two has seen is how many calls there were
  exchange,       // each of the two has the other's source
  meeting,        // each PE finds what its neighbour stored before the meeting
  broadcast,      // all have PE 0's source
  gather,         // all have all sources, one behind the other
  alltoall,       // block j is block `me` of PE j's source
  alltoalls,      // as alltoall, with elements kStride apart in source and dest
  alltoallv,      // as alltoall, with blocks of nelems() bytes
  sum,            // all PEs' elements combined, by a sum or by another operation
  sum_of_block,   // block `me` of that
  sum_up_to,      // the elements of PEs 0 to me combined
  sum_before      // those of PEs 0 to me - 1
};

inline constexpr int kStride = 2;  // in elements, of alltoalls

// The arguments of a call. dest, source, and what `word` and `signal` point to are symmetric.
struct At {
  char* dest;
  char* source;
  float* float_dest;  // dest and source again
  float* float_source;
  long* word;                  // at dest again
  const long* word_of_source;  // at source
  long* fetched;               // in this PE's own memory, of the host or the device
  std::uint64_t* signal;
  const std::size_t* dest_nelems;  // of alltoallv, where the caller can read them
  const std::size_t* source_nelems;
  const std::size_t* displs;
  std::size_t bytes;
  int pe;              // the other one
  bool begins;         // this is PE 0, which begins each exchange of a pair
  meshmem_team* team;  // a shmem_team_t, of an all-reduce that has all types
};

// `rounds` rounds: `window` calls each, then what column `after` says. Calls are numbered, from
// `first` on.
struct Rounds {
  std::uint64_t first;
  int rounds;
  int window;
};

// ---- Kernels (kernels.cpp)

struct Shape {
  unsigned blocks;
  unsigned threads;
};

// Whether row `number` has a kernel for a group.
bool has_kernel(int number, Caller group);
// Launches it.
hipError_t launch(int number, Caller group, const At& at, const Rounds& rounds, const Shape& shape,
                  hipStream_t stream);

}  // namespace meshmem::bench

#endif  // MESHMEM_BENCH_OPERATION_HPP_
