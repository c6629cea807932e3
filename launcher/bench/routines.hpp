// SPDX-License-Identifier: Apache-2.0
//
// The typed reductions as one shape, and numbers whose reduction is known.
// Invariant: elements repeat after kPeriod, a prime, so that a slice in the wrong place shows.
#ifndef MESHMEM_BENCH_ROUTINES_HPP_
#define MESHMEM_BENCH_ROUTINES_HPP_

#include <shmemx.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace meshmem::bench {

inline constexpr std::size_t kPeriod = 1009;
using Pattern = std::vector<double>;  // kPeriod of them

struct Routine {
  std::string_view type;
  std::string_view op;
  std::size_t elem_bytes;
  int (*on_stream)(shmem_team_t team, void* dest, const void* source, std::size_t count,
                   shmemx_stream_t stream);
  int (*on_host)(shmem_team_t team, void* dest, const void* source, std::size_t count);  // or null
  void (*fill)(void* elems, std::size_t count, const Pattern& values);
  // How many elements are not what the answers say, but for rounding at n additions.
  std::size_t (*count_wrong)(const void* elems, std::size_t count, const Pattern& answers, int n);
};

const Routine* find_routine(std::string_view type, std::string_view op);
std::vector<std::string> type_names();
std::vector<std::string> op_names();

// The values that PE `pe` of n contributes, and the result. Small whole numbers, others for each
// seed.
Pattern values_of(const Routine& routine, int pe, int n, unsigned seed);
Pattern answers_of(const Routine& routine, int n, unsigned seed);

}  // namespace meshmem::bench

#endif  // MESHMEM_BENCH_ROUTINES_HPP_
