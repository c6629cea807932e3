/* SPDX-License-Identifier: Apache-2.0
 *
 * The extensions of NVSHMEM: forms by a warp and a block, on streams, the start by attributes,
 * launches. Invariant: as meshmem/compat/nvshmem.h; what this library cannot have is an error of
 * the compiler that says why.
 */
#ifndef MESHMEM_COMPAT_NVSHMEMX_H
#define MESHMEM_COMPAT_NVSHMEMX_H

#include "meshmem/compat/nvshmem.h"

/* ---- The start by attributes. The ranks of a communicator of MPI are the PEs. */
#define NVSHMEMX_SUCCESS 0
enum {
  NVSHMEMX_ERROR_INVALID_VALUE = 1,
  NVSHMEMX_ERROR_OUT_OF_MEMORY,
  NVSHMEMX_ERROR_NOT_SUPPORTED,
  NVSHMEMX_ERROR_SYMMETRY,
  NVSHMEMX_ERROR_GPU_NOT_SELECTED,
  NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED,
  NVSHMEMX_ERROR_INTERNAL
};
/* Routines here return 0 or another number, which does not say more. */
MESHMEM_COMPAT_SIDES const char* nvshmemx_status_string(int status) {
  return status == NVSHMEMX_SUCCESS ? "NVSHMEMX_SUCCESS" : "NVSHMEMX_ERROR";
}
inline void nvshmemx_vendor_get_version_info(int* major, int* minor, int* patch) {
  *major = NVSHMEM_VENDOR_MAJOR_VERSION;
  *minor = NVSHMEM_VENDOR_MINOR_VERSION;
  *patch = NVSHMEM_VENDOR_PATCH_VERSION;
}
#define NVSHMEMX_INIT_THREAD_PES (1U << 0)
#define NVSHMEMX_INIT_WITH_MPI_COMM (1U << 1)
#define NVSHMEMX_INIT_WITH_SHMEM (1U << 2)
#define NVSHMEMX_INIT_WITH_UNIQUEID (1U << 3)
typedef shmemx_uniqueid_t nvshmemx_uniqueid_t;
/* nvshmemx_init_attr reads *id, not the setter below. */
struct nvshmemx_uniqueid_args_t {
  int version = 0;
  const nvshmemx_uniqueid_t* id = nullptr;
  int myrank = -1, nranks = -1;
};
struct nvshmemx_init_args_t {
  int version = 0;
  nvshmemx_uniqueid_args_t uid_args;
};
struct nvshmemx_init_attr_t {
  int version = 0;
  void* mpi_comm = nullptr;
  nvshmemx_init_args_t args;
};
#define NVSHMEMX_INIT_ATTR_INITIALIZER \
  {}
#define NVSHMEMX_INIT_ARGS_INITIALIZER \
  {}
#define NVSHMEMX_UNIQUEID_ARGS_INITIALIZER \
  {}
#define NVSHMEMX_UNIQUEID_INITIALIZER \
  {}
inline int nvshmemx_get_uniqueid(nvshmemx_uniqueid_t* id) { return shmemx_get_uniqueid(id); }
inline int nvshmemx_set_attr_uniqueid_args(int rank, int ranks, const nvshmemx_uniqueid_t* id,
                                           nvshmemx_init_attr_t* attributes) {
  attributes->args.uid_args = nvshmemx_uniqueid_args_t();
  attributes->args.uid_args.id = id;
  attributes->args.uid_args.myrank = rank;
  attributes->args.uid_args.nranks = ranks;
  return 0;
}
inline int nvshmemx_set_attr_mpi_comm_args(void* communicator, nvshmemx_init_attr_t* attributes) {
  attributes->mpi_comm = communicator;
  return 0;
}
inline int nvshmemx_init_attr(unsigned flags, nvshmemx_init_attr_t* attributes) {
  shmemx_start_under_names_of(SHMEMX_NAMES_OF_NVSHMEM);
  if ((flags & NVSHMEMX_INIT_WITH_MPI_COMM) != 0 && attributes)
    return shmemx_init_mpi_comm(attributes->mpi_comm);
  if ((flags & NVSHMEMX_INIT_WITH_UNIQUEID) == 0 || !attributes || !attributes->args.uid_args.id)
    return meshmem::compat::start(nullptr);
  meshmem::compat::UniqueIdArguments by_id;
  by_id.rank = attributes->args.uid_args.myrank;
  by_id.ranks = attributes->args.uid_args.nranks;
  by_id.id = *attributes->args.uid_args.id;
  return meshmem::compat::start(&by_id);
}
inline int nvshmemx_init_thread(int requested, int* provided) {
  return nvshmem_init_thread(requested, provided);
}
inline int nvshmemx_hostlib_init_attr(unsigned flags, nvshmemx_init_attr_t* attributes) {
  return nvshmemx_init_attr(flags, attributes);
}
inline void nvshmemx_hostlib_finalize() { shmem_finalize(); }
enum {
  NVSHMEM_STATUS_NOT_INITIALIZED = 0,
  NVSHMEM_STATUS_IS_BOOTSTRAPPED,
  NVSHMEM_STATUS_IS_INITIALIZED
};
inline int nvshmemx_init_status() {
  int is_initialized = 0;
  shmem_query_initialized(&is_initialized);
  return is_initialized ? NVSHMEM_STATUS_IS_INITIALIZED : NVSHMEM_STATUS_NOT_INITIALIZED;
}

