// SPDX-License-Identifier: Apache-2.0
//
// Reductions and scans by one thread of a kernel on the cpu target: the program calls a function
// that the library has compiled. A compiler compiles all routines of the header, used or not. If
// they held the templates, a program of one line would take three times as long to compile.
// Invariant: the caller has made the checks; results are those of the templates for groups.
// Included by routines.hpp; defined in kernels/reductions.cpp.
#ifndef MESHMEM_DEVICE_COLLECTIVES_BY_ONE_THREAD_HPP_
#define MESHMEM_DEVICE_COLLECTIVES_BY_ONE_THREAD_HPP_

#include "device/operations.hpp"
#include "device/sync.hpp"

#if defined(MESHMEM_TARGET_IS_CPU)
namespace meshmem {
namespace device {

enum class ReduceForm { reduce, scatter, inclusive_scan, exclusive_scan };

// The elements are of one of the types of ElemType. `op` counts for reduce and scatter only: scans
// are sums.
extern "C" void shmemx_reduce_by_one_thread(ReduceForm form, ReduceOp op, ElemType type,
                                            const TeamSync& sync, void* dest, const void* source,
                                            std::size_t count);

// Whether by_one_thread() takes E. It does not take half and bfloat16, for which programs have
// other types than the library.
template <typename E>
constexpr bool kIsByOneThread = elem_type_of<E>() != ElemType::none;

template <typename E>
inline int by_one_thread(ReduceForm form, ReduceOp op, const TeamSync& sync, E* dest,
                         const E* source, std::size_t count) {
  shmemx_reduce_by_one_thread(form, op, elem_type_of<E>(), sync, dest, source, count);
  return 0;
}

}  // namespace device
}  // namespace meshmem
#endif

#endif  // MESHMEM_DEVICE_COLLECTIVES_BY_ONE_THREAD_HPP_
