/* SPDX-License-Identifier: Apache-2.0
 *
 * The profiling interface of the extensions: every routine of shmemx.h under the prefix pshmemx_,
 * as pshmem.h has those of the standard. A tool defines a shmemx_ name itself, does its work, and
 * calls the pshmemx_ name; the library never calls a shmemx_ name.
 */
#ifndef MESHMEM_PSHMEMX_H
#define MESHMEM_PSHMEMX_H

#include "pshmem.h"
#include "shmemx.h"

/* clang-format off */
/* The routines of shmemx.h that have no types, in rows as those of shmem/ops.h. */
#define MESHMEM_EXTENSION_ROUTINES(F) \
    F(get_uniqueid, get_uniqueid, void, int, (shmemx_uniqueid_t *id), (id)) \
    F(init_attr, init_attr, void, int, (unsigned flags, int rank, int nranks, const shmemx_uniqueid_t *id), (flags, rank, nranks, id)) \
    F(init_mpi_comm, init_mpi_comm, void, int, (const void *communicator), (communicator)) \
    F(team_of_pes, team_of_pes, void, int, (const int *pes, int npes, shmem_team_t *new_team), (pes, npes, new_team)) \
    F(team_of_id, team_of_id, void, int, (uint64_t id, int npes, int my_pe, shmem_team_t *new_team), (id, npes, my_pe, new_team)) \
    F(team_take_any_memory, team_take_any_memory, void, int, (shmem_team_t team), (team)) \
    F(team_fix_reduce_order, team_fix_reduce_order, void, int, (shmem_team_t team), (team)) \
    F(buffer_register, buffer_register, void, int, (void *ptr, size_t bytes), (ptr, bytes)) \
    F(buffer_unregister, buffer_unregister, void, int, (void *ptr), (ptr)) \
    F(align_with_hints, align_with_hints, void, void *, (size_t alignment, size_t size, long hints), (alignment, size, hints)) \
    F(reached_on_stream, reached_on_stream, void, int, (const void *ptr, size_t bytes), (ptr, bytes)) \
    F(heap_save, heap_save, void, int, (shmem_team_t team, const char *folder), (team, folder)) \
    F(heap_restore, heap_restore, void, int, (shmem_team_t team, const char *folder), (team, folder)) \
    F(host_ptr, host_ptr, void, void *, (const void *dest, int pe), (dest, pe)) \
    F(module_init, module_init, void, void, (void), ()) \
    F(loaded_module_init, loaded_module_init, void, int, (void *module), (module)) \
    F(loaded_module_finalize, loaded_module_finalize, void, int, (void *module), (module)) \
    F(moe_create, moe_create, void, int, (shmem_team_t team, const shmemx_moe_shape_t *shape, shmemx_moe_t *moe), (team, shape, moe)) \
    F(moe_destroy, moe_destroy, void, void, (shmemx_moe_t moe), (moe)) \
    F(moe_view, moe_view, void, void, (shmemx_moe_t moe, shmemx_moe_view_t *view), (moe, view)) \
    F(moe_plan_on_stream, moe_plan_on_stream, void, int, (shmemx_moe_t moe, const int *indices, int tokens, shmemx_stream_t stream), (moe, indices, tokens, stream)) \
    F(moe_dispatch_on_stream, moe_dispatch_on_stream, void, int, (shmemx_moe_t moe, const void *tokens, const float *scales, shmemx_stream_t stream), (moe, tokens, scales, stream)) \
    F(moe_combine_on_stream, moe_combine_on_stream, void, int, (shmemx_moe_t moe, const void *results, const float *weights, void *out, shmemx_stream_t stream), (moe, results, weights, out, stream)) \
    F(reduce_plan, reduce_plan, void, int, (const char *plan), (plan)) \
    F(reduce_plan_algorithm, reduce_plan_algorithm, void, const char *, (int number), (number)) \
    F(stream_mark, stream_mark, void, void, (shmemx_mark_t *mark, shmemx_stream_t stream), (mark, stream)) \
    F(stream_mark_wait, stream_mark_wait, void, void, (shmemx_mark_t *mark), (mark))

/* All routines of shmemx.h: ON_STREAM reads those whose rows say neither the stream nor _on_stream. */
#define MESHMEM_ALL_EXTENSIONS(F, ON_STREAM) \
    MESHMEM_EXTENSION_ROUTINES(F) MESHMEM_STREAM_ROUTINES(F) MESHMEM_EXTENSIONS(F, MESHMEM_IN) \
    MESHMEM_LOCATED(F) MESHMEM_LOCATED(ON_STREAM) \
    MESHMEM_OPS_WAITS_OF_MANY(F, short_, short) MESHMEM_OPS_WAITS_OF_MANY(F, ushort_, unsigned short) \
    MESHMEM_ALLTOALLV(F, MESHMEM_IN) MESHMEM_ALLTOALLV_ON_HOST(F, MESHMEM_IN) \
    MESHMEM_MOVED_ON_STREAM(ON_STREAM, MESHMEM_IN) MESHMEM_UNTYPED_ON_STREAM(ON_STREAM) \
    MESHMEM_COMPUTED_ON_STREAM(ON_STREAM, MESHMEM_IN) \
    MESHMEM_SHORT_REDUCTIONS(ON_STREAM, half, void) MESHMEM_SHORT_REDUCTIONS(ON_STREAM, bfloat16, void)
/* clang-format on */

#ifdef __cplusplus
extern "C" {
#endif
#define MESHMEM_DECLARE(name, op, E, result, params, args) result pshmemx_##name params;
#define MESHMEM_DECLARE_ON_STREAM(name, op, E, result, params, args) \
  result pshmemx_##name##_on_stream MESHMEM_WITH_STREAM params;
MESHMEM_ALL_EXTENSIONS(MESHMEM_DECLARE, MESHMEM_DECLARE_ON_STREAM)
#undef MESHMEM_DECLARE
#undef MESHMEM_DECLARE_ON_STREAM

#ifdef __cplusplus
}
#endif

#endif
