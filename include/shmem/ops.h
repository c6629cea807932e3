/* SPDX-License-Identifier: Apache-2.0
 *
 * The routines of OpenSHMEM 1.6: one row a routine, with its result, parameters and arguments.
 * Prototypes, pshmem_ twins, definitions, C++ overloads and tests are made from these rows;
 * the types come from shmem/types.h. docs/typed_names.md follows one row through them.
 * Invariant: counts and strides are in elements of E. A PE number counts in the context's team, and
 * the root of a collective in the collective's team.
 */
#ifndef MESHMEM_SHMEM_OPS_H
#define MESHMEM_SHMEM_OPS_H

/* A row:
 *
 *   F(name, op, E, result, (parameters), (arguments))
 *
 *   name  the routine is shmem_<name>; the families with contexts have a shmem_ctx_<name> too
 *   op    the operation without its type: what the library's template for it is called
 *   E     the type of an element (T is the type that pointers are declared with: E, or void in
 *         sized and mem forms)
 *
 * A row serves the typed, sized and mem form of a routine. shmem_<type>_put_signal is made with
 * PRE = <type>_ and an empty MID. shmem_put32_signal is made with an empty PRE and MID = 32, and
 * shmem_putmem_signal with MID = mem. */

/* clang-format off */

/* 9.6, remote memory access, and 9.8, signaling: blocking, nonblocking (complete at quiet), and with a signal.
 * dest of a put, source of a get and sig_addr are symmetric. sig_op is SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD; the signal is
 * updated after the data of the same call has arrived, and also when nelems is 0. */
#define MESHMEM_OPS_RMA(F, PRE, MID, E, T) \
    MESHMEM_OPS_TRANSFER(F, PRE, MID, E, T) \
    F(PRE##put##MID##_nbi, put_nbi, E, void, \
      (T *dest, const T *source, size_t nelems, int pe), (dest, source, nelems, pe)) \
    F(PRE##get##MID##_nbi, get_nbi, E, void, \
      (T *dest, const T *source, size_t nelems, int pe), (dest, source, nelems, pe)) \
    MESHMEM_OP_PUT_SIGNAL(F, PRE, MID, E, T) \
    F(PRE##put##MID##_signal_nbi, put_signal_nbi, E, void, \
      (T *dest, const T *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe), \
      (dest, source, nelems, sig_addr, signal, sig_op, pe))

#define MESHMEM_OPS_TRANSFER(F, PRE, MID, E, T) \
    F(PRE##put##MID, put, E, void, \
      (T *dest, const T *source, size_t nelems, int pe), (dest, source, nelems, pe)) \
    F(PRE##get##MID, get, E, void, \
      (T *dest, const T *source, size_t nelems, int pe), (dest, source, nelems, pe))
#define MESHMEM_OP_PUT_SIGNAL(F, PRE, MID, E, T) \
    F(PRE##put##MID##_signal, put_signal, E, void, \
      (T *dest, const T *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe), \
      (dest, source, nelems, sig_addr, signal, sig_op, pe))

/* 9.6, strided: element i at index i * dst of dest and i * sst of source. Block-strided: nblocks
 * blocks of bsize consecutive elements, block b at b * dst and b * sst; dst, sst >= bsize. */
#define MESHMEM_OPS_STRIDED(F, PRE, MID, E, T) \
    F(PRE##iput##MID, iput, E, void, \
      (T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe), \
      (dest, source, dst, sst, nelems, pe)) \
    F(PRE##iget##MID, iget, E, void, \
      (T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe), \
      (dest, source, dst, sst, nelems, pe)) \
    F(PRE##ibput##MID, ibput, E, void, \
      (T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe), \
      (dest, source, dst, sst, bsize, nblocks, pe)) \
    F(PRE##ibget##MID, ibget, E, void, \
      (T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe), \
      (dest, source, dst, sst, bsize, nblocks, pe))

