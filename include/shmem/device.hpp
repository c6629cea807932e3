/* SPDX-License-Identifier: Apache-2.0
 *
 * OpenSHMEM inside kernels. shmem.h includes this where kernels are compiled (hipcc, nvcc, oshhip).
 * Routines of the standard keep their names and are called by one thread; those for groups end with
 * _wave, _block or _grid.
 * Invariant: all threads of a group make the call with the same arguments, and the group shares the
 * work.
 */
#ifndef MESHMEM_SHMEM_DEVICE_HPP
#define MESHMEM_SHMEM_DEVICE_HPP

#include "device/extension_routines.hpp"

/* The names:
 *
 *   shmem_x         the standard's routine, on the host, and in a kernel by one thread
 *   shmemx_x_wave   in a kernel, by all threads of a wave (32 or 64, those that run together)
 *   shmemx_x_block  in a kernel, by all threads of a block
 *   shmemx_x_grid   in a kernel, by all threads of all its blocks
 *   shmemx_half_x   in a kernel, for half and bfloat16 (meshmem_half, meshmem_bfloat16), which the
 *                   standard does not have: by one thread, and with the endings above
 *
 * wave and block forms exist for puts, gets, waits, collectives, fence and quiet, typed and as
 * overloads (shmemx_put_block). In kernels addresses are in memory of shmem_malloc and its like, or
 * registered; static variables and the stack are not symmetric there. long double and complex are
 * for the host alone. half and bfloat16 have what float has (with contexts: shmemx_ctx_half_x)
 * except atomics: puts and gets of all kinds, signals with data, collectives, reductions, whose
 * sums are formed in float. Their overloads for one thread are shmemx_put, shmemx_sum_reduce and so
 * on; for groups they are those of the other types. Ordering and completion are those of the
 * standard, for the calling thread or group: docs/memory_model.md. Collectives begin and end with a
 * barrier of the group; puts and gets by a group have none on either side.
 *
 * grid forms exist for reductions, scans, barrier_all, sync_all and team_sync. Launch the kernel by
 * hipLaunchCooperativeKernel; for reductions and scans, with the same number of blocks on every PE
 * of the team. */

#define MESHMEM_LIST(...) __VA_ARGS__

/* A function for kernels alone that is compiled only where it is called: a template with nothing to
 * choose. There are thousands of them: compiling them all takes longer than most programs do. */
#define MESHMEM_DEVICE_IF_CALLED(...) \
  template <int = 0>                  \
  MESHMEM_ROUTINE(MESHMEM_DEVICE, __VA_ARGS__)

