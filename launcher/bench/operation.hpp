// SPDX-License-Identifier: Apache-2.0
//
// An operation that is measured: a row of rows.def as the host sees it, what it is called with, and
// its kernels. Invariant: this is C++17 without the library's names, since kernels.cpp reads it as
// device code.
#ifndef MESHMEM_BENCH_OPERATION_HPP_
#define MESHMEM_BENCH_OPERATION_HPP_

#include <hip/hip_runtime_api.h>

#include <cstddef>
#include <cstdint>

struct meshmem_team;

namespace meshmem::bench {

// Whom an operation is called by: its host, a group of a kernel's threads, or a stream.
enum class Caller { host, thread, wave, block, grid, stream };

enum class Who { first, pair, all };
enum class Size { none, word, bytes, elems };
enum class Answer {
  put,             // the peer's dest is PE 0's source
  get,             // PE 0's dest is its peer's source
  last_round,      // the peer's word is the number of the last round
  first_word,      // PE 0 has fetched the first word of its peer's source
  rounds,          // the peer's word is the number of rounds
  rounds_fetched,  // so it is, and PE 0 has fetched one less
  signals,         // the two have seen the number of rounds as the last signal
  exchange,        // each of the two has the other's source
  meeting,         // what a PE has stored before, its neighbour finds
  broadcast,       // all have PE 0's source
  gather,          // all have all sources, one behind the other
  alltoall,        // block j is block `me` of PE j
  alltoalls,       // likewise, of elements that lie kStride apart, here and there
  alltoallv,       // likewise, with counts_of() bytes
  sum,             // of all PEs' elements, or what else combines them
  sum_of_block,    // block `me` of it
  sum_up_to,       // of PEs 0 to me
  sum_before       // of PEs 0 to me - 1
};

inline constexpr int kStride = 2;  // in elements, of alltoalls

// The arguments of a call. Symmetric: what `word` and `signal` point to, dest and source.
struct At {
  char* dest;
  char* source;
  float* float_dest;  // the same memory
  float* float_source;
  long* word;  // at dest
  const long* word_of_source;
  long* fetched;  // memory of the caller: of this PE's host or device
  std::uint64_t* signal;
  const std::size_t* dest_nelems;  // of alltoallv, where the caller can read them
  const std::size_t* source_nelems;
  const std::size_t* displs;
  std::size_t bytes;
  int pe;  // the other one
  bool begins;
  meshmem_team* team;  // a shmem_team_t, of an all-reduce of all types
};

// A number of rounds from number `first` on; `window` calls each, then what comes after them.
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