/* 9.6, one element by value. */
#define MESHMEM_OP_P(F, PRE, E) F(PRE##p, p, E, void, (E *dest, E value, int pe), (dest, value, pe))
#define MESHMEM_OPS_SINGLE(F, PRE, E) \
    MESHMEM_OP_P(F, PRE, E) \
    F(PRE##g, g, E, E, (const E *source, int pe), (source, pe))

/* 9.7, atomic memory operations. Fetching forms return the value before; nbi forms put it into the local *fetch, which may
 * be read after quiet. Integers wrap. */
#define MESHMEM_OPS_ATOMIC_EXT(F, PRE, E) \
    F(PRE##atomic_fetch, atomic_fetch, E, E, (const E *source, int pe), (source, pe)) \
    F(PRE##atomic_set, atomic_set, E, void, (E *dest, E value, int pe), (dest, value, pe)) \
    F(PRE##atomic_swap, atomic_swap, E, E, (E *dest, E value, int pe), (dest, value, pe)) \
    F(PRE##atomic_fetch_nbi, atomic_fetch_nbi, E, void, (E *fetch, const E *source, int pe), (fetch, source, pe)) \
    F(PRE##atomic_swap_nbi, atomic_swap_nbi, E, void, (E *fetch, E *dest, E value, int pe), (fetch, dest, value, pe))

#define MESHMEM_OPS_ATOMIC_STD(F, PRE, E) \
    F(PRE##atomic_compare_swap, atomic_compare_swap, E, E, (E *dest, E cond, E value, int pe), (dest, cond, value, pe)) \
    F(PRE##atomic_fetch_inc, atomic_fetch_inc, E, E, (E *dest, int pe), (dest, pe)) \
    F(PRE##atomic_inc, atomic_inc, E, void, (E *dest, int pe), (dest, pe)) \
    F(PRE##atomic_fetch_add, atomic_fetch_add, E, E, (E *dest, E value, int pe), (dest, value, pe)) \
    F(PRE##atomic_add, atomic_add, E, void, (E *dest, E value, int pe), (dest, value, pe)) \
    F(PRE##atomic_compare_swap_nbi, atomic_compare_swap_nbi, E, void, \
      (E *fetch, E *dest, E cond, E value, int pe), (fetch, dest, cond, value, pe)) \
    F(PRE##atomic_fetch_inc_nbi, atomic_fetch_inc_nbi, E, void, (E *fetch, E *dest, int pe), (fetch, dest, pe)) \
    F(PRE##atomic_fetch_add_nbi, atomic_fetch_add_nbi, E, void, (E *fetch, E *dest, E value, int pe), (fetch, dest, value, pe))

#define MESHMEM_OPS_ATOMIC_BIT(F, PRE, E) \
    MESHMEM_OPS_ATOMIC_BIT_OF(F, PRE, E, and) MESHMEM_OPS_ATOMIC_BIT_OF(F, PRE, E, or) MESHMEM_OPS_ATOMIC_BIT_OF(F, PRE, E, xor)
#define MESHMEM_OPS_ATOMIC_BIT_OF(F, PRE, E, what) \
    F(PRE##atomic_fetch_##what, atomic_fetch_##what, E, E, (E *dest, E value, int pe), (dest, value, pe)) \
    F(PRE##atomic_##what, atomic_##what, E, void, (E *dest, E value, int pe), (dest, value, pe)) \
    F(PRE##atomic_fetch_##what##_nbi, atomic_fetch_##what##_nbi, E, void, \
      (E *fetch, E *dest, E value, int pe), (fetch, dest, value, pe))

/* 9.11, point-to-point synchronization on the local, symmetric ivar(s). cmp is one of SHMEM_CMP_*. status is a mask of nelems
 * ints, nonzero = leave out, NULL = none left out. any: the index found, SIZE_MAX if the set is empty; some: how many of
 * `indices` were filled; test*: 1 or 0. The vector forms compare ivars[i] with cmp_values[i]. */
#define MESHMEM_OPS_WAIT(F, PRE, E) MESHMEM_OPS_WAIT_UNTIL(F, PRE, E) MESHMEM_OPS_TEST(F, PRE, E)

#define MESHMEM_OPS_WAITS_OF_MANY(F, PRE, E) MESHMEM_OPS_WAIT_UNTIL_OF_MANY(F, PRE, E) MESHMEM_OPS_TEST_OF_MANY(F, PRE, E)

#define MESHMEM_OP_WAIT_UNTIL(F, PRE, E) \
    F(PRE##wait_until, wait_until, E, void, (E *ivar, int cmp, E cmp_value), (ivar, cmp, cmp_value))
#define MESHMEM_OPS_WAIT_UNTIL(F, PRE, E) \
    MESHMEM_OP_WAIT_UNTIL(F, PRE, E) \
    MESHMEM_OPS_WAIT_UNTIL_OF_MANY(F, PRE, E)
#define MESHMEM_OPS_WAIT_UNTIL_OF_MANY(F, PRE, E) MESHMEM_OPS_OF_MANY(F, PRE, E, wait_until, void)

#define MESHMEM_OPS_TEST(F, PRE, E) \
    F(PRE##test, test, E, int, (E *ivar, int cmp, E cmp_value), (ivar, cmp, cmp_value)) \
    MESHMEM_OPS_TEST_OF_MANY(F, PRE, E)
#define MESHMEM_OPS_TEST_OF_MANY(F, PRE, E) MESHMEM_OPS_OF_MANY(F, PRE, E, test, int)

/* what: wait_until or test. result: of the form for all. */
#define MESHMEM_OPS_OF_MANY(F, PRE, E, what, result) \
    F(PRE##what##_all, what##_all, E, result, \
      (E *ivars, size_t nelems, const int *status, int cmp, E cmp_value), (ivars, nelems, status, cmp, cmp_value)) \
    F(PRE##what##_any, what##_any, E, size_t, \
      (E *ivars, size_t nelems, const int *status, int cmp, E cmp_value), (ivars, nelems, status, cmp, cmp_value)) \
    F(PRE##what##_some, what##_some, E, size_t, \
      (E *ivars, size_t nelems, size_t *indices, const int *status, int cmp, E cmp_value), \
      (ivars, nelems, indices, status, cmp, cmp_value)) \
    F(PRE##what##_all_vector, what##_all_vector, E, result, \
      (E *ivars, size_t nelems, const int *status, int cmp, const E *cmp_values), (ivars, nelems, status, cmp, cmp_values)) \
    F(PRE##what##_any_vector, what##_any_vector, E, size_t, \
      (E *ivars, size_t nelems, const int *status, int cmp, const E *cmp_values), (ivars, nelems, status, cmp, cmp_values)) \
    F(PRE##what##_some_vector, what##_some_vector, E, size_t, \
      (E *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const E *cmp_values), \
      (ivars, nelems, indices, status, cmp, cmp_values))

/* 9.10, collectives of a team: 0 on success. dest and source are symmetric and, but for reductions and scans in place,
 * do not overlap. broadcast: nelems of PE_root's source to every dest, the root's too. fcollect: nelems of each PE, in
 * team order; collect: as many as each PE says. alltoall: block k of PE l's source to block l of PE k's dest. */
#define MESHMEM_OPS_COLLECTIVE(F, PRE, MID, E, T) \
    MESHMEM_OPS_MOVE(F, PRE, MID, E, T) \
    F(PRE##alltoalls##MID, alltoalls, E, int, \
      (shmem_team_t team, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems), \
      (team, dest, source, dst, sst, nelems))
#define MESHMEM_OPS_MOVE(F, PRE, MID, E, T) \
    F(PRE##broadcast##MID, broadcast, E, int, \
      (shmem_team_t team, T *dest, const T *source, size_t nelems, int PE_root), (team, dest, source, nelems, PE_root)) \
    F(PRE##collect##MID, collect, E, int, \
      (shmem_team_t team, T *dest, const T *source, size_t nelems), (team, dest, source, nelems)) \
    F(PRE##fcollect##MID, fcollect, E, int, \
      (shmem_team_t team, T *dest, const T *source, size_t nelems), (team, dest, source, nelems)) \
    F(PRE##alltoall##MID, alltoall, E, int, \
      (shmem_team_t team, T *dest, const T *source, size_t nelems), (team, dest, source, nelems))

#define MESHMEM_OP_REDUCE(F, PRE, E, what) \
    F(PRE##what, what, E, int, \
      (shmem_team_t team, E *dest, const E *source, size_t nreduce), (team, dest, source, nreduce))

#define MESHMEM_OPS_REDUCE_LOGIC(F, PRE, E) \
    MESHMEM_OP_REDUCE(F, PRE, E, and_reduce) MESHMEM_OP_REDUCE(F, PRE, E, or_reduce) MESHMEM_OP_REDUCE(F, PRE, E, xor_reduce)
#define MESHMEM_OPS_REDUCE_ORDER(F, PRE, E) \
    MESHMEM_OP_REDUCE(F, PRE, E, max_reduce) MESHMEM_OP_REDUCE(F, PRE, E, min_reduce)
#define MESHMEM_OPS_REDUCE_ARITH(F, PRE, E) \
    MESHMEM_OP_REDUCE(F, PRE, E, sum_reduce) MESHMEM_OP_REDUCE(F, PRE, E, prod_reduce) MESHMEM_OPS_SCAN(F, PRE, E)
#define MESHMEM_OPS_SCAN(F, PRE, E) \
    MESHMEM_OP_REDUCE(F, PRE, E, sum_inscan) MESHMEM_OP_REDUCE(F, PRE, E, sum_exscan)

/* Reductions beyond the standard: shmemx_<name>, for the types that kernels have; shmemx.h says what they do. */
#define MESHMEM_OPS_AVERAGE(F, PRE, E) MESHMEM_OP_REDUCE(F, PRE, E, avg_reduce)
#define MESHMEM_OPS_SCATTER_LOGIC(F, PRE, E) \
    MESHMEM_OP_REDUCE(F, PRE, E, and_reduce_scatter) MESHMEM_OP_REDUCE(F, PRE, E, or_reduce_scatter) \
    MESHMEM_OP_REDUCE(F, PRE, E, xor_reduce_scatter)
#define MESHMEM_OPS_SCATTER_ORDER(F, PRE, E) \
    MESHMEM_OP_REDUCE(F, PRE, E, max_reduce_scatter) MESHMEM_OP_REDUCE(F, PRE, E, min_reduce_scatter)
#define MESHMEM_OPS_SCATTER_ARITH(F, PRE, E) \
    MESHMEM_OP_REDUCE(F, PRE, E, sum_reduce_scatter) MESHMEM_OP_REDUCE(F, PRE, E, prod_reduce_scatter) \
    MESHMEM_OP_REDUCE(F, PRE, E, avg_reduce_scatter)

#define MESHMEM_EXTENSIONS(F, IN) MESHMEM_KERNEL_TYPES(MESHMEM_EXTENSION_ROW, F, IN)
#define MESHMEM_EXTENSION_ROW(NAME, TYPE, rma, ext, amo, bit, arith, logic, F, IN) \
    IN##_##arith(MESHMEM_OPS_AVERAGE(F, NAME##_, TYPE)) \
    IN##_##rma(MESHMEM_OPS_SCATTER_ORDER(F, NAME##_, TYPE)) \
    IN##_##arith(MESHMEM_OPS_SCATTER_ARITH(F, NAME##_, TYPE)) \
    IN##_##logic(MESHMEM_OPS_SCATTER_LOGIC(F, NAME##_, TYPE))

/* Reductions of values with their indices: shmemx_<name>, of elements shmemx_<type>_loc_t; shmemx.h says what they do. */
#define MESHMEM_LOCATED(F) MESHMEM_LOCATED_TYPES(MESHMEM_LOCATED_ROW, F)
#define MESHMEM_LOCATED_ROW(NAME, TYPE, INDEX, F) \
    MESHMEM_OP_REDUCE(F, NAME##_, shmemx_##NAME##_loc_t, maxloc_reduce) \
    MESHMEM_OP_REDUCE(F, NAME##_, shmemx_##NAME##_loc_t, minloc_reduce)

/* alltoall of blocks that differ in length: shmemx_<name>; shmemx.h says what it does. */
#define MESHMEM_OP_ALLTOALLV(F, PRE, MID, E, T) \
    F(PRE##alltoallv##MID, alltoallv, E, int, \
      (shmem_team_t team, T *dest, const size_t *dest_nelems, const size_t *dest_displs, const T *source, \
       const size_t *source_nelems, const size_t *source_displs), \
      (team, dest, dest_nelems, dest_displs, source, source_nelems, source_displs))
#define MESHMEM_ALLTOALLV(F, IN) \
    MESHMEM_KERNEL_TYPES(MESHMEM_ALLTOALLV_ROW, F, IN) MESHMEM_OP_ALLTOALLV(F, , mem, char, void)
#define MESHMEM_ALLTOALLV_ON_HOST(F, IN) MESHMEM_HOST_TYPES(MESHMEM_ALLTOALLV_ROW, F, IN)
#define MESHMEM_ALLTOALLV_ROW(NAME, TYPE, rma, ext, amo, bit, arith, logic, F, IN) \
    IN##_##rma(MESHMEM_OP_ALLTOALLV(F, NAME##_, , TYPE, TYPE))

/* Routines without a type. With a context (9.8, 9.12): */
#define MESHMEM_ROUTINES_CTX(F) \
    F(signal_add, signal_add, void, void, (uint64_t *sig_addr, uint64_t signal, int pe), (sig_addr, signal, pe)) \
    F(signal_set, signal_set, void, void, (uint64_t *sig_addr, uint64_t signal, int pe), (sig_addr, signal, pe)) \
    F(pe_quiet, pe_quiet, void, void, (const int *target_pes, size_t npes), (target_pes, npes))

/* The others: those that kernels have too, and those of the host alone, in the order of the standard. Those that other
 * libraries share come first. Sessions (9.9) are hints, which this library ignores. Locks (9.13) are symmetric longs in host
 * memory, 0 on all PEs before their first use; PEs get one in the order in which they ask. pcontrol (10) does nothing: tools
 * replace it. */

#define MESHMEM_KERNEL_ROUTINES(F) \
    MESHMEM_QUERY_ROUTINES(F) \
    MESHMEM_GROUP_ROUTINES(F) \
    F(ctx_fence, ctx_fence, void, void, (shmem_ctx_t ctx), (ctx)) \
    F(ctx_quiet, ctx_quiet, void, void, (shmem_ctx_t ctx), (ctx))

/* Those that tell what the calling thread knows. */
#define MESHMEM_QUERY_ROUTINES(F) \
    F(my_pe, my_pe, void, int, (void), ()) \
    F(n_pes, n_pes, void, int, (void), ()) \
    F(ptr, ptr, void, void *, (const void *dest, int pe), (dest, pe)) \
    F(team_ptr, team_ptr, void, void *, (shmem_team_t team, const void *dest, int pe), (team, dest, pe)) \
    F(team_my_pe, team_my_pe, void, int, (shmem_team_t team), (team)) \
    F(team_n_pes, team_n_pes, void, int, (shmem_team_t team), (team)) \
    F(team_translate_pe, team_translate_pe, void, int, \
      (shmem_team_t src_team, int src_pe, shmem_team_t dest_team), (src_team, src_pe, dest_team)) \
    F(signal_fetch, signal_fetch, void, uint64_t, (const uint64_t *sig_addr), (sig_addr))

/* Those that groups of threads call in kernels, under the names of other libraries too (meshmem/compat). */
#define MESHMEM_GROUP_ROUTINES(F) \
    F(signal_wait_until, signal_wait_until, void, uint64_t, \
      (uint64_t *sig_addr, int cmp, uint64_t cmp_value), (sig_addr, cmp, cmp_value)) \
    F(barrier_all, barrier_all, void, void, (void), ()) \
    F(sync_all, sync_all, void, void, (void), ()) \
    F(team_sync, team_sync, void, int, (shmem_team_t team), (team)) \
    F(fence, fence, void, void, (void), ()) \
    F(quiet, quiet, void, void, (void), ())

/* Those that other libraries share (meshmem/compat). */
#define MESHMEM_COMMON_HOST_ROUTINES(F) \
    F(finalize, finalize, void, void, (void), ()) \
    F(query_thread, query_thread, void, void, (int *provided), (provided)) \
    F(info_get_version, info_get_version, void, void, (int *major, int *minor), (major, minor)) \
    F(info_get_name, info_get_name, void, void, (char *name), (name)) \
    F(free, free, void, void, (void *ptr), (ptr)) \
    F(team_split_strided, team_split_strided, void, int, \
      (shmem_team_t parent_team, int start, int stride, int size, const shmem_team_config_t *config, long config_mask, \
       shmem_team_t *new_team), \
      (parent_team, start, stride, size, config, config_mask, new_team)) \
    F(team_split_2d, team_split_2d, void, int, \
      (shmem_team_t parent_team, int xrange, const shmem_team_config_t *xaxis_config, long xaxis_mask, \
       shmem_team_t *xaxis_team, const shmem_team_config_t *yaxis_config, long yaxis_mask, shmem_team_t *yaxis_team), \
      (parent_team, xrange, xaxis_config, xaxis_mask, xaxis_team, yaxis_config, yaxis_mask, yaxis_team)) \
    F(team_destroy, team_destroy, void, void, (shmem_team_t team), (team))

#define MESHMEM_HOST_ROUTINES(F) \
    MESHMEM_COMMON_HOST_ROUTINES(F) \
    F(init, init, void, void, (void), ()) \
    F(init_thread, init_thread, void, int, (int requested, int *provided), (requested, provided)) \
    F(query_initialized, query_initialized, void, void, (int *initialized), (initialized)) \
    F(pe_accessible, pe_accessible, void, int, (int pe), (pe)) \
    F(addr_accessible, addr_accessible, void, int, (const void *addr, int pe), (addr, pe)) \
    F(malloc, malloc, void, void *, (size_t size), (size)) \
    F(realloc, realloc, void, void *, (void *ptr, size_t size), (ptr, size)) \
    F(align, align, void, void *, (size_t alignment, size_t size), (alignment, size)) \
    F(malloc_with_hints, malloc_with_hints, void, void *, (size_t size, long hints), (size, hints)) \
    F(calloc, calloc, void, void *, (size_t count, size_t size), (count, size)) \
    F(team_get_config, team_get_config, void, int, \
      (shmem_team_t team, long config_mask, shmem_team_config_t *config), (team, config_mask, config)) \
    F(ctx_create, ctx_create, void, int, (long options, shmem_ctx_t *ctx), (options, ctx)) \
    F(team_create_ctx, team_create_ctx, void, int, (shmem_team_t team, long options, shmem_ctx_t *ctx), (team, options, ctx)) \
    F(ctx_destroy, ctx_destroy, void, void, (shmem_ctx_t ctx), (ctx)) \
    F(ctx_get_team, ctx_get_team, void, int, (shmem_ctx_t ctx, shmem_team_t *team), (ctx, team)) \
    F(ctx_session_start, ctx_session_start, void, void, \
      (shmem_ctx_t ctx, long options, const shmem_ctx_session_config_t *config, long config_mask), \
      (ctx, options, config, config_mask)) \
    F(ctx_session_stop, ctx_session_stop, void, void, (shmem_ctx_t ctx), (ctx)) \
    F(clear_lock, clear_lock, void, void, (long *lock), (lock)) \
    F(set_lock, set_lock, void, void, (long *lock), (lock)) \
    F(test_lock, test_lock, void, int, (long *lock), (lock))
#define MESHMEM_VARIADIC_ROUTINES(F) \
    F(pcontrol, pcontrol, void, void, (int level, ...), (level))

/* The rows of all types: CTX reads those that exist with a context too, PLAIN the others. IN is MESHMEM_IN, or
 * MESHMEM_GENERIC for one row a distinct C type (shmem/types.h). */
#define MESHMEM_TYPED(CTX, PLAIN, IN) MESHMEM_TYPES(MESHMEM_TYPED_ROW, CTX, PLAIN, IN)
#define MESHMEM_TYPED_IN_KERNELS(CTX, PLAIN, IN) MESHMEM_KERNEL_TYPES(MESHMEM_TYPED_ROW, CTX, PLAIN, IN)
#define MESHMEM_TYPED_ON_HOST(CTX, PLAIN, IN) MESHMEM_HOST_TYPES(MESHMEM_TYPED_ROW, CTX, PLAIN, IN)
#define MESHMEM_TYPED_ROW(NAME, TYPE, rma, ext, amo, bit, arith, logic, CTX, PLAIN, IN) \
    MESHMEM_GROUP_ROW(NAME, TYPE, rma, ext, amo, bit, arith, logic, CTX, PLAIN, PLAIN, IN) \
    MESHMEM_THREAD_ROW(NAME, TYPE, rma, ext, amo, bit, arith, logic, CTX, CTX, PLAIN, IN)

/* Of a type, what groups of threads call in kernels: RMA reads puts and gets, GROUP waits and moves, REDUCTION the rest. */
#define MESHMEM_GROUP_ROW(NAME, TYPE, rma, ext, amo, bit, arith, logic, RMA, GROUP, REDUCTION, IN) \
    IN##_##rma(MESHMEM_OPS_RMA(RMA, NAME##_, , TYPE, TYPE)) \
    IN##_##rma(MESHMEM_OPS_STRIDED(RMA, NAME##_, , TYPE, TYPE)) \
    IN##_##amo(MESHMEM_OPS_WAIT_UNTIL(GROUP, NAME##_, TYPE)) \
    IN##_##rma(MESHMEM_OPS_COLLECTIVE(GROUP, NAME##_, , TYPE, TYPE)) \
    IN##_##rma(MESHMEM_OPS_REDUCE_ORDER(REDUCTION, NAME##_, TYPE)) \
    IN##_##arith(MESHMEM_OPS_REDUCE_ARITH(REDUCTION, NAME##_, TYPE)) \
    IN##_##logic(MESHMEM_OPS_REDUCE_LOGIC(REDUCTION, NAME##_, TYPE))
/* And what one thread calls alone. */
#define MESHMEM_THREAD_ROW(NAME, TYPE, rma, ext, amo, bit, arith, logic, SINGLE, ATOMIC, TEST, IN) \
    IN##_##rma(MESHMEM_OPS_SINGLE(SINGLE, NAME##_, TYPE)) \
    IN##_##ext(MESHMEM_OPS_ATOMIC_EXT(ATOMIC, NAME##_, TYPE)) \
    IN##_##amo(MESHMEM_OPS_ATOMIC_STD(ATOMIC, NAME##_, TYPE)) \
    IN##_##bit(MESHMEM_OPS_ATOMIC_BIT(ATOMIC, NAME##_, TYPE)) \
    IN##_##amo(MESHMEM_OPS_TEST(TEST, NAME##_, TYPE))

/* The rows of the sized and the mem forms. */
#define MESHMEM_UNTYPED(CTX, PLAIN) \
    MESHMEM_SIZES(MESHMEM_SIZED_ROW, CTX) \
    MESHMEM_OPS_RMA(CTX, , mem, char, void) \
    MESHMEM_OPS_COLLECTIVE(PLAIN, , mem, char, void)
#define MESHMEM_SIZED_ROW(BITS, E, CTX) \
    MESHMEM_OPS_RMA(CTX, , BITS, E, void) \
    MESHMEM_OPS_STRIDED(CTX, , BITS, E, void)

/* Every routine there is: those that kernels have too, and the host's own. */
#define MESHMEM_ALL_ROUTINES(CTX, PLAIN) \
    MESHMEM_ALL_IN_KERNELS(CTX, PLAIN) MESHMEM_ALL_ON_HOST(CTX, PLAIN) MESHMEM_VARIADIC_ROUTINES(PLAIN)
#define MESHMEM_ALL_IN_KERNELS(CTX, PLAIN) \
    MESHMEM_KERNEL_ROUTINES(PLAIN) MESHMEM_ROUTINES_CTX(CTX) \
    MESHMEM_UNTYPED(CTX, PLAIN) MESHMEM_TYPED_IN_KERNELS(CTX, PLAIN, MESHMEM_IN)
#define MESHMEM_ALL_ON_HOST(CTX, PLAIN) \
    MESHMEM_HOST_ROUTINES(PLAIN) MESHMEM_TYPED_ON_HOST(CTX, PLAIN, MESHMEM_IN)
/* clang-format on */

/* MESHMEM_WITH_CTX (a, b) is (shmem_ctx_t ctx, a, b); MESHMEM_PASS_CTX (a, b) is (ctx, a, b). */
#define MESHMEM_WITH_CTX(...) (shmem_ctx_t ctx, __VA_ARGS__)
#define MESHMEM_PASS_CTX(...) (ctx, __VA_ARGS__)

/* Defines a routine of C++; the body comes last. In kernels with checks it also notes where the
 * program calls it (device/entry.hpp). */
#define MESHMEM_ROUTINE(sides, result, name, params, ...) \
  sides result name params { __VA_ARGS__ }

#endif
