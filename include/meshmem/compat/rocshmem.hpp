/* SPDX-License-Identifier: Apache-2.0
 *
 * The names of rocSHMEM for programs that were written for it: each is this library's routine.
 * docs/porting.md says family by family what there is and what differs.
 * Invariant: families are read from shmem/ops.h; a name that this library cannot have is an error
 * of the compiler that says why. For kernels include it where oshhip compiles.
 */
#ifndef MESHMEM_COMPAT_ROCSHMEM_HPP
#define MESHMEM_COMPAT_ROCSHMEM_HPP

#include <stdlib.h>

#include "meshmem/compat/forward.hpp"

/* Handles are no constants in the sense of the language, so these are macros. */
#define ROCSHMEM_CTX_DEFAULT SHMEM_CTX_DEFAULT
#define ROCSHMEM_TEAM_WORLD SHMEM_TEAM_WORLD
#define ROCSHMEM_TEAM_SHARED SHMEM_TEAM_SHARED
#define ROCSHMEM_TEAM_INVALID SHMEM_TEAM_INVALID
#define ROCSHMEM_CTX_INVALID SHMEM_CTX_INVALID
#define ROCSHMEM_MAJOR_VERSION SHMEM_MAJOR_VERSION
#define ROCSHMEM_MINOR_VERSION SHMEM_MINOR_VERSION
#define ROCSHMEM_MAX_NAME_LEN SHMEM_MAX_NAME_LEN
#define ROCSHMEM_UNIQUE_ID_BYTES 128

namespace meshmem {
namespace compat {

inline bool is_started() {
  int started = 0;
  shmem_query_initialized(&started);
  return started != 0;
}
/* The value of the first of the variables that is set; else `otherwise`. */
template <typename... Variables>
int told_by(int otherwise, Variables... variables) {
  const char* const names[] = {variables...};
  for (const char* name : names)
    if (const char* value = getenv(name)) return atoi(value);
  return otherwise;
}
/* Programs choose a device by their number before they start. Until then it is what the launcher
 * has told the process, or `otherwise` without a launcher. */
inline int rank_told(int otherwise) {
  return told_by(otherwise, "PMIX_RANK", "PMI_RANK", "SLURM_PROCID");
}
inline int my_pe_any_time() { return is_started() ? shmem_my_pe() : rank_told(0); }
/* If the launcher has told a number but not how many PEs there are, shmem_n_pes reports the
 * error. */
inline int n_pes_any_time() {
  if (is_started()) return shmem_n_pes();
  const int told = told_by(rank_told(-1) < 0 ? 1 : 0, "MESHMEM_OSHRUN_PES", "OMPI_COMM_WORLD_SIZE",
                           "PMI_SIZE", "SLURM_STEP_NUM_TASKS");
  return told > 0 ? told : shmem_n_pes();
}

}  // namespace compat
}  // namespace meshmem

