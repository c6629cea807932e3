/* SPDX-License-Identifier: Apache-2.0
 *
 * The types of the typed routines (OpenSHMEM 1.6, the type tables of sections 9.6 to 9.11): one row
 * a type, one column a family of routines. Everything that is typed, in every language and in the
 * tests, is read from this table.
 * Invariant: a column holds 2 in exactly one row for each distinct C type of its family. So a
 * _Generic or a set of C++ overloads made of the rows with a 2 names no type twice.
 */
#ifndef MESHMEM_SHMEM_TYPES_H
#define MESHMEM_SHMEM_TYPES_H

/* The values of a column:
 *
 *   0  the family has no routine of that name
 *   1  it has one, reached by its name only, since an alias (int32_t for int) stands for the type
 *   2  it has one, and the type-generic form calls it
 *
 *   rma    put, get, p, g, strided, signal; team collectives that move data; max and min
 *   ext    atomic fetch, set, swap ("extended AMO types")
 *   amo    the other arithmetic atomics, and point-to-point synchronization ("standard AMO types")
 *   bit    bitwise atomics
 *   arith  sum and prod reductions, scans
 *   logic  and, or, xor reductions */

/* clang-format off */
#define MESHMEM_TYPES(X, ...) MESHMEM_KERNEL_TYPES(X, __VA_ARGS__) MESHMEM_HOST_TYPES(X, __VA_ARGS__)

/* The types that kernels have too. */
/*    NAME        TYPE               rma ext amo bit arith logic */
#define MESHMEM_KERNEL_TYPES(X, ...) \
    X(float,      float,              2,  2,  0,  0,  2,  0, __VA_ARGS__) \
    X(double,     double,             2,  2,  0,  0,  2,  0, __VA_ARGS__) \
    X(char,       char,               2,  0,  0,  0,  2,  0, __VA_ARGS__) \
    X(schar,      signed char,        2,  0,  0,  0,  2,  0, __VA_ARGS__) \
    X(short,      short,              2,  0,  0,  0,  2,  0, __VA_ARGS__) \
    X(int,        int,                2,  2,  2,  0,  2,  0, __VA_ARGS__) \
    X(long,       long,               2,  2,  2,  0,  2,  0, __VA_ARGS__) \
    X(longlong,   long long,          2,  2,  2,  0,  2,  0, __VA_ARGS__) \
    X(uchar,      unsigned char,      2,  0,  0,  0,  2,  2, __VA_ARGS__) \
    X(ushort,     unsigned short,     2,  0,  0,  0,  2,  2, __VA_ARGS__) \
    X(uint,       unsigned int,       2,  2,  2,  2,  2,  2, __VA_ARGS__) \
    X(ulong,      unsigned long,      2,  2,  2,  2,  2,  2, __VA_ARGS__) \
    X(ulonglong,  unsigned long long, 2,  2,  2,  2,  2,  2, __VA_ARGS__) \
    X(int8,       int8_t,             1,  0,  0,  0,  1,  2, __VA_ARGS__) \
    X(int16,      int16_t,            1,  0,  0,  0,  1,  2, __VA_ARGS__) \
    X(int32,      int32_t,            1,  1,  1,  2,  1,  2, __VA_ARGS__) \
    X(int64,      int64_t,            1,  1,  1,  2,  1,  2, __VA_ARGS__) \
    X(uint8,      uint8_t,            1,  0,  0,  0,  1,  1, __VA_ARGS__) \
    X(uint16,     uint16_t,           1,  0,  0,  0,  1,  1, __VA_ARGS__) \
    X(uint32,     uint32_t,           1,  1,  1,  1,  1,  1, __VA_ARGS__) \
    X(uint64,     uint64_t,           1,  1,  1,  1,  1,  1, __VA_ARGS__) \
    X(size,       size_t,             1,  1,  1,  0,  1,  1, __VA_ARGS__) \
    X(ptrdiff,    ptrdiff_t,          1,  1,  1,  0,  1,  0, __VA_ARGS__)

/* The types that no GPU has. */
#define MESHMEM_HOST_TYPES(X, ...) \
    X(longdouble, long double,        2,  0,  0,  0,  2,  0, __VA_ARGS__) \
    X(complexf,   meshmem_complexf,   0,  0,  0,  0,  2,  0, __VA_ARGS__) \
    X(complexd,   meshmem_complexd,   0,  0,  0,  0,  2,  0, __VA_ARGS__)

/* The short floating-point types, whose routines are extensions: in kernels (shmemx_half_put) and, as reductions, on streams
 * (shmemx_bfloat16_sum_reduce_on_stream). They have no atomics, nor has short: AMD's GPUs have none of 2 bytes. */
#define MESHMEM_SHORT_FLOATS(X, ...) \
    X(half,       meshmem_half,       2,  0,  0,  0,  2,  0, __VA_ARGS__) \
    X(bfloat16,   meshmem_bfloat16,   2,  0,  0,  0,  2,  0, __VA_ARGS__)

/* The types of values that maxloc and minloc find, and of the index beside each, of the same size so that there is no gap
 * between elements. Each name has a struct of its own. */
#define MESHMEM_LOCATED_TYPES(X, ...) \
    X(float,      float,              int32_t, __VA_ARGS__) \
    X(double,     double,             int64_t, __VA_ARGS__) \
    X(int,        int,                int32_t, __VA_ARGS__) \
    X(long,       long,               int64_t, __VA_ARGS__) \
    X(longlong,   long long,          int64_t, __VA_ARGS__) \
    X(uint,       unsigned int,       int32_t, __VA_ARGS__) \
    X(ulong,      unsigned long,      int64_t, __VA_ARGS__) \
    X(ulonglong,  unsigned long long, int64_t, __VA_ARGS__) \
    X(int32,      int32_t,            int32_t, __VA_ARGS__) \
    X(int64,      int64_t,            int64_t, __VA_ARGS__) \
    X(uint32,     uint32_t,           int32_t, __VA_ARGS__) \
    X(uint64,     uint64_t,           int64_t, __VA_ARGS__)

/* Elements of the sized routines (shmem_put32): their width in bits and a type of that width. */
#define MESHMEM_SIZES(X, ...) \
    X(8,   uint8_t,         __VA_ARGS__) \
    X(16,  uint16_t,        __VA_ARGS__) \
    X(32,  uint32_t,        __VA_ARGS__) \
    X(64,  uint64_t,        __VA_ARGS__) \
    X(128, meshmem_bits128, __VA_ARGS__)
/* clang-format on */

/* MESHMEM_IN_<column>(...) is its argument where the family has the type at all;
 * MESHMEM_GENERIC_<column>(...) where the type-generic form of the family uses that row. */
#define MESHMEM_IN_0(...)
#define MESHMEM_IN_1(...) __VA_ARGS__
#define MESHMEM_IN_2(...) __VA_ARGS__
#define MESHMEM_GENERIC_0(...)
#define MESHMEM_GENERIC_1(...)
#define MESHMEM_GENERIC_2(...) __VA_ARGS__

#endif