/* ---- Teams by an id, which the PE that makes it gives to the others. */
inline int nvshmemx_team_get_uniqueid(nvshmemx_team_uniqueid_t* uniqueid) {
  static uint64_t n_made = 0;
  const uint64_t number = __atomic_add_fetch(&n_made, 1, __ATOMIC_RELAXED);
  *uniqueid = static_cast<uint64_t>(shmem_my_pe()) << 24 | (number & 0xffffff);
  return 0;
}
inline int nvshmemx_team_init(nvshmem_team_t* team, nvshmem_team_config_t* config, long mask,
                              int npes, int pe_idx_in_team) {
  *team = NVSHMEM_TEAM_INVALID;
  if (!config || (mask & NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID) == 0)
    return NVSHMEMX_ERROR_INVALID_VALUE;
  return shmemx_team_of_id(config->uniqueid, npes, pe_idx_in_team, team);
}

/* ---- Buffers and modules. A registered buffer is symmetric here, so all PEs register together. */
inline int nvshmemx_buffer_register(void* address, size_t bytes) {
  return shmemx_buffer_register(address, bytes);
}
inline int nvshmemx_buffer_unregister(void* address) { return shmemx_buffer_unregister(address); }
inline void* nvshmemx_buffer_register_symmetric(void* address, size_t bytes, int) {
  return shmemx_buffer_register(address, bytes) == 0 ? address : nullptr;
}
inline void* nvshmemx_buffer_register_symmetric_at_preferred_address(void* address, size_t bytes,
                                                                     void*, int) {
  return shmemx_buffer_register(address, bytes) == 0 ? address : nullptr;
}
inline int nvshmemx_buffer_unregister_symmetric(void* address, size_t) {
  return shmemx_buffer_unregister(address);
}
inline int nvshmemx_cumodule_init(void* module) { return shmemx_loaded_module_init(module); }
inline int nvshmemx_cumodule_finalize(void* module) {
  return shmemx_loaded_module_finalize(module);
}
inline int nvshmemx_culibrary_init(void* library) {
  return shmemx_loaded_module_init(shmemx_module_of_library(library));
}
inline int nvshmemx_culibrary_finalize(void* library) {
  return shmemx_loaded_module_finalize(shmemx_module_of_library(library));
}

/* ---- Signals */
MESHMEM_ROUTINE(MESHMEM_COMPAT_SIDES, void, nvshmemx_signal_op,
                (uint64_t * address, uint64_t value, int op, int pe),
                meshmem::compat::update_signal(address, value, op, pe);)
MESHMEM_ROUTINE(MESHMEM_COMPAT_SIDES, void, nvshmemx_signal_counted_reset, (uint64_t * address),
                shmem_signal_set(address, 0, shmem_my_pe());)

/* ---- Sums of floating-point numbers, by swaps */
#define MESHMEM_COMPAT_ADD(E, Word)                                                   \
  MESHMEM_ROUTINE(MESHMEM_COMPAT_SIDES, E, nvshmemx_##E##_atomic_fetch_add,           \
                  (E * dest, E value, int pe),                                        \
                  return meshmem::compat::fetch_add_by_swaps<Word>(dest, value, pe);) \
  MESHMEM_ROUTINE(MESHMEM_COMPAT_SIDES, void, nvshmemx_##E##_atomic_add,              \
                  (E * dest, E value, int pe),                                        \
                  (void)meshmem::compat::fetch_add_by_swaps<Word>(dest, value, pe);)
