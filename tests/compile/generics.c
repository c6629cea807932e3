// SPDX-License-Identifier: Apache-2.0
//
// Calls every type-generic routine with every type that the standard gives it, without and with a
// context, for pointers, arrays and const sources. Compares which typed routine each call came to.
// C11; generics.cpp compiles it as C++. The types are written out here once more on purpose: this
// is the standard's side of the comparison.
#include <shmem.h>
#include <stdio.h>
#include <string.h>
#ifdef __cplusplus
#include <complex>
#endif

#ifdef __cplusplus
extern "C" const char* last_called;
#else
extern const char* last_called;
#endif

static int calls, wrong;

static void expect_called(const char* name) {
  ++calls;
  if (strcmp(last_called, name) != 0) {
    ++wrong;
    fprintf(stderr, "generics: %s was called, not %s\n", last_called, name);
  }
  last_called = "nothing";
}

/* One generic call, and what it has to come to. */
#define CALL(op, NAME, ...) ((void)shmem_##op(__VA_ARGS__), expect_called("shmem_" #NAME "_" #op))
/* The same without and with a context. */
#define BOTH(op, NAME, ...)                                         \
  (CALL(op, NAME, __VA_ARGS__), (void)shmem_##op(ctx, __VA_ARGS__), \
   expect_called("shmem_ctx_" #NAME "_" #op))

// clang-format off
#define RMA_TYPES(X) \
  X(float, float) X(double, double) X(longdouble, long double) \
  X(char, char) X(schar, signed char) X(short, short) X(int, int) X(long, long) X(longlong, long long) \
  X(uchar, unsigned char) X(ushort, unsigned short) X(uint, unsigned) X(ulong, unsigned long) \
  X(ulonglong, unsigned long long)
#define STANDARD_AMO_TYPES(X) \
  X(int, int) X(long, long) X(longlong, long long) \
  X(uint, unsigned) X(ulong, unsigned long) X(ulonglong, unsigned long long)
#define EXTENDED_AMO_TYPES(X) X(float, float) X(double, double) STANDARD_AMO_TYPES(X)
#define BITWISE_AMO_TYPES(X) \
  X(uint, unsigned) X(ulong, unsigned long) X(ulonglong, unsigned long long) \
  X(int32, int32_t) X(int64, int64_t)
#define ARITHMETIC_TYPES(X) RMA_TYPES(X) X(complexf, float _Complex) X(complexd, double _Complex)
#define LOGIC_TYPES(X) \
  X(uchar, unsigned char) X(ushort, unsigned short) X(uint, unsigned) X(ulong, unsigned long) \
  X(ulonglong, unsigned long long) \
  X(int8, int8_t) X(int16, int16_t) X(int32, int32_t) X(int64, int64_t)
// clang-format on

#ifdef __cplusplus
#pragma GCC diagnostic ignored "-Wpedantic" /* _Complex */
#endif

#define TEST_RMA(NAME, T)                                          \
  static void rma_##NAME(shmem_ctx_t ctx) {                        \
    static T dest[8];                                              \
    static const T source[8] = {0};                                \
    const T* pointer = source;                                     \
    uint64_t signal = 0;                                           \
    BOTH(put, NAME, dest, source, 8, 0);                           \
    BOTH(put, NAME, &dest[1], pointer, 1, 0);                      \
    BOTH(get, NAME, dest, source, 8, 0);                           \
    BOTH(put_nbi, NAME, dest, source, 8, 0);                       \
    BOTH(get_nbi, NAME, dest, source, 8, 0);                       \
    BOTH(put_signal, NAME, dest, source, 8, &signal, 1, 0, 0);     \
    BOTH(put_signal_nbi, NAME, dest, source, 8, &signal, 1, 0, 0); \
    BOTH(iput, NAME, dest, source, 2, 2, 4, 0);                    \
    BOTH(iget, NAME, dest, source, 2, 2, 4, 0);                    \
    BOTH(ibput, NAME, dest, source, 2, 2, 2, 2, 0);                \
    BOTH(ibget, NAME, dest, source, 2, 2, 2, 2, 0);                \
    BOTH(p, NAME, dest, source[0], 0);                             \
    BOTH(g, NAME, source, 0);                                      \
    BOTH(g, NAME, dest, 0);                                        \
  }                                                                \
  static void collective_##NAME(shmem_team_t team) {               \
    static T dest[8];                                              \
    static const T source[8] = {0};                                \
    const T* pointer = source;                                     \
    CALL(broadcast, NAME, team, dest, source, 8, 0);               \
    CALL(broadcast, NAME, team, &dest[1], pointer, 1, 0);          \
    CALL(fcollect, NAME, team, dest, pointer, 8);                  \
    CALL(max_reduce, NAME, team, &dest[1], pointer, 1);            \
    CALL(collect, NAME, team, dest, source, 8);                    \
    CALL(fcollect, NAME, team, dest, source, 8);                   \
    CALL(alltoall, NAME, team, dest, source, 8);                   \
    CALL(alltoalls, NAME, team, dest, source, 1, 1, 8);            \
    CALL(max_reduce, NAME, team, dest, source, 8);                 \
    CALL(min_reduce, NAME, team, dest, dest, 8);                   \
  }