/* The group that calls a routine. Builds that can find out refuse a call by a part of it. */
#define MESHMEM_TOGETHER(Group, routine) \
  meshmem::device::together(meshmem::device::Group(), "shmemx_" #routine)

/* A name for both sides: in a kernel the expression in_kernel, on the host the library's
 * routine. */
#define MESHMEM_TWO_SIDES(result, name, params, args, in_kernel) \
  MESHMEM_ROUTINE(                                               \
      MESHMEM_HOST_DEVICE, result, name, params,                 \
      MESHMEM_DISPATCH(return meshmem::device::in_kernel, return meshmem::host::name args))

/* A name of an extension for kernels alone. */
#define MESHMEM_FORM(result, name, params, in_kernel) \
  MESHMEM_DEVICE_IF_CALLED(result, shmemx_##name, params, return meshmem::device::in_kernel;)

/* One element, by one thread; PE numbers of the world or of the context. */
#define MESHMEM_KERNEL_SINGLE(name, op, E, result, params, args)                        \
  MESHMEM_TWO_SIDES(                                                                    \
      result, shmem_##name, params, args,                                               \
      op<E>(meshmem::device::Thread(), meshmem::device::WorldPes(), MESHMEM_LIST args)) \
  MESHMEM_TWO_SIDES(                                                                    \
      result, shmem_ctx_##name, MESHMEM_WITH_CTX params, MESHMEM_PASS_CTX args,         \
      op<E>(meshmem::device::Thread(), meshmem::device::ContextPes{ctx}, MESHMEM_LIST args))

/* The other rows with contexts (puts, gets, strided, signals with data): by a group, too. */
#define MESHMEM_KERNEL_RMA(name, op, E, result, params, args)           \
  MESHMEM_KERNEL_SINGLE(name, op, E, result, params, args)              \
  MESHMEM_KERNEL_RMA_BY(_wave, Wave, name, op, E, result, params, args) \
  MESHMEM_KERNEL_RMA_BY(_block, Block, name, op, E, result, params, args)
#define MESHMEM_KERNEL_RMA_BY(ending, Group, name, op, E, result, params, args)          \
  MESHMEM_FORM(result, name##ending, params,                                             \
               op<E>(MESHMEM_TOGETHER(Group, name##ending), meshmem::device::WorldPes(), \
                     MESHMEM_LIST args))                                                 \
  MESHMEM_FORM(result, ctx_##name##ending, MESHMEM_WITH_CTX params,                      \
               op<E>(MESHMEM_TOGETHER(Group, ctx_##name##ending),                        \
                     meshmem::device::ContextPes{ctx}, MESHMEM_LIST args))

/* Atomics, and the routines with contexts that have no type. */
#define MESHMEM_KERNEL_ATOMIC(name, op, E, result, params, args)                              \
  MESHMEM_TWO_SIDES(result, shmem_##name, params, args,                                       \
                    op(meshmem::device::WorldPes(), MESHMEM_LIST args))                       \
  MESHMEM_TWO_SIDES(result, shmem_ctx_##name, MESHMEM_WITH_CTX params, MESHMEM_PASS_CTX args, \
                    op(meshmem::device::ContextPes{ctx}, MESHMEM_LIST args))

/* Collectives, reductions and waits: by a group. */
#define MESHMEM_KERNEL_GROUP(name, op, E, result, params, args)           \
  MESHMEM_TWO_SIDES(result, shmem_##name, params, args,                   \
                    op<E>(meshmem::device::Thread(), MESHMEM_LIST args))  \
  MESHMEM_KERNEL_GROUP_BY(_wave, Wave, name, op, E, result, params, args) \
  MESHMEM_KERNEL_GROUP_BY(_block, Block, name, op, E, result, params, args)
#define MESHMEM_KERNEL_GROUP_BY(ending, Group, name, op, E, result, params, args) \
  MESHMEM_FORM(result, name##ending, params,                                      \
               op<E>(MESHMEM_TOGETHER(Group, name##ending), MESHMEM_LIST args))

/* Reductions and scans: by all blocks of a kernel, too. */
#define MESHMEM_KERNEL_REDUCTION(name, op, E, result, params, args) \
  MESHMEM_KERNEL_GROUP(name, op, E, result, params, args)           \
  MESHMEM_KERNEL_GROUP_BY(_grid, CooperativeGrid, name, op, E, result, params, args)

/* Collectives beyond the standard: shmemx_x on both sides. Reductions by a grid, too. */
#define MESHMEM_KERNEL_EXTENSION_GROUP(name, op, E, result, params, args) \
  MESHMEM_TWO_SIDES(result, shmemx_##name, params, args,                  \
                    op<E>(meshmem::device::Thread(), MESHMEM_LIST args))  \
  MESHMEM_KERNEL_GROUP_BY(_wave, Wave, name, op, E, result, params, args) \
  MESHMEM_KERNEL_GROUP_BY(_block, Block, name, op, E, result, params, args)
#define MESHMEM_KERNEL_EXTENSION(name, op, E, result, params, args) \
  MESHMEM_KERNEL_EXTENSION_GROUP(name, op, E, result, params, args) \
  MESHMEM_KERNEL_GROUP_BY(_grid, CooperativeGrid, name, op, E, result, params, args)

/* test and its forms: one thread looks. */
#define MESHMEM_KERNEL_TEST(name, op, E, result, params, args) \
  MESHMEM_TWO_SIDES(result, shmem_##name, params, args, op<E>(MESHMEM_LIST args))

/* half and bfloat16: in kernels only, as shmemx_x also by one thread. */
#define MESHMEM_SHORT_SINGLE(...) MESHMEM_KERNEL_RMA_BY(, Thread, __VA_ARGS__)
#define MESHMEM_SHORT_RMA(...)                    \
  MESHMEM_SHORT_SINGLE(__VA_ARGS__)               \
  MESHMEM_KERNEL_RMA_BY(_wave, Wave, __VA_ARGS__) \
  MESHMEM_KERNEL_RMA_BY(_block, Block, __VA_ARGS__)
#define MESHMEM_SHORT_GROUP(...)                    \
  MESHMEM_KERNEL_GROUP_BY(, Thread, __VA_ARGS__)    \
  MESHMEM_KERNEL_GROUP_BY(_wave, Wave, __VA_ARGS__) \
  MESHMEM_KERNEL_GROUP_BY(_block, Block, __VA_ARGS__)
#define MESHMEM_SHORT_REDUCTION(...) \
  MESHMEM_SHORT_GROUP(__VA_ARGS__)   \
  MESHMEM_KERNEL_GROUP_BY(_grid, CooperativeGrid, __VA_ARGS__)

/* clang-format off */
#define MESHMEM_KERNEL_SIZED_ROW(BITS, E, ...) \
    MESHMEM_OPS_RMA(MESHMEM_KERNEL_RMA, , BITS, E, void) \
    MESHMEM_OPS_STRIDED(MESHMEM_KERNEL_RMA, , BITS, E, void)

MESHMEM_KERNEL_TYPES(MESHMEM_GROUP_ROW, MESHMEM_KERNEL_RMA, MESHMEM_KERNEL_GROUP, MESHMEM_KERNEL_REDUCTION, MESHMEM_IN)
MESHMEM_KERNEL_TYPES(MESHMEM_THREAD_ROW, MESHMEM_KERNEL_SINGLE, MESHMEM_KERNEL_ATOMIC, MESHMEM_KERNEL_TEST, MESHMEM_IN)
MESHMEM_SHORT_FLOATS(MESHMEM_GROUP_ROW, MESHMEM_SHORT_RMA, MESHMEM_SHORT_GROUP, MESHMEM_SHORT_REDUCTION, MESHMEM_IN)
MESHMEM_SHORT_FLOATS(MESHMEM_THREAD_ROW, MESHMEM_SHORT_SINGLE, , , MESHMEM_IN)
MESHMEM_SIZES(MESHMEM_KERNEL_SIZED_ROW, )
MESHMEM_OPS_RMA(MESHMEM_KERNEL_RMA, , mem, char, void)
MESHMEM_OPS_COLLECTIVE(MESHMEM_KERNEL_GROUP, , mem, char, void)
MESHMEM_ROUTINES_CTX(MESHMEM_KERNEL_ATOMIC)
MESHMEM_EXTENSIONS(MESHMEM_KERNEL_EXTENSION, MESHMEM_IN)
MESHMEM_LOCATED(MESHMEM_KERNEL_EXTENSION)
MESHMEM_SHORT_FLOATS(MESHMEM_EXTENSION_ROW, MESHMEM_SHORT_REDUCTION, MESHMEM_IN)
MESHMEM_ALLTOALLV(MESHMEM_KERNEL_EXTENSION_GROUP, MESHMEM_IN)
MESHMEM_SHORT_FLOATS(MESHMEM_ALLTOALLV_ROW, MESHMEM_SHORT_GROUP, MESHMEM_IN)
/* clang-format on */

/* Routines without a type: by a group, or as what one thread knows. */
#define MESHMEM_KERNEL_PLAIN(name, op, E, result, params, args) \
  MESHMEM_TWO_SIDES(result, shmem_##name, params, args, name args)
#define MESHMEM_KERNEL_PLAIN_BY(ending, Group, result, name, body, params, in_kernel_args) \
  MESHMEM_ROUTINE(MESHMEM_DEVICE, result, shmemx_##name##ending, params,                   \
                  return meshmem::device::body(MESHMEM_TOGETHER(Group, name##ending)       \
                                                   MESHMEM_LIST in_kernel_args);)
#define MESHMEM_KERNEL_PLAIN_WIDER(...)             \
  MESHMEM_KERNEL_PLAIN_BY(_wave, Wave, __VA_ARGS__) \
  MESHMEM_KERNEL_PLAIN_BY(_block, Block, __VA_ARGS__)
#define MESHMEM_KERNEL_PLAIN_GROUP(result, name, params, args, in_kernel_args)   \
  MESHMEM_TWO_SIDES(result, shmem_##name, params, args,                          \
                    name(meshmem::device::Thread() MESHMEM_LIST in_kernel_args)) \
  MESHMEM_KERNEL_PLAIN_WIDER(result, name, name, params, in_kernel_args)
#define MESHMEM_KERNEL_MEETING(result, name, params, args, in_kernel_args) \
  MESHMEM_KERNEL_PLAIN_GROUP(result, name, params, args, in_kernel_args)   \
  MESHMEM_KERNEL_PLAIN_BY(_grid, CooperativeGrid, result, name, name, params, in_kernel_args)
MESHMEM_QUERY_ROUTINES(MESHMEM_KERNEL_PLAIN)
MESHMEM_KERNEL_PLAIN_WIDER(uint64_t, signal_fetch, signal_fetch_by, (const uint64_t* sig_addr),
                           (, sig_addr))
MESHMEM_KERNEL_PLAIN_GROUP(uint64_t, signal_wait_until,
                           (uint64_t * sig_addr, int cmp, uint64_t cmp_value),
                           (sig_addr, cmp, cmp_value), (, sig_addr, cmp, cmp_value))
MESHMEM_KERNEL_MEETING(void, barrier_all, (), (), ())
MESHMEM_KERNEL_MEETING(void, sync_all, (), (), ())
MESHMEM_KERNEL_MEETING(int, team_sync, (shmem_team_t team), (team), (, team))
MESHMEM_KERNEL_PLAIN_GROUP(void, fence, (), (), ())
MESHMEM_KERNEL_PLAIN_GROUP(void, quiet, (), (), ())
MESHMEM_KERNEL_PLAIN_GROUP(void, ctx_fence, (shmem_ctx_t ctx), (ctx), (, ctx))
MESHMEM_KERNEL_PLAIN_GROUP(void, ctx_quiet, (shmem_ctx_t ctx), (ctx), (, ctx))
/* By one thread it is among the routines with a context. */
MESHMEM_KERNEL_PLAIN_WIDER(void, pe_quiet, quiet_of, (const int* target_pes, size_t npes),
                           (, target_pes, npes))
MESHMEM_KERNEL_PLAIN_WIDER(void, ctx_pe_quiet, ctx_quiet_of,
                           (shmem_ctx_t ctx, const int* target_pes, size_t npes),
                           (, ctx, target_pes, npes))

/* Puts of packets, for messages of up to a few KiB between kernels that wait for each other. The
 * data itself says when it has come, so it needs no fence and no signal. A message takes half the
 * time of put_signal, and twice the bytes.
 *
 *   shmemx_put_packets   the group puts `nbytes` from `source` (any memory of this PE, any
 *                        alignment) as packets into the symmetric `packets` of PE `pe`
 *   shmemx_wait_packets  the group waits until such a message of `nbytes` and with this tag is
 *                        whole in the `packets` of this PE, and takes its data to `dest`, where all
 *                        threads of the group find it
 *
 * `packets` is aligned to 16 bytes and has SHMEMX_PACKETS_SIZE(nbytes) bytes. At first it holds
 * zeros, and no tag is 0. A message's tag differs from all that have lain there since the bytes
 * were last zeroed: count tags up. Before a PE sends a message it has to know that the receiver has
 * taken the one before, as by an answer. Packets do not order other data: puts that have to arrive
 * before them need a signal. nbytes is below 16 GiB. The two sides may call with different
 * groups. */
#define SHMEMX_PACKETS_SIZE(nbytes) (((nbytes) + 7) / 8 * 16)
#define MESHMEM_KERNEL_PACKETS(scope, Group)                                                       \
  MESHMEM_ROUTINE(MESHMEM_DEVICE, void, shmemx_put_packets##scope,                                 \
                  (void* packets, const void* source, size_t nbytes, uint32_t tag, int pe),        \
                  meshmem::device::put_packets(MESHMEM_TOGETHER(Group, put_packets##scope),        \
                                               meshmem::device::WorldPes(), packets, source,       \
                                               nbytes, tag, pe);)                                  \
  MESHMEM_ROUTINE(                                                                                 \
      MESHMEM_DEVICE, void, shmemx_ctx_put_packets##scope,                                         \
      (shmem_ctx_t ctx, void* packets, const void* source, size_t nbytes, uint32_t tag, int pe),   \
      meshmem::device::put_packets(MESHMEM_TOGETHER(Group, ctx_put_packets##scope),                \
                                   meshmem::device::ContextPes{ctx}, packets, source, nbytes, tag, \
                                   pe);)                                                           \
  MESHMEM_ROUTINE(MESHMEM_DEVICE, void, shmemx_wait_packets##scope,                                \
                  (void* dest, const void* packets, size_t nbytes, uint32_t tag),                  \
                  meshmem::device::wait_packets(MESHMEM_TOGETHER(Group, wait_packets##scope),      \
                                                dest, packets, nbytes, tag);)
MESHMEM_KERNEL_PACKETS(, Thread)
MESHMEM_KERNEL_PACKETS(_wave, Wave)
MESHMEM_KERNEL_PACKETS(_block, Block)
#undef MESHMEM_KERNEL_PACKETS

/* Overloads of the wave, block and grid forms, and for half and bfloat16 of those by one thread;
 * those of the standard's names are in shmem/generic.h. */
#define MESHMEM_KERNEL_OVERLOAD_BY(ending, name, op, E, result, params, args) \
  MESHMEM_DEVICE_IF_CALLED(result, shmemx_##op##ending, params, return shmemx_##name##ending args;)
#define MESHMEM_KERNEL_OVERLOAD_CTX_BY(ending, name, op, E, result, params, args) \
  MESHMEM_KERNEL_OVERLOAD_BY(ending, name, op, E, result, params, args)           \
  MESHMEM_DEVICE_IF_CALLED(result, shmemx_##op##ending, MESHMEM_WITH_CTX params,  \
                           return shmemx_ctx_##name##ending MESHMEM_PASS_CTX args;)
#define MESHMEM_KERNEL_OVERLOAD(...)             \
  MESHMEM_KERNEL_OVERLOAD_BY(_wave, __VA_ARGS__) \
  MESHMEM_KERNEL_OVERLOAD_BY(_block, __VA_ARGS__)
#define MESHMEM_KERNEL_OVERLOAD_REDUCTION(...) \
  MESHMEM_KERNEL_OVERLOAD(__VA_ARGS__)         \
  MESHMEM_KERNEL_OVERLOAD_BY(_grid, __VA_ARGS__)
#define MESHMEM_KERNEL_OVERLOAD_CTX(...)             \
  MESHMEM_KERNEL_OVERLOAD_CTX_BY(_wave, __VA_ARGS__) \
  MESHMEM_KERNEL_OVERLOAD_CTX_BY(_block, __VA_ARGS__)
#define MESHMEM_SHORT_OVERLOAD(...) MESHMEM_KERNEL_OVERLOAD_BY(, __VA_ARGS__)
#define MESHMEM_SHORT_OVERLOAD_CTX(...) MESHMEM_KERNEL_OVERLOAD_CTX_BY(, __VA_ARGS__)
/* clang-format off */
MESHMEM_KERNEL_TYPES(MESHMEM_GROUP_ROW, MESHMEM_KERNEL_OVERLOAD_CTX, MESHMEM_KERNEL_OVERLOAD, MESHMEM_KERNEL_OVERLOAD_REDUCTION, MESHMEM_GENERIC)
MESHMEM_EXTENSIONS(MESHMEM_KERNEL_OVERLOAD_REDUCTION, MESHMEM_GENERIC)
MESHMEM_LOCATED(MESHMEM_KERNEL_OVERLOAD_REDUCTION)
MESHMEM_KERNEL_TYPES(MESHMEM_ALLTOALLV_ROW, MESHMEM_KERNEL_OVERLOAD, MESHMEM_GENERIC)
MESHMEM_SHORT_FLOATS(MESHMEM_ALLTOALLV_ROW, MESHMEM_KERNEL_OVERLOAD, MESHMEM_GENERIC)
MESHMEM_SHORT_FLOATS(MESHMEM_ALLTOALLV_ROW, MESHMEM_SHORT_OVERLOAD, MESHMEM_GENERIC)
MESHMEM_SHORT_FLOATS(MESHMEM_GROUP_ROW, MESHMEM_KERNEL_OVERLOAD_CTX, MESHMEM_KERNEL_OVERLOAD, MESHMEM_KERNEL_OVERLOAD_REDUCTION, MESHMEM_GENERIC)
MESHMEM_SHORT_FLOATS(MESHMEM_EXTENSION_ROW, MESHMEM_KERNEL_OVERLOAD_REDUCTION, MESHMEM_GENERIC)
MESHMEM_SHORT_FLOATS(MESHMEM_TYPED_ROW, MESHMEM_SHORT_OVERLOAD_CTX, MESHMEM_SHORT_OVERLOAD, MESHMEM_GENERIC)
MESHMEM_SHORT_FLOATS(MESHMEM_EXTENSION_ROW, MESHMEM_SHORT_OVERLOAD, MESHMEM_GENERIC)
/* clang-format on */

#undef MESHMEM_KERNEL_RMA
#undef MESHMEM_KERNEL_RMA_BY
#undef MESHMEM_KERNEL_SINGLE
#undef MESHMEM_KERNEL_ATOMIC
#undef MESHMEM_KERNEL_GROUP
#undef MESHMEM_KERNEL_GROUP_BY
#undef MESHMEM_KERNEL_REDUCTION
#undef MESHMEM_KERNEL_EXTENSION
#undef MESHMEM_KERNEL_EXTENSION_GROUP
#undef MESHMEM_KERNEL_TEST
#undef MESHMEM_KERNEL_SIZED_ROW
#undef MESHMEM_SHORT_SINGLE
#undef MESHMEM_SHORT_RMA
#undef MESHMEM_SHORT_GROUP
#undef MESHMEM_SHORT_REDUCTION
#undef MESHMEM_SHORT_OVERLOAD
#undef MESHMEM_SHORT_OVERLOAD_CTX
#undef MESHMEM_KERNEL_PLAIN
#undef MESHMEM_KERNEL_PLAIN_GROUP
#undef MESHMEM_KERNEL_PLAIN_BY
#undef MESHMEM_KERNEL_PLAIN_WIDER
#undef MESHMEM_KERNEL_MEETING
#undef MESHMEM_KERNEL_OVERLOAD_BY
#undef MESHMEM_KERNEL_OVERLOAD_CTX_BY
#undef MESHMEM_KERNEL_OVERLOAD
#undef MESHMEM_KERNEL_OVERLOAD_REDUCTION
#undef MESHMEM_KERNEL_OVERLOAD_CTX
#undef MESHMEM_TWO_SIDES
#undef MESHMEM_FORM
#undef MESHMEM_DEVICE_IF_CALLED
#undef MESHMEM_LIST
#undef MESHMEM_TOGETHER

#endif
