// SPDX-License-Identifier: Apache-2.0
//
// meshmem/quantized.hpp and codes.hpp against a reference in double, and the bound that the header
// states. The data has outliers, tiny and subnormal numbers, infinities and NaNs. Counts and
// addresses are odd; calls are in place, on teams, in a graph. Also errors.
// Invariant: PEs compare bit by bit what all of them get.
#include <cmath>
#include <limits>
#include <meshmem/quantized.hpp>
#include <string>

#include "../api/team_views.hpp"
#include "drawn_values.hpp"
#include "guarded_buffer.hpp"
#include "own_stream.hpp"
#include "same_bits.hpp"

namespace meshmem {
namespace {

using Format = Quantized::Format;
constexpr Wire kWires[] = {Wire::e4m3, Wire::e5m2, Wire::int8};
constexpr double kLeast = 7.703719777548943e-34;  // 2^-110

void expect_ok(const Status& status) { EXPECT_TRUE(status.ok()) << status.text(); }

template <typename E>
constexpr DataType kTypeOf = std::is_same_v<E, float>          ? DataType::f32
                             : std::is_same_v<E, meshmem_half> ? DataType::f16
                                                               : DataType::bf16;
template <typename E>
double value_of(E elem) {
  return static_cast<double>(static_cast<float>(elem));
}

// The elements of a PE are numbers up to 1, times a magnitude that depends on the kind of data.
enum Kind { kPlain, kOutliers, kTiny, kSubnormal, kHuge, kSparse, kKinds };
template <typename E>
E element(int pe, int kind, size_t i) {
  const std::uint64_t drawn =
      mixed(mixed(static_cast<std::uint64_t>(pe + 3)) + (static_cast<std::uint64_t>(i) << 8) +
            static_cast<std::uint64_t>(kind));
  const double value = static_cast<double>(drawn >> 40) / (1 << 23) - 1;
  const bool is_half = std::is_same_v<E, meshmem_half>, is_rare = drawn % 61 == 0;
  switch (kind) {
    case kOutliers:
      return E(static_cast<float>(is_rare ? 1000 * value : value / 8));
    case kTiny:  // around the least magnitude of a block
      return E(static_cast<float>(std::ldexp(value, is_half ? -14 : is_rare ? -105 : -118)));
    case kSubnormal:
      return E(static_cast<float>(std::ldexp(value, is_half ? -20 : -130)));
    case kHuge:
      return E(static_cast<float>(value * (is_half ? 4000 : 2e37)));
    case kSparse:
      return E(static_cast<float>(is_rare ? value : 0));
    default:
      return E(static_cast<float>(value));
  }
}
template <typename E>
std::vector<E> elements(int pe, int kind, size_t n) {
  std::vector<E> values(n);
  for (size_t i = 0; i < n; ++i) values[i] = element<E>(pe, kind, i);
  return values;
}

// By how much an element v of a block with the largest magnitude a may change.
double change(Wire wire, double v, double a) {
  a = std::max(a, kLeast);
  const double rounding = a * std::ldexp(1.0, -20);
  return rounding + (wire == Wire::int8   ? a / 254
                     : wire == Wire::e4m3 ? std::fabs(v) / 16 + std::ldexp(a, -18)
                                          : std::fabs(v) / 8 + std::ldexp(a, -32));
}
double largest(const std::vector<double>& values, size_t first, size_t end) {
  double a = 0;
  for (size_t i = first; i < end; ++i) a = std::max(a, std::fabs(values[i]));
  return a;
}

// The exact sums of a share's elements, and the bound. `terms`: the elements of each PE, which
// travel to the receiver. `is_sent`: the sum travels too.
struct Expected {
  std::vector<double> value, bound;
};
template <typename E>
Expected expected_of(Wire wire, const std::vector<std::vector<double>>& terms, size_t receiver,
                     bool is_sent) {
  const size_t n = terms.empty() ? 0 : terms[0].size();
  Expected expected{std::vector<double>(n), std::vector<double>(n)};
  for (size_t first = 0; first < n; first += 128) {
    const size_t end = std::min(n, first + 128);
    for (size_t pe = 0; pe < terms.size(); ++pe) {
      const double a = largest(terms[pe], first, end);
      for (size_t i = first; i < end; ++i) {
        expected.value[i] += terms[pe][i];
        if (pe != receiver) expected.bound[i] += change(wire, terms[pe][i], a);
        expected.bound[i] += std::fabs(terms[pe][i]) * std::ldexp(1.0, -21);
      }
    }
    double a = 0;
    for (size_t i = first; i < end; ++i)
      a = std::max(a, std::fabs(expected.value[i]) + expected.bound[i]);
    for (size_t i = first; i < end; ++i) {
      const double sum = std::fabs(expected.value[i]) + expected.bound[i];
      if (is_sent) expected.bound[i] += change(wire, sum, a);
      expected.bound[i] += (sum + a / 16) * spacing<E>() / 2 +
                           (std::is_same_v<E, meshmem_half> ? std::ldexp(1.0, -25) : 1e-40);
    }
  }
  return expected;
}
template <typename E>
void expect_within(const char* what, const Expected& expected, const E* found) {
  for (size_t i = 0; i < expected.value.size(); ++i)
    ASSERT_LE(std::fabs(value_of(found[i]) - expected.value[i]), expected.bound[i])
        << what << ": element " << i << " is " << value_of(found[i]) << ", not "
        << expected.value[i];
}

// The elements of a PE of a team, from element `first` on.
template <typename E>
std::vector<double> slice(const TeamView& view, size_t pe, int kind, size_t first, size_t n) {
  std::vector<double> values(n);
  for (size_t i = 0; i < n; ++i) values[i] = value_of(element<E>(view.world(pe), kind, first + i));
  return values;
}
template <typename E>
std::vector<std::vector<double>> slices(const TeamView& view, int kind, size_t first, size_t n) {
  std::vector<std::vector<double>> all;
  for (size_t pe = 0; pe < view.size(); ++pe) all.push_back(slice<E>(view, pe, kind, first, n));
  return all;
}

struct Case {
  size_t count, offset;
  int kind;
  Wire wire;
};

template <typename E>
void check_all_reduce(Quantized& quantized, const TeamView& view, const Case& test,
                      const OwnStream& stream) {
  const size_t n = test.count, pes = view.size();
  GuardedBuffer<E> send(n, test.offset), recv(n, 0);
  send.set(elements<E>(my_pe(), test.kind, n));
  expect_ok(quantized.all_reduce(send, recv, n, {kTypeOf<E>, test.wire}, stream));
  expect_ok(quantized.all_reduce(send, send, n, {kTypeOf<E>, test.wire}, stream));
  stream.synchronize();
  const std::vector<E> found = recv.get(), in_place = send.get();
  const size_t share = ((n + 127) / 128 + pes - 1) / pes * 128;
  for (size_t pe = 0; pe * share < n; ++pe)
    expect_within(
        "all-reduce",
        expected_of<E>(test.wire,
                       slices<E>(view, test.kind, pe * share, std::min(share, n - pe * share)), pe,
                       true),
        &found[pe * share]);
  EXPECT_EQ(digest(found.data(), n), digest(in_place.data(), n)) << "in place";
  expect_same_on_all(view, digest(found.data(), n));
}

template <typename E>
void check_reduce_scatter(Quantized& quantized, const TeamView& view, const Case& test,
                          const OwnStream& stream) {
  const size_t n = test.count, me = static_cast<size_t>(view.me), all = n * view.size();
  GuardedBuffer<E> send(all, test.offset), recv(n, 0);
  send.set(elements<E>(my_pe(), test.kind, all));
  const Format format{kTypeOf<E>, test.wire};
  expect_ok(quantized.reduce_scatter(send, recv, n, format, stream));
  expect_ok(quantized.reduce_scatter(send, send + me * n, n, format, stream));
  stream.synchronize();
  const std::vector<E> found = recv.get(), in_place = send.get();
  expect_within("reduce-scatter",
                expected_of<E>(test.wire, slices<E>(view, test.kind, me * n, n), me, false),
                found.data());
  EXPECT_EQ(digest(found.data(), n), digest(&in_place[me * n], n)) << "in place";
}

template <typename E>
void check_all_gather(Quantized& quantized, const TeamView& view, const Case& test,
                      const OwnStream& stream) {
  const size_t n = test.count, me = static_cast<size_t>(view.me), all = n * view.size();
  GuardedBuffer<E> send(n, test.offset), recv(all, 0), both(all, 0);
  send.set(elements<E>(my_pe(), test.kind, n));
  std::vector<E> mine(all, E(0.0F));
  for (size_t i = 0; i < n; ++i) mine[me * n + i] = element<E>(my_pe(), test.kind, i);
  both.set(mine);
  const Format format{kTypeOf<E>, test.wire};
  expect_ok(quantized.all_gather(send, recv, n, format, stream));
  expect_ok(quantized.all_gather(both + me * n, both, n, format, stream));
  stream.synchronize();
  const std::vector<E> found = recv.get(), in_place = both.get();
  for (size_t pe = 0; pe < view.size(); ++pe)
    expect_within("all-gather",
                  expected_of<E>(test.wire, {slice<E>(view, pe, test.kind, 0, n)}, 1, false),
                  &found[pe * n]);
  EXPECT_EQ(digest(found.data(), all), digest(in_place.data(), all)) << "in place";
  expect_same_on_all(view, digest(found.data(), all));
}

template <typename E>
void check(Quantized& quantized, const TeamView& view, const Case& test, const OwnStream& stream) {
  SCOPED_TRACE(testing::Message() << sizeof(E) << " bytes, count " << test.count << ", offset "
                                  << test.offset << ", kind " << test.kind << ", wire "
                                  << static_cast<int>(test.wire));
  check_all_reduce<E>(quantized, view, test, stream);
  check_reduce_scatter<E>(quantized, view, test, stream);
  check_all_gather<E>(quantized, view, test, stream);
}

// Each count with a kind, wire and offset, which change from one to the next.
template <typename E>
void check_counts(size_t stage) {
  Quantized quantized(SHMEM_TEAM_WORLD, stage);
  expect_ok(quantized.status());
  const OwnStream stream;
  size_t turn = 0;
  for (const size_t count : {1, 127, 128, 129, 1000, 3 * 128, 4096, 9001})
    for (int kind = 0; kind < kKinds; ++kind) {
      const Case test{count, turn % 4 == 3 ? turn % 7 : 0, kind, kWires[turn % 3]};
      check<E>(quantized, world_view(), test, stream);
      turn += 1 + turn / 18;
    }
}
TEST(Quantized, FloatIsWithinTheBound) { check_counts<float>(1 << 20); }
TEST(Quantized, HalfIsWithinTheBound) { check_counts<meshmem_half>(1 << 20); }
TEST(Quantized, Bfloat16IsWithinTheBound) { check_counts<meshmem_bfloat16>(1 << 20); }
TEST(Quantized, InSeveralKernels) { check_counts<float>(8 * 1024); }

// Every code is found from its value, and any other number goes to the nearest value.
template <Wire wire>
__global__ void encode(const float* values, float* found, unsigned* codes, unsigned n) {
  for (unsigned i = threadIdx.x; i < n; i += blockDim.x) {
    codes[i] = Codes<wire>::of(values[i]);
    found[i] = Codes<wire>::value_of(codes[i]);
  }
}
template <Wire wire>
__global__ void decode(float* values) {
  for (unsigned code = threadIdx.x; code < 255; code += blockDim.x)
    values[code] = Codes<wire>::value_of(code);
}
template <Wire wire>
void check_codes(float most) {
  DeviceArray<float> all(256, 0.0F);
  launch(decode<wire>, 1, 64, all.data());
  synchronize();
  std::vector<float> values = all.download(), finite;
  for (const float value : values)
    if (std::fabs(value) <= most) finite.push_back(value);
  std::sort(finite.begin(), finite.end());
  ASSERT_EQ(finite.front(), -most);
  ASSERT_EQ(finite.back(), most);
  std::vector<float> wanted(finite);
  for (size_t i = 1; i < finite.size(); ++i) {
    const float low = finite[i - 1], high = finite[i], middle = low + (high - low) / 2;
    for (const float value : {std::nextafterf(middle, low), std::nextafterf(middle, high)})
      wanted.push_back(value);
  }
  const auto n = static_cast<unsigned>(wanted.size());
  DeviceArray<float> in(wanted), out(n);
  DeviceArray<unsigned> codes(n);
  launch(encode<wire>, 1, 64, in.data(), out.data(), codes.data(), n);
  synchronize();
  const std::vector<float> found = out.download();
  const std::vector<unsigned> code = codes.download();
  for (size_t i = 0; i < n; ++i) {
    float nearest = finite[0];
    for (const float value : finite)
      if (std::fabs(double{value} - wanted[i]) < std::fabs(double{nearest} - wanted[i]))
        nearest = value;
    ASSERT_EQ(found[i], nearest) << "of " << wanted[i];
    ASSERT_LT(code[i], 255u) << "of " << wanted[i];
  }
}
TEST(Quantized, CodesAreTheNearest) {
  check_codes<Wire::e4m3>(448);
  check_codes<Wire::e5m2>(57344);
  check_codes<Wire::int8>(127);
}

// One PE has an infinity in a block, and another has NaNs of all bits in another.
template <typename E>
void check_no_numbers(Wire wire) {
  Quantized quantized(SHMEM_TEAM_WORLD, 1 << 20);
  const OwnStream stream;
  const size_t n = 5 * 128;
  std::vector<E> values(n, E(0.5F));
  if (my_pe() == 0) values[128 + 5] = E(-INFINITY);
  if (my_pe() == n_pes() - 1)
    std::memset(static_cast<void*>(&values[3 * 128]), 0xff, 9 * sizeof(E));
  GuardedBuffer<E> send(n, 0), recv(n, 0), all(n * static_cast<size_t>(n_pes()), 0);
  send.set(values);
  expect_ok(quantized.all_reduce(send, recv, n, {kTypeOf<E>, wire}, stream));
  expect_ok(quantized.all_gather(send, all, n, {kTypeOf<E>, wire}, stream));
  stream.synchronize();
  const std::vector<E> sum = recv.get(), gathered = all.get();
  for (size_t i = 0; i < n; ++i) {
    const bool is_none = i / 128 == 1 || i / 128 == 3;
    ASSERT_EQ(std::isnan(value_of(sum[i])), is_none) << i;
    for (size_t pe = 0; pe < static_cast<size_t>(n_pes()); ++pe)
      ASSERT_EQ(
          std::isnan(value_of(gathered[pe * n + i])),
          (pe == 0 && i / 128 == 1) || (pe + 1 == static_cast<size_t>(n_pes()) && i / 128 == 3))
          << i;
  }
  expect_same_on_all(world_view(),
                     digest(sum.data(), n) ^ digest(gathered.data(), gathered.size()));
}
TEST(Quantized, ABlockWithNoNumberIsNansOnly) {
  for (const Wire wire : kWires) {
    check_no_numbers<float>(wire);
    check_no_numbers<meshmem_half>(wire);
    check_no_numbers<meshmem_bfloat16>(wire);
  }
}

// A scale that is rounded up must not make the largest float an infinity.
TEST(Quantized, TheLargestFloatsStayFinite) {
  Quantized quantized(SHMEM_TEAM_WORLD, 64 << 10);
  const OwnStream stream;
  const size_t n = 2 * 128;
  const float most = std::numeric_limits<float>::max();
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i) values[i] = i % 3 == 0 ? most : i % 3 == 1 ? -most : most / 5;
  GuardedBuffer<float> send(n, 0), recv(n * static_cast<size_t>(n_pes()), 0);
  send.set(values);
  for (const Wire wire : kWires) {
    expect_ok(quantized.all_gather(send, recv, n, {DataType::f32, wire}, stream));
    stream.synchronize();
    const std::vector<float> found = recv.get();
    for (size_t i = 0; i < found.size(); ++i) {
      const double value = double{values[i % n]};
      ASSERT_LE(std::fabs(double{found[i]} - value), change(wire, value, double{most}))
          << "element " << i << ", wire " << static_cast<int>(wire);
    }
  }
}

TEST(Quantized, OfATeam) {
  const int n = n_pes();
  for (const TeamView& view : {make_view(n - 1, -1, n), make_view(0, 2, (n + 1) / 2)}) {
    Quantized quantized(view.team, 64 << 10);
    const OwnStream stream;
    if (view.me >= 0) {
      check<meshmem_bfloat16>(quantized, view, {1000, 0, kOutliers, Wire::e4m3}, stream);
    } else {
      EXPECT_STREQ(
          quantized.all_reduce(nullptr, nullptr, 5, {DataType::f32, Wire::int8}, stream).text(),
          "Stage: this PE is not in the team");
    }
    shmem_barrier_all();
    if (view.me >= 0) shmem_team_destroy(view.team);
  }
}

TEST(Quantized, AGraphIsReplayed) {
  const int kReplays = rounds(60);
  Quantized quantized(SHMEM_TEAM_WORLD, 64 << 10);
  const OwnStream stream;
  const size_t n = 700, pes = static_cast<size_t>(n_pes());
  GuardedBuffer<float> data(n, 0), all(n * pes, 0);
  const Format format{DataType::f32, Wire::int8};
  const auto step = [&] {
    expect_ok(quantized.all_reduce(data, data, n, format, stream));
    expect_ok(quantized.all_gather(data, all, n, format, stream));
    expect_ok(quantized.reduce_scatter(all, data, n, format, stream));
    expect_ok(quantized.all_gather(data, all, 1, format, stream));  // few PEs have blocks
  };
  const OwnGraph graph(stream, step);
  data.set(elements<float>(my_pe(), kPlain, n));
  // The data grows with each replay.
  int replays = 0;
  for (double size = 1; replays < kReplays && size < 1e30;
       size *= static_cast<double>(pes * pes * pes), ++replays)
    graph.replay(stream);
  stream.synchronize();
  const std::uint64_t replayed = digest(data.get().data(), n);
  data.set(elements<float>(my_pe(), kPlain, n));
  for (int i = 0; i < replays; ++i) step();
  stream.synchronize();
  EXPECT_EQ(digest(data.get().data(), n), replayed);
}

TEST(Quantized, WrongArgumentsAreRefusedWithALine) {
  Quantized quantized(SHMEM_TEAM_WORLD, 64 << 10), small(SHMEM_TEAM_WORLD, 0);
  const OwnStream stream;
  const size_t pes = static_cast<size_t>(n_pes()), me = static_cast<size_t>(my_pe());
  GuardedBuffer<float> buffer(2 * pes * 256, 0);
  float *x = buffer, *y = x + pes * 256;
  const Format good{DataType::f32, Wire::e4m3};
  const auto text = [](const Status& status) {
    EXPECT_FALSE(status.ok());
    return std::string(status.text());
  };
  EXPECT_EQ(text(quantized.all_reduce(x, y, 1, {DataType::i32, Wire::e4m3}, stream)),
            "Quantized: 2 is neither f32, f16 nor bf16");
  EXPECT_EQ(text(quantized.all_reduce(x, y, 1, {DataType::f32, static_cast<Wire>(3)}, stream)),
            "Quantized: 3 is no Wire");
  EXPECT_EQ(text(quantized.all_reduce(nullptr, y, 1, good, stream)), "Quantized: send is null");
  EXPECT_EQ(text(quantized.all_gather(x, nullptr, 1, good, stream)), "Quantized: recv is null");
  EXPECT_EQ(text(quantized.reduce_scatter(nullptr, y, 1, good, stream)), "Quantized: send is null");
  EXPECT_EQ(text(quantized.all_reduce(x, x + 1, 2, good, stream)),
            "Quantized: recv and send overlap");
  EXPECT_EQ(text(quantized.reduce_scatter(x, x + me * 256 + 1, 256, good, stream)),
            "Quantized: recv and send overlap");
  EXPECT_EQ(text(quantized.all_gather(x + me * 256 + 1, x, 256, good, stream)),
            "Quantized: send and recv overlap");
  EXPECT_NE(text(quantized.all_reduce(reinterpret_cast<char*>(x) + 2, y, 1, good, stream))
                .find("not aligned to 4 bytes"),
            std::string::npos);
  for (const size_t count : {SIZE_MAX, SIZE_MAX / 4})
    EXPECT_EQ(text(quantized.all_gather(x, y, count, good, stream)),
              "Quantized: more elements than memory holds");
  EXPECT_EQ(text(quantized.all_reduce(x, y, SIZE_MAX, good, stream)),
            "Quantized: more elements than memory holds");
  EXPECT_EQ(text(small.all_reduce(x, y, 5, good, stream)),
            "Quantized: the stage has no place for a block");
  expect_ok(quantized.all_reduce(nullptr, nullptr, 0, good, stream));
  expect_ok(quantized.reduce_scatter(nullptr, nullptr, 0, good, stream));
  expect_ok(quantized.all_gather(nullptr, nullptr, 0, good, stream));
}

}  // namespace
}  // namespace meshmem
