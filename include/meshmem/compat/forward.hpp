/* SPDX-License-Identifier: Apache-2.0
 *
 * The shared part of the headers for programs of other libraries: how a name of theirs forwards to
 * one of this library, and the start of a job by attributes. Invariant: no routine does anything
 * here that shmem.h and shmemx.h do not do. Read by rocshmem.hpp and nvshmem.h; never by the
 * library.
 */
#ifndef MESHMEM_COMPAT_FORWARD_HPP
#define MESHMEM_COMPAT_FORWARD_HPP

#include <stdint.h>

#include "meshmem/compat/other_names.h"
#include "shmemx.h"

#if defined(MESHMEM_COMPILES_KERNELS)
#define MESHMEM_COMPAT_SIDES MESHMEM_HOST_DEVICE
/* For kernels, compiled only where it is called. */
#define MESHMEM_COMPAT_KERNEL \
  template <int = 0>          \
  MESHMEM_DEVICE
#define MESHMEM_COMPAT_ROUTINE(...) \
  template <int = 0>                \
  MESHMEM_ROUTINE(MESHMEM_DEVICE, __VA_ARGS__)
#else
#define MESHMEM_COMPAT_SIDES inline
#endif

/* A routine that this library does not have: to call it is an error that says so. */
#define MESHMEM_COMPAT_MISSING(name, why)                                                \
  template <typename... Arguments>                                                       \
  void name(Arguments...) {                                                              \
    static_assert(sizeof...(Arguments) == ~size_t{0}, "meshmem has no " #name ": " why); \
  }

namespace meshmem {
namespace compat {

struct UniqueIdArguments {
  int rank = -1, ranks = -1;
  shmemx_uniqueid_t id = {};
};

/* Starts the job by a unique id if there is one, else by the launcher. Returns 0, or nonzero after
 * a line that says why. */
inline int start(const UniqueIdArguments* by_id) {
  if (by_id && by_id->ranks >= 0)
    return shmemx_init_attr(SHMEMX_INIT_WITH_UNIQUEID, by_id->rank, by_id->ranks, &by_id->id);
  int provided = 0;
  return shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
}

/* Allocates on the device, as in libraries that have no other memory, and gives NULL if it is full.
 * In a job without devices it allocates on the host. */
inline long where_allocated() {
  return shmemx_has_device_memory() ? SHMEMX_MALLOC_DEVICE : SHMEMX_MALLOC_HOST;
}
inline void* allocate(size_t bytes) { return shmem_malloc_with_hints(bytes, where_allocated()); }

#ifdef MESHMEM_COMPILES_KERNELS
inline void* allocate_zeroed(size_t count, size_t size) {
  void* memory = size && count > SIZE_MAX / size ? nullptr : allocate(count * size);
  if (memory &&
      (hipMemset(memory, 0, count * size) != hipSuccess || hipDeviceSynchronize() != hipSuccess))
    shmem_global_exit(1);
  shmem_barrier_all();
  return memory;
}
#define MESHMEM_COMPAT_CALLOC(LIBRARY)                       \
  inline void* LIBRARY##_calloc(size_t count, size_t size) { \
    return meshmem::compat::allocate_zeroed(count, size);    \
  }
#else
#define MESHMEM_COMPAT_CALLOC(LIBRARY)
#endif

/* The routines of the host that all such libraries have: FORWARD reads the rows of those that are
 * this library's under another prefix. */
#define MESHMEM_COMPAT_HOST_ROUTINES(LIBRARY, FORWARD)                                   \
  MESHMEM_COMMON_HOST_ROUTINES(FORWARD)                                                  \
  inline void LIBRARY##_global_exit(int status) { shmem_global_exit(status); }           \
  inline void* LIBRARY##_malloc(size_t size) { return meshmem::compat::allocate(size); } \
  inline void* LIBRARY##_align(size_t alignment, size_t size) {                          \
    return shmemx_align_with_hints(alignment, size, meshmem::compat::where_allocated()); \
  }                                                                                      \
  MESHMEM_COMPAT_CALLOC(LIBRARY)

MESHMEM_COMPAT_SIDES void update_signal(uint64_t* address, uint64_t value, int op, int pe) {
  if (op == SHMEM_SIGNAL_ADD)
    shmem_signal_add(address, value, pe);
  else
    shmem_signal_set(address, value, pe);
}

/* A barrier of a team: quiet, then all meet. */
MESHMEM_COMPAT_SIDES int barrier(shmem_team_t team) {
  shmem_quiet();
  return shmem_team_sync(team);
}
#if defined(MESHMEM_COMPILES_KERNELS)
/* Meetings of a group before and after a put or get, as other libraries have them. After the first
 * one, what any thread has written is put. After the second one, the source may be written again,
 * and a signal by any thread comes behind all stores. */
MESHMEM_COMPAT_KERNEL void meet_wave() { meshmem::device::Wave().sync(); }
MESHMEM_COMPAT_KERNEL void meet_block() { meshmem::device::Block().sync(); }
MESHMEM_COMPAT_KERNEL void end_wave() { meshmem::device::release_all(meshmem::device::Wave()); }
MESHMEM_COMPAT_KERNEL void end_block() { meshmem::device::release_all(meshmem::device::Block()); }
MESHMEM_COMPAT_KERNEL int barrier_wave(shmem_team_t team) {
  shmemx_quiet_wave();
  return shmemx_team_sync_wave(team);
}
MESHMEM_COMPAT_KERNEL int barrier_block(shmem_team_t team) {
  shmemx_quiet_block();
  return shmemx_team_sync_block(team);
}
#endif

/* Adds to a floating-point number by compare-and-swap of its bits, a Word. Returns the value
 * before. */
template <typename Word, typename E>
MESHMEM_COMPAT_SIDES E fetch_add_by_swaps(E* dest, E value, int pe) {
  static_assert(sizeof(Word) == sizeof(E), "the word of the value's size");
  Word* const word = reinterpret_cast<Word*>(dest);
  Word found = shmem_atomic_fetch(word, pe);
  for (;;) {
    E before;
    __builtin_memcpy(&before, &found, sizeof before);
    const E after = before + value;
    Word wanted;
    __builtin_memcpy(&wanted, &after, sizeof wanted);
    const Word expected = found;
    found = shmem_atomic_compare_swap(word, expected, wanted, pe);
    if (found == expected) return before;
  }
}

/* Waits and tests on short and unsigned short, under the names of a library. The standard has no
 * current ones for one variable. */
#define MESHMEM_COMPAT_ARGUMENTS(...) __VA_ARGS__
#if defined(MESHMEM_COMPILES_KERNELS)
#define MESHMEM_COMPAT_WAIT_OF(LIBRARY, name, result, params, in_kernel, on_host) \
  MESHMEM_ROUTINE(MESHMEM_COMPAT_SIDES, result, LIBRARY##_##name, params,         \
                  MESHMEM_DISPATCH(return meshmem::device::in_kernel, return shmem_##on_host))
#else
#define MESHMEM_COMPAT_WAIT_OF(LIBRARY, name, result, params, in_kernel, on_host) \
  inline result LIBRARY##_##name params { return shmem_##on_host; }
#endif
#define MESHMEM_COMPAT_SHORT_WAITS(LIBRARY, WAIT, TEST)            \
  MESHMEM_COMPAT_SHORT_WAITS_OF(LIBRARY, WAIT, TEST, short, short) \
  MESHMEM_COMPAT_SHORT_WAITS_OF(LIBRARY, WAIT, TEST, ushort, unsigned short)
#define MESHMEM_COMPAT_SHORT_WAITS_OF(LIBRARY, WAIT, TEST, NAME, TYPE)                          \
  MESHMEM_COMPAT_WAIT_OF(LIBRARY, NAME##_wait_until, void, (TYPE * ivar, int cmp, TYPE value),  \
                         wait_until(meshmem::device::Thread(), ivar, cmp, value),               \
                         NAME##_wait_until_all(ivar, 1, nullptr, cmp, value))                   \
  MESHMEM_COMPAT_WAIT_OF(LIBRARY, NAME##_test, int, (TYPE * ivar, int cmp, TYPE value),         \
                         test(ivar, cmp, value), NAME##_test_all(ivar, 1, nullptr, cmp, value)) \
  MESHMEM_OPS_WAIT_UNTIL_OF_MANY(WAIT, NAME##_, TYPE)                                           \
  MESHMEM_OPS_TEST_OF_MANY(TEST, NAME##_, TYPE)

#if defined(MESHMEM_COMPILES_KERNELS)
/* of_bits() makes a call with the bits of half and bfloat16 in their place. */
template <typename T>
T as_bits(T argument) {
  return argument;
}
template <typename E>
uint16_t short_bits(E value) {
  uint16_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}
#define MESHMEM_COMPAT_AS_BITS(NAME, TYPE, ...)                                            \
  inline uint16_t as_bits(TYPE value) { return short_bits(value); }                        \
  inline uint16_t* as_bits(TYPE* address) { return reinterpret_cast<uint16_t*>(address); } \
  inline const uint16_t* as_bits(const TYPE* address) {                                    \
    return reinterpret_cast<const uint16_t*>(address);                                     \
  }
MESHMEM_SHORT_FLOATS(MESHMEM_COMPAT_AS_BITS, )
#undef MESHMEM_COMPAT_AS_BITS
template <typename Routine, typename... Arguments>
auto of_bits(const Routine& call, Arguments... arguments) {
  return call(as_bits(arguments)...);
}
#endif

}  // namespace compat
}  // namespace meshmem

#endif
