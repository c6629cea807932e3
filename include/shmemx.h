/* SPDX-License-Identifier: Apache-2.0
 *
 * Extensions of meshmem to OpenSHMEM: GPU memory, buffers of the program's own, start without a
 * launcher, and routines that take their place on a stream. Their names begin with shmemx_ or
 * SHMEMX_. A comment that begins with a routine's name is the text of its manual page, too; TYPE
 * stands for a type's name. The routines that kernels can call, the forms for waves and blocks
 * included, are in shmem/device.hpp, which shmem.h includes where kernels are compiled.
 */
#ifndef MESHMEM_SHMEMX_H
#define MESHMEM_SHMEMX_H

#include "shmem.h"
#include "shmem/located.h"
#include "shmem/module.h"
#include "shmem/moe.h"

/* ---- shmem_malloc_with_hints takes a hint which heap to use: SHMEMX_MALLOC_DEVICE or
 * SHMEMX_MALLOC_HOST. Without either MESHMEM_HEAP chooses; its default is the host's. Memory of the
 * device heap is for kernels, for every routine of this library, and for copies by the GPU's
 * runtime; host code must not dereference it. Without a device SHMEMX_MALLOC_DEVICE gives NULL on
 * all PEs. shmem_free takes memory of both heaps. */
#define SHMEMX_MALLOC_DEVICE (1L << 16)
#define SHMEMX_MALLOC_HOST (1L << 17)

/* ---- shmemx_putmem_on_stream and all other routines that put work on a stream return at once; the
 * stream does the work in its order. (The standard's routines return when their work is done.) A
 * graph can capture these calls and replay their work. The stream is a hipStream_t, or what the
 * target calls a stream; NULL is the default stream. `dest` and `source` are addresses that the
 * device reaches: of the device heap, of a registered buffer, or (for what is not symmetric) of any
 * memory of the device. Collectives of one team must be in one order: the same stream, or streams
 * that wait for each other. */
typedef void* shmemx_stream_t;