RMA_TYPES(TEST_RMA)

#define TEST_EXTENDED(NAME, T)                            \
  static void extended_##NAME(shmem_ctx_t ctx) {          \
    static T dest, array[2];                              \
    static const T source = 0, constants[2] = {0};        \
    T fetch, value = 1;                                   \
    BOTH(atomic_fetch, NAME, array, 0);                   \
    BOTH(atomic_fetch, NAME, constants, 0);               \
    BOTH(atomic_set, NAME, array, value, 0);              \
    BOTH(atomic_fetch_nbi, NAME, array, constants, 0);    \
    BOTH(atomic_fetch, NAME, &source, 0);                 \
    BOTH(atomic_fetch, NAME, &dest, 0);                   \
    BOTH(atomic_set, NAME, &dest, value, 0);              \
    BOTH(atomic_swap, NAME, &dest, value, 0);             \
    BOTH(atomic_fetch_nbi, NAME, &fetch, &source, 0);     \
    BOTH(atomic_swap_nbi, NAME, &fetch, &dest, value, 0); \
  }
EXTENDED_AMO_TYPES(TEST_EXTENDED)

#define TEST_STANDARD(NAME, T)                                                           \
  static void standard_##NAME(shmem_ctx_t ctx) {                                         \
    static T dest, array[2];                                                             \
    T fetch, value = 1;                                                                  \
    BOTH(atomic_inc, NAME, array, 0);                                                    \
    BOTH(atomic_fetch_add_nbi, NAME, array, &array[1], value, 0);                        \
    BOTH(atomic_compare_swap, NAME, &dest, value, value, 0);                             \
    BOTH(atomic_fetch_inc, NAME, &dest, 0);                                              \
    BOTH(atomic_inc, NAME, &dest, 0);                                                    \
    BOTH(atomic_fetch_add, NAME, &dest, value, 0);                                       \
    BOTH(atomic_add, NAME, &dest, value, 0);                                             \
    BOTH(atomic_compare_swap_nbi, NAME, &fetch, &dest, value, value, 0);                 \
    BOTH(atomic_fetch_inc_nbi, NAME, &fetch, &dest, 0);                                  \
    BOTH(atomic_fetch_add_nbi, NAME, &fetch, &dest, value, 0);                           \
  }                                                                                      \
  static void wait_##NAME(void) {                                                        \
    static T ivars[4];                                                                   \
    const T values[4] = {0};                                                             \
    const int status[4] = {0};                                                           \
    size_t indices[4];                                                                   \
    CALL(wait_until, NAME, ivars, SHMEM_CMP_EQ, values[0]);                              \
    CALL(wait_until_all, NAME, ivars, 4, status, SHMEM_CMP_EQ, values[0]);               \
    CALL(wait_until_any, NAME, ivars, 4, status, SHMEM_CMP_EQ, values[0]);               \
    CALL(wait_until_some, NAME, ivars, 4, indices, status, SHMEM_CMP_EQ, values[0]);     \
    CALL(wait_until_all_vector, NAME, ivars, 4, status, SHMEM_CMP_EQ, values);           \
    CALL(wait_until_any_vector, NAME, ivars, 4, status, SHMEM_CMP_EQ, values);           \
    CALL(wait_until_some_vector, NAME, ivars, 4, indices, status, SHMEM_CMP_EQ, values); \
    CALL(test, NAME, ivars, SHMEM_CMP_EQ, values[0]);                                    \
    CALL(test_all, NAME, ivars, 4, NULL, SHMEM_CMP_EQ, values[0]);                       \
    CALL(test_any, NAME, ivars, 4, NULL, SHMEM_CMP_EQ, values[0]);                       \
    CALL(test_some, NAME, ivars, 4, indices, NULL, SHMEM_CMP_EQ, values[0]);             \
    CALL(test_all_vector, NAME, ivars, 4, NULL, SHMEM_CMP_EQ, values);                   \
    CALL(test_any_vector, NAME, ivars, 4, NULL, SHMEM_CMP_EQ, values);                   \
    CALL(test_some_vector, NAME, ivars, 4, indices, NULL, SHMEM_CMP_EQ, values);         \
  }
