// SPDX-License-Identifier: Apache-2.0
//
// The schedules.
// Invariant: the functions have no state.
#include "collectives/schedule.hpp"

#include <algorithm>
#include <bit>

namespace meshmem::schedule {
namespace {

int log2_floor(int n) { return std::bit_width(static_cast<unsigned>(n)) - 1; }

}  // namespace

Range share(std::size_t count, std::size_t grain, int n, int index) {
  const std::size_t grains = (count + grain - 1) / grain;
  const auto parts = static_cast<std::size_t>(n);
  // The first grains % n shares have one grain more. Divided first, since grains * index could
  // overflow.
  const auto border = [&](std::size_t i) {
    return std::min(count, (grains / parts * i + std::min(i, grains % parts)) * grain);
  };
  return {border(static_cast<std::size_t>(index)), border(static_cast<std::size_t>(index) + 1)};
}

int doubling_steps(int n) { return n == 1 ? 0 : log2_floor(n) + 2; }

Exchange doubling_exchange(int n, int pe, int step) {
  const int core = 1 << log2_floor(n);  // PEs that exchange; the extra ones follow them
  const bool has_extra = pe + core < n;
  const int last = doubling_steps(n) - 1;
  if (pe >= core) {
    if (step == 0) return {Role::give, pe - core};
    if (step == last) return {Role::receive, pe - core};
    return {};
  }
  if (step == 0) return has_extra ? Exchange{Role::take, pe + core} : Exchange{};
  if (step == last) return has_extra ? Exchange{Role::give, pe + core} : Exchange{};
  return {Role::exchange, pe ^ (1 << (step - 1))};
}

int dissemination_rounds(int n) { return std::bit_width(static_cast<unsigned>(n - 1)); }
int dissemination_target(int n, int pe, int round) { return (pe + (1 << round)) % n; }

int binomial_parent(int pe) { return pe & (pe - 1); }

}  // namespace meshmem::schedule
