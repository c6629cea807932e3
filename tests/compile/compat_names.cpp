// SPDX-License-Identifier: Apache-2.0
//
// Every name of the headers for programs of other libraries, with its type; prints how many each
// family has, for compat.py, which compares them with docs/porting.md.
// Invariant: a name that is not declared does not compile. Names of kernels are declared by the
// same rows as those of shmem/device.hpp, and their own tests compile the routines that they call.
#include <hip/hip_runtime.h>
#include <meshmem/compat/nvshmemx.h>

#include <cstdio>
#include <meshmem/compat/rocshmem.hpp>
#include <string_view>

namespace {

// The version's number as text is the number.
#define TEXT_OF(number) #number
#define TEXT_OF_VALUE(macro) TEXT_OF(macro)
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)
constexpr std::string_view kVersion = VERSION_TEXT(
    NVSHMEM_VENDOR_MAJOR_VERSION, NVSHMEM_VENDOR_MINOR_VERSION, NVSHMEM_VENDOR_PATCH_VERSION);
static_assert(kVersion == NVSHMEM_VENDOR_BASE_VERSION_STRING);
static_assert(kVersion == NVSHMEM_VENDOR_ARTIFACT_VERSION_STRING);
static_assert(kVersion == NVSHMEM_VENDOR_PACKAGE_VERSION_STRING);
static_assert(kVersion == NVSHMEM_VENDOR_RPM_PACKAGE_VERSION_STRING);
static_assert(std::string_view(NVSHMEM_VENDOR_NUMERIC_VERSION_STRING).find(kVersion) == 0);
static_assert(std::string_view(TEXT_OF_VALUE(NVSHMEM_VENDOR_PACKAGE_VERSION)) ==
              NVSHMEM_VENDOR_PACKAGE_RELEASE_STRING);
static_assert(NVSHMEM_VENDOR_VERSION_STAGE[0] != 0 && NVSHMEM_VENDOR_VERSION_STAGE_NUMBER[0] == 0);
static_assert(std::string_view(NVSHMEM_VENDOR_RPM_PACKAGE_RELEASE_STRING) ==
              NVSHMEM_VENDOR_PACKAGE_RELEASE_STRING);

// Constants and macros that programs of these libraries use.
static_assert(NVSHMEM_PE_INVALID < 0 && NVSHMEMX_PE_ANY > 0 && NVSHMEMX_PE_ALL > 0);
static_assert(rocshmem::ROCSHMEM_BARRIER_SYNC_SIZE > 0 && rocshmem::ROCSHMEM_BCAST_SYNC_SIZE > 0 &&
              rocshmem::ROCSHMEM_REDUCE_SYNC_SIZE > 0 &&
              rocshmem::ROCSHMEM_ALLTOALL_SYNC_SIZE > 0 &&
              rocshmem::ROCSHMEM_FCOLLECT_SYNC_SIZE > 0 && rocshmem::ROCSHMEM_SYNC_VALUE < 1);
[[maybe_unused]] const nvshmemx_uniqueid_args_t unset_arguments =
    NVSHMEMX_UNIQUEID_ARGS_INITIALIZER;
[[maybe_unused]] void print_error() { NVSHMEMI_ERROR_PRINT("%d of %d\n", 1, 2); }

template <typename>
constexpr int kDeclared = 1;

