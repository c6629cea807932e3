// SPDX-License-Identifier: Apache-2.0
//
// An alltoallv with blocks of many lengths, 0 among them, in another order than that of the PEs and
// with gaps: each PE's arguments, source and expected dest.
// Invariant: all of it follows from the PEs' numbers and the turn. Used by the tests of host calls,
// of streams and of kernels.
#ifndef MESHMEM_TESTS_API_ALLTOALLV_MODEL_HPP
#define MESHMEM_TESTS_API_ALLTOALLV_MODEL_HPP

#include <algorithm>
#include <vector>

#include "symmetric_array.hpp"
#include "team_views.hpp"

namespace meshmem {

struct AlltoallvModel {
  const TeamView& view;
  size_t scale, turn;

  static constexpr int kOld = 700;

  // Elements from PE `from` of the team to PE `to`.
  size_t count(size_t from, size_t to) const { return (from * 3 + to * 5 + turn) % 4 * scale; }
  size_t longest() const { return 3 * scale; }
  size_t size() const { return view.size() * (longest() + 1); }
  // Blocks of a source lie in the opposite order of the PEs, rotated by one on odd PEs. Blocks of a
  // dest lie in the order of the PEs, rotated by the receiver's number.
  size_t source_displ(size_t from, size_t to) const {
    return (view.size() - 1 - to + from % 2) % view.size() * (longest() + 1);
  }
  size_t dest_displ(size_t from, size_t to) const {
    return (from + to) % view.size() * (longest() + 1) + (turn + to) % 2;
  }

  size_t me() const { return static_cast<size_t>(view.me); }
  // dest_nelems, dest_displs, source_nelems and source_displs of this PE, one after another. Blocks
  // of no elements have no place.
  std::vector<size_t> arrays() const {
    const auto place = [](size_t nelems, size_t displ) { return nelems == 0 ? SIZE_MAX : displ; };
    std::vector<size_t> all;
    for (size_t i = 0; i < view.size(); ++i) all.push_back(count(i, me()));
    for (size_t i = 0; i < view.size(); ++i)
      all.push_back(place(count(i, me()), dest_displ(i, me())));
    for (size_t i = 0; i < view.size(); ++i) all.push_back(count(me(), i));
    for (size_t i = 0; i < view.size(); ++i)
      all.push_back(place(count(me(), i), source_displ(me(), i)));
    return all;
  }
  template <typename E>
  std::vector<E> brought(int world_pe, int round = 0) const {
    std::vector<E> values(size());
    fill(values.data(), values.size(), world_pe, round);
    return values;
  }
  template <typename E>
  std::vector<E> before() const {
    return brought<E>(my_pe(), kOld);
  }
  template <typename E>
  std::vector<E> after() const {
    std::vector<E> values = before<E>();
    for (size_t from = 0; from < view.size(); ++from) {
      const std::vector<E> theirs = brought<E>(view.world(from));
      std::copy_n(theirs.begin() + static_cast<ptrdiff_t>(source_displ(from, me())),
                  count(from, me()),
                  values.begin() + static_cast<ptrdiff_t>(dest_displ(from, me())));
    }
    return values;
  }
};

}  // namespace meshmem

#endif