STANDARD_AMO_TYPES(TEST_STANDARD)

#define TEST_BITWISE(NAME, T)                                  \
  static void bitwise_##NAME(shmem_ctx_t ctx) {                \
    static T dest;                                             \
    T fetch, value = 1;                                        \
    BOTH(atomic_fetch_and, NAME, &dest, value, 0);             \
    BOTH(atomic_and, NAME, &dest, value, 0);                   \
    BOTH(atomic_fetch_or, NAME, &dest, value, 0);              \
    BOTH(atomic_or, NAME, &dest, value, 0);                    \
    BOTH(atomic_fetch_xor, NAME, &dest, value, 0);             \
    BOTH(atomic_xor, NAME, &dest, value, 0);                   \
    BOTH(atomic_fetch_and_nbi, NAME, &fetch, &dest, value, 0); \
    BOTH(atomic_fetch_or_nbi, NAME, &fetch, &dest, value, 0);  \
    BOTH(atomic_fetch_xor_nbi, NAME, &fetch, &dest, value, 0); \
  }
BITWISE_AMO_TYPES(TEST_BITWISE)

#define TEST_ARITHMETIC(NAME, T)                        \
  static void arithmetic_##NAME(shmem_team_t team) {    \
    static T dest[2];                                   \
    static const T source[2] = {0};                     \
    CALL(sum_reduce, NAME, team, dest, source, 2);      \
    CALL(prod_reduce, NAME, team, dest, dest, 2);       \
    CALL(sum_inscan, NAME, team, dest, source, 2);      \
    CALL(sum_exscan, NAME, team, dest, source, 2);      \
    const T* pointer = source;                          \
    CALL(sum_reduce, NAME, team, &dest[1], pointer, 1); \
  }
ARITHMETIC_TYPES(TEST_ARITHMETIC)

#define TEST_LOGIC(NAME, T)                        \
  static void logic_##NAME(shmem_team_t team) {    \
    static T dest[2];                              \
    static const T source[2] = {0};                \
    CALL(and_reduce, NAME, team, dest, source, 2); \
    CALL(or_reduce, NAME, team, dest, dest, 2);    \
    CALL(xor_reduce, NAME, team, dest, source, 2); \
  }
LOGIC_TYPES(TEST_LOGIC)

/* C's complex types in both languages; in C++ std::complex too. */
#ifdef __cplusplus
namespace in_std {
TEST_ARITHMETIC(complexf, std::complex<float>)
TEST_ARITHMETIC(complexd, std::complex<double>)
}  // namespace in_std
#endif

/* Deprecated routines. */
#define DEPRECATED_SUM_TYPES(X) X(int, int) X(long, long) X(longlong, long long)
#define DEPRECATED_TYPES(X) X(float, float) X(double, double) DEPRECATED_SUM_TYPES(X)
#define DEPRECATED_WAIT_TYPES(X) X(short, short) X(ushort, unsigned short)

#define TEST_DEPRECATED(NAME, T)          \
  static void deprecated_##NAME(void) {   \
    static T dest[2];                     \
    static const T source = 0;            \
    const T value = 1;                    \
    CALL(fetch, NAME, &source, 0);        \
    CALL(fetch, NAME, dest, 0);           \
    CALL(set, NAME, dest, value, 0);      \
    CALL(swap, NAME, &dest[1], value, 0); \
  }
DEPRECATED_TYPES(TEST_DEPRECATED)

#define TEST_DEPRECATED_SUM(NAME, T)           \
  static void deprecated_sum_##NAME(void) {    \
    static T dest;                             \
    const T value = 1;                         \
    CALL(cswap, NAME, &dest, value, value, 0); \
    CALL(finc, NAME, &dest, 0);                \
    CALL(inc, NAME, &dest, 0);                 \
    CALL(fadd, NAME, &dest, value, 0);         \
    CALL(add, NAME, &dest, value, 0);          \
  }
DEPRECATED_SUM_TYPES(TEST_DEPRECATED_SUM)

