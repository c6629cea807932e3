// SPDX-License-Identifier: Apache-2.0
//
// Extensions that move data, and group forms of routines for one thread, as kernels call them. They
// are not in routines.hpp, since the library's own kernels need none of them. Invariant: as in
// routines.hpp. Read by shmem/device.hpp.
#ifndef MESHMEM_DEVICE_EXTENSION_ROUTINES_HPP_
#define MESHMEM_DEVICE_EXTENSION_ROUTINES_HPP_

#include "device/collectives/alltoallv.hpp"
#include "device/collectives/located.hpp"
#include "device/routines.hpp"

namespace meshmem {
namespace device {

template <typename E, typename Group>
MESHMEM_DEVICE int alltoallv(const Group& group, shmem_team_t team, void* dest,
                             const std::size_t* dest_nelems, const std::size_t* dest_displs,
                             const void* source, const std::size_t* source_nelems,
                             const std::size_t* source_displs) {
  const Alltoallv call{
      dest, {dest_nelems, dest_displs}, source, {source_nelems, source_displs}, sizeof(E)};
  if (spans_nodes(team)) return alltoallv_by_host(group, team, call);
  const TeamSync sync(team);
  const Call as_called = Call::movement<E>(CollectiveKind::alltoallv, 0);  // lengths may differ
  [[maybe_unused]] const InCall in_call(group, sync, as_called);
  check_call(group, sync, as_called);
  alltoallv(group, sync, call);
  return 0;
}

template <typename U, typename Group>
MESHMEM_DEVICE int reduce_located(const LocatedOrder& order, const Group& group, shmem_team_t team,
                                  void* dest, const void* source, std::size_t nreduce) {
  const Call call{CollectiveKind::reduce, order.op, order.type, sizeof(Located<U>), nreduce, 0};
  if (spans_nodes(team)) return by_host(group, {call, order.type, team, dest, source, 1, 1});
  reduce_located(order, group, sync_of(group, team, call, dest, source),
                 static_cast<Located<U>*>(dest), static_cast<const Located<U>*>(source), nreduce);
  return 0;
}
#define MESHMEM_REDUCTION(name, op)                                                           \
  template <typename E, typename Group>                                                       \
  MESHMEM_DEVICE int name##_reduce(const Group& group, shmem_team_t team, E* dest,            \
                                   const E* source, std::size_t nreduce) {                    \
    using Element = LocatedOf<decltype(E::value)>;                                            \
    return reduce_located<typename Element::Bits>(LocatedOrder{Element::kType, ReduceOp::op}, \
                                                  group, team, dest, source, nreduce);        \
  }
MESHMEM_REDUCTION(maxloc, max)
MESHMEM_REDUCTION(minloc, min)
#undef MESHMEM_REDUCTION

// Returns the same value to all threads of a group.
template <typename Group>
MESHMEM_DEVICE std::uint64_t signal_fetch_by(const Group& group, const std::uint64_t* sig_addr) {
  check_symmetric_word(sig_addr);
  std::uint64_t value = 0;
  if (group.rank() == 0) {
    value = load_relaxed(sig_addr);
    acquire_mine();
  }
  return acquire_shared(group, value);
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_EXTENSION_ROUTINES_HPP_
