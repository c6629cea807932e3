// SPDX-License-Identifier: Apache-2.0
//
// Puts and gets in kernels: every type and width, by a thread, a wave and a block, with and without
// a context, blocking and not, with signals; single elements. Strides are in strided_test.cpp, odd
// addresses in alignment_test.cpp.
// Invariant: each PE writes to the next one and reads from it; elements around the target keep
// their old values.
#include "reversed_context.hpp"

namespace meshmem {
namespace {

#define MESHMEM_ROW_RMA(NAME, TYPE, rma, ...) MESHMEM_CALLS_##rma(Rma, MESHMEM_ROWS_RMA, NAME, TYPE)
#define MESHMEM_ROW_SIZED(BITS, TYPE, ...) \
  MESHMEM_CALLS(Rma, MESHMEM_ROWS_RMA, BITS, , BITS, TYPE, void)
#define MESHMEM_ROW_SINGLE(NAME, TYPE, rma, ...) \
  MESHMEM_CALLS_##rma(Single, MESHMEM_ROWS_SINGLE, NAME, TYPE)
#define MESHMEM_ROW_SHORT(NAME, TYPE, ...)               \
  MESHMEM_CALLS_SHORT(Rma, MESHMEM_ROWS_RMA, NAME, TYPE) \
  MESHMEM_CALLS_SHORT(Single, MESHMEM_ROWS_SINGLE, NAME, TYPE)
MESHMEM_KERNEL_TYPES(MESHMEM_ROW_RMA, )
MESHMEM_SIZES(MESHMEM_ROW_SIZED, )
MESHMEM_CALLS(Rma, MESHMEM_ROWS_RMA, mem, , mem, char, void)
MESHMEM_KERNEL_TYPES(MESHMEM_ROW_SINGLE, )
MESHMEM_SHORT_FLOATS(MESHMEM_ROW_SHORT, )

constexpr size_t kCount = 37;
constexpr size_t kArea = kCount + 3;  // with elements around it that stay
constexpr int kPutAreas = 4, kGetAreas = 2;
constexpr int kOld = 77;

// Each form has areas of its own, one a routine.
size_t area_of(size_t form, int routine) {
  return (form * kPutAreas + static_cast<size_t>(routine)) * kArea;
}

template <typename E>
struct RmaJob {
  E* dest;
  const E* source;
  E* got;
  uint64_t* signals;
  int pe;
};

template <typename Row>
__global__ void rma_kernel(Call call, RmaJob<typename Row::E> job) {
  if (!takes_part(call.form)) return;
  auto* dest = job.dest + 1;
  Row::put(call, dest, job.source, kCount, job.pe);
  Row::put_nbi(call, dest + kArea, job.source, kCount, job.pe);
  Row::put_signal(call, dest + 2 * kArea, job.source, kCount, job.signals, 5, SHMEM_SIGNAL_ADD,
                  job.pe);
  Row::put_signal_nbi(call, dest + 3 * kArea, job.source, kCount, job.signals + 1, 7,
                      SHMEM_SIGNAL_SET, job.pe);
  Row::put_signal(call, static_cast<decltype(dest)>(nullptr), job.source, 0, job.signals, 20,
                  SHMEM_SIGNAL_ADD, job.pe);
  Row::get(call, job.got + 1, job.source, kCount, job.pe);
  Row::get_nbi(call, job.got + 1 + kArea, job.source, kCount, job.pe);
  Row::put(call, static_cast<decltype(dest)>(nullptr), job.source, 0, job.pe);
  Untyped::quiet(call);
}

template <typename E>
void expect_areas(const char* what, const std::vector<E>& found, size_t form, int areas, int stride,
                  int from, int round) {
  for (int routine = 0; routine < areas; ++routine) {
    const size_t at = (form * static_cast<size_t>(stride) + static_cast<size_t>(routine)) * kArea;
    const auto old = [at](size_t i) { return sample<E>(seed_of(my_pe(), at + i, kOld)); };
    SCOPED_TRACE(routine);
    expect_each(what, &found[at], 1, old);
    expect_filled(what, &found[at + 1], kCount, from, round);
    expect_each(what, &found[at + 1 + kCount], 2, [&old](size_t i) { return old(i + 1 + kCount); });
  }
}

template <typename Row>
void check_rma(const ReversedContext& context, int round) {
  using E = typename Row::E;
  SCOPED_TRACE(Row::type());
  constexpr size_t kPut = kFormCount * kPutAreas * kArea, kGot = kFormCount * kGetAreas * kArea;
  DeviceArray<E> dest(samples<E>(kPut, my_pe(), kOld)), got(samples<E>(kGot, my_pe(), kOld));
  DeviceArray<E> source(samples<E>(kCount, my_pe(), round));
  DeviceArray<uint64_t> signals(2 * kFormCount, uint64_t{1} << 40);
  shmem_barrier_all();
  for (size_t f = 0; f < kFormCount; ++f) {
    const Form form = kForms[f];
    launch(rma_kernel<Row>, 1, odd_block(), context.call(form),
           RmaJob<E>{dest.data() + area_of(f, 0), source.data(), got.data() + f * kGetAreas * kArea,
                     signals.data() + 2 * f, context.pe(form, next_pe())});
  }
  meet_after_kernels();
  const auto put = dest.download(), gotten = got.download();
  const auto signalled = signals.download();
  for (size_t f = 0; f < kFormCount; ++f) {
    SCOPED_TRACE(name_of(kForms[f]));
    expect_areas("put, put_nbi, put_signal, put_signal_nbi", put, f, kPutAreas, kPutAreas,
                 previous_pe(), round);
    expect_areas("get, get_nbi", gotten, f, kGetAreas, kGetAreas, next_pe(), round);
    EXPECT_EQ(signalled[2 * f], (uint64_t{1} << 40) + 25);
    EXPECT_EQ(signalled[2 * f + 1], 7u);
  }
}

TEST(DeviceRma, EveryTypeAndFormCopiesExactlyNelems) {
  const ReversedContext context;
  int round = 0;
#define MESHMEM_CHECK_ROW(NAME, TYPE, rma, ...) \
  MESHMEM_IN_##rma(check_rma<Rma_##NAME>(context, ++round);)
  MESHMEM_KERNEL_TYPES(MESHMEM_CHECK_ROW, )
  MESHMEM_SHORT_FLOATS(MESHMEM_CHECK_ROW, )
#undef MESHMEM_CHECK_ROW
}

TEST(DeviceRma, EveryWidthCopiesExactlyNelems) {
  const ReversedContext context;
  int round = 0;
#define MESHMEM_CHECK_ROW(BITS, ...) check_rma<Rma_##BITS>(context, ++round);
  MESHMEM_SIZES(MESHMEM_CHECK_ROW, )
#undef MESHMEM_CHECK_ROW
  check_rma<Rma_mem>(context, ++round);
}

template <typename Row>
__global__ void single_kernel(Call call, typename Row::E* dest, const typename Row::E* source,
                              typename Row::E* got, size_t n, int pe) {
  for (size_t i = threadIdx.x; i < n; i += blockDim.x) {
    Row::p(call, dest + i, source[i], pe);
    got[i] = Row::g(call, source + i, pe);
  }
}

template <typename Row>
void check_single(const ReversedContext& context, int round) {
  using E = typename Row::E;
  SCOPED_TRACE(Row::type());
  for (const Form form : {Form::kThread, Form::kThreadCtx}) {
    SCOPED_TRACE(name_of(form));
    DeviceArray<E> dest(kCount, E(0)), got(kCount, E(0));
    DeviceArray<E> source(samples<E>(kCount, my_pe(), round));
    shmem_barrier_all();
    launch(single_kernel<Row>, 1, 16, context.call(form), dest.data(), source.data(), got.data(),
           kCount, context.pe(form, next_pe()));
    meet_after_kernels();
    expect_equal("p", dest.download(), samples<E>(kCount, previous_pe(), round));
    expect_equal("g", got.download(), samples<E>(kCount, next_pe(), round));
  }
}

TEST(DeviceRma, PAndGCarryEveryType) {
  const ReversedContext context;
  int round = 0;
#define MESHMEM_CHECK_ROW(NAME, TYPE, rma, ...) \
  MESHMEM_IN_##rma(check_single<Single_##NAME>(context, ++round);)
  MESHMEM_KERNEL_TYPES(MESHMEM_CHECK_ROW, )
  MESHMEM_SHORT_FLOATS(MESHMEM_CHECK_ROW, )
#undef MESHMEM_CHECK_ROW
}

__global__ void all_pes_kernel(uint64_t* dest, uint64_t round) {
  for (int pe = static_cast<int>(threadIdx.x); pe < shmem_n_pes();
       pe += static_cast<int>(blockDim.x))
    shmem_uint64_p(dest + shmem_my_pe(), round + static_cast<uint64_t>(shmem_my_pe() * 1000 + pe),
                   pe);
}

TEST(DeviceRma, ReachesEveryPeItselfIncluded) {
  DeviceArray<uint64_t> dest(static_cast<size_t>(n_pes()), 0);
  shmem_barrier_all();
  launch(all_pes_kernel, 1, 4, dest.data(), uint64_t{1} << 63);
  meet_after_kernels();
  const auto found = dest.download();
  expect_each("p to all", found.data(), found.size(), [](size_t pe) {
    return (uint64_t{1} << 63) + pe * 1000 + static_cast<uint64_t>(my_pe());
  });
}

__global__ void large_kernel(uint64_t* dest, const uint64_t* source, size_t n, int pe) {
  const size_t share = (n + gridDim.x - 1) / gridDim.x, first = share * blockIdx.x;
  if (first >= n) return;
  const size_t mine = n - first < share ? n - first : share;
  shmemx_put_block(dest + first, source + first, mine, pe);
}

TEST(DeviceRma, BlocksShareMegabytes) {
  constexpr size_t kLarge = (3u << 20) / sizeof(uint64_t) + 5;
  DeviceArray<uint64_t> dest(kLarge, 0), source(samples<uint64_t>(kLarge, my_pe()));
  shmem_barrier_all();
  launch(large_kernel, 4, 64, dest.data(), source.data(), kLarge, next_pe());
  meet_after_kernels();
  expect_equal("large put", dest.download(), samples<uint64_t>(kLarge, previous_pe()));
}

// Source and dest may be neighbours in one array; the source of a put may be memory of the kernel's
// own, and so may the dest of a get.
__global__ void local_kernel(double* heap, double* got, int pe) {
  const double mine[3] = {1.5, -2.25, 1e300};
  shmem_put(heap, mine, 3, pe);
  shmem_p(heap + 3, static_cast<double>(shmem_my_pe()), pe);
  shmem_quiet();
  shmem_put(heap + 4, mine, 2, shmem_my_pe());
  shmem_put(heap + 6, heap + 4, 2, shmem_my_pe());
  double theirs[2];
  shmem_get(theirs, heap + 4, 2, shmem_my_pe());
  got[0] = theirs[0];
  got[1] = theirs[1];
}

TEST(DeviceRma, OverloadsTakeMemoryOfTheKernel) {
  DeviceArray<double> heap(8, 0), got(2, 0);
  shmem_barrier_all();
  launch(local_kernel, 1, 1, heap.data(), got.data(), next_pe());
  meet_after_kernels();
  const std::vector<double> expected = {1.5, -2.25, 1e300, static_cast<double>(previous_pe()),
                                        1.5, -2.25, 1.5,   -2.25};
  expect_equal("put and p", heap.download(), expected);
  expect_equal("get", got.download(), {1.5, -2.25});
}

}  // namespace
}  // namespace meshmem
