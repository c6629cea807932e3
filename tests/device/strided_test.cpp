// SPDX-License-Identifier: Apache-2.0
//
// Strided and block-strided puts and gets in kernels: every type and width, by a thread, a wave and
// a block, with and without a context.
// Invariant: elements between the strides keep their old values.
#include "reversed_context.hpp"

namespace meshmem {
namespace {

#define MESHMEM_ROW_STRIDED(NAME, TYPE, rma, ...) \
  MESHMEM_CALLS_##rma(Strided, MESHMEM_ROWS_STRIDED, NAME, TYPE)
#define MESHMEM_ROW_SIZED(BITS, TYPE, ...) \
  MESHMEM_CALLS(Strided, MESHMEM_ROWS_STRIDED, BITS, , BITS, TYPE, void)
#define MESHMEM_ROW_SHORT(NAME, TYPE, ...) \
  MESHMEM_CALLS_SHORT(Strided, MESHMEM_ROWS_STRIDED, NAME, TYPE)
MESHMEM_KERNEL_TYPES(MESHMEM_ROW_STRIDED, )
MESHMEM_SHORT_FLOATS(MESHMEM_ROW_SHORT, )
MESHMEM_SIZES(MESHMEM_ROW_SIZED, )

constexpr size_t kSpan = 120;
constexpr int kOld = 7, kNew = 8;
constexpr size_t kRoutines = 4;  // iput, ibput, iget, ibget: each form has a span for each

// nblocks blocks of bsize elements, block b at b * dst and b * sst.
struct Shape {
  ptrdiff_t dst, sst;
  size_t bsize, nblocks;
};
constexpr Shape kStrides[] = {{3, 1, 1, 20}, {2, 7, 1, 13}, {9, 2, 1, 1}, {6, 3, 1, 0}};
constexpr Shape kBlocks[] = {{5, 3, 3, 11}, {11, 6, 5, 9}, {8, 8, 7, 1}, {4, 4, 2, 0}};

template <typename E>
struct StridedJob {
  E* dest;
  const E* source;
  Shape stride, block;
  int pe;
};

template <typename Row>
__global__ void strided_kernel(Call call, StridedJob<typename Row::E> job) {
  if (!takes_part(call.form)) return;
  const Shape s = job.stride, b = job.block;
  Row::iput(call, job.dest, job.source, s.dst, s.sst, s.nblocks, job.pe);
  Row::ibput(call, job.dest + kSpan, job.source, b.dst, b.sst, b.bsize, b.nblocks, job.pe);
  Row::iget(call, job.dest + 2 * kSpan, job.source, s.dst, s.sst, s.nblocks, job.pe);
  Row::ibget(call, job.dest + 3 * kSpan, job.source, b.dst, b.sst, b.bsize, b.nblocks, job.pe);
  shmem_quiet();
}

template <typename E>
void expect_span(const char* what, const std::vector<E>& found, size_t span, const Shape& shape,
                 int from) {
  std::vector<E> expected(kSpan);
  for (size_t i = 0; i < kSpan; ++i)
    expected[i] = sample<E>(seed_of(my_pe(), span * kSpan + i, kOld));
  for (size_t i = 0; i < shape.bsize * shape.nblocks; ++i) {
    const size_t block = i / shape.bsize, at = i % shape.bsize;
    expected[block * static_cast<size_t>(shape.dst) + at] =
        sample<E>(seed_of(from, block * static_cast<size_t>(shape.sst) + at, kNew));
  }
  expect_each(what, &found[span * kSpan], kSpan, [&](size_t i) { return expected[i]; });
}

template <typename Row>
void check_strided(const ReversedContext& context) {
  using E = typename Row::E;
  SCOPED_TRACE(Row::type());
  DeviceArray<E> source(samples<E>(kSpan, my_pe(), kNew));
  DeviceArray<E> dest(kFormCount * kRoutines * kSpan);
  for (size_t shape = 0; shape < 4; ++shape) {
    dest.upload(samples<E>(dest.size(), my_pe(), kOld));
    shmem_barrier_all();
    for (size_t f = 0; f < kFormCount; ++f) {
      launch(strided_kernel<Row>, 1, odd_block(), context.call(kForms[f]),
             StridedJob<E>{dest.data() + f * kRoutines * kSpan, source.data(), kStrides[shape],
                           kBlocks[shape], context.pe(kForms[f], next_pe())});
    }
    meet_after_kernels();
    const auto found = dest.download();
    for (size_t f = 0; f < kFormCount; ++f) {
      SCOPED_TRACE(name_of(kForms[f]));
      expect_span("iput", found, f * kRoutines, kStrides[shape], previous_pe());
      expect_span("ibput", found, f * kRoutines + 1, kBlocks[shape], previous_pe());
      expect_span("iget", found, f * kRoutines + 2, kStrides[shape], next_pe());
      expect_span("ibget", found, f * kRoutines + 3, kBlocks[shape], next_pe());
    }
  }
}

TEST(DeviceStrided, EveryTypeAndFormKeepsToItsStrides) {
  const ReversedContext context;
#define MESHMEM_CHECK_ROW(NAME, TYPE, rma, ...) \
  MESHMEM_IN_##rma(check_strided<Strided_##NAME>(context);)
  MESHMEM_KERNEL_TYPES(MESHMEM_CHECK_ROW, )
  MESHMEM_SHORT_FLOATS(MESHMEM_CHECK_ROW, )
#undef MESHMEM_CHECK_ROW
}

TEST(DeviceStrided, EveryWidthAndFormKeepsToItsStrides) {
  const ReversedContext context;
#define MESHMEM_CHECK_ROW(BITS, ...) check_strided<Strided_##BITS>(context);
  MESHMEM_SIZES(MESHMEM_CHECK_ROW, )
#undef MESHMEM_CHECK_ROW
}

}  // namespace
}  // namespace meshmem