MESHMEM_COMPAT_ADD(float, unsigned int)
MESHMEM_COMPAT_ADD(double, unsigned long)
#undef MESHMEM_COMPAT_ADD

/* ---- A flush, after which sources may be written: a quiet */
MESHMEM_ROUTINE(MESHMEM_COMPAT_SIDES, void, nvshmemx_flush, (), shmem_quiet();)
inline void nvshmemx_flush_on_stream(shmemx_stream_t stream) { shmemx_quiet_on_stream(stream); }

/* ---- Shared memory that the library may use for its transfers: it wants none. */
enum nvshmemx_smem_amount_t {
  NVSHMEMX_SMEM_RECOMMENDED,
  NVSHMEMX_SMEM_MINIMUM,
  NVSHMEMX_SMEM_BARRIERS_ONLY
};
MESHMEM_COMPAT_SIDES int nvshmemx_ask_smem(nvshmemx_smem_amount_t) { return 0; }

/* ---- On streams. nbi forms are the others: all return at once. */
#define MESHMEM_COMPAT_ON_STREAM(name, op, E, result, params, args)      \
  inline result nvshmemx_##name##_on_stream MESHMEM_WITH_STREAM params { \
    return shmemx_##name##_on_stream MESHMEM_PASS_STREAM args;           \
  }
#define MESHMEM_COMPAT_NBI_ON_STREAM(name, op, E, result, params, args)      \
  inline result nvshmemx_##name##_nbi_on_stream MESHMEM_WITH_STREAM params { \
    return shmemx_##name##_on_stream MESHMEM_PASS_STREAM args;               \
  }
/* Element after element. */
#define MESHMEM_COMPAT_STRIDED_ON_STREAM(name, move, E, T)                                        \
  inline void nvshmemx_##name##_on_stream(T* dest, const T* source, ptrdiff_t dst, ptrdiff_t sst, \
                                          size_t nelems, int pe, shmemx_stream_t stream) {        \
    for (size_t i = 0; i < nelems; ++i) {                                                         \
      const ptrdiff_t element = static_cast<ptrdiff_t>(i);                                        \
      shmemx_##move##mem_on_stream(static_cast<char*>(static_cast<void*>(dest)) +                 \
                                       element * dst * static_cast<ptrdiff_t>(sizeof(E)),         \
                                   static_cast<const char*>(static_cast<const void*>(source)) +   \
                                       element * sst * static_cast<ptrdiff_t>(sizeof(E)),         \
                                   sizeof(E), pe, stream);                                        \
    }                                                                                             \
  }
#define MESHMEM_COMPAT_STREAM_TYPE(NAME, TYPE, rma, ext, amo, bit, arith, logic, ...)              \
  MESHMEM_IN_##rma(MESHMEM_OPS_TRANSFER(MESHMEM_COMPAT_NBI_ON_STREAM, NAME##_, , TYPE, TYPE))      \
      MESHMEM_IN_##rma(MESHMEM_OP_PUT_SIGNAL(MESHMEM_COMPAT_NBI_ON_STREAM, NAME##_, , TYPE, TYPE)) \
          MESHMEM_IN_##rma(MESHMEM_COMPAT_STRIDED_ON_STREAM(NAME##_iput, put, TYPE, TYPE))         \
              MESHMEM_IN_##rma(MESHMEM_COMPAT_STRIDED_ON_STREAM(NAME##_iget, get, TYPE, TYPE))     \
                  MESHMEM_IN_##amo(MESHMEM_COMPAT_WAITS_ON_STREAM(NAME, TYPE))
