/* SPDX-License-Identifier: Apache-2.0
 *
 * Names that OpenSHMEM has never had, and that programs written for other libraries use. Some are
 * the deprecated atomics and wait, for types that only the current ones have (shmem_uint64_fadd).
 * The others are the waits and tests of several variables, for short and unsigned short
 * (shmem_short_wait_until_any).
 * Invariant: each stands for another routine of the library, so tools see that routine. The library
 * exports no shmem_ name that the standard does not have. generic.h includes this.
 */
#ifndef MESHMEM_SHMEM_OLDER_NAMES_H
#define MESHMEM_SHMEM_OLDER_NAMES_H

#ifdef MESHMEM_COMPILES_KERNELS
#define MESHMEM_OLDER MESHMEM_HOST_DEVICE
#elif defined(__cplusplus)
#define MESHMEM_OLDER inline
#else
#define MESHMEM_OLDER static inline
#endif

/* clang-format off */
/* The types that MESHMEM_DEPRECATED_TYPES lacks, with a column as in shmem/types.h for the type-generic forms. */
#define MESHMEM_OLDER_TYPES(X, ...) \
    X(uint,      unsigned int,       2, __VA_ARGS__) \
    X(ulong,     unsigned long,      2, __VA_ARGS__) \
    X(ulonglong, unsigned long long, 2, __VA_ARGS__) \
    X(int32,     int32_t,            1, __VA_ARGS__) \
    X(int64,     int64_t,            1, __VA_ARGS__) \
    X(uint32,    uint32_t,           1, __VA_ARGS__) \
    X(uint64,    uint64_t,           1, __VA_ARGS__) \
    X(size,      size_t,             1, __VA_ARGS__) \
    X(ptrdiff,   ptrdiff_t,          1, __VA_ARGS__)
/* clang-format on */

#define MESHMEM_OLDER_NAMES(NAME, E, generic, unused)                                             \
  MESHMEM_OLDER E shmem_##NAME##_fetch(const E* source, int pe) {                                 \
    return shmem_##NAME##_atomic_fetch(source, pe);                                               \
  }                                                                                               \
  MESHMEM_OLDER void shmem_##NAME##_set(E* dest, E value, int pe) {                               \
    shmem_##NAME##_atomic_set(dest, value, pe);                                                   \
  }                                                                                               \
  MESHMEM_OLDER E shmem_##NAME##_swap(E* dest, E value, int pe) {                                 \
    return shmem_##NAME##_atomic_swap(dest, value, pe);                                           \
  }                                                                                               \
  MESHMEM_OLDER E shmem_##NAME##_cswap(E* dest, E cond, E value, int pe) {                        \
    return shmem_##NAME##_atomic_compare_swap(dest, cond, value, pe);                             \
  }                                                                                               \
  MESHMEM_OLDER E shmem_##NAME##_finc(E* dest, int pe) {                                          \
    return shmem_##NAME##_atomic_fetch_inc(dest, pe);                                             \
  }                                                                                               \
  MESHMEM_OLDER void shmem_##NAME##_inc(E* dest, int pe) { shmem_##NAME##_atomic_inc(dest, pe); } \
  MESHMEM_OLDER E shmem_##NAME##_fadd(E* dest, E value, int pe) {                                 \
    return shmem_##NAME##_atomic_fetch_add(dest, value, pe);                                      \
  }                                                                                               \
  MESHMEM_OLDER void shmem_##NAME##_add(E* dest, E value, int pe) {                               \
    shmem_##NAME##_atomic_add(dest, value, pe);                                                   \
  }                                                                                               \
  MESHMEM_OLDER void shmem_##NAME##_wait(E* ivar, E cmp_value) {                                  \
    shmem_##NAME##_wait_until(ivar, SHMEM_CMP_NE, cmp_value);                                     \
  }
MESHMEM_OLDER_TYPES(MESHMEM_OLDER_NAMES, )
#undef MESHMEM_OLDER_NAMES
#undef MESHMEM_OLDER

/* The library exports these functions with the prefix shmemx_, as extensions. */
#ifdef __cplusplus
extern "C" {
#endif
#define MESHMEM_OLDER_WAIT(name, op, E, result, params, args) \
  result shmem_##name params __asm__("shmemx_" #name);
MESHMEM_OPS_WAITS_OF_MANY(MESHMEM_OLDER_WAIT, short_, short)
MESHMEM_OPS_WAITS_OF_MANY(MESHMEM_OLDER_WAIT, ushort_, unsigned short)
#undef MESHMEM_OLDER_WAIT
#ifdef __cplusplus
}
#endif

#endif