#define TEST_DEPRECATED_WAIT(NAME, T)                                                  \
  static void deprecated_wait_##NAME(void) {                                           \
    static T ivars[4];                                                                 \
    const T values[4] = {0};                                                           \
    size_t indices[4];                                                                 \
    CALL(wait_until, NAME, ivars, SHMEM_CMP_EQ, values[0]);                            \
    CALL(test, NAME, ivars, SHMEM_CMP_EQ, values[0]);                                  \
    CALL(wait_until_all, NAME, ivars, 4, NULL, SHMEM_CMP_EQ, values[0]);               \
    CALL(wait_until_any, NAME, ivars, 4, NULL, SHMEM_CMP_EQ, values[0]);               \
    CALL(wait_until_some, NAME, ivars, 4, indices, NULL, SHMEM_CMP_EQ, values[0]);     \
    CALL(wait_until_all_vector, NAME, ivars, 4, NULL, SHMEM_CMP_EQ, values);           \
    CALL(wait_until_any_vector, NAME, ivars, 4, NULL, SHMEM_CMP_EQ, values);           \
    CALL(wait_until_some_vector, NAME, ivars, 4, indices, NULL, SHMEM_CMP_EQ, values); \
    CALL(test_all, NAME, ivars, 4, NULL, SHMEM_CMP_EQ, values[0]);                     \
    CALL(test_any, NAME, ivars, 4, NULL, SHMEM_CMP_EQ, values[0]);                     \
    CALL(test_some, NAME, ivars, 4, indices, NULL, SHMEM_CMP_EQ, values[0]);           \
    CALL(test_all_vector, NAME, ivars, 4, NULL, SHMEM_CMP_EQ, values);                 \
    CALL(test_any_vector, NAME, ivars, 4, NULL, SHMEM_CMP_EQ, values);                 \
    CALL(test_some_vector, NAME, ivars, 4, indices, NULL, SHMEM_CMP_EQ, values);       \
  }
DEPRECATED_WAIT_TYPES(TEST_DEPRECATED_WAIT)

/* Old names of other libraries: the generic and the typed one come to the current routine. */
#define OLDER_GENERIC_TYPES(X) \
  X(uint, unsigned) X(ulong, unsigned long) X(ulonglong, unsigned long long)
#define OLDER_TYPES(X) \
  X(int32, int32_t)    \
  X(int64, int64_t) X(uint32, uint32_t) X(uint64, uint64_t) X(size, size_t) X(ptrdiff, ptrdiff_t)