// Names of a row, one each, added up.
#define NV(name, ...) +kDeclared<decltype(&nvshmem_##name)>
#define NV_SHORT(name, ...) +kDeclared<decltype(&nvshmem_##name<>)>
#define NV_GROUP(name, ...) \
  +kDeclared<decltype(&nvshmemx_##name##_warp<>)> + kDeclared<decltype(&nvshmemx_##name##_block<>)>
#define NV_STREAM(name, ...) +kDeclared<decltype(&nvshmemx_##name##_on_stream)>
#define NV_NBI_STREAM(name, ...) +kDeclared<decltype(&nvshmemx_##name##_nbi_on_stream)>
#define ROC(name, ...) +kDeclared<decltype(&rocshmem::rocshmem_##name)>
// Those of vectors are overloaded.
#define ROC_WAIT(name, op, E, result, params, args) \
  +kDeclared<decltype(static_cast<result(*) params>(&rocshmem::rocshmem_##name))>
#define ROC_CTX(name, ...) ROC(name) ROC(ctx_##name)
#define ROC_COLLECTIVE(name, ...) ROC(ctx_##name)
#define ROC_GROUP(name, ...)                                  \
  +kDeclared<decltype(&rocshmem::rocshmem_##name##_wave<>)> + \
      kDeclared<decltype(&rocshmem::rocshmem_##name##_wg<>)>
#define ROC_GROUP_CTX(name, ...) ROC_GROUP(name) ROC_GROUP(ctx_##name)
#define ROC_GROUP_COLLECTIVE(name, ...) ROC_GROUP(ctx_##name)
// Bitwise reductions of signed types: READER(name of the reduction) for each.
#define SIGNED_BITS(READER) \
  SIGNED_BITS_OF(READER, and) SIGNED_BITS_OF(READER, or) SIGNED_BITS_OF(READER, xor)
#define SIGNED_BITS_OF(READER, what) \
  READER(short_##what##_reduce)      \
  READER(int_##what##_reduce) READER(long_##what##_reduce) READER(longlong_##what##_reduce)
#define ROC_STREAM(name, ...) +kDeclared<decltype(&rocshmem::rocshmem_##name##_on_stream)>
#define NONE(...)
#define NVX(name) +kDeclared<decltype(&nvshmemx_##name)>
#define ROC_SHORT(name, ...)                           \
  +kDeclared<decltype(&rocshmem::rocshmem_##name<>)> + \
      kDeclared<decltype(&rocshmem::rocshmem_ctx_##name<>)>
#define SHORT_STREAM(NAME, TYPE, ...)                         \
  MESHMEM_OPS_TRANSFER(NV_STREAM, NAME##_, , TYPE, TYPE)      \
  MESHMEM_OPS_TRANSFER(NV_NBI_STREAM, NAME##_, , TYPE, TYPE)  \
  MESHMEM_OP_PUT_SIGNAL(NV_STREAM, NAME##_, , TYPE, TYPE)     \
  MESHMEM_OP_PUT_SIGNAL(NV_NBI_STREAM, NAME##_, , TYPE, TYPE) \
  MESHMEM_OP_P(NV_STREAM, NAME##_, TYPE)                      \
  MESHMEM_OPS_MOVE(NV_STREAM, NAME##_, , TYPE, TYPE) NV_STREAM(NAME##_iput) NV_STREAM(NAME##_iget)

// Of all types: the rows that READER reads of family ROWS, where column is not 0.
#define RMA(NAME, TYPE, rma, ext, amo, bit, arith, logic, F) \
  MESHMEM_IN_##rma(MESHMEM_OPS_RMA(F, NAME##_, , TYPE, TYPE))
#define STRIDED(NAME, TYPE, rma, ext, amo, bit, arith, logic, F) \
  MESHMEM_IN_##rma(MESHMEM_OPS_STRIDED(F, NAME##_, , TYPE, TYPE))
#define SINGLE(NAME, TYPE, rma, ext, amo, bit, arith, logic, F) \
  MESHMEM_IN_##rma(MESHMEM_OPS_SINGLE(F, NAME##_, TYPE))
#define ATOMIC(NAME, TYPE, rma, ext, amo, bit, arith, logic, F)  \
  MESHMEM_IN_##ext(MESHMEM_OPS_ATOMIC_EXT(F, NAME##_, TYPE))     \
      MESHMEM_IN_##amo(MESHMEM_OPS_ATOMIC_STD(F, NAME##_, TYPE)) \
          MESHMEM_IN_##bit(MESHMEM_OPS_ATOMIC_BIT(F, NAME##_, TYPE))
#define WAIT(NAME, TYPE, rma, ext, amo, bit, arith, logic, F) \
  MESHMEM_IN_##amo(MESHMEM_OPS_WAIT_UNTIL(F, NAME##_, TYPE))
#define TEST(NAME, TYPE, rma, ext, amo, bit, arith, logic, F) \
  MESHMEM_IN_##amo(MESHMEM_OPS_TEST(F, NAME##_, TYPE))
#define SCALAR(NAME, TYPE, rma, ext, amo, ...) MESHMEM_IN_##amo(SCALARS(NAME, TYPE))
#define SCALARS(NAME, TYPE)                                                                    \
  ROC_WAIT(NAME##_wait_until_all_vector, , , void, (TYPE*, size_t, const int*, int, TYPE), )   \
  ROC_WAIT(NAME##_wait_until_any_vector, , , size_t, (TYPE*, size_t, const int*, int, TYPE), ) \
  ROC_WAIT(NAME##_wait_until_some_vector, , , size_t,                                          \
           (TYPE*, size_t, size_t*, const int*, int, TYPE), )
#define SHORTS(F) MESHMEM_OPS_WAIT(F, short_, short) MESHMEM_OPS_WAIT(F, ushort_, unsigned short)
#define MOVE(NAME, TYPE, rma, ext, amo, bit, arith, logic, F) \
  MESHMEM_IN_##rma(MESHMEM_OPS_MOVE(F, NAME##_, , TYPE, TYPE))
#define REDUCE(NAME, TYPE, rma, ext, amo, bit, arith, logic, F)                \
  MESHMEM_IN_##rma(MESHMEM_OPS_REDUCE_ORDER(F, NAME##_, TYPE))                 \
      MESHMEM_IN_##arith(MESHMEM_OP_REDUCE(F, NAME##_, TYPE, sum_reduce))      \
          MESHMEM_IN_##arith(MESHMEM_OP_REDUCE(F, NAME##_, TYPE, prod_reduce)) \
              MESHMEM_IN_##logic(MESHMEM_OPS_REDUCE_LOGIC(F, NAME##_, TYPE))
#define SIZED_RMA(BITS, E, F) MESHMEM_OPS_RMA(F, , BITS, E, void)
#define SIZED_STRIDED(BITS, E, F) MESHMEM_OPS_STRIDED(F, , BITS, E, void)
#define ALL(family, F) MESHMEM_KERNEL_TYPES(family, F)

struct Family {
  const char* library;
  const char* name;
  int names;
};

const Family families[] = {
    {"nvshmem", "set-up, memory, teams",
     0 NV(init) NV(init_thread) NV(query_thread) NV(finalize) NV(global_exit) NV(my_pe) NV(n_pes)
         NV(info_get_version) NV(info_get_name) NV(malloc) NV(calloc) NV(align) NV(free) NV(ptr)
             NV(team_my_pe) NV(team_n_pes) NV(team_get_config) NV(team_translate_pe)
                 NV(team_split_strided) NV(team_split_2d) NV(team_destroy)},
    {"nvshmem", "puts and gets",
     0 ALL(RMA, NV) ALL(SINGLE, NV) MESHMEM_SIZES(SIZED_RMA, NV) SIZED_RMA(mem, char, NV)},
    {"nvshmem", "strided puts and gets", 0 ALL(STRIDED, NV) MESHMEM_SIZES(SIZED_STRIDED, NV)},
    {"nvshmem", "atomics",
     0 ALL(ATOMIC, NV) NVX(float_atomic_add) NVX(float_atomic_fetch_add) NVX(double_atomic_add)
         NVX(double_atomic_fetch_add)},
    {"nvshmem", "waits and tests", 0 ALL(WAIT, NV) ALL(TEST, NV) SHORTS(NV)},
    {"nvshmem", "signals and order",
     0 NV(signal_fetch) NV(signal_wait_until) NV(fence) NV(quiet) NVX(signal_op)
         NVX(signal_counted_reset) NVX(flush)},
    {"nvshmem", "barriers and collectives",
     0 ALL(MOVE, NV) MESHMEM_OPS_MOVE(NV, , mem, char, void) NV(barrier) NV(barrier_all) NV(sync)
         NV(sync_all) NV(team_sync)},
    {"nvshmem", "reductions", 0 ALL(REDUCE, NV) MESHMEM_COMPAT_SCATTER(NV)},
    {"nvshmem", "half and bfloat16, in kernels",
     0 MESHMEM_SHORT_FLOATS(RMA, NV_SHORT) MESHMEM_SHORT_FLOATS(SINGLE, NV_SHORT)
         MESHMEM_SHORT_FLOATS(MOVE, NV_SHORT) MESHMEM_SHORT_FLOATS(REDUCE, NV_SHORT)
             MESHMEM_SHORT_FLOATS(MESHMEM_COMPAT_SCATTER_TYPE, NV_SHORT)},
    {"nvshmem", "by warps and blocks",
     0 ALL(RMA, NV_GROUP) ALL(STRIDED, NV_GROUP) ALL(WAIT, NV_GROUP) ALL(MOVE, NV_GROUP) ALL(
         REDUCE, NV_GROUP) MESHMEM_COMPAT_SCATTER(NV_GROUP) MESHMEM_SIZES(SIZED_RMA, NV_GROUP)
             MESHMEM_SIZES(SIZED_STRIDED, NV_GROUP) SIZED_RMA(mem, char, NV_GROUP)
                 MESHMEM_OPS_MOVE(NV_GROUP, , mem, char, void) MESHMEM_SHORT_FLOATS(RMA, NV_GROUP)
                     MESHMEM_SHORT_FLOATS(REDUCE, NV_GROUP) NV_GROUP(signal_wait_until)
                         NV_GROUP(barrier) NV_GROUP(barrier_all) NV_GROUP(sync_all)
                             NV_GROUP(team_sync) NV_GROUP(fence) NV_GROUP(quiet) +
         kDeclared<decltype(&nvshmemx_double2_maxloc_reduce_block<>)> MESHMEM_SHORT_FLOATS(
             MESHMEM_COMPAT_SCATTER_TYPE, NV_GROUP) NV_GROUP(flush)},
    {"nvshmem", "on streams",
     0 MESHMEM_MOVED_ON_STREAM(NV_STREAM, MESHMEM_IN) MESHMEM_UNTYPED_ON_STREAM(NV_STREAM)
         MESHMEM_REDUCTIONS(NV_STREAM, MESHMEM_IN) MESHMEM_COMPAT_SCATTER(NV_STREAM)
             MESHMEM_SIZES(MESHMEM_SIZED_MOVED_ROW, NV_NBI_STREAM)
                 MESHMEM_SIZED_MOVED_ROW(mem, char, NV_NBI_STREAM) NV_STREAM(signal_op)
                     NV_STREAM(signal_wait_until) NV_STREAM(quiet) NV_STREAM(barrier_all)
                         NV_STREAM(barrier) NV_STREAM(sync_all) NV_STREAM(team_sync)
                             NV_STREAM(float_iput) NV_STREAM(iget64) NV_STREAM(int_wait_until_all)
                                 NV_STREAM(flush) MESHMEM_SHORT_FLOATS(SHORT_STREAM, )
                                     MESHMEM_SHORT_FLOATS(MESHMEM_COMPAT_SCATTER_TYPE, NV_STREAM)},
    {"rocshmem", "set-up, memory, teams, contexts",
     0 ROC(query_thread) ROC(finalize) ROC(global_exit) ROC(dump_stats) ROC(reset_stats) ROC(malloc)
         ROC(align) ROC(calloc) ROC(free) ROC(buffer_register) ROC(buffer_unregister) ROC(my_pe)
             ROC(n_pes) ROC(ptr) ROC(ctx_create) ROC(ctx_destroy) ROC(team_my_pe) ROC(team_n_pes)
                 ROC(team_translate_pe) ROC(team_split_strided) ROC(team_split_2d) ROC(team_destroy)
                     ROC(get_uniqueid) ROC(set_attr_uniqueid_args) ROC(init_attr)
                         ROC(info_get_version) ROC(info_get_name) ROC(vendor_get_version_info)
                             ROC(sym_buffer_register) ROC(sym_buffer_unregister)
                                 ROC(buffer_register_vmm)},
    {"rocshmem", "puts and gets",
     0 ALL(RMA, ROC_CTX) ALL(SINGLE, ROC_CTX) SIZED_RMA(mem, char, ROC_CTX)},
    {"rocshmem", "atomics", 0 ALL(ATOMIC, ROC_CTX)},
    {"rocshmem", "waits and tests",
     0 ALL(WAIT, ROC_WAIT) ALL(TEST, ROC) SHORTS(ROC_WAIT) ALL(SCALAR, ) SCALARS(short, short)
         SCALARS(ushort, unsigned short)},
    {"rocshmem", "signals, order, barriers",
     0 ROC(signal_fetch) ROC(signal_wait_until) ROC(quiet) ROC(ctx_quiet) ROC_CTX(pe_quiet)
         ROC(barrier_all) ROC(barrier) ROC(ctx_barrier) ROC(sync_all) ROC(ctx_sync)},
    {"rocshmem", "collectives",
     0 ALL(MOVE, ROC_COLLECTIVE) ALL(REDUCE, ROC_COLLECTIVE) SIGNED_BITS(ROC_COLLECTIVE)},
    {"rocshmem", "by waves and work-groups",
     0 ALL(RMA, ROC_GROUP_CTX) ALL(WAIT, ROC_GROUP) ALL(MOVE, ROC_GROUP_COLLECTIVE)
         ALL(REDUCE, ROC_GROUP_COLLECTIVE) SIGNED_BITS(ROC_GROUP_COLLECTIVE) SIZED_RMA(
             mem, char, ROC_GROUP_CTX) ROC_GROUP(signal_fetch) ROC_GROUP(signal_wait_until)
             ROC_GROUP(barrier_all) ROC_GROUP(barrier) ROC_GROUP(ctx_barrier) ROC_GROUP(sync_all)
                 ROC_GROUP(ctx_sync) ROC_GROUP(fence) ROC_GROUP(quiet)},
    {"rocshmem", "half and bfloat16, in kernels",
     0 MESHMEM_SHORT_FLOATS(RMA, ROC_SHORT) MESHMEM_SHORT_FLOATS(SINGLE, ROC_SHORT)
         MESHMEM_SHORT_FLOATS(RMA, ROC_GROUP_CTX)},
    {"rocshmem", "on streams",
     0 MESHMEM_SIZED_MOVED_ROW(mem, char, ROC_STREAM) MESHMEM_OPS_MOVE(
         ROC_STREAM, , mem, char, void) ROC_STREAM(signal_wait_until) ROC_STREAM(quiet)
         ROC_STREAM(barrier_all) ROC_STREAM(barrier) ROC_STREAM(sync_all) ROC_STREAM(team_sync)},
};

}  // namespace

int main() {
  for (const Family& family : families)
    std::printf("%s|%s|%d\n", family.library, family.name, family.names);
  return 0;
}
