// SPDX-License-Identifier: Apache-2.0
//
// meshmem/all_reduce_norm.hpp against a reference in double: one shot and two, in place and not, in
// one kernel and in several, on teams, in a graph. Also its errors for wrong arguments.
// Invariant: PEs compare bits with each other, and each compares values with the reference.
#include <cmath>
#include <meshmem/all_reduce_norm.hpp>
#include <string>

#include "../api/team_views.hpp"
#include "drawn_values.hpp"
#include "own_stream.hpp"
#include "same_bits.hpp"

namespace meshmem {
namespace {

constexpr float kEpsilon = 1e-5F;

void expect_ok(const Status& status) { EXPECT_TRUE(status.ok()) << status.text(); }

template <typename E>
constexpr DataType kTypeOf = std::is_same_v<E, meshmem_half> ? DataType::f16 : DataType::bf16;
template <typename E>
double value_of(E elem) {
  return static_cast<double>(static_cast<float>(elem));
}

// Element i of what a PE adds in a round; pe -1: the residual, -2: the weights.
template <typename E>
E element(int pe, int round, size_t i) {
  const std::uint64_t drawn = mixed(mixed(static_cast<std::uint64_t>(pe + 3)) +
                                    static_cast<std::uint64_t>(round) * 0x9e3779b9u + (i << 24));
  const float magnitude = drawn % 97 == 0 ? 30.0F : drawn % 31 == 0 ? 1e-4F : 1.0F;
  return E((static_cast<float>(drawn >> 40) / (1 << 23) - 1) * magnitude);
}
template <typename E>
std::vector<E> elements(int pe, int round, size_t n) {
  std::vector<E> values(n);
  for (size_t i = 0; i < n; ++i) values[i] = element<E>(pe, round, i);
  return values;
}

// Plain memory of the device.
template <typename E>
class Buffer {
 public:
  explicit Buffer(size_t n) : size_(n) { must(hipMalloc(&data_, n * sizeof(E)), "hipMalloc"); }
  explicit Buffer(const std::vector<E>& values) : Buffer(values.size()) { upload(data_, values); }
  ~Buffer() { must(hipFree(data_), "hipFree"); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  operator E*() const { return data_; }
  std::vector<E> get() const { return download(data_, size_); }

 private:
  E* data_ = nullptr;
  size_t size_;
};

// A reference, and what it may differ by: the sum of n + 1 terms in float, rounded to E; then y
// of that, in float, rounded to E.
template <typename E>
void expect_result(const TeamView& view, int round, size_t rows, size_t hidden,
                   const std::vector<E>& new_residual, const std::vector<E>& y) {
  const double half_ulp = spacing<E>() / 2, of_float = (view.n() + 2) * std::ldexp(1.0, -24);
  for (size_t row = 0; row < rows; ++row) {
    double squares = 0;
    for (size_t i = row * hidden; i < (row + 1) * hidden; ++i) {
      double sum = value_of(element<E>(-1, round, i)), sizes = std::fabs(sum);
      for (int pe = 0; pe < view.n(); ++pe) {
        const double term = value_of(element<E>(view.world(static_cast<size_t>(pe)), round, i));
        sum += term;
        sizes += std::fabs(term);
      }
      const double found = value_of(new_residual[i]);
      ASSERT_NEAR(found, sum, std::fabs(sum) * half_ulp + 2 * sizes * of_float + 1e-7)
          << "new_residual of row " << row << ", element " << i - row * hidden;
      squares += found * found;
    }
    const double factor = 1 / std::sqrt(squares / static_cast<double>(hidden) + double{kEpsilon});
    for (size_t i = row * hidden; i < (row + 1) * hidden; ++i) {
      const double wanted =
          value_of(new_residual[i]) * factor * value_of(element<E>(-2, round, i % hidden));
      ASSERT_NEAR(value_of(y[i]), wanted, std::fabs(wanted) * (half_ulp + 1e-5) + 1e-7)
          << "y of row " << row << ", element " << i - row * hidden;
    }
  }
}

template <typename E>
void check(AllReduceNorm& layer, const TeamView& view, int round, size_t rows, size_t hidden,
           const OwnStream& stream) {
  SCOPED_TRACE(testing::Message() << rows << " rows of " << hidden << ", round " << round);
  const size_t n = rows * hidden;
  const Buffer<E> x(elements<E>(my_pe(), round, n)), residual(elements<E>(-1, round, n)),
      weight(elements<E>(-2, round, hidden)), y(n), new_residual(n);
  const DataType type = kTypeOf<E>;
  expect_ok(
      layer.execute({x, residual, weight, y, new_residual, rows, hidden, kEpsilon}, type, stream));
  expect_ok(
      layer.execute({x, residual, weight, x, residual, rows, hidden, kEpsilon}, type, stream));
  stream.synchronize();
  const std::vector<E> found = y.get(), sums = new_residual.get();
  expect_result<E>(view, round, rows, hidden, sums, found);
  EXPECT_EQ(digest(x.get()), digest(found)) << "y in place";
  EXPECT_EQ(digest(residual.get()), digest(sums)) << "new_residual in place";
  expect_same_on_all(view, digest(found) ^ digest(sums));
}

TEST(AllReduceNorm, RowsOfEveryLengthAndNumber) {
  AllReduceNorm layer(SHMEM_TEAM_WORLD, 1 << 20);
  expect_ok(layer.status());
  const OwnStream stream;
  int round = 0;
  for (const size_t hidden : {8, 64, 520, 1000, 2048})
    for (const size_t rows : {1, 2, 5, 17}) {
      check<meshmem_bfloat16>(layer, world_view(), round++, rows, hidden, stream);
      check<meshmem_half>(layer, world_view(), round++, rows, hidden, stream);
    }
  check<meshmem_bfloat16>(layer, world_view(), round++, 3, AllReduceNorm::kMostHidden, stream);
  check<meshmem_half>(layer, world_view(), round++, 1, 8192 + 8, stream);
}

// By two shots where there are more than two PEs.
TEST(AllReduceNorm, TwoShotsAndSeveralKernels) {
  const size_t hidden = 2040, rows = n_pes() > 3 ? 101 : 197;
  const OwnStream stream;
  AllReduceNorm whole(SHMEM_TEAM_WORLD, 4 << 20), piecewise(SHMEM_TEAM_WORLD, 2 * 2 * 8 * hidden);
  check<meshmem_bfloat16>(whole, world_view(), 1, rows, hidden, stream);
  check<meshmem_half>(piecewise, world_view(), 2, rows, hidden, stream);
}

// Two shots would need a stage of twice that.
TEST(AllReduceNorm, OneShotWhereTheStageHasNoPlaceForTwo) {
  const size_t hidden = 16384, rows = 28;
  AllReduceNorm layer(SHMEM_TEAM_WORLD, static_cast<size_t>(n_pes()) * 2 * hidden);
  check<meshmem_bfloat16>(layer, world_view(), 3, rows, hidden, OwnStream());
}

// The same row in two batches, one of one shot and one of two.
TEST(AllReduceNorm, ARowHasTheSameBitsInEveryBatch) {
  const size_t hidden = 2048, most = 200;
  AllReduceNorm layer(SHMEM_TEAM_WORLD, 8 << 20);
  const OwnStream stream;
  using E = meshmem_bfloat16;
  const Buffer<E> x(elements<E>(my_pe(), 0, most * hidden)),
      residual(elements<E>(-1, 0, most * hidden)), weight(elements<E>(-2, 0, hidden)),
      y(most * hidden), new_residual(most * hidden), one(hidden), other(hidden);
  expect_ok(layer.execute({x, residual, weight, y, new_residual, most, hidden, kEpsilon},
                          DataType::bf16, stream));
  const size_t row = 123;
  const E *x_row = x + row * hidden, *residual_row = residual + row * hidden;
  expect_ok(layer.execute({x_row, residual_row, weight, one, other, 1, hidden, kEpsilon},
                          DataType::bf16, stream));
  stream.synchronize();
  EXPECT_EQ(digest(one.get()), digest(download(y + row * hidden, hidden)));
  EXPECT_EQ(digest(other.get()), digest(download(new_residual + row * hidden, hidden)));
}

// Values whose bits are those of a blank word, and others that are no numbers.
TEST(AllReduceNorm, NansAndInfinitiesStayInTheirRows) {
  AllReduceNorm layer(SHMEM_TEAM_WORLD, 4 << 20);
  const OwnStream stream;
  using E = meshmem_half;
  const size_t hidden = 128, rows = 8;
  std::vector<E> values(rows * hidden, E(1.0F));
  std::memset(static_cast<void*>(&values[2 * hidden]), 0xff, hidden * sizeof(E));
  values[5 * hidden + 7] = E(INFINITY);
  if (my_pe() % 2 == 0) values[6 * hidden] = E(NAN);
  const Buffer<E> x(values), residual(std::vector<E>(rows * hidden, E(0.0F))),
      weight(std::vector<E>(hidden, E(1.0F))), y(rows * hidden), new_residual(rows * hidden);
  expect_ok(layer.execute({x, residual, weight, y, new_residual, rows, hidden, 0}, DataType::f16,
                          stream));
  stream.synchronize();
  const std::vector<E> found = y.get(), sums = new_residual.get();
  for (size_t i = 0; i < rows * hidden; ++i) {
    const size_t row = i / hidden;
    if (row == 2 || row == 6) {
      EXPECT_TRUE(std::isnan(value_of(found[i]))) << i;
      EXPECT_EQ(std::isnan(value_of(sums[i])), row == 2 || i == 6 * hidden) << i;
    } else if (row == 5) {
      EXPECT_EQ(std::isinf(value_of(sums[i])), i == 5 * hidden + 7) << i;
    } else {
      EXPECT_EQ(value_of(found[i]), 1) << i;
    }
  }
  expect_same_on_all(world_view(), digest(found) ^ digest(sums));
}

TEST(AllReduceNorm, OfATeamIsExecutedByItsPes) {
  const int n = n_pes();
  for (const TeamView& view : {make_view(n - 1, -1, n), make_view(0, 2, (n + 1) / 2)}) {
    AllReduceNorm layer(view.team, 1 << 20);
    const OwnStream stream;
    if (view.me >= 0) {
      expect_ok(layer.status());
      check<meshmem_bfloat16>(layer, view, 0, 7, 264, stream);
    } else {
      EXPECT_STREQ(layer.execute({}, DataType::bf16, stream).text(),
                   "Stage: this PE is not in the team");
    }
    shmem_barrier_all();
    if (view.me >= 0) shmem_team_destroy(view.team);
  }
}

// The result of a step is the x of the next: a value of an earlier replay would show.
TEST(AllReduceNorm, AGraphIsReplayed) {
  const int kReplays = rounds(100);
  AllReduceNorm layer(SHMEM_TEAM_WORLD, 256 << 10);
  const OwnStream stream;
  using E = meshmem_bfloat16;
  const size_t hidden = 256, rows = 5, n = rows * hidden;
  const Buffer<E> x(elements<E>(my_pe(), 0, n)), residual(elements<E>(-1, 0, n)),
      weight(elements<E>(-2, 0, hidden)), y(n);
  const auto step = [&] {
    expect_ok(layer.execute({x, residual, weight, y, residual, rows, hidden, kEpsilon},
                            DataType::bf16, stream));
    expect_ok(layer.execute({y, residual, weight, x, residual, 1, hidden, kEpsilon}, DataType::bf16,
                            stream));
  };
  const OwnGraph graph(stream, step);
  for (int i = 0; i < kReplays; ++i) graph.replay(stream);
  stream.synchronize();
  const std::uint64_t replayed = digest(y.get()) ^ digest(residual.get());
  expect_same_on_all(world_view(), replayed);

  upload<E>(x, elements<E>(my_pe(), 0, n));
  upload<E>(residual, elements<E>(-1, 0, n));
  for (int i = 0; i < kReplays; ++i) step();
  stream.synchronize();
  EXPECT_EQ(digest(y.get()) ^ digest(residual.get()), replayed);
}

TEST(AllReduceNorm, WrongArgumentsAreRefusedWithALine) {
  AllReduceNorm layer(SHMEM_TEAM_WORLD, 64 << 10);
  const OwnStream stream;
  using E = meshmem_half;
  const Buffer<E> buffer(5 * 256);
  E *x = buffer, *residual = x + 256, *y = x + 512, *sum = x + 768, *weight = x + 1024;
  const auto text = [&](NormRows rows, DataType type = DataType::f16) {
    const Status status = layer.execute(rows, type, stream);
    EXPECT_FALSE(status.ok());
    return std::string(status.text());
  };
  const NormRows good{x, residual, weight, y, sum, 8, 8, kEpsilon};
  const auto with = [&](auto change) {
    NormRows rows = good;
    change(rows);
    return text(rows);
  };
  EXPECT_EQ(text(good, DataType::f32), "AllReduceNorm: 0 is neither bf16 nor f16");
  EXPECT_EQ(with([](NormRows& r) { r.hidden = 12; }),
            "AllReduceNorm: 12 is no multiple of 8 up to 16384");
  EXPECT_EQ(with([](NormRows& r) { r.hidden = AllReduceNorm::kMostHidden + 8; }),
            "AllReduceNorm: 16392 is no multiple of 8 up to 16384");
  EXPECT_EQ(with([](NormRows& r) { r.rows = SIZE_MAX / 8; }),
            "AllReduceNorm: 2305843009213693951 rows are more than memory holds");
  EXPECT_EQ(with([](NormRows& r) { r.weight = nullptr; }), "AllReduceNorm: weight is null");
  EXPECT_EQ(with([&](NormRows& r) { r.y = x + 8; }), "AllReduceNorm: y and x overlap");
  EXPECT_EQ(with([&](NormRows& r) { r.y = sum; }), "AllReduceNorm: y and new_residual overlap");
  EXPECT_EQ(with([&](NormRows& r) { r.y = residual; }), "AllReduceNorm: y and residual overlap");
  EXPECT_EQ(with([&](NormRows& r) { r.new_residual = weight; }),
            "AllReduceNorm: new_residual and weight overlap");
  EXPECT_NE(with([&](NormRows& r) { r.x = x + 4; }).find("not aligned to 16 bytes"),
            std::string::npos);
  expect_ok(
      layer.execute({nullptr, nullptr, nullptr, nullptr, nullptr, 0, 8, 0}, DataType::f16, stream));

  AllReduceNorm small(SHMEM_TEAM_WORLD, 1);
  const NormRows row{x, residual, weight, y, sum, 1, 256, 0};
  EXPECT_STREQ(small.execute(row, DataType::f16, stream).text(),
               "AllReduceNorm: the stage has no place for a row");
  AllReduceNorm too_large(SHMEM_TEAM_WORLD, size_t{1} << 50);
  EXPECT_NE(std::string(too_large.status().text()).find("bytes of symmetric device memory"),
            std::string::npos);
  EXPECT_FALSE(too_large.execute(good, DataType::f16, stream).ok());
}

}  // namespace
}  // namespace meshmem