#ifdef __cplusplus
extern "C" {
#endif

/* ---- shmemx_get_uniqueid and shmemx_init_attr start a job without a launcher, for frameworks that
 * start processes themselves. One process makes an id and hands its 128 bytes to all others by
 * means of its own. Each PE then calls shmemx_init_attr where it would call shmem_init, with its
 * number and that of all PEs. It is collective over them, and they find each other by TCP:
 *
 *   if (rank == 0) shmemx_get_uniqueid(&id);
 *   hand_to_all(&id, sizeof id);
 *   shmemx_init_attr(SHMEMX_INIT_WITH_UNIQUEID, rank, nranks, &id);
 *
 * The process that has made the id need not be a PE. It has to live as long as the job, since the
 * PEs meet at its TCP port. A PE that ends before its last shmem_finalize ends the others. Any
 * process that has the id can join the job. MESHMEM_NETWORK_DEVICE chooses the interface whose
 * address is in the id; unset, the id has the addresses of up to four.
 *
 * If a launcher with PMIx or PMI-1 has started the maker of the id, and has started `nranks`
 * processes, the PEs start by the launcher. shmemx_init_attr then compares `rank` with the
 * launcher's number. If `nranks` is smaller, these processes make a job of their own. A process
 * stays in its job: a later shmemx_init_attr starts this job again, as shmem_init does.
 *
 * shmemx_init_mpi_comm does all that if the program has MPI to hand over the bytes. The PEs are the
 * ranks of a communicator, whose address it takes:
 *
 *   MPI_Comm node;
 *   MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
 *   shmemx_init_mpi_comm(&node);
 *
 * It is collective over the communicator, between MPI_Init and MPI_Finalize. It finds MPI if the
 * program is linked with it as a shared library (Open MPI, MPICH and its relatives).
 *
 * The job ends with a line if a PE does not come within MESHMEM_START_TIMEOUT, if two PEs have the
 * same rank, or if they give different `nranks`. Returns of all three: 0; or nonzero after a line
 * that says why. */
typedef struct {
  unsigned char bytes[128];
} shmemx_uniqueid_t;
#define SHMEMX_INIT_WITH_UNIQUEID (1U << 0)
int shmemx_get_uniqueid(shmemx_uniqueid_t* id);
int shmemx_init_attr(unsigned flags, int rank, int nranks, const shmemx_uniqueid_t* id);
int shmemx_init_mpi_comm(const void* communicator);

/* ---- shmemx_team_of_pes makes a new team of `npes` PEs of the world, in the order of `pes`. It is
 * a collective of these PEs alone: the others take no part. Each gives the same list, which has the
 * caller and no PE twice. Two threads of a PE must not make teams of the same list at the same
 * time: it is by chance which call of another PE each meets. shmem_team_destroy ends the team.
 * Returns 0; or nonzero on all these PEs, with SHMEM_TEAM_INVALID in `*new_team`. It fails if a PE
 * has no slot for another team, or if the job has no room for another list. A job has room for 512
 * different lists of two or more PEs, together with active sets. */
int shmemx_team_of_pes(const int* pes, int npes, shmem_team_t* new_team);

/* shmemx_team_of_id does the same for PEs that do not know each other. They share an id, from 1 to
 * 2^44 - 1, that makes no other team. The caller becomes PE `my_pe` of the `npes` of the new team.
 * A PE joins one team at a time: its other threads wait. So PEs that join several teams must join
 * them in one order, or they wait for each other for ever. Without room for another list the job
 * ends. Returns 0; or nonzero on all these PEs if one has no slot for another team. */
int shmemx_team_of_id(uint64_t id, int npes, int my_pe, shmem_team_t* new_team);

/* shmemx_team_take_any_memory lets the team's later broadcasts, fcollects, alltoalls, reductions
 * and reduce-scatters on streams take buffers in any memory of the calling PE's device, symmetric
 * or not. maxloc and minloc still need symmetric buffers. On NVIDIA GPUs such calls are as fast as
 * others up to 4 MiB. On other targets they are slower, since the data goes as packets. All PEs of
 * the team call it, between the same two collectives of the team. A team that is split off does not
 * inherit it. Returns 0; or nonzero on all PEs of the team if it has no large slot
 * (docs/limits.md), PEs on several machines, or devices that do not reach each other. */
int shmemx_team_take_any_memory(shmem_team_t team);

/* shmemx_team_fix_reduce_order makes all later reductions and reduce-scatters of the team combine
 * in PE order. They begin with the elements of PEs 0 and 1 of the team, and go on with those of PE
 * 2. So the bits of a result depend on the PEs' elements alone. The number of elements, the place
 * and alignment of the buffers, the algorithm, the caller and the PEs' machines change nothing.
 * Only a NaN may have another sign and payload. docs/collectives.md tells what the order costs: no
 * ring, and more data between machines. A team that is split off does not inherit the order. A
 * graph keeps the order of the calls on streams that it captured; kernels in it follow the team.
 * All PEs of the team call it between the same two collectives of the team, those of kernels
 * included. MESHMEM_DETERMINISTIC=1 does this for all teams and active sets. Returns 0; or nonzero
 * for SHMEM_TEAM_INVALID. */
int shmemx_team_fix_reduce_order(shmem_team_t team);

/* shmemx_buffer_register makes the program's `bytes` bytes of hipMalloc at `ptr` symmetric. The
 * address then stands for each PE's own buffer, which need not have the same address there. It is a
 * collective of all PEs with the same `bytes`. On AMD GPUs memory of hipMalloc is for data that a
 * later kernel reads. For flags, and data that a running kernel waits for, allocate with
 * hipExtMallocWithFlags and hipDeviceMallocUncached. Returns 0, also for memory that is symmetric
 * already. It returns nonzero on all PEs if one of them cannot share its buffer, as with host
 * memory that is not symmetric, or has only a part of it symmetric. */
int shmemx_buffer_register(void* ptr, size_t bytes);
/* shmemx_buffer_unregister undoes a registration, collectively and by the same address. Call it
 * before the memory is freed. Registrations are not counted: the first call undoes all of them.
 * Returns 0, also for memory that is symmetric without registration, which stays as it is. It
 * returns nonzero on all PEs if no buffer begins there on one of them. */
int shmemx_buffer_unregister(void* ptr);

/* shmemx_align_with_hints is shmem_align with the hints of shmem_malloc_with_hints. In a GPU's heap
 * the `alignment` of both may be any power of two up to 2 MiB at least. Other blocks of the device
 * heap are aligned to 256 bytes. */
void* shmemx_align_with_hints(size_t alignment, size_t size, long hints);

/* shmemx_reached_on_stream tells whether the `bytes` bytes at `ptr` are symmetric memory that
 * kernels of all PEs reach, so that collectives on a stream take it. Not collective. Returns 1 if
 * they are, else 0. */
int shmemx_reached_on_stream(const void* ptr, size_t bytes);

/* ---- shmemx_heap_save writes the symmetric memory of each PE of the team to a file of its own in
 * `folder`; docs/checkpoints.md has an example and all rules. That is the live blocks of both
 * heaps, registered buffers, and static variables that are marked with SHMEMX_SAVED:
 *
 *   SHMEMX_SAVED static long steps;
 *
 * Other static variables stay as they are: they hold state of the C and C++ libraries.
 * shmemx_heap_restore brings back what was saved, in this job or a later one, if the program has
 * made the same allocations and registrations in the same order. The team has as many PEs as the
 * one that saved. Addresses that are saved are not adjusted to another job.
 *
 * A save takes the place of the one before when the files of all PEs are on disk, so a folder keeps
 * the last whole save. A save makes the folder if it is missing. All PEs need to reach it.
 *
 * Both are collectives of the team, and complete transfers and synchronize as a barrier does.
 * Meanwhile no stream, kernel, thread or other team uses the memory, and no PE holds a lock. If the
 * disk fails while a restore copies files that it has checked, the job ends. Returns of both: 0; or
 * nonzero on all PEs after one line that says why, and then no memory has changed. A restore
 * returns SHMEMX_NO_SAVE if the folder has no complete save yet. For SHMEM_TEAM_INVALID the nonzero
 * return has no line. */
#define SHMEMX_SAVED __attribute__((used, section("shmemx_saved")))
#define SHMEMX_NO_SAVE 2
int shmemx_heap_save(shmem_team_t team, const char* folder);
int shmemx_heap_restore(shmem_team_t team, const char* folder);

/* shmemx_host_ptr gives the address at which the processor may load and store PE `pe`'s copy of
 * `dest`. For host memory it is the address of shmem_ptr, whose addresses of device memory are for
 * kernels. Device heaps have such an address if the host's small puts are stores
 * (MESHMEM_LARGE_BAR). Loads there are slow. The processor may combine stores there and send them
 * in any order. So put a shmem_p or a set signal to the device heap of the same PE after them: a PE
 * that sees it also sees the stores. Not collective. Returns this address, or NULL if there is
 * none. */
void* shmemx_host_ptr(const void* dest, int pe);

/* shmemx_stream_mark sets a mark behind the work that is on the stream so far. Wait for the mark by
 * shmemx_stream_mark_wait before you free what that work uses (memory, a registered buffer); the
 * stream may be gone by then. `*mark` is NULL at first. It may be set again, and is then behind the
 * newer work alone. While the stream is captured, setting changes nothing: a graph's work is on the
 * stream that it is launched on. The wait frees the mark and sets `*mark` to NULL; if it is NULL,
 * the wait returns at once. Not collective. shmem_team_destroy itself waits for the team's
 * collectives on streams, and shmem_finalize for all work of the device. Graphs that have captured
 * the team's collectives must have ended before. */
typedef struct shmemx_mark_of_stream* shmemx_mark_t;
void shmemx_stream_mark(shmemx_mark_t* mark, shmemx_stream_t stream);
void shmemx_stream_mark_wait(shmemx_mark_t* mark);

/* shmemx_module_init repeats what start-up did for each module of device code. Call it for a module
 * that was loaded later in a way that does not run its initializers, and on AMD GPUs after each
 * dlopen of a library with kernels. */
void shmemx_module_init(void);

/* shmemx_loaded_module_init is for a module that the program has loaded by hand, as by
 * hipModuleLoad or cuModuleLoadData: a hipModule_t, or CUmodule. From this call on its kernels can
 * call the library, until shmemx_loaded_module_finalize, which has to come before the module is
 * unloaded, or shmem_finalize. Neither call waits for running kernels, and neither is collective.
 * The module is of one source that includes shmem.h, compiled by oshhip --genco, or on NVIDIA GPUs
 * oshhip -cubin, -fatbin or -ptx, and was loaded with the PE's device current. Returns 0, also if
 * the module is known already. It returns nonzero, after a line that says why, before shmem_init,
 * and for a module that does not call the library or calls another version of it. Processors (the
 * target cpu) have no such modules, so there it always returns nonzero. */
int shmemx_loaded_module_init(void* module);
/* shmemx_loaded_module_finalize ends what shmemx_loaded_module_init began. Returns 0, also after
 * shmem_finalize; or nonzero, after a line, for a module that is not known. */
int shmemx_loaded_module_finalize(void* module);

/* ---- shmemx_TYPE_avg_reduce(team, dest, source, nreduce) gives the average of the PEs' elements:
 * their sum as shmem_TYPE_sum_reduce has it, divided by the number of PEs once, at the end. For
 * integers the sum wraps, and the quotient is cut toward zero. For half and bfloat16, in kernels
 * and on streams, the quotient is a float before it is rounded.
 *
 * In shmemx_TYPE_OP_reduce_scatter(team, dest, source, nreduce) OP is one of sum, prod, min, max,
 * avg, and, or, xor. `source` holds a block of `nreduce` elements for each PE of the team; PE i's
 * `dest`, of `nreduce` elements, becomes the combination of the blocks i. `dest` may be block i of
 * `source` itself (source + i * nreduce); otherwise they do not overlap.
 *
 * These reductions beyond the standard are collectives of a team, as its reductions (9.10), for the
 * types that kernels have. They work on host and device memory, in kernels (also _wave and _block),
 * and on streams (_on_stream). Overloads in C++: shmemx_avg_reduce(team, float*, ...). Returns
 * 0. */
/* shmemx_TYPE_maxloc_reduce(team, dest, source, nreduce) and shmemx_TYPE_minloc_reduce find the
 * greatest or least value, and where it is: MPI's MAXLOC and MINLOC. `dest` and `source` are arrays
 * of shmemx_TYPE_loc_t, {value, index}; they are the same, or do not overlap. Element i of every
 * `dest` becomes the element i, among all sources, whose value is greatest (least). Among equal
 * values the least index wins; 0 and -0 are equal, and a number wins over a NaN. The index is the
 * program's: a PE, a row, whatever it has numbered. It is an int32_t beside values of 4 bytes, an
 * int64_t beside those of 8. Like the others: on host and device memory, in kernels (_wave, _block,
 * _grid), on streams, and with overloads (shmemx_maxloc_reduce). Returns 0. */
/* shmemx_TYPE_alltoallv(team, dest, dest_nelems, dest_displs, source, source_nelems, source_displs)
 * is an alltoall of blocks that differ in length, as mixtures of experts need it. For each PE i of
 * the team the `source_nelems[i]` elements at `source + source_displs[i]` go to PE i, and the
 * `dest_nelems[i]` elements from PE i go to `dest + dest_displs[i]`. shmemx_alltoallvmem counts
 * bytes instead. PE i's `dest_nelems[j]` is PE j's `source_nelems[i]`: the host's routines end the
 * job if it is not, and kernels do not check it. `dest` and `source` are symmetric and do not
 * overlap. The arrays have a number for each PE, and are each PE's own; the numbers may change from
 * call to call. A collective of the team; also in kernels (_wave, _block) and on streams
 * (_on_stream). There the arrays are read while the kernel runs, so they lie in memory that the
 * device reaches (of hipMalloc or the device heap), not on the stack. Returns 0. */
#define MESHMEM_DECLARE_EXTENSION(name, op, E, result, params, args) result shmemx_##name params;
#ifndef MESHMEM_COMPILES_KERNELS /* where they are functions for both sides: shmem/device.hpp */
MESHMEM_EXTENSIONS(MESHMEM_DECLARE_EXTENSION, MESHMEM_IN)
MESHMEM_LOCATED(MESHMEM_DECLARE_EXTENSION)
MESHMEM_ALLTOALLV(MESHMEM_DECLARE_EXTENSION, MESHMEM_IN)
#endif
MESHMEM_ALLTOALLV_ON_HOST(MESHMEM_DECLARE_EXTENSION, MESHMEM_IN)

/* ---- shmemx_moe_create and its relatives are for expert parallelism (mixture of experts). Each
 * token of a PE chooses top_k of the experts, which are spread over the PEs of a team. Each of
 * these experts gets the token as a *row*. Then the token becomes the weighted sum of what they
 * make of their rows. With n PEs, the first experts % n PEs have experts / n + 1 experts each, in
 * order, and the others experts / n.
 *
 *   shmemx_moe_plan_on_stream(moe, indices, tokens, stream);  // where each row goes
 *   shmemx_moe_dispatch_on_stream(moe, x, NULL, stream);      // the rows, expert by expert
 *   experts<<<..., stream>>>(view.rows, view.offsets, view.counts, view.results);
 *   shmemx_moe_combine_on_stream(moe, view.results, weights, y, stream);
 *
 * shmemx_moe_create makes what a team needs for that, in the device heap. All PEs of the world call
 * it together, since it allocates symmetric memory. A PE outside the team passes SHMEM_TEAM_INVALID
 * and any shape, and only destroys what it gets. Several teams may have shapes of their own in one
 * call. n * max_tokens * top_k is at most 2^30 - 1. Without a capacity it is max_rows, so that a PE
 * has room if all tokens choose its experts. With a capacity max_rows is that of the experts of a
 * PE.
 *
 * The calls on a stream are collectives of the team: all its PEs make them in the same order, with
 * any number of tokens each. Graphs can capture them. All arrays are in memory of the device. A
 * wrong argument ends the job with a line.
 *
 * Returns of shmemx_moe_create: 0; or nonzero on all PEs with `*moe` NULL, and SHMEM_DEBUG=1 says
 * why. It fails if the PEs of a team give different shapes, or only some of them the team. It also
 * fails if a shape is out of its limits, or if the memory is not there. The calls on a stream
 * return 0. */
typedef struct shmemx_moe_of_team* shmemx_moe_t;
int shmemx_moe_create(shmem_team_t team, const shmemx_moe_shape_t* shape, shmemx_moe_t* moe);
/* shmemx_moe_destroy frees what shmemx_moe_create has made. All PEs call it together, before the
 * team ends. It waits for the calls on streams, but not for graphs. */
void shmemx_moe_destroy(shmemx_moe_t moe);
/* shmemx_moe_view tells where the memory is; its pointers stay the same. Kernels take the view by
 * value. */
void shmemx_moe_view(shmemx_moe_t moe, shmemx_moe_view_t* view);
/* shmemx_moe_plan_on_stream finds where each row goes. `indices` is [tokens][top_k], -1 for nobody.
 * The rows of an expert are in the order of PEs, then tokens, then choices. The plan sets counts,
 * offsets and dropped of the view. If an expert has a capacity, its last rows beyond it are
 * dropped, and its first row is row (its number on its PE) * capacity. Any other index counts as
 * -1, and sets SHMEMX_MOE_BAD_INDEX in the status. */
int shmemx_moe_plan_on_stream(shmemx_moe_t moe, const int* indices, int tokens,
                              shmemx_stream_t stream);
/* shmemx_moe_dispatch_on_stream brings each row of `tokens`, [tokens of the plan][hidden], to its
 * expert's PE. `scales` is [tokens][scales_of_row] for FP8, a float for each 128 elements; else
 * NULL. Then `rows` and `row_scales` of the view are complete on this PE, until its next plan,
 * dispatch or combine. Two dispatches need a plan or a combine between them. */
int shmemx_moe_dispatch_on_stream(shmemx_moe_t moe, const void* tokens, const float* scales,
                                  shmemx_stream_t stream);
/* shmemx_moe_combine_on_stream sets `out`, [tokens][hidden] of result_type, to the sum of weight *
 * row over a token's choices in their order. `weights` is [tokens][top_k]. `results` is symmetric,
 * [max_rows][hidden] of result_type: that of the view, or another buffer. Products are added by
 * fused multiply-adds in float, and the sum is rounded once. So it has the same bits wherever the
 * experts are. Choices of nobody and dropped ones do not count. `results` must not change before
 * the next plan or dispatch. */
int shmemx_moe_combine_on_stream(shmemx_moe_t moe, const void* results, const float* weights,
                                 void* out, shmemx_stream_t stream);

/* ---- shmemx_reduce_plan decides how kernels reduce. `plan` is "algorithm blocks threads", as in
 * "two_shot 16 512". From then on it is for all reductions on device memory that the host calls, or
 * puts on a stream or into a graph. With NULL the environment and the measured tables decide again.
 * All PEs must give the same plan before the same reductions. A team with fewer blocks uses those
 * that it has. This is for measuring: meshmem-bench --tune makes a table for MESHMEM_TUNING, which
 * programs use. Not collective. Returns 0; or nonzero, and changes nothing, if the text is no plan:
 * it has 1 to 128 blocks and 1 to 512 threads (two_shot_wide: 576). */
int shmemx_reduce_plan(const char* plan);
/* shmemx_reduce_plan_algorithm names the algorithms of plans. Returns the name of the one with this
 * number, from 0; or NULL past the last. */
const char* shmemx_reduce_plan_algorithm(int number);

/* ---- shmemx_signal_wait_until_on_stream lets the stream go on when the comparison holds. After
 * shmemx_quiet_on_stream its earlier stores have arrived. The syncs do the same as
 * shmemx_barrier_all_on_stream, which is a quiet too. */
/* clang-format off */
#define MESHMEM_STREAM_ROUTINES(F) \
    MESHMEM_COMMON_STREAM_ROUTINES(F) \
    F(signal_op_on_stream, signal_op_on_stream, void, void, \
      (uint64_t *sig_addr, uint64_t signal, int sig_op, int pe, shmemx_stream_t stream), (sig_addr, signal, sig_op, pe, stream)) \
    F(team_sync_on_stream, team_sync_on_stream, void, int, (shmem_team_t team, shmemx_stream_t stream), (team, stream))
#define MESHMEM_COMMON_STREAM_ROUTINES(F) \
    F(signal_wait_until_on_stream, signal_wait_until_on_stream, void, void, \
      (uint64_t *sig_addr, int cmp, uint64_t cmp_value, shmemx_stream_t stream), (sig_addr, cmp, cmp_value, stream)) \
    F(quiet_on_stream, quiet_on_stream, void, void, (shmemx_stream_t stream), (stream)) \
    F(barrier_all_on_stream, barrier_all_on_stream, void, void, (shmemx_stream_t stream), (stream)) \
    F(sync_all_on_stream, sync_all_on_stream, void, void, (shmemx_stream_t stream), (stream))
/* clang-format on */
MESHMEM_STREAM_ROUTINES(MESHMEM_DECLARE_EXTENSION)
#undef MESHMEM_DECLARE_EXTENSION
/* shmemx_TYPE_put_on_stream and the other routines of a type, of 8 to 128 bits (put32), and of
 * bytes (mem) take the parameters of the standard's routine, then the stream:
 *
 *   shmemx_TYPE_put_on_stream, _get_on_stream; shmemx_put32_on_stream; shmemx_putmem_on_stream
 *   shmemx_TYPE_put_signal_on_stream   the signal after the data, and after all that the stream
 *                                      did before
 *   shmemx_TYPE_p_on_stream            the value is that of the call
 *   shmemx_TYPE_wait_until_on_stream   the stream goes on when the comparison holds
 *   shmemx_TYPE_broadcast_on_stream, _fcollect_, _alltoall_, and _collect_, whose count may
 *                                      differ from PE to PE
 *   shmemx_TYPE_alltoallv_on_stream
 *
 * The types are those that kernels have; waits have the standard's types; overloads in C++:
 * shmemx_put_on_stream(float*, ...). Returns of the collectives of a team: 0. */
#define MESHMEM_MOVED_ON_STREAM(F, IN) MESHMEM_KERNEL_TYPES(MESHMEM_MOVED_ROW, F, IN)
#define MESHMEM_MOVED_ROW(NAME, TYPE, rma, ext, amo, bit, arith, logic, F, IN) \
  IN##_##rma(MESHMEM_OPS_TRANSFER(F, NAME##_, , TYPE, TYPE))                   \
      IN##_##rma(MESHMEM_OP_PUT_SIGNAL(F, NAME##_, , TYPE, TYPE))              \
          IN##_##rma(MESHMEM_OP_P(F, NAME##_, TYPE))                           \
              IN##_##amo(MESHMEM_OP_WAIT_UNTIL(F, NAME##_, TYPE))              \
                  IN##_##rma(MESHMEM_OPS_MOVE(F, NAME##_, , TYPE, TYPE))       \
                      IN##_##rma(MESHMEM_OP_ALLTOALLV(F, NAME##_, , TYPE, TYPE))
#define MESHMEM_UNTYPED_ON_STREAM(F)        \
  MESHMEM_SIZES(MESHMEM_SIZED_MOVED_ROW, F) \
  MESHMEM_SIZED_MOVED_ROW(mem, char, F)     \
  MESHMEM_OPS_MOVE(F, , mem, char, void) MESHMEM_OP_ALLTOALLV(F, , mem, char, void)
#define MESHMEM_SIZED_MOVED_ROW(BITS, E, F) \
  MESHMEM_OPS_TRANSFER(F, , BITS, E, void)  \
  MESHMEM_OP_PUT_SIGNAL(F, , BITS, E, void)

/* shmemx_TYPE_sum_reduce_on_stream, the other reductions and scans (_sum_inscan_on_stream,
 * _sum_exscan_on_stream), and those beyond the standard take (team, dest, source, nreduce, stream),
 * for the types that kernels have. They do what the routines without a stream do, by the rules of
 * shmemx_putmem_on_stream. Overloads in C++: shmemx_sum_reduce_on_stream(team, float*, ...).
 * Returns 0. */
#define MESHMEM_REDUCTIONS(F, IN) MESHMEM_KERNEL_TYPES(MESHMEM_REDUCTION_ROW, F, IN)
#define MESHMEM_REDUCTION_ROW(NAME, TYPE, rma, ext, amo, bit, arith, logic, F, IN) \
  IN##_##rma(MESHMEM_OPS_REDUCE_ORDER(F, NAME##_, TYPE))                           \
      IN##_##arith(MESHMEM_OP_REDUCE(F, NAME##_, TYPE, sum_reduce))                \
          IN##_##arith(MESHMEM_OP_REDUCE(F, NAME##_, TYPE, prod_reduce))           \
              IN##_##logic(MESHMEM_OPS_REDUCE_LOGIC(F, NAME##_, TYPE))
#define MESHMEM_SCANS(F, IN) MESHMEM_KERNEL_TYPES(MESHMEM_SCAN_ROW, F, IN)
#define MESHMEM_SCAN_ROW(NAME, TYPE, rma, ext, amo, bit, arith, logic, F, IN) \
  IN##_##arith(MESHMEM_OPS_SCAN(F, NAME##_, TYPE))
/* All of these. */
#define MESHMEM_COMPUTED_ON_STREAM(F, IN) \
  MESHMEM_REDUCTIONS(F, IN) MESHMEM_SCANS(F, IN) MESHMEM_EXTENSIONS(F, IN)
/* shmemx_TYPE_sum_reduce_on_stream and its relatives are there for half (IEEE 754 binary16) and
 * bfloat16 (the upper half of a float) too. These have sum, prod, min, max and avg, _reduce,
 * _reduce_scatter and scans. Sums are formed in float and rounded once; large ones may go around a
 * ring, which rounds at each PE (but not of teams with a fixed order). `dest` and `source` are
 * void*, since few compilers for hosts have the types: any 16-bit type of that format will do, as
 * __half and _Float16. */
#define MESHMEM_SHORT_REDUCTIONS(F, NAME, E) \
  MESHMEM_OPS_REDUCE_ORDER(F, NAME##_, E)    \
  MESHMEM_OPS_REDUCE_ARITH(F, NAME##_, E)    \
  MESHMEM_OPS_AVERAGE(F, NAME##_, E)         \
  MESHMEM_OPS_SCATTER_ORDER(F, NAME##_, E) MESHMEM_OPS_SCATTER_ARITH(F, NAME##_, E)
#define MESHMEM_WITH_STREAM(...) (__VA_ARGS__, shmemx_stream_t stream)
#define MESHMEM_PASS_STREAM(...) (__VA_ARGS__, stream)
#define MESHMEM_DECLARE_ON_STREAM(name, op, E, result, params, args) \
  result shmemx_##name##_on_stream MESHMEM_WITH_STREAM params;
MESHMEM_COMPUTED_ON_STREAM(MESHMEM_DECLARE_ON_STREAM, MESHMEM_IN)
MESHMEM_LOCATED(MESHMEM_DECLARE_ON_STREAM)
MESHMEM_SHORT_REDUCTIONS(MESHMEM_DECLARE_ON_STREAM, half, void)
MESHMEM_SHORT_REDUCTIONS(MESHMEM_DECLARE_ON_STREAM, bfloat16, void)
MESHMEM_MOVED_ON_STREAM(MESHMEM_DECLARE_ON_STREAM, MESHMEM_IN)
MESHMEM_UNTYPED_ON_STREAM(MESHMEM_DECLARE_ON_STREAM)
#undef MESHMEM_DECLARE_ON_STREAM

#ifdef __cplusplus
}

#define MESHMEM_OVERLOAD_ON_STREAM(name, op, E, result, params, args) \
  inline result shmemx_##op##_on_stream MESHMEM_WITH_STREAM params {  \
    return shmemx_##name##_on_stream MESHMEM_PASS_STREAM args;        \
  }
MESHMEM_COMPUTED_ON_STREAM(MESHMEM_OVERLOAD_ON_STREAM, MESHMEM_GENERIC)
MESHMEM_LOCATED(MESHMEM_OVERLOAD_ON_STREAM)
MESHMEM_MOVED_ON_STREAM(MESHMEM_OVERLOAD_ON_STREAM, MESHMEM_GENERIC)
#ifdef MESHMEM_COMPILES_KERNELS
MESHMEM_SHORT_REDUCTIONS(MESHMEM_OVERLOAD_ON_STREAM, half, meshmem_half)
MESHMEM_SHORT_REDUCTIONS(MESHMEM_OVERLOAD_ON_STREAM, bfloat16, meshmem_bfloat16)
#endif
#undef MESHMEM_OVERLOAD_ON_STREAM

#ifdef MESHMEM_COMPILES_KERNELS
#define MESHMEM_SIDES MESHMEM_HOST_DEVICE
#else
#define MESHMEM_SIDES inline
#endif
#define MESHMEM_OVERLOAD_EXTENSION(name, op, E, result, params, args) \
  MESHMEM_SIDES result shmemx_##op params { return shmemx_##name args; }
MESHMEM_EXTENSIONS(MESHMEM_OVERLOAD_EXTENSION, MESHMEM_GENERIC)
MESHMEM_LOCATED(MESHMEM_OVERLOAD_EXTENSION)
MESHMEM_KERNEL_TYPES(MESHMEM_ALLTOALLV_ROW, MESHMEM_OVERLOAD_EXTENSION, MESHMEM_GENERIC)
#undef MESHMEM_OVERLOAD_EXTENSION
#undef MESHMEM_SIDES
#endif

#endif