#define COMES_TO(NAME, op, call) ((void)(call), expect_called("shmem_" #NAME "_" #op))
#define TEST_OLDER(test, NAME, T, PRE)                                              \
  static void older_##test(void) {                                                  \
    static T dest[2];                                                               \
    const T source = 0, value = 1;                                                  \
    COMES_TO(NAME, atomic_fetch, shmem_##PRE##fetch(&source, 0));                   \
    COMES_TO(NAME, atomic_set, shmem_##PRE##set(dest, value, 0));                   \
    COMES_TO(NAME, atomic_swap, shmem_##PRE##swap(&dest[1], value, 0));             \
    COMES_TO(NAME, atomic_compare_swap, shmem_##PRE##cswap(dest, value, value, 0)); \
    COMES_TO(NAME, atomic_fetch_inc, shmem_##PRE##finc(dest, 0));                   \
    COMES_TO(NAME, atomic_inc, shmem_##PRE##inc(dest, 0));                          \
    COMES_TO(NAME, atomic_fetch_add, shmem_##PRE##fadd(dest, value, 0));            \
    COMES_TO(NAME, atomic_add, shmem_##PRE##add(dest, value, 0));                   \
    COMES_TO(NAME, wait_until, shmem_##PRE##wait(dest, value));                     \
  }
#define TEST_OLDER_TYPED(NAME, T) TEST_OLDER(NAME, NAME, T, NAME##_)
#define TEST_OLDER_GENERIC(NAME, T) TEST_OLDER(generic_##NAME, NAME, T, )
OLDER_GENERIC_TYPES(TEST_OLDER_TYPED)
OLDER_TYPES(TEST_OLDER_TYPED)
OLDER_GENERIC_TYPES(TEST_OLDER_GENERIC)

static void older_waits(void) {
  static short of_short;
  static int of_int;
  static long long of_longlong;
  shmem_wait(&of_short, 1), expect_called("shmem_short_wait");
  shmem_wait(&of_int, 1), expect_called("shmem_int_wait");
  shmem_wait(&of_longlong, 1), expect_called("shmem_longlong_wait");
}

/* Functions of one type or none, whose names are those of generics too, or nearly. */
static void deprecated_untyped(void) {
  static long word, pSync[SHMEM_SYNC_SIZE];
  shmem_sync(0, 0, 1, pSync), expect_called("shmem_sync");
  shmem_barrier(0, 0, 1, pSync), expect_called("shmem_barrier");
  shmem_wait(&word, 1), expect_called("shmem_wait");
  shmem_wait_until(&word, SHMEM_CMP_EQ, 0), expect_called("shmem_long_wait_until");
  void (*wait_until)(long*, int, long) = shmem_wait_until;
  wait_until(&word, SHMEM_CMP_EQ, 0);
#ifdef __cplusplus
  expect_called("shmem_long_wait_until");
#else
  expect_called("shmem_wait_until");
#endif
}

/* Names that stand for another type come to the routine of that type. */
static void aliases(void) {
  static size_t size;
  static ptrdiff_t difference;
  static uint32_t word;
  shmem_put(&size, &size, 1, 0), expect_called("shmem_ulong_put");
  shmem_put(&difference, &difference, 1, 0), expect_called("shmem_long_put");
  shmem_atomic_inc(&word, 0), expect_called("shmem_uint_atomic_inc");
  shmem_atomic_or(SHMEM_CTX_DEFAULT, &word, 1u, 0), expect_called("shmem_ctx_uint_atomic_or");
}

static void untyped(shmem_ctx_t ctx, shmem_team_t team) {
  static uint64_t signal;
  shmem_signal_add(&signal, 1, 0), expect_called("shmem_signal_add");
  shmem_signal_add(ctx, &signal, 1, 0), expect_called("shmem_ctx_signal_add");
  shmem_signal_set(&signal, 1, 0), expect_called("shmem_signal_set");
  shmem_signal_set(ctx, &signal, 1, 0), expect_called("shmem_ctx_signal_set");
  (void)shmem_sync(team), expect_called("shmem_team_sync");
}

int main(void) {
#define RUN_RMA(NAME, T) rma_##NAME(SHMEM_CTX_DEFAULT), collective_##NAME(SHMEM_TEAM_WORLD);
#define RUN_EXTENDED(NAME, T) extended_##NAME(SHMEM_CTX_DEFAULT);
#define RUN_STANDARD(NAME, T) standard_##NAME(SHMEM_CTX_DEFAULT), wait_##NAME();
#define RUN_BITWISE(NAME, T) bitwise_##NAME(SHMEM_CTX_DEFAULT);
#define RUN_ARITHMETIC(NAME, T) arithmetic_##NAME(SHMEM_TEAM_WORLD);
#define RUN_LOGIC(NAME, T) logic_##NAME(SHMEM_TEAM_WORLD);
  RMA_TYPES(RUN_RMA)
  EXTENDED_AMO_TYPES(RUN_EXTENDED)
  STANDARD_AMO_TYPES(RUN_STANDARD)
  BITWISE_AMO_TYPES(RUN_BITWISE)
  ARITHMETIC_TYPES(RUN_ARITHMETIC)
  LOGIC_TYPES(RUN_LOGIC)
#ifdef __cplusplus
  in_std::arithmetic_complexf(SHMEM_TEAM_WORLD), in_std::arithmetic_complexd(SHMEM_TEAM_WORLD);
#endif
#define RUN_DEPRECATED(NAME, T) deprecated_##NAME();
#define RUN_DEPRECATED_SUM(NAME, T) deprecated_sum_##NAME();
#define RUN_DEPRECATED_WAIT(NAME, T) deprecated_wait_##NAME();
  DEPRECATED_TYPES(RUN_DEPRECATED)
  DEPRECATED_SUM_TYPES(RUN_DEPRECATED_SUM)
  DEPRECATED_WAIT_TYPES(RUN_DEPRECATED_WAIT)
#define RUN_OLDER_TYPED(NAME, T) older_##NAME();
#define RUN_OLDER_GENERIC(NAME, T) older_generic_##NAME();
  OLDER_GENERIC_TYPES(RUN_OLDER_TYPED)
  OLDER_TYPES(RUN_OLDER_TYPED)
  OLDER_GENERIC_TYPES(RUN_OLDER_GENERIC)
  older_waits();
  deprecated_untyped();
  aliases();
  untyped(SHMEM_CTX_DEFAULT, SHMEM_TEAM_WORLD);
  printf("%d generic calls, %d of them to the wrong routine\n", calls, wrong);
  return wrong != 0;
}
