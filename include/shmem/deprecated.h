/* SPDX-License-Identifier: Apache-2.0
 *
 * The deprecated names that OpenSHMEM 1.6 still asks for: constants, and the rows of the routines
 * in the form of shmem/ops.h, with a table of types of their own. shmem.h includes this; new
 * programs need nothing of it.
 * Invariant: a routine here is a current one in an older form, or a collective of a team that the
 * library keeps for the active set. The current API can do everything that is done here. Kernels
 * have none of these routines.
 */
#ifndef MESHMEM_SHMEM_DEPRECATED_H
#define MESHMEM_SHMEM_DEPRECATED_H

/* Active sets: elements of pSync and pWrk. The library uses neither array, and leaves both as they
 * are. */
#define SHMEM_SYNC_VALUE 0L
#define SHMEM_SYNC_SIZE 1
#define SHMEM_BARRIER_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_BCAST_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_COLLECT_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_REDUCE_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_ALLTOALL_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_ALLTOALLS_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_REDUCE_MIN_WRKDATA_SIZE 1

/* Older names of constants. */
#define _SHMEM_SYNC_VALUE SHMEM_SYNC_VALUE
#define _SHMEM_BARRIER_SYNC_SIZE SHMEM_BARRIER_SYNC_SIZE
#define _SHMEM_BCAST_SYNC_SIZE SHMEM_BCAST_SYNC_SIZE
#define _SHMEM_COLLECT_SYNC_SIZE SHMEM_COLLECT_SYNC_SIZE
#define _SHMEM_REDUCE_SYNC_SIZE SHMEM_REDUCE_SYNC_SIZE
#define _SHMEM_REDUCE_MIN_WRKDATA_SIZE SHMEM_REDUCE_MIN_WRKDATA_SIZE
#define _SHMEM_MAJOR_VERSION SHMEM_MAJOR_VERSION
#define _SHMEM_MINOR_VERSION SHMEM_MINOR_VERSION
#define _SHMEM_MAX_NAME_LEN SHMEM_MAX_NAME_LEN
#define _SHMEM_VENDOR_STRING SHMEM_VENDOR_STRING
#define _SHMEM_CMP_EQ SHMEM_CMP_EQ
#define _SHMEM_CMP_NE SHMEM_CMP_NE
#define _SHMEM_CMP_LT SHMEM_CMP_LT
#define _SHMEM_CMP_LE SHMEM_CMP_LE
#define _SHMEM_CMP_GT SHMEM_CMP_GT
#define _SHMEM_CMP_GE SHMEM_CMP_GE

/* clang-format off */

/* The types, as in shmem/types.h, whose MESHMEM_IN_<column> reads the columns. All are distinct C types.
 *
 *   old    fetch, set, swap
 *   sum    the other old atomics
 *   wait   wait
 *   until  wait_until and test, of types that have no atomics
 *   logic, order, arith   and, or, xor; max, min; sum, prod of active sets */
/*    NAME        TYPE              old sum wait until logic order arith */
#define MESHMEM_DEPRECATED_TYPES(X, ...) \
    X(float,      float,             1,  0,  0,  0,    0,    1,    1, __VA_ARGS__) \
    X(double,     double,            1,  0,  0,  0,    0,    1,    1, __VA_ARGS__) \
    X(longdouble, long double,       0,  0,  0,  0,    0,    1,    1, __VA_ARGS__) \
    X(complexf,   meshmem_complexf,  0,  0,  0,  0,    0,    0,    1, __VA_ARGS__) \
    X(complexd,   meshmem_complexd,  0,  0,  0,  0,    0,    0,    1, __VA_ARGS__) \
    X(short,      short,             0,  0,  1,  1,    1,    1,    1, __VA_ARGS__) \
    X(ushort,     unsigned short,    0,  0,  0,  1,    0,    0,    0, __VA_ARGS__) \
    X(int,        int,               1,  1,  1,  0,    1,    1,    1, __VA_ARGS__) \
    X(long,       long,              1,  1,  1,  0,    1,    1,    1, __VA_ARGS__) \
    X(longlong,   long long,         1,  1,  1,  0,    1,    1,    1, __VA_ARGS__)