namespace rocshmem {

typedef shmem_ctx_t rocshmem_ctx_t;
typedef shmem_team_t rocshmem_team_t;
typedef shmem_team_config_t rocshmem_team_config_t;

enum ROCSHMEM_STATUS { ROCSHMEM_SUCCESS = 0, ROCSHMEM_ERROR = 1 };
enum ROCSHMEM_SIGNAL_OPS {
  ROCSHMEM_SIGNAL_SET = SHMEM_SIGNAL_SET,
  ROCSHMEM_SIGNAL_ADD = SHMEM_SIGNAL_ADD
};
// No routine takes one; programs name their own templates by them.
enum ROCSHMEM_OP {
  ROCSHMEM_SUM,
  ROCSHMEM_MAX,
  ROCSHMEM_MIN,
  ROCSHMEM_PROD,
  ROCSHMEM_AND,
  ROCSHMEM_OR,
  ROCSHMEM_XOR,
  ROCSHMEM_REPLACE
};
enum rocshmem_cmps {
  ROCSHMEM_CMP_EQ = SHMEM_CMP_EQ,
  ROCSHMEM_CMP_NE = SHMEM_CMP_NE,
  ROCSHMEM_CMP_GT = SHMEM_CMP_GT,
  ROCSHMEM_CMP_GE = SHMEM_CMP_GE,
  ROCSHMEM_CMP_LT = SHMEM_CMP_LT,
  ROCSHMEM_CMP_LE = SHMEM_CMP_LE
};
enum rocshmem_thread_ops {
  ROCSHMEM_THREAD_SINGLE = SHMEM_THREAD_SINGLE,
  ROCSHMEM_THREAD_FUNNELED = SHMEM_THREAD_FUNNELED,
  ROCSHMEM_THREAD_WG_FUNNELED = SHMEM_THREAD_FUNNELED,
  ROCSHMEM_THREAD_SERIALIZED = SHMEM_THREAD_SERIALIZED,
  ROCSHMEM_THREAD_MULTIPLE = SHMEM_THREAD_MULTIPLE
};
/* Lengths of the arrays for collectives of active sets, which are not there. */
constexpr size_t ROCSHMEM_SYNC_VALUE = SHMEM_SYNC_VALUE;
constexpr size_t ROCSHMEM_BARRIER_SYNC_SIZE = SHMEM_BARRIER_SYNC_SIZE;
constexpr size_t ROCSHMEM_BCAST_SYNC_SIZE = SHMEM_BCAST_SYNC_SIZE;
constexpr size_t ROCSHMEM_REDUCE_SYNC_SIZE = SHMEM_REDUCE_SYNC_SIZE;
constexpr size_t ROCSHMEM_ALLTOALL_SYNC_SIZE = SHMEM_ALLTOALL_SYNC_SIZE;
constexpr size_t ROCSHMEM_FCOLLECT_SYNC_SIZE = SHMEM_COLLECT_SYNC_SIZE;
constexpr size_t ROCSHMEM_REDUCE_MIN_WRKDATA_SIZE = SHMEM_REDUCE_MIN_WRKDATA_SIZE;
enum rocshmem_team_configs { ROCSHMEM_TEAM_DEFAULT_CONFIGS = 0, ROCSHMEM_TEAM_NUM_CONTEXTS = 1 };
constexpr int ROCSHMEM_CTX_ZERO = 0;
constexpr int ROCSHMEM_CTX_NOSTORE = SHMEM_CTX_NOSTORE;
constexpr int ROCSHMEM_CTX_SERIALIZED = SHMEM_CTX_SERIALIZED;
constexpr int ROCSHMEM_CTX_WG_PRIVATE = SHMEM_CTX_PRIVATE;
constexpr int ROCSHMEM_CTX_SHARED = 0;

/* ---- Set-up, memory, teams and contexts, by the host. The ranks of a communicator of MPI are the
 * PEs. Memory is the device's. */
inline void rocshmem_init() {
  shmemx_start_under_names_of(SHMEMX_NAMES_OF_ROCSHMEM);
  shmemx_start_mpi_if_linked();
  shmem_init();
}
template <typename Communicator>
void rocshmem_init(Communicator communicator) {
  shmemx_start_under_names_of(SHMEMX_NAMES_OF_ROCSHMEM);
  shmemx_start_by_mpi_comm(&communicator);
}
inline int rocshmem_init_thread(int requested, int* provided) {
  shmemx_start_under_names_of(SHMEMX_NAMES_OF_ROCSHMEM);
  shmemx_start_mpi_if_linked();
  return shmem_init_thread(requested, provided);
}
template <typename Communicator>
int rocshmem_init_thread(int, int* provided, Communicator communicator) {
  shmemx_start_under_names_of(SHMEMX_NAMES_OF_ROCSHMEM);
  *provided = ROCSHMEM_THREAD_MULTIPLE;
  return shmemx_init_mpi_comm(&communicator);
}
inline void rocshmem_dump_stats() {}
inline void rocshmem_reset_stats() {}
#define MESHMEM_COMPAT_HOST(name, op, E, result, params, args) \
  inline result rocshmem_##name params { return shmem_##name args; }
MESHMEM_COMPAT_HOST_ROUTINES(rocshmem, MESHMEM_COMPAT_HOST)
#undef MESHMEM_COMPAT_HOST
inline int rocshmem_buffer_register(void* address, size_t bytes) {
  return shmemx_buffer_register(address, bytes);
}
inline int rocshmem_buffer_unregister(void* address) { return shmemx_buffer_unregister(address); }
/* A buffer at a stride in each PE's addresses is registered as any other, by all PEs together. */
inline int rocshmem_sym_buffer_register(void* address, size_t bytes, int, int, ptrdiff_t) {
  return shmemx_buffer_register(address, bytes);
}
inline int rocshmem_buffer_register_vmm(void* address, size_t bytes, int, int, ptrdiff_t) {
  return shmemx_buffer_register(address, bytes);
}
inline int rocshmem_sym_buffer_unregister(void* address) {
  return shmemx_buffer_unregister(address);
}
/* The version of OpenSHMEM, since programs ask what there is. */
inline void rocshmem_vendor_get_version_info(int* major, int* minor, int* patch) {
  shmem_info_get_version(major, minor);
  *patch = 0;
}
/* The module can call the library when this returns, whatever the stream. */
inline int rocshmem_hipmodule_init(void* module, shmemx_stream_t = nullptr) {
  return shmemx_loaded_module_init(module);
}
inline int rocshmem_ctx_create(int64_t options, rocshmem_ctx_t* ctx) {
  return shmem_ctx_create(static_cast<long>(options), ctx);
}
inline void rocshmem_ctx_destroy(rocshmem_ctx_t ctx) { shmem_ctx_destroy(ctx); }

constexpr unsigned ROCSHMEM_INIT_WITH_UNIQUEID = 1;
constexpr unsigned ROCSHMEM_INIT_WITH_MPI_COMM = 2;
typedef shmemx_uniqueid_t rocshmem_uniqueid_t;
struct rocshmem_init_attr_t : meshmem::compat::UniqueIdArguments {
  void* mpi_comm = nullptr;
};
inline int rocshmem_get_uniqueid(rocshmem_uniqueid_t* id) {
  return shmemx_get_uniqueid(id) == 0 ? ROCSHMEM_SUCCESS : ROCSHMEM_ERROR;
}
inline int rocshmem_set_attr_uniqueid_args(int rank, int ranks, rocshmem_uniqueid_t* id,
                                           rocshmem_init_attr_t* attributes) {
  attributes->rank = rank;
  attributes->ranks = ranks;
  attributes->id = *id;
  return ROCSHMEM_SUCCESS;
}
inline int rocshmem_init_attr(unsigned flags, rocshmem_init_attr_t* attributes) {
  shmemx_start_under_names_of(SHMEMX_NAMES_OF_ROCSHMEM);
  if ((flags & ROCSHMEM_INIT_WITH_MPI_COMM) != 0 && attributes)
    return shmemx_init_mpi_comm(attributes->mpi_comm);
  return meshmem::compat::start(flags & ROCSHMEM_INIT_WITH_UNIQUEID ? attributes : nullptr);
}

/* ---- On both sides, by one thread, also with a context: RMA, atomics, signals, waits, order */
#define MESHMEM_COMPAT_BOTH(name, op, E, result, params, args) \
  MESHMEM_ROUTINE(MESHMEM_COMPAT_SIDES, result, rocshmem_##name, params, return shmem_##name args;)
#define MESHMEM_COMPAT_BOTH_CTX(name, op, E, result, params, args)                            \
  MESHMEM_COMPAT_BOTH(name, op, E, result, params, args)                                      \
  MESHMEM_ROUTINE(MESHMEM_COMPAT_SIDES, result, rocshmem_ctx_##name, MESHMEM_WITH_CTX params, \
                  return shmem_ctx_##name MESHMEM_PASS_CTX args;)
/* A collective of a team, with a context that makes no difference, as in rocSHMEM. */
#define MESHMEM_COMPAT_COLLECTIVE(name, op, E, result, params, args)                          \
  MESHMEM_ROUTINE(MESHMEM_COMPAT_SIDES, result, rocshmem_ctx_##name, MESHMEM_WITH_CTX params, \
                  (void)ctx;                                                                  \
                  return shmem_##name args;)
#define MESHMEM_COMPAT_TYPE(NAME, TYPE, rma, ext, amo, bit, arith, logic, ...)                   \
  MESHMEM_IN_##rma(MESHMEM_OPS_COLLECTIVE(MESHMEM_COMPAT_COLLECTIVE, NAME##_, , TYPE, TYPE))     \
      MESHMEM_IN_##rma(MESHMEM_OPS_REDUCE_ORDER(MESHMEM_COMPAT_COLLECTIVE, NAME##_, TYPE))       \
          MESHMEM_IN_##arith(MESHMEM_OPS_REDUCE_ARITH(MESHMEM_COMPAT_COLLECTIVE, NAME##_, TYPE)) \
              MESHMEM_IN_##logic(                                                                \
                  MESHMEM_OPS_REDUCE_LOGIC(MESHMEM_COMPAT_COLLECTIVE, NAME##_, TYPE))
/* my_pe and n_pes can also be called before the start. */
#define rocshmem_my_pe rocshmem_started_my_pe
#define rocshmem_n_pes rocshmem_started_n_pes
MESHMEM_ALL_IN_KERNELS(MESHMEM_COMPAT_BOTH_CTX, MESHMEM_COMPAT_BOTH)
#undef rocshmem_my_pe
#undef rocshmem_n_pes
/* Waits and tests on variables of 2 bytes. */
#define MESHMEM_COMPAT_WAIT(name, op, E, result, params, args) \
  MESHMEM_COMPAT_WAIT_OF(rocshmem, name, result, params,       \
                         op(meshmem::device::Thread(), MESHMEM_COMPAT_ARGUMENTS args), name args)
#define MESHMEM_COMPAT_TEST(name, op, E, result, params, args) \
  MESHMEM_COMPAT_WAIT_OF(rocshmem, name, result, params, op args, name args)
MESHMEM_COMPAT_SHORT_WAITS(rocshmem, MESHMEM_COMPAT_WAIT, MESHMEM_COMPAT_TEST)
#undef MESHMEM_COMPAT_WAIT
#undef MESHMEM_COMPAT_TEST
/* In rocSHMEM's kernels the vector names also compare all variables with one value. */
#define MESHMEM_COMPAT_SCALAR_WAITS(NAME, TYPE, rma, ext, amo, ...) \
  MESHMEM_IN_##amo(MESHMEM_COMPAT_SCALAR_WAIT(NAME, TYPE))
#define MESHMEM_COMPAT_SCALAR_WAIT(NAME, TYPE)                                                 \
  MESHMEM_ROUTINE(MESHMEM_COMPAT_SIDES, void, rocshmem_##NAME##_wait_until_all_vector,         \
                  (TYPE * ivars, size_t nelems, const int* status, int cmp, TYPE value),       \
                  rocshmem_##NAME##_wait_until_all(ivars, nelems, status, cmp, value);)        \
  MESHMEM_ROUTINE(MESHMEM_COMPAT_SIDES, size_t, rocshmem_##NAME##_wait_until_any_vector,       \
                  (TYPE * ivars, size_t nelems, const int* status, int cmp, TYPE value),       \
                  return rocshmem_##NAME##_wait_until_any(ivars, nelems, status, cmp, value);) \
  MESHMEM_ROUTINE(                                                                             \
      MESHMEM_COMPAT_SIDES, size_t, rocshmem_##NAME##_wait_until_some_vector,                  \
      (TYPE * ivars, size_t nelems, size_t * indices, const int* status, int cmp, TYPE value), \
      return rocshmem_##NAME##_wait_until_some(ivars, nelems, indices, status, cmp, value);)
MESHMEM_KERNEL_TYPES(MESHMEM_COMPAT_SCALAR_WAITS, )
MESHMEM_COMPAT_SCALAR_WAIT(short, short)
MESHMEM_COMPAT_SCALAR_WAIT(ushort, unsigned short)
#undef MESHMEM_COMPAT_SCALAR_WAITS
#undef MESHMEM_COMPAT_SCALAR_WAIT
MESHMEM_KERNEL_TYPES(MESHMEM_COMPAT_TYPE, )
#undef MESHMEM_COMPAT_BOTH
#undef MESHMEM_COMPAT_BOTH_CTX
#undef MESHMEM_COMPAT_COLLECTIVE
#undef MESHMEM_COMPAT_TYPE
/* Bitwise reductions of signed types, which the standard does not have: those of the unsigned
 * types. */
#define MESHMEM_COMPAT_BITS_OF(READER, what) \
  READER(short, short, what)                 \
  READER(int, int, what) READER(long, long, what) READER(longlong, long long, what)
#define MESHMEM_COMPAT_BITS(READER)   \
  MESHMEM_COMPAT_BITS_OF(READER, and) \
  MESHMEM_COMPAT_BITS_OF(READER, or) MESHMEM_COMPAT_BITS_OF(READER, xor)
#define MESHMEM_COMPAT_SIGNED(NAME, TYPE, what)                                              \
  MESHMEM_ROUTINE(                                                                           \
      MESHMEM_COMPAT_SIDES, int, rocshmem_ctx_##NAME##_##what##_reduce,                      \
      (rocshmem_ctx_t, shmem_team_t team, TYPE * dest, const TYPE* source, size_t nreduce),  \
      return shmem_u##NAME##_##what##_reduce(team, reinterpret_cast<unsigned TYPE*>(dest),   \
                                             reinterpret_cast<const unsigned TYPE*>(source), \
                                             nreduce);)
MESHMEM_COMPAT_BITS(MESHMEM_COMPAT_SIGNED)
#undef MESHMEM_COMPAT_SIGNED
#if defined(MESHMEM_COMPILES_KERNELS)
#define MESHMEM_COMPAT_ANY_TIME(name)                                                             \
  MESHMEM_COMPAT_SIDES int rocshmem_##name() {                                                    \
    MESHMEM_DISPATCH(return rocshmem_started_##name(), return meshmem::compat::name##_any_time()) \
  }
#else
#define MESHMEM_COMPAT_ANY_TIME(name) \
  inline int rocshmem_##name() { return meshmem::compat::name##_any_time(); }
#endif
MESHMEM_COMPAT_ANY_TIME(my_pe)
MESHMEM_COMPAT_ANY_TIME(n_pes)
#undef MESHMEM_COMPAT_ANY_TIME
MESHMEM_ROUTINE(MESHMEM_COMPAT_SIDES, int, rocshmem_barrier, (rocshmem_team_t team),
                return meshmem::compat::barrier(team);)
MESHMEM_ROUTINE(MESHMEM_COMPAT_SIDES, void, rocshmem_ctx_barrier,
                (rocshmem_ctx_t, rocshmem_team_t team), (void)meshmem::compat::barrier(team);)
MESHMEM_ROUTINE(MESHMEM_COMPAT_SIDES, void, rocshmem_ctx_sync,
                (rocshmem_ctx_t, rocshmem_team_t team), (void)shmem_team_sync(team);)
MESHMEM_COMPAT_SIDES void rocshmem_fence(int) { shmem_fence(); }
MESHMEM_COMPAT_SIDES void rocshmem_ctx_fence(rocshmem_ctx_t ctx, int) { shmem_ctx_fence(ctx); }

/* ---- On streams */
#define MESHMEM_COMPAT_ON_STREAM(name, op, E, result, params, args)      \
  inline result rocshmem_##name##_on_stream MESHMEM_WITH_STREAM params { \
    return shmemx_##name##_on_stream MESHMEM_PASS_STREAM args;           \
  }
MESHMEM_SIZED_MOVED_ROW(mem, char, MESHMEM_COMPAT_ON_STREAM)
MESHMEM_OPS_MOVE(MESHMEM_COMPAT_ON_STREAM, , mem, char, void)
#undef MESHMEM_COMPAT_ON_STREAM
#define MESHMEM_COMPAT_STREAM(name, op, E, result, params, args) \
  inline result rocshmem_##name params { return shmemx_##name args; }
MESHMEM_COMMON_STREAM_ROUTINES(MESHMEM_COMPAT_STREAM)
#undef MESHMEM_COMPAT_STREAM
/* They do nothing for SHMEM_TEAM_INVALID. A meeting on a stream is a quiet too. */
inline void rocshmem_team_sync_on_stream(rocshmem_team_t team, shmemx_stream_t stream) {
  if (team != SHMEM_TEAM_INVALID) (void)shmemx_team_sync_on_stream(team, stream);
}
inline void rocshmem_barrier_on_stream(rocshmem_team_t team, shmemx_stream_t stream) {
  rocshmem_team_sync_on_stream(team, stream);
}

/* ---- What this library has not */
MESHMEM_COMPAT_MISSING(rocshmem_get_device_ctx, "take rocshmem_hipmodule_init")
MESHMEM_COMPAT_MISSING(rocshmem_buffer_unregister_all,
                       "unregister each buffer by rocshmem_buffer_unregister")
#define MESHMEM_COMPAT_NO_WAIT(name, ...) \
  MESHMEM_COMPAT_MISSING(rocshmem_##name, \
                         "what is waited for is an integer of 2 bytes or more; take int")
MESHMEM_OPS_WAIT(MESHMEM_COMPAT_NO_WAIT, char_, char)
MESHMEM_OPS_WAIT(MESHMEM_COMPAT_NO_WAIT, schar_, signed char)
MESHMEM_OPS_WAIT(MESHMEM_COMPAT_NO_WAIT, uchar_, unsigned char)
MESHMEM_OPS_WAIT(MESHMEM_COMPAT_NO_WAIT, float_, float)
MESHMEM_OPS_WAIT(MESHMEM_COMPAT_NO_WAIT, double_, double)
#undef MESHMEM_COMPAT_NO_WAIT

/* ---- In kernels: by a wave, by a work-group (our block), and contexts of work-groups */
#ifdef MESHMEM_COMPILES_KERNELS
#define MESHMEM_COMPAT_FORM(result, name, params, ...) \
  MESHMEM_COMPAT_ROUTINE(result, rocshmem_##name, params, __VA_ARGS__;)
#define MESHMEM_COMPAT_GROUP(name, op, E, result, params, args)                      \
  MESHMEM_COMPAT_FORM(result, name##_wave, params, return shmemx_##name##_wave args) \
  MESHMEM_COMPAT_FORM(result, name##_wg, params, return shmemx_##name##_block args)
/* Puts and gets. rocSHMEM's end with a meeting of the group. */
#define MESHMEM_COMPAT_GROUP_MOVE(name, op, E, result, params, args)          \
  MESHMEM_COMPAT_FORM(result, name##_wave, params, shmemx_##name##_wave args; \
                      meshmem::compat::end_wave())                            \
  MESHMEM_COMPAT_FORM(result, name##_wg, params, shmemx_##name##_block args;  \
                      meshmem::compat::end_block())
#define MESHMEM_COMPAT_GROUP_CTX(name, op, E, result, params, args)             \
  MESHMEM_COMPAT_GROUP_MOVE(name, op, E, result, params, args)                  \
  MESHMEM_COMPAT_GROUP_MOVE(ctx_##name, op, E, result, MESHMEM_WITH_CTX params, \
                            MESHMEM_PASS_CTX args)
/* Under their present names, and (_wg_) under their first ones. */
#define MESHMEM_COMPAT_GROUP_COLLECTIVE(name, PRE, op, result, params, args)          \
  MESHMEM_COMPAT_FORM(result, ctx_##name##_wave, MESHMEM_WITH_CTX params, (void)ctx;  \
                      return shmemx_##name##_wave args)                               \
  MESHMEM_COMPAT_FORM(result, ctx_##name##_wg, MESHMEM_WITH_CTX params, (void)ctx;    \
                      return shmemx_##name##_block args)                              \
  MESHMEM_COMPAT_FORM(result, ctx_##PRE##wg_##op, MESHMEM_WITH_CTX params, (void)ctx; \
                      return shmemx_##name##_block args)
#define MESHMEM_COMPAT_REDUCE(NAME, TYPE, what)                             \
  MESHMEM_COMPAT_GROUP_COLLECTIVE(                                          \
      NAME##_##what##_reduce, NAME##_##what##_, reduce, int,                \
      (shmem_team_t team, TYPE * dest, const TYPE* source, size_t nreduce), \
      (team, dest, source, nreduce))
#define MESHMEM_COMPAT_MOVE(NAME, TYPE, what)                              \
  MESHMEM_COMPAT_GROUP_COLLECTIVE(                                         \
      NAME##_##what, NAME##_, what, int,                                   \
      (shmem_team_t team, TYPE * dest, const TYPE* source, size_t nelems), \
      (team, dest, source, nelems))
#define MESHMEM_COMPAT_COLLECTIVES(NAME, TYPE)                                       \
  MESHMEM_COMPAT_MOVE(NAME, TYPE, alltoall)                                          \
  MESHMEM_COMPAT_MOVE(NAME, TYPE, fcollect)                                          \
  MESHMEM_COMPAT_MOVE(NAME, TYPE, collect)                                           \
  MESHMEM_COMPAT_GROUP_COLLECTIVE(                                                   \
      NAME##_broadcast, NAME##_, broadcast, int,                                     \
      (shmem_team_t team, TYPE * dest, const TYPE* source, size_t nelems, int root), \
      (team, dest, source, nelems, root))
#define MESHMEM_COMPAT_GROUP_TYPE(NAME, TYPE, rma, ext, amo, bit, arith, logic, ...)               \
  MESHMEM_IN_##rma(MESHMEM_OPS_RMA(MESHMEM_COMPAT_GROUP_CTX, NAME##_, , TYPE, TYPE))               \
      MESHMEM_IN_##rma(MESHMEM_OPS_STRIDED(MESHMEM_COMPAT_GROUP_CTX, NAME##_, , TYPE, TYPE))       \
          MESHMEM_IN_##amo(MESHMEM_OPS_WAIT_UNTIL(MESHMEM_COMPAT_GROUP, NAME##_, TYPE))            \
              MESHMEM_IN_##rma(MESHMEM_COMPAT_COLLECTIVES(NAME, TYPE))                             \
                  MESHMEM_IN_##rma(MESHMEM_COMPAT_REDUCE(NAME, TYPE, max))                         \
                      MESHMEM_IN_##rma(MESHMEM_COMPAT_REDUCE(NAME, TYPE, min)) MESHMEM_IN_##arith( \
                          MESHMEM_COMPAT_REDUCE(NAME, TYPE, sum))                                  \
                          MESHMEM_IN_##arith(MESHMEM_COMPAT_REDUCE(NAME, TYPE, prod))              \
                              MESHMEM_IN_##logic(MESHMEM_COMPAT_REDUCE(NAME, TYPE, and))           \
                                  MESHMEM_IN_##logic(MESHMEM_COMPAT_REDUCE(NAME, TYPE, or))        \
                                      MESHMEM_IN_##logic(MESHMEM_COMPAT_REDUCE(NAME, TYPE, xor))
MESHMEM_KERNEL_TYPES(MESHMEM_COMPAT_GROUP_TYPE, )
#define MESHMEM_COMPAT_SIGNED_BY(group, NAME, TYPE, what, name)                             \
  MESHMEM_COMPAT_FORM(                                                                      \
      int, ctx_##name,                                                                      \
      (rocshmem_ctx_t, shmem_team_t team, TYPE * dest, const TYPE* source, size_t nreduce), \
      return shmemx_u##NAME##_##what##_reduce_##group(                                      \
          team, reinterpret_cast<unsigned TYPE*>(dest),                                     \
          reinterpret_cast<const unsigned TYPE*>(source), nreduce))
#define MESHMEM_COMPAT_SIGNED(NAME, TYPE, what)                                 \
  MESHMEM_COMPAT_SIGNED_BY(wave, NAME, TYPE, what, NAME##_##what##_reduce_wave) \
  MESHMEM_COMPAT_SIGNED_BY(block, NAME, TYPE, what, NAME##_##what##_reduce_wg)  \
  MESHMEM_COMPAT_SIGNED_BY(block, NAME, TYPE, what, NAME##_##what##_wg_reduce)
MESHMEM_COMPAT_BITS(MESHMEM_COMPAT_SIGNED)
#undef MESHMEM_COMPAT_SIGNED
#undef MESHMEM_COMPAT_SIGNED_BY
MESHMEM_OPS_RMA(MESHMEM_COMPAT_GROUP_CTX, , mem, char, void)
/* half and bfloat16. */
#define MESHMEM_COMPAT_SHORT(name, op, E, result, params, args)        \
  MESHMEM_COMPAT_FORM(result, name, params, return shmemx_##name args) \
  MESHMEM_COMPAT_FORM(result, ctx_##name, MESHMEM_WITH_CTX params,     \
                      return shmemx_ctx_##name MESHMEM_PASS_CTX args)
#define MESHMEM_COMPAT_SHORT_WIDER(...) \
  MESHMEM_COMPAT_SHORT(__VA_ARGS__) MESHMEM_COMPAT_GROUP_CTX(__VA_ARGS__)
#define MESHMEM_COMPAT_SHORT_TYPE(NAME, TYPE, ...)                   \
  MESHMEM_OPS_RMA(MESHMEM_COMPAT_SHORT_WIDER, NAME##_, , TYPE, TYPE) \
  MESHMEM_OPS_SINGLE(MESHMEM_COMPAT_SHORT, NAME##_, TYPE)
MESHMEM_SHORT_FLOATS(MESHMEM_COMPAT_SHORT_TYPE, )
#undef MESHMEM_COMPAT_SHORT_TYPE
#undef MESHMEM_COMPAT_SHORT_WIDER
#undef MESHMEM_COMPAT_SHORT
MESHMEM_COMPAT_GROUP(signal_fetch, , , uint64_t, (const uint64_t* address), (address))
MESHMEM_GROUP_ROUTINES(MESHMEM_COMPAT_GROUP)
#undef MESHMEM_COMPAT_GROUP
#undef MESHMEM_COMPAT_GROUP_CTX
#undef MESHMEM_COMPAT_GROUP_MOVE
#undef MESHMEM_COMPAT_GROUP_COLLECTIVE
#undef MESHMEM_COMPAT_REDUCE
#undef MESHMEM_COMPAT_MOVE
#undef MESHMEM_COMPAT_COLLECTIVES
#undef MESHMEM_COMPAT_GROUP_TYPE

#define MESHMEM_COMPAT_OF_TEAM(ending, scope)                                             \
  MESHMEM_COMPAT_FORM(int, barrier_##ending, (rocshmem_team_t team),                      \
                      return meshmem::compat::barrier_##scope(team))                      \
  MESHMEM_COMPAT_FORM(void, ctx_barrier_##ending, (rocshmem_ctx_t, rocshmem_team_t team), \
                      (void)meshmem::compat::barrier_##scope(team))                       \
  MESHMEM_COMPAT_FORM(void, ctx_sync_##ending, (rocshmem_ctx_t, rocshmem_team_t team),    \
                      (void)shmemx_team_sync_##scope(team))
MESHMEM_COMPAT_OF_TEAM(wave, wave)
MESHMEM_COMPAT_OF_TEAM(wg, block)
#undef MESHMEM_COMPAT_OF_TEAM
MESHMEM_COMPAT_FORM(void, wg_barrier_all, (), shmemx_barrier_all_block())
MESHMEM_COMPAT_FORM(void, ctx_wg_barrier_all, (rocshmem_ctx_t), shmemx_barrier_all_block())
MESHMEM_COMPAT_FORM(void, wg_sync_all, (), shmemx_sync_all_block())
MESHMEM_COMPAT_FORM(void, ctx_wg_sync_all, (rocshmem_ctx_t), shmemx_sync_all_block())
MESHMEM_COMPAT_FORM(void, wg_team_sync, (rocshmem_team_t team), (void)shmemx_team_sync_block(team))
MESHMEM_COMPAT_FORM(void, ctx_wg_team_sync, (rocshmem_ctx_t, rocshmem_team_t team),
                    (void)shmemx_team_sync_block(team))

/* A work-group needs no preparation. Its contexts are the default one, or that of a team: in
 * kernels a fence or quiet on a context covers all stores of its caller, whatever their
 * contexts. */
MESHMEM_COMPAT_KERNEL void rocshmem_wg_init() {}
MESHMEM_COMPAT_KERNEL void rocshmem_wg_init_thread(int, int* provided) {
  *provided = SHMEM_THREAD_MULTIPLE;
}
MESHMEM_COMPAT_KERNEL void rocshmem_wg_finalize() {}
MESHMEM_COMPAT_KERNEL int rocshmem_wg_ctx_create(int64_t, rocshmem_ctx_t* ctx) {
  *ctx = SHMEM_CTX_DEFAULT;
  return ROCSHMEM_SUCCESS;
}
MESHMEM_COMPAT_KERNEL int rocshmem_wg_team_create_ctx(rocshmem_team_t team, long,
                                                      rocshmem_ctx_t* ctx) {
  *ctx = reinterpret_cast<rocshmem_ctx_t>(reinterpret_cast<uintptr_t>(team));
  return team == SHMEM_TEAM_INVALID ? ROCSHMEM_ERROR : ROCSHMEM_SUCCESS;
}
MESHMEM_COMPAT_KERNEL void rocshmem_wg_ctx_destroy(rocshmem_ctx_t*) {}
MESHMEM_COMPAT_KERNEL rocshmem_team_t rocshmem_team_of_ctx(rocshmem_ctx_t ctx) {
  return reinterpret_cast<rocshmem_team_t>(reinterpret_cast<uintptr_t>(ctx) & 0xffff);
}
MESHMEM_COMPAT_FORM(int, ctx_my_pe, (rocshmem_ctx_t ctx),
                    return shmem_team_my_pe(rocshmem_team_of_ctx(ctx)))
MESHMEM_COMPAT_FORM(int, ctx_n_pes, (rocshmem_ctx_t ctx),
                    return shmem_team_n_pes(rocshmem_team_of_ctx(ctx)))
#undef MESHMEM_COMPAT_FORM
MESHMEM_COMPAT_KERNEL void rocshmem_threadfence_system() { __threadfence_system(); }
MESHMEM_COMPAT_KERNEL void rocshmem_ctx_threadfence_system(rocshmem_ctx_t) {
  __threadfence_system();
}
#endif

}  // namespace rocshmem

#endif
