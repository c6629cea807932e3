// SPDX-License-Identifier: Apache-2.0
//
// The typed routines as kernels call them, read from shmem/types.h and shmem/ops.h: one struct a
// type and family, with a static function for each routine that takes first who makes the call. So a
// test has one kernel template, instantiated for each type, and a loop over forms.
// Invariant: no type and no routine is listed here. Include where kernels are compiled; define
// families with MESHMEM_CALLS and loop over them with MESHMEM_FOR_EACH.
#ifndef MESHMEM_TESTS_DEVICE_FORMS_HPP
#define MESHMEM_TESTS_DEVICE_FORMS_HPP

#include "device_array.hpp"

namespace meshmem {

// Who calls, and with which context.
enum class Form { kThread, kWave, kBlock, kThreadCtx, kWaveCtx, kBlockCtx };
constexpr Form kForms[] = {Form::kThread,    Form::kWave,    Form::kBlock,
                           Form::kThreadCtx, Form::kWaveCtx, Form::kBlockCtx};
constexpr Form kGroups[] = {Form::kThread, Form::kWave, Form::kBlock};
constexpr size_t kFormCount = 6;

inline const char* name_of(Form form) {
  constexpr const char* kNames[] = {"thread",          "wave",          "block",
                                    "thread, context", "wave, context", "block, context"};
  return kNames[static_cast<int>(form)];
}
inline bool has_context(Form form) { return form >= Form::kThreadCtx; }

struct Call {
  Form form;
  shmem_ctx_t ctx;
};

// Whether the calling thread is one of those that make the call: the first thread, the last wave of
// the block (which may be short), all.
__device__ inline bool takes_part(Form form) {
  const int rank = static_cast<int>(threadIdx.x);
  const int last = static_cast<int>(blockDim.x) - 1;
  switch (form) {
    case Form::kThread:
    case Form::kThreadCtx:
      return rank == 0;
    case Form::kWave:
    case Form::kWaveCtx:
      return rank / warpSize == last / warpSize;
    default:
      return true;
  }
}
// One of those: for what is to be done once.
__device__ inline bool leads(Form form) {
  const int rank = static_cast<int>(threadIdx.x);
  if (form != Form::kWave && form != Form::kWaveCtx) return rank == 0;
  const int last = static_cast<int>(blockDim.x) - 1;
  return rank == last / warpSize * warpSize;
}

// A block with a whole wave and a short one, whatever the size of a wave is.
inline unsigned odd_block() { return wave_size() + 9; }

#define MESHMEM_WITH_CALL(...) (const Call& call, __VA_ARGS__)

// A static function for a row of ops.h: of the families with groups and contexts, with contexts, with
// groups, and with neither. X is what one thread's names begin with, CTX what stands before name where
// there is a context: nothing, where overloads are called.
#define MESHMEM_CALL_GROUP_CTX_OF(X, CTX, name, op, result, params, args)          \
  static __device__ __attribute__((noinline)) result op MESHMEM_WITH_CALL params { \
    switch (call.form) {                                                           \
      case Form::kWave:                                                            \
        return shmemx_##name##_wave args;                                          \
      case Form::kBlock:                                                           \
        return shmemx_##name##_block args;                                         \
      case Form::kThreadCtx:                                                       \
        return X##CTX##name MESHMEM_PASS_CALL_CTX args;                            \
      case Form::kWaveCtx:                                                         \
        return shmemx_##CTX##name##_wave MESHMEM_PASS_CALL_CTX args;               \
      case Form::kBlockCtx:                                                        \
        return shmemx_##CTX##name##_block MESHMEM_PASS_CALL_CTX args;              \
      default:                                                                     \
        return X##name args;                                                       \
    }                                                                              \
  }
#define MESHMEM_CALL_CTX_OF(X, CTX, name, op, result, params, args)                    \
  static __device__ __attribute__((noinline)) result op MESHMEM_WITH_CALL params {     \
    if (call.form == Form::kThreadCtx) return X##CTX##name MESHMEM_PASS_CALL_CTX args; \
    return X##name args;                                                               \
  }
#define MESHMEM_CALL_GROUP_OF(X, name, op, result, params, args)                   \
  static __device__ __attribute__((noinline)) result op MESHMEM_WITH_CALL params { \
    if (call.form == Form::kWave) return shmemx_##name##_wave args;                \
    if (call.form == Form::kBlock) return shmemx_##name##_block args;              \
    return X##name args;                                                           \
  }
#define MESHMEM_CALL_GROUP_CTX(name, op, Elem, result, params, args) \
  MESHMEM_CALL_GROUP_CTX_OF(shmem_, ctx_, name, op, result, params, args)
#define MESHMEM_CALL_CTX(name, op, Elem, result, params, args) \
  MESHMEM_CALL_CTX_OF(shmem_, ctx_, name, op, result, params, args)
#define MESHMEM_CALL_GROUP(name, op, Elem, result, params, args) \
  MESHMEM_CALL_GROUP_OF(shmem_, name, op, result, params, args)
#define MESHMEM_CALL_PLAIN(name, op, Elem, result, params, args) \
  static __device__ __attribute__((noinline)) result op params { return shmem_##name args; }
#define MESHMEM_PASS_CALL_CTX(...) (call.ctx, __VA_ARGS__)

// The rows of a family, for one type.
#define MESHMEM_ROWS_RMA(PRE, MID, E, T) MESHMEM_OPS_RMA(MESHMEM_CALL_GROUP_CTX, PRE, MID, E, T)
#define MESHMEM_ROWS_STRIDED(PRE, MID, E, T) \
  MESHMEM_OPS_STRIDED(MESHMEM_CALL_GROUP_CTX, PRE, MID, E, T)
#define MESHMEM_ROWS_SINGLE(PRE, MID, E, T) MESHMEM_OPS_SINGLE(MESHMEM_CALL_CTX, PRE, E)
#define MESHMEM_ROWS_EXT(PRE, MID, E, T) MESHMEM_OPS_ATOMIC_EXT(MESHMEM_CALL_CTX, PRE, E)
#define MESHMEM_ROWS_STD(PRE, MID, E, T) MESHMEM_OPS_ATOMIC_STD(MESHMEM_CALL_CTX, PRE, E)
#define MESHMEM_ROWS_BIT(PRE, MID, E, T) MESHMEM_OPS_ATOMIC_BIT(MESHMEM_CALL_CTX, PRE, E)
#define MESHMEM_ROWS_WAIT(PRE, MID, E, T) MESHMEM_OPS_WAIT_UNTIL(MESHMEM_CALL_GROUP, PRE, E)
#define MESHMEM_ROWS_TEST(PRE, MID, E, T) MESHMEM_OPS_TEST(MESHMEM_CALL_PLAIN, PRE, E)
#define MESHMEM_ROWS_COLLECTIVE(PRE, MID, E, T) \
  MESHMEM_OPS_COLLECTIVE(MESHMEM_CALL_GROUP, PRE, MID, E, T)
#define MESHMEM_ROWS_ORDER(PRE, MID, E, T) MESHMEM_OPS_REDUCE_ORDER(MESHMEM_CALL_GROUP, PRE, E)
#define MESHMEM_ROWS_ARITH(PRE, MID, E, T) MESHMEM_OPS_REDUCE_ARITH(MESHMEM_CALL_GROUP, PRE, E)
#define MESHMEM_ROWS_LOGIC(PRE, MID, E, T) MESHMEM_OPS_REDUCE_LOGIC(MESHMEM_CALL_GROUP, PRE, E)

// half and bfloat16, whose overloads are extensions by one thread too. An overload calls the routine
// with the type's name, so that both are called.
#define MESHMEM_SHORT_GROUP_CTX(name, op, Elem, result, params, args) \
  MESHMEM_CALL_GROUP_CTX_OF(shmemx_, , op, op, result, params, args)
#define MESHMEM_SHORT_CTX(name, op, Elem, result, params, args) \
  MESHMEM_CALL_CTX_OF(shmemx_, , op, op, result, params, args)
#define MESHMEM_SHORT_GROUP(name, op, Elem, result, params, args) \
  MESHMEM_CALL_GROUP_OF(shmemx_, op, op, result, params, args)
#define MESHMEM_SHORT_ROWS_RMA(PRE, MID, E, T) \
  MESHMEM_OPS_RMA(MESHMEM_SHORT_GROUP_CTX, PRE, MID, E, T)
#define MESHMEM_SHORT_ROWS_STRIDED(PRE, MID, E, T) \
  MESHMEM_OPS_STRIDED(MESHMEM_SHORT_GROUP_CTX, PRE, MID, E, T)
#define MESHMEM_SHORT_ROWS_SINGLE(PRE, MID, E, T) MESHMEM_OPS_SINGLE(MESHMEM_SHORT_CTX, PRE, E)
#define MESHMEM_SHORT_ROWS_COLLECTIVE(PRE, MID, E, T) \
  MESHMEM_OPS_COLLECTIVE(MESHMEM_SHORT_GROUP, PRE, MID, E, T)

// struct <Family>_<NAME>, where the type has the family (column); E is the type of an element.
#define MESHMEM_CALLS(Family, ROWS, NAME, PRE, MID, ElemType, PointerType) \
  struct Family##_##NAME {                                                 \
    using E = ElemType;                                                    \
    static const char* type() { return #NAME; }                            \
    ROWS(PRE, MID, ElemType, PointerType)                                  \
  };

// Routines without a type, by a group.
struct Untyped {
  MESHMEM_CALL_GROUP(signal_wait_until, signal_wait_until, , uint64_t,
                     (uint64_t * sig_addr, int cmp, uint64_t cmp_value), (sig_addr, cmp, cmp_value))
  MESHMEM_CALL_GROUP(team_sync, team_sync, , int, (shmem_team_t team), (team))
  MESHMEM_CALL_GROUP_CTX(putmem_signal, put_signal, , void,
                         (void* dest, const void* source, size_t nbytes, uint64_t* sig_addr,
                          uint64_t signal, int sig_op, int pe),
                         (dest, source, nbytes, sig_addr, signal, sig_op, pe))

  static __device__ void barrier_all(const Call& call) {
    if (call.form == Form::kThread) shmem_barrier_all();
    if (call.form == Form::kWave) shmemx_barrier_all_wave();
    if (call.form == Form::kBlock) shmemx_barrier_all_block();
  }
  static __device__ void sync_all(const Call& call) {
    if (call.form == Form::kThread) shmem_sync_all();
    if (call.form == Form::kWave) shmemx_sync_all_wave();
    if (call.form == Form::kBlock) shmemx_sync_all_block();
  }
  static __device__ void quiet(const Call& call) {
    if (call.form == Form::kThread) shmem_quiet();
    if (call.form == Form::kWave) shmemx_quiet_wave();
    if (call.form == Form::kBlock) shmemx_quiet_block();
    if (call.form == Form::kThreadCtx) shmem_ctx_quiet(call.ctx);
    if (call.form == Form::kWaveCtx) shmemx_ctx_quiet_wave(call.ctx);
    if (call.form == Form::kBlockCtx) shmemx_ctx_quiet_block(call.ctx);
  }
  static __device__ void fence(const Call& call) {
    if (call.form == Form::kThread) shmem_fence();
    if (call.form == Form::kWave) shmemx_fence_wave();
    if (call.form == Form::kBlock) shmemx_fence_block();
    if (call.form == Form::kThreadCtx) shmem_ctx_fence(call.ctx);
    if (call.form == Form::kWaveCtx) shmemx_ctx_fence_wave(call.ctx);
    if (call.form == Form::kBlockCtx) shmemx_ctx_fence_block(call.ctx);
  }
};

// A block that is the group of a form: a thread, a part of a wave, a wave and a part.
inline unsigned block_of(Form form) {
  if (form == Form::kThread || form == Form::kThreadCtx) return 1;
  return form == Form::kBlock || form == Form::kBlockCtx ? odd_block() : wave_size() - 5;
}

}  // namespace meshmem

#endif
