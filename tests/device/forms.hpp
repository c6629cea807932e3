// SPDX-License-Identifier: Apache-2.0
//
// The typed routines as kernels call them, read from shmem/types.h and shmem/ops.h. A type and
// family has one struct, with a static function for each routine, whose first argument is the
// caller. So a test has one kernel template, instantiated for each type, and a loop over forms.
// Where a row of types.h has a 2 the calls are those of the overload without the type, which calls
// the typed routine.
// Invariant: no type and no routine is listed here. Include where kernels are compiled; define
// families with MESHMEM_CALLS_<column>, or with MESHMEM_CALLS where there is no overload.
#ifndef MESHMEM_TESTS_DEVICE_FORMS_HPP
#define MESHMEM_TESTS_DEVICE_FORMS_HPP

#include "device_array.hpp"

namespace meshmem {

// The group that calls, and with which context.
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

// A static function for a row of ops.h, by the routine's name (CALL) and by its overload
// (OVERLOAD). The families are those with groups and contexts, with contexts, with groups, and with
// neither. The overloads of half and bfloat16 are extensions by one thread too (SHORT).
#define MESHMEM_CALL_GROUP_CTX(name, op, Elem, result, params, args) \
  MESHMEM_BY_GROUP_CTX(shmem_, name, ctx_##name, op, result, params, args)
#define MESHMEM_OVERLOAD_GROUP_CTX(name, op, Elem, result, params, args) \
  MESHMEM_BY_GROUP_CTX(shmem_, op, op, op, result, params, args)
#define MESHMEM_SHORT_GROUP_CTX(name, op, Elem, result, params, args) \
  MESHMEM_BY_GROUP_CTX(shmemx_, op, op, op, result, params, args)
#define MESHMEM_BY_GROUP_CTX(X, routine, with_ctx, op, result, params, args)       \
  static __device__ __attribute__((noinline)) result op MESHMEM_WITH_CALL params { \
    switch (call.form) {                                                           \
      case Form::kWave:                                                            \
        return shmemx_##routine##_wave args;                                       \
      case Form::kBlock:                                                           \
        return shmemx_##routine##_block args;                                      \
      case Form::kThreadCtx:                                                       \
        return X##with_ctx MESHMEM_PASS_CALL_CTX args;                             \
      case Form::kWaveCtx:                                                         \
        return shmemx_##with_ctx##_wave MESHMEM_PASS_CALL_CTX args;                \
      case Form::kBlockCtx:                                                        \
        return shmemx_##with_ctx##_block MESHMEM_PASS_CALL_CTX args;               \
      default:                                                                     \
        return X##routine args;                                                    \
    }                                                                              \
  }
#define MESHMEM_CALL_CTX(name, op, Elem, result, params, args) \
  MESHMEM_BY_CTX(shmem_, name, ctx_##name, op, result, params, args)
#define MESHMEM_OVERLOAD_CTX(name, op, Elem, result, params, args) \
  MESHMEM_BY_CTX(shmem_, op, op, op, result, params, args)
#define MESHMEM_SHORT_CTX(name, op, Elem, result, params, args) \
  MESHMEM_BY_CTX(shmemx_, op, op, op, result, params, args)
#define MESHMEM_BY_CTX(X, routine, with_ctx, op, result, params, args)                \
  static __device__ __attribute__((noinline)) result op MESHMEM_WITH_CALL params {    \
    if (call.form == Form::kThreadCtx) return X##with_ctx MESHMEM_PASS_CALL_CTX args; \
    return X##routine args;                                                           \
  }
#define MESHMEM_CALL_GROUP(name, op, Elem, result, params, args) \
  MESHMEM_BY_GROUP(shmem_, name, op, result, params, args)
#define MESHMEM_OVERLOAD_GROUP(name, op, Elem, result, params, args) \
  MESHMEM_BY_GROUP(shmem_, op, op, result, params, args)
#define MESHMEM_SHORT_GROUP(name, op, Elem, result, params, args) \
  MESHMEM_BY_GROUP(shmemx_, op, op, result, params, args)
#define MESHMEM_BY_GROUP(X, routine, op, result, params, args)                     \
  static __device__ __attribute__((noinline)) result op MESHMEM_WITH_CALL params { \
    if (call.form == Form::kWave) return shmemx_##routine##_wave args;             \
    if (call.form == Form::kBlock) return shmemx_##routine##_block args;           \
    return X##routine args;                                                        \
  }
#define MESHMEM_CALL_PLAIN(name, op, Elem, result, params, args) \
  static __device__ __attribute__((noinline)) result op params { return shmem_##name args; }
#define MESHMEM_OVERLOAD_PLAIN(name, op, Elem, result, params, args) \
  static __device__ __attribute__((noinline)) result op params { return shmem_##op args; }
#define MESHMEM_PASS_CALL_CTX(...) (call.ctx, __VA_ARGS__)

// MESHMEM_ALIAS_<column>(...) is its argument where a routine has no overload: where MESHMEM_IN's
// is and MESHMEM_GENERIC's is not.
#define MESHMEM_ALIAS_0(...)
#define MESHMEM_ALIAS_1(...) __VA_ARGS__
#define MESHMEM_ALIAS_2(...)

// The rows of a family, for one type. HOW is CALL, OVERLOAD or SHORT.
#define MESHMEM_ROWS_RMA(HOW, PRE, MID, E, T) \
  MESHMEM_OPS_RMA(MESHMEM_##HOW##_GROUP_CTX, PRE, MID, E, T)
#define MESHMEM_ROWS_STRIDED(HOW, PRE, MID, E, T) \
  MESHMEM_OPS_STRIDED(MESHMEM_##HOW##_GROUP_CTX, PRE, MID, E, T)
#define MESHMEM_ROWS_SINGLE(HOW, PRE, MID, E, T) MESHMEM_OPS_SINGLE(MESHMEM_##HOW##_CTX, PRE, E)
#define MESHMEM_ROWS_EXT(HOW, PRE, MID, E, T) MESHMEM_OPS_ATOMIC_EXT(MESHMEM_##HOW##_CTX, PRE, E)
#define MESHMEM_ROWS_STD(HOW, PRE, MID, E, T) MESHMEM_OPS_ATOMIC_STD(MESHMEM_##HOW##_CTX, PRE, E)
#define MESHMEM_ROWS_BIT(HOW, PRE, MID, E, T) MESHMEM_OPS_ATOMIC_BIT(MESHMEM_##HOW##_CTX, PRE, E)
#define MESHMEM_ROWS_WAIT(HOW, PRE, MID, E, T) MESHMEM_OPS_WAIT_UNTIL(MESHMEM_##HOW##_GROUP, PRE, E)
#define MESHMEM_ROWS_TEST(HOW, PRE, MID, E, T) MESHMEM_OPS_TEST(MESHMEM_##HOW##_PLAIN, PRE, E)
#define MESHMEM_ROWS_COLLECTIVE(HOW, PRE, MID, E, T) \
  MESHMEM_OPS_COLLECTIVE(MESHMEM_##HOW##_GROUP, PRE, MID, E, T)
#define MESHMEM_ROWS_ORDER(HOW, PRE, MID, E, T) \
  MESHMEM_OPS_REDUCE_ORDER(MESHMEM_##HOW##_GROUP, PRE, E)
#define MESHMEM_ROWS_ARITH(HOW, PRE, MID, E, T) \
  MESHMEM_OPS_REDUCE_ARITH(MESHMEM_##HOW##_GROUP, PRE, E)
#define MESHMEM_ROWS_LOGIC(HOW, PRE, MID, E, T) \
  MESHMEM_OPS_REDUCE_LOGIC(MESHMEM_##HOW##_GROUP, PRE, E)

// struct <Family>_<NAME>; E is the type of an element.
#define MESHMEM_CALLS(Family, ROWS, NAME, PRE, MID, ElemType, PointerType) \
  MESHMEM_CALLS_BY(CALL, Family, ROWS, NAME, PRE, MID, ElemType, PointerType)
// For a type and the number in the family's column.
#define MESHMEM_CALLS_0(Family, ROWS, NAME, TYPE)
#define MESHMEM_CALLS_1(Family, ROWS, NAME, TYPE) \
  MESHMEM_CALLS_BY(CALL, Family, ROWS, NAME, NAME##_, , TYPE, TYPE)
#define MESHMEM_CALLS_2(Family, ROWS, NAME, TYPE) \
  MESHMEM_CALLS_BY(OVERLOAD, Family, ROWS, NAME, NAME##_, , TYPE, TYPE)
#define MESHMEM_CALLS_SHORT(Family, ROWS, NAME, TYPE) \
  MESHMEM_CALLS_BY(SHORT, Family, ROWS, NAME, NAME##_, , TYPE, TYPE)
#define MESHMEM_CALLS_BY(HOW, Family, ROWS, NAME, PRE, MID, ElemType, PointerType) \
  struct Family##_##NAME {                                                         \
    using E = ElemType;                                                            \
    static const char* type() { return #NAME; }                                    \
    ROWS(HOW, PRE, MID, ElemType, PointerType)                                     \
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