#define MESHMEM_COMPAT_STREAM_SIZE(BITS, E, ...)                 \
  MESHMEM_SIZED_MOVED_ROW(BITS, E, MESHMEM_COMPAT_NBI_ON_STREAM) \
  MESHMEM_COMPAT_STRIDED_ON_STREAM(iput##BITS, put, E, void)     \
  MESHMEM_COMPAT_STRIDED_ON_STREAM(iget##BITS, get, E, void)
/* One variable after the other: the stream goes on when each has held. */
#define MESHMEM_COMPAT_WAITS_ON_STREAM(NAME, TYPE)                                               \
  inline void nvshmemx_##NAME##_wait_until_all_on_stream(TYPE* ivars, size_t nelems,             \
                                                         const int* status, int cmp, TYPE value, \
                                                         shmemx_stream_t stream) {               \
    for (size_t i = 0; i < nelems; ++i)                                                          \
      if (!status || status[i] == 0)                                                             \
        shmemx_##NAME##_wait_until_on_stream(ivars + i, cmp, value, stream);                     \
  }                                                                                              \
  inline void nvshmemx_##NAME##_wait_until_all_vector_on_stream(                                 \
      TYPE* ivars, size_t nelems, const int* status, int cmp, TYPE* values,                      \
      shmemx_stream_t stream) {                                                                  \
    for (size_t i = 0; i < nelems; ++i)                                                          \
      if (!status || status[i] == 0)                                                             \
        shmemx_##NAME##_wait_until_on_stream(ivars + i, cmp, values[i], stream);                 \
  }
MESHMEM_MOVED_ON_STREAM(MESHMEM_COMPAT_ON_STREAM, MESHMEM_IN)
MESHMEM_UNTYPED_ON_STREAM(MESHMEM_COMPAT_ON_STREAM)
MESHMEM_REDUCTIONS(MESHMEM_COMPAT_ON_STREAM, MESHMEM_IN)
MESHMEM_KERNEL_TYPES(MESHMEM_COMPAT_STREAM_TYPE, )
MESHMEM_SIZES(MESHMEM_COMPAT_STREAM_SIZE, )
MESHMEM_SIZED_MOVED_ROW(mem, char, MESHMEM_COMPAT_NBI_ON_STREAM)
MESHMEM_SHORT_REDUCTIONS(MESHMEM_COMPAT_ON_STREAM, half, void)
MESHMEM_SHORT_REDUCTIONS(MESHMEM_COMPAT_ON_STREAM, bfloat16, void)
#define MESHMEM_COMPAT_SCATTER_ON_STREAM(name, op, E, result, params, args) \
  inline result nvshmemx_##name##_on_stream MESHMEM_WITH_STREAM params {    \
    return shmemx_##op##_on_stream MESHMEM_PASS_STREAM args;                \
  }
MESHMEM_COMPAT_SCATTER(MESHMEM_COMPAT_SCATTER_ON_STREAM)
#define MESHMEM_COMPAT_STREAM(name, op, E, result, params, args) \
  inline result nvshmemx_##name params { return shmemx_##name args; }
MESHMEM_STREAM_ROUTINES(MESHMEM_COMPAT_STREAM)
#undef MESHMEM_COMPAT_STREAM
/* A meeting on a stream is a quiet too. */
inline int nvshmemx_barrier_on_stream(nvshmem_team_t team, shmemx_stream_t stream) {
  return shmemx_team_sync_on_stream(team, stream);
}