/* 9.7, atomics under their older names. */
#define MESHMEM_OPS_DEPRECATED_OLD(F, PRE, E) \
    F(PRE##fetch, fetch, E, E, (const E *source, int pe), (source, pe)) \
    F(PRE##set, set, E, void, (E *dest, E value, int pe), (dest, value, pe)) \
    F(PRE##swap, swap, E, E, (E *dest, E value, int pe), (dest, value, pe))
#define MESHMEM_OPS_DEPRECATED_SUM(F, PRE, E) \
    F(PRE##cswap, cswap, E, E, (E *dest, E cond, E value, int pe), (dest, cond, value, pe)) \
    F(PRE##finc, finc, E, E, (E *dest, int pe), (dest, pe)) \
    F(PRE##inc, inc, E, void, (E *dest, int pe), (dest, pe)) \
    F(PRE##fadd, fadd, E, E, (E *dest, E value, int pe), (dest, value, pe)) \
    F(PRE##add, add, E, void, (E *dest, E value, int pe), (dest, value, pe))

/* 9.10: wait lasts until *ivar is not cmp_value. */
#define MESHMEM_OPS_DEPRECATED_WAIT(F, PRE, E) \
    F(PRE##wait, wait, E, void, (E *ivar, E cmp_value), (ivar, cmp_value))
#define MESHMEM_OPS_DEPRECATED_UNTIL(F, PRE, E) \
    F(PRE##wait_until, wait_until, E, void, (E *ivar, int cmp, E cmp_value), (ivar, cmp, cmp_value)) \
    F(PRE##test, test, E, int, (E *ivar, int cmp, E cmp_value), (ivar, cmp, cmp_value))

/* 9.9, collectives of an active set: the PEs PE_start, PE_start + 2^logPE_stride, ..., PE_size of them. Exactly these
 * PEs make the call. They do what the team's routine does, with these differences. Numbers of elements are in elements
 * of 32 or 64 bits. PE_root counts the PEs of the set, and its dest is left as it is. pWrk and pSync may be anything.
 * One thread of a PE at a time may be in a collective of the same active set. */
#define MESHMEM_OPS_DEPRECATED_COLLECTIVE(F, BITS, E) \
    F(broadcast##BITS, set_broadcast, E, void, \
      (void *dest, const void *source, size_t nelems, int PE_root, int PE_start, int logPE_stride, int PE_size, long *pSync), \
      (dest, source, nelems, PE_root, PE_start, logPE_stride, PE_size, pSync)) \
    F(collect##BITS, set_collect, E, void, \
      (void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync), \
      (dest, source, nelems, PE_start, logPE_stride, PE_size, pSync)) \
    F(fcollect##BITS, set_fcollect, E, void, \
      (void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync), \
      (dest, source, nelems, PE_start, logPE_stride, PE_size, pSync)) \
    F(alltoall##BITS, set_alltoall, E, void, \
      (void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync), \
      (dest, source, nelems, PE_start, logPE_stride, PE_size, pSync)) \
    F(alltoalls##BITS, set_alltoalls, E, void, \
      (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int PE_start, int logPE_stride, \
       int PE_size, long *pSync), \
      (dest, source, dst, sst, nelems, PE_start, logPE_stride, PE_size, pSync))

#define MESHMEM_OP_DEPRECATED_REDUCE(F, PRE, E, what) \
    F(PRE##what, what, E, void, \
      (E *dest, const E *source, int nreduce, int PE_start, int logPE_stride, int PE_size, E *pWrk, long *pSync), \
      (dest, source, nreduce, PE_start, logPE_stride, PE_size, pWrk, pSync))
#define MESHMEM_OPS_DEPRECATED_LOGIC(F, PRE, E) \
    MESHMEM_OP_DEPRECATED_REDUCE(F, PRE, E, and_to_all) MESHMEM_OP_DEPRECATED_REDUCE(F, PRE, E, or_to_all) \
    MESHMEM_OP_DEPRECATED_REDUCE(F, PRE, E, xor_to_all)
#define MESHMEM_OPS_DEPRECATED_ORDER(F, PRE, E) \
    MESHMEM_OP_DEPRECATED_REDUCE(F, PRE, E, max_to_all) MESHMEM_OP_DEPRECATED_REDUCE(F, PRE, E, min_to_all)
#define MESHMEM_OPS_DEPRECATED_ARITH(F, PRE, E) \
    MESHMEM_OP_DEPRECATED_REDUCE(F, PRE, E, sum_to_all) MESHMEM_OP_DEPRECATED_REDUCE(F, PRE, E, prod_to_all)

/* Routines without a type. barrier completes the calling PE's puts first, sync does not. */
#define MESHMEM_DEPRECATED_ROUTINES(F) \
    F(barrier, barrier, void, void, \
      (int PE_start, int logPE_stride, int PE_size, long *pSync), (PE_start, logPE_stride, PE_size, pSync)) \
    F(sync, sync, void, void, \
      (int PE_start, int logPE_stride, int PE_size, long *pSync), (PE_start, logPE_stride, PE_size, pSync)) \
    F(wait, wait, long, void, (long *ivar, long cmp_value), (ivar, cmp_value))

/* The function shmem_wait_until, for long. C++ has no declaration of it, but an overload with these parameters. */
#define MESHMEM_DEPRECATED_LONG_WAIT_UNTIL(F) \
    F(wait_until, wait_until, long, void, (long *ivar, int cmp, long cmp_value), (ivar, cmp, cmp_value))

/* Routines whose full names these are. start_pes: shmem_init, and a shmem_finalize of its own when the program ends
 * with status 0; npes is ignored, and another call does nothing. */
#define MESHMEM_DEPRECATED_NAMES(F) \
    F(start_pes, start_pes, void, void, (int npes), (npes)) \
    F(_my_pe, my_pe, void, int, (void), ()) \
    F(_num_pes, n_pes, void, int, (void), ()) \
    F(shmalloc, malloc, void, void *, (size_t size), (size)) \
    F(shfree, free, void, void, (void *ptr), (ptr)) \
    F(shrealloc, realloc, void, void *, (void *ptr, size_t size), (ptr, size)) \
    F(shmemalign, align, void, void *, (size_t alignment, size_t size), (alignment, size))

/* The rows that have a type-generic form, of all types; then all whose name begins with shmem_ but the one for C alone. */
#define MESHMEM_DEPRECATED_GENERIC(F) MESHMEM_DEPRECATED_TYPES(MESHMEM_DEPRECATED_GENERIC_ROW, F)
#define MESHMEM_DEPRECATED_GENERIC_ROW(NAME, TYPE, old, sum, wait, until, logic, order, arith, F) \
    MESHMEM_IN_##old(MESHMEM_OPS_DEPRECATED_OLD(F, NAME##_, TYPE)) \
    MESHMEM_IN_##sum(MESHMEM_OPS_DEPRECATED_SUM(F, NAME##_, TYPE)) \
    MESHMEM_IN_##until(MESHMEM_OPS_DEPRECATED_UNTIL(F, NAME##_, TYPE))
#define MESHMEM_DEPRECATED_TYPED_ROW(NAME, TYPE, old, sum, wait, until, logic, order, arith, F) \
    MESHMEM_IN_##wait(MESHMEM_OPS_DEPRECATED_WAIT(F, NAME##_, TYPE)) \
    MESHMEM_IN_##logic(MESHMEM_OPS_DEPRECATED_LOGIC(F, NAME##_, TYPE)) \
    MESHMEM_IN_##order(MESHMEM_OPS_DEPRECATED_ORDER(F, NAME##_, TYPE)) \
    MESHMEM_IN_##arith(MESHMEM_OPS_DEPRECATED_ARITH(F, NAME##_, TYPE))
#define MESHMEM_DEPRECATED(F) \
    MESHMEM_DEPRECATED_GENERIC(F) \
    MESHMEM_DEPRECATED_TYPES(MESHMEM_DEPRECATED_TYPED_ROW, F) \
    MESHMEM_OPS_DEPRECATED_COLLECTIVE(F, 32, uint32_t) \
    MESHMEM_OPS_DEPRECATED_COLLECTIVE(F, 64, uint64_t) \
    MESHMEM_DEPRECATED_ROUTINES(F)
/* clang-format on */

#endif
