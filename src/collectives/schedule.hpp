// SPDX-License-Identifier: Apache-2.0
//
// Says which PEs exchange data, and which share of it: pure functions of the PE, the number of PEs
// and the step. Words: a *share* is what one PE owns of the data; `pe` and `n` are of the team.
// Invariant: right for every n >= 1 and every count, fewer elements than PEs included. Called by
// the algorithms, and by tests that run them without processes.
#ifndef MESHMEM_COLLECTIVES_SCHEDULE_HPP_
#define MESHMEM_COLLECTIVES_SCHEDULE_HPP_

#include <cstddef>

namespace meshmem::schedule {

// Elements [begin, end).
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t size() const { return end - begin; }
};

// Share `index` of `n` nearly equal ones. Borders are multiples of `grain` elements, so that no two
// PEs write one cache line.
Range share(std::size_t count, std::size_t grain, int n, int index);

// Recursive doubling (Thakur, Rabenseifner, Gropp 2005, section 4.4, with the extra PEs at the
// end). Let p2 be the largest power of two <= n. First PE p2 + e gives its data to PE e (step 0).
// Then the first p2 PEs exchange with p xor 2^k (steps 1 ..), and PE e gives the result back (last
// step).
enum class Role {
  idle,
  give,      // publish for the partner
  take,      // combine what the partner has published
  exchange,  // both
  receive    // copy the result that the partner has published
};
struct Exchange {
  Role role = Role::idle;
  int partner = -1;
};
int doubling_steps(int n);
Exchange doubling_exchange(int n, int pe, int step);

// Dissemination barrier (Hensgen, Finkel, Manber 1988): in round k a PE signals p + 2^k and waits
// for p - 2^k.
int dissemination_rounds(int n);
int dissemination_target(int n, int pe, int round);

// A binomial tree with PE 0 as its root: data reaches all PEs in log2 n hops.
int binomial_parent(int pe);  // pe > 0
// Calls run(pe) for its children, the one with the largest subtree first.
template <typename Run>
void for_binomial_children(int n, int pe, const Run& run) {
  const int subtree = pe == 0 ? n : pe & -pe;
  for (int step = 1 << dissemination_rounds(n); step > 0; step /= 2)
    if (step < subtree && pe + step < n) run(pe + step);
}

}  // namespace meshmem::schedule

#endif  // MESHMEM_COLLECTIVES_SCHEDULE_HPP_