/* ---- In kernels, by a warp (our wave) and by a block */
#ifdef MESHMEM_COMPILES_KERNELS
#define MESHMEM_COMPAT_FORM(result, name, params, ...) \
  MESHMEM_COMPAT_ROUTINE(result, nvshmemx_##name, params, __VA_ARGS__;)
#define MESHMEM_COMPAT_GROUP(name, op, E, result, params, args)                      \
  MESHMEM_COMPAT_FORM(result, name##_warp, params, return shmemx_##name##_wave args) \
  MESHMEM_COMPAT_FORM(result, name##_block, params, return shmemx_##name##_block args)
/* Puts and gets. NVSHMEM's begin and end with a meeting of the group. */
#define MESHMEM_COMPAT_GROUP_MOVE(name, op, E, result, params, args)               \
  MESHMEM_COMPAT_FORM(result, name##_warp, params, meshmem::compat::meet_wave();   \
                      shmemx_##name##_wave args; meshmem::compat::end_wave())      \
  MESHMEM_COMPAT_FORM(result, name##_block, params, meshmem::compat::meet_block(); \
                      shmemx_##name##_block args; meshmem::compat::end_block())
#define MESHMEM_COMPAT_GROUP_SIZE(BITS, E, ...)               \
  MESHMEM_OPS_RMA(MESHMEM_COMPAT_GROUP_MOVE, , BITS, E, void) \
  MESHMEM_OPS_STRIDED(MESHMEM_COMPAT_GROUP_MOVE, , BITS, E, void)
#define MESHMEM_COMPAT_GROUP_SCATTER(name, op, E, result, params, args)            \
  MESHMEM_COMPAT_FORM(result, name##_warp, params, return shmemx_##op##_wave args) \
  MESHMEM_COMPAT_FORM(result, name##_block, params, return shmemx_##op##_block args)
MESHMEM_KERNEL_TYPES(MESHMEM_GROUP_ROW, MESHMEM_COMPAT_GROUP_MOVE, MESHMEM_COMPAT_GROUP,
                     MESHMEM_COMPAT_GROUP, MESHMEM_IN)
MESHMEM_SHORT_FLOATS(MESHMEM_GROUP_ROW, MESHMEM_COMPAT_GROUP_MOVE, MESHMEM_COMPAT_GROUP,
                     MESHMEM_COMPAT_GROUP, MESHMEM_IN)
MESHMEM_SIZES(MESHMEM_COMPAT_GROUP_SIZE, )
MESHMEM_OPS_RMA(MESHMEM_COMPAT_GROUP_MOVE, , mem, char, void)
MESHMEM_OPS_COLLECTIVE(MESHMEM_COMPAT_GROUP, , mem, char, void)
MESHMEM_COMPAT_SCATTER(MESHMEM_COMPAT_GROUP_SCATTER)
MESHMEM_GROUP_ROUTINES(MESHMEM_COMPAT_GROUP)
MESHMEM_COMPAT_FORM(int, barrier_warp, (nvshmem_team_t team),
                    return meshmem::compat::barrier_wave(team))
MESHMEM_COMPAT_FORM(int, barrier_block, (nvshmem_team_t team),
                    return meshmem::compat::barrier_block(team))
MESHMEM_COMPAT_FORM(void, flush_warp, (), shmemx_quiet_wave())
MESHMEM_COMPAT_FORM(void, flush_block, (), shmemx_quiet_block())
MESHMEM_COMPAT_KERNEL void nvshmemx_give_smem(void*, size_t) {}
MESHMEM_COMPAT_KERNEL void nvshmemx_release_smem() {}
/* half and bfloat16: scattered reductions, and what moves on a stream. */
#define MESHMEM_COMPAT_SHORT_SCATTER(name, op, ...)             \
  MESHMEM_COMPAT_SHORT_SCATTER_BY_THREAD(name, op, __VA_ARGS__) \
  MESHMEM_COMPAT_SCATTER_ON_STREAM(name, op, __VA_ARGS__)       \
  MESHMEM_COMPAT_GROUP_SCATTER(name, op, __VA_ARGS__)
#define MESHMEM_COMPAT_SHORT_SCATTER_BY_THREAD(name, op, E, result, params, args) \
  MESHMEM_COMPAT_ROUTINE(result, nvshmem_##name, params, return shmemx_##op args;)
MESHMEM_SHORT_FLOATS(MESHMEM_COMPAT_SCATTER_TYPE, MESHMEM_COMPAT_SHORT_SCATTER)
#undef MESHMEM_COMPAT_SHORT_SCATTER
#undef MESHMEM_COMPAT_SHORT_SCATTER_BY_THREAD
#define MESHMEM_COMPAT_LIST(...) __VA_ARGS__
#define MESHMEM_COMPAT_BITS(ending, name, op, result, params, args)                              \
  inline result nvshmemx_##name##ending MESHMEM_WITH_STREAM params {                             \
    return meshmem::compat::of_bits([](auto... all) { return shmemx_##op##_on_stream(all...); }, \
                                    MESHMEM_COMPAT_LIST args, stream);                           \
  }
#define MESHMEM_COMPAT_BITS_ON_STREAM(name, op, E, result, params, args) \
  MESHMEM_COMPAT_BITS(_on_stream, name, op, result, params, args)
#define MESHMEM_COMPAT_BITS_BOTH(name, op, E, result, params, args) \
  MESHMEM_COMPAT_BITS(_on_stream, name, op, result, params, args)   \
  MESHMEM_COMPAT_BITS(_nbi_on_stream, name, op, result, params, args)
#define MESHMEM_COMPAT_SHORT_ON_STREAM(NAME, TYPE, ...)                  \
  MESHMEM_OPS_TRANSFER(MESHMEM_COMPAT_BITS_BOTH, NAME##_, , TYPE, TYPE)  \
  MESHMEM_OP_PUT_SIGNAL(MESHMEM_COMPAT_BITS_BOTH, NAME##_, , TYPE, TYPE) \
  MESHMEM_OP_P(MESHMEM_COMPAT_BITS_ON_STREAM, NAME##_, TYPE)             \
  MESHMEM_OPS_MOVE(MESHMEM_COMPAT_BITS_ON_STREAM, NAME##_, , TYPE, TYPE) \
  MESHMEM_COMPAT_STRIDED_ON_STREAM(NAME##_iput, put, TYPE, TYPE)         \
  MESHMEM_COMPAT_STRIDED_ON_STREAM(NAME##_iget, get, TYPE, TYPE)
MESHMEM_SHORT_FLOATS(MESHMEM_COMPAT_SHORT_ON_STREAM, )
#undef MESHMEM_COMPAT_SHORT_ON_STREAM
#undef MESHMEM_COMPAT_BITS_BOTH
#undef MESHMEM_COMPAT_BITS_ON_STREAM
#undef MESHMEM_COMPAT_BITS
#undef MESHMEM_COMPAT_LIST
/* x is the value and y its place, which is not negative: the bits of such doubles, as integers,
 * have the same order. nreduce may be any number; NVSHMEM takes 1. */
MESHMEM_COMPAT_FORM(int, double2_maxloc_reduce_block,
                    (nvshmem_team_t team, double2* dest, const double2* source, size_t nreduce),
                    return shmemx_double_maxloc_reduce_block(
                        team, reinterpret_cast<shmemx_double_loc_t*>(dest),
                        reinterpret_cast<const shmemx_double_loc_t*>(source), nreduce))
#undef MESHMEM_COMPAT_FORM
#undef MESHMEM_COMPAT_GROUP
#undef MESHMEM_COMPAT_GROUP_MOVE
#undef MESHMEM_COMPAT_GROUP_SIZE
#undef MESHMEM_COMPAT_GROUP_SCATTER

/* ---- Launches whose blocks all run at the same time, so that they may wait for other PEs. */
template <typename Kernel>
int nvshmemx_collective_launch(Kernel* kernel, dim3 grid, dim3 block, void** arguments,
                               size_t shared_bytes, hipStream_t stream) {
  return hipLaunchCooperativeKernel(kernel, grid, block, arguments,
                                    static_cast<unsigned>(shared_bytes), stream) == hipSuccess
             ? 0
             : 1;
}
/* One block for each processor of the device. */
template <typename Kernel>
int nvshmemx_collective_launch_query_gridsize(Kernel*, dim3, void**, size_t, int* blocks) {
  int device = 0;
  if (hipGetDevice(&device) != hipSuccess) return 1;
  return hipDeviceGetAttribute(blocks, hipDeviceAttributeMultiprocessorCount, device) == hipSuccess
             ? 0
             : 1;
}
#endif

#undef MESHMEM_COMPAT_ON_STREAM
#undef MESHMEM_COMPAT_NBI_ON_STREAM
#undef MESHMEM_COMPAT_STRIDED_ON_STREAM
#undef MESHMEM_COMPAT_STREAM_TYPE
#undef MESHMEM_COMPAT_SCATTER_ON_STREAM
#undef MESHMEM_COMPAT_STREAM_SIZE
#undef MESHMEM_COMPAT_WAITS_ON_STREAM

/* ---- What this library cannot have */
#define MESHMEM_COMPAT_QP "queue pairs are the network's; call the routine without qp"
#define MESHMEM_COMPAT_NO_QP(name) MESHMEM_COMPAT_MISSING(nvshmemx_qp_##name, MESHMEM_COMPAT_QP)
#define MESHMEM_COMPAT_NO_QP_GROUPS(name) \
  MESHMEM_COMPAT_NO_QP(name) MESHMEM_COMPAT_NO_QP(name##_warp) MESHMEM_COMPAT_NO_QP(name##_block)
#define MESHMEM_COMPAT_QP_TYPE(NAME, ...)        \
  MESHMEM_COMPAT_NO_QP(NAME##_p)                 \
  MESHMEM_COMPAT_NO_QP(NAME##_g)                 \
  MESHMEM_COMPAT_NO_QP_GROUPS(NAME##_put)        \
  MESHMEM_COMPAT_NO_QP_GROUPS(NAME##_get)        \
  MESHMEM_COMPAT_NO_QP_GROUPS(NAME##_put_nbi)    \
  MESHMEM_COMPAT_NO_QP_GROUPS(NAME##_get_nbi)    \
  MESHMEM_COMPAT_NO_QP_GROUPS(NAME##_put_signal) \
  MESHMEM_COMPAT_NO_QP_GROUPS(NAME##_put_signal_nbi)
MESHMEM_KERNEL_TYPES(MESHMEM_COMPAT_QP_TYPE, )
MESHMEM_SHORT_FLOATS(MESHMEM_COMPAT_QP_TYPE, )
MESHMEM_COMPAT_NO_QP(create)
MESHMEM_COMPAT_NO_QP_GROUPS(quiet)
MESHMEM_COMPAT_NO_QP_GROUPS(fence)
MESHMEM_COMPAT_NO_QP(signal_op)
#undef MESHMEM_COMPAT_QP_TYPE
#undef MESHMEM_COMPAT_NO_QP_GROUPS
#undef MESHMEM_COMPAT_NO_QP
MESHMEM_COMPAT_MISSING(nvshmemx_mc_ptr, "multicast memory is NVIDIA's; store to each nvshmem_ptr")
MESHMEM_COMPAT_MISSING(nvshmemx_barrier_warpgroup, "take nvshmemx_barrier_block")
#define MESHMEM_COMPAT_G(NAME, ...)                     \
  MESHMEM_COMPAT_MISSING(nvshmemx_##NAME##_g_on_stream, \
                         "a stream gives no value to the caller; take get_on_stream")
MESHMEM_KERNEL_TYPES(MESHMEM_COMPAT_G, )
MESHMEM_SHORT_FLOATS(MESHMEM_COMPAT_G, )
#undef MESHMEM_COMPAT_G
#define MESHMEM_COMPAT_NO_WAIT(name)                  \
  MESHMEM_COMPAT_MISSING(nvshmemx_##name##_on_stream, \
                         "what a stream waits for has 4 or 8 bytes; take int")
MESHMEM_COMPAT_NO_WAIT(short_wait_until)
MESHMEM_COMPAT_NO_WAIT(short_wait_until_all)
MESHMEM_COMPAT_NO_WAIT(short_wait_until_all_vector)
MESHMEM_COMPAT_NO_WAIT(ushort_wait_until)
MESHMEM_COMPAT_NO_WAIT(ushort_wait_until_all)
MESHMEM_COMPAT_NO_WAIT(ushort_wait_until_all_vector)
#undef MESHMEM_COMPAT_NO_WAIT
#define MESHMEM_COMPAT_NO_ATOMIC(X, name)        \
  MESHMEM_COMPAT_MISSING(X##_half_atomic_##name, \
                         "what is changed at once has 4 or 8 bytes; take float")
MESHMEM_COMPAT_NO_ATOMIC(nvshmem, fetch)
MESHMEM_COMPAT_NO_ATOMIC(nvshmem, set)
MESHMEM_COMPAT_NO_ATOMIC(nvshmem, swap)
MESHMEM_COMPAT_NO_ATOMIC(nvshmemx, add)
MESHMEM_COMPAT_NO_ATOMIC(nvshmemx, fetch_add)
#undef MESHMEM_COMPAT_NO_ATOMIC
#define MESHMEM_COMPAT_REGION "regions tell the network of batches; leave the call away"
MESHMEM_COMPAT_MISSING(nvshmemx_region_start, MESHMEM_COMPAT_REGION)
MESHMEM_COMPAT_MISSING(nvshmemx_region_stop, MESHMEM_COMPAT_REGION)
MESHMEM_COMPAT_MISSING(nvshmemx_region_start_block, MESHMEM_COMPAT_REGION)
MESHMEM_COMPAT_MISSING(nvshmemx_region_stop_block, MESHMEM_COMPAT_REGION)
MESHMEM_COMPAT_MISSING(nvshmemx_region_is_active, MESHMEM_COMPAT_REGION)
MESHMEM_COMPAT_MISSING(nvshmemx_collective_launch_attr, "take nvshmemx_collective_launch")
MESHMEM_COMPAT_MISSING(nvshmemx_buffer_unregister_all,
                       "unregister each buffer by nvshmemx_buffer_unregister")

#endif
