// SPDX-License-Identifier: Apache-2.0
//
// meshmem/allreduce.hpp: every type and operation on every kind of buffer, in place and not, in one
// chunk and in many, on several teams, in a graph. Also its errors for wrong arguments.
// Invariant: all values and results, except averages, are small whole numbers, so they are exact in
// every type.
#include <meshmem/allreduce.hpp>
#include <string>

#include "../api/team_views.hpp"
#include "own_stream.hpp"

namespace meshmem {
namespace {

constexpr size_t kSmallStaging = 256;
constexpr size_t kMostBytes = 8 * 103;

enum class Kind { symmetric, registered, other };
constexpr Kind kKinds[] = {Kind::symmetric, Kind::registered, Kind::other};
const char* name_of(Kind kind) {
  return kind == Kind::symmetric ? "symmetric" : kind == Kind::registered ? "registered" : "other";
}

// Making and dropping one are collective.
class Buffer {
 public:
  explicit Buffer(Kind kind, size_t bytes = kMostBytes) : kind_(kind) {
    if (kind == Kind::symmetric) {
      data_ = SymmetricMemory::allocate(bytes);
    } else {
      must(hipMalloc(&data_, bytes), "hipMalloc");
    }
    if (kind == Kind::registered) expect_ok(SymmetricMemory::register_buffer(data_, bytes));
    EXPECT_NE(data_, nullptr);
  }
  ~Buffer() {
    if (kind_ == Kind::registered) expect_ok(SymmetricMemory::deregister(data_));
    if (kind_ == Kind::symmetric) {
      SymmetricMemory::free(data_);
    } else {
      must(hipFree(data_), "hipFree");
    }
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  template <typename E>
  E* of() {
    return static_cast<E*>(data_);
  }
  static void expect_ok(const Status& status) { EXPECT_TRUE(status.ok()) << status.text(); }

 private:
  Kind kind_;
  void* data_ = nullptr;
};

void expect_ok(const Status& status) { Buffer::expect_ok(status); }

constexpr ReduceOp kOps[] = {ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max,
                             ReduceOp::avg};

int element(ReduceOp op, int pe, size_t i) {
  const size_t at = (static_cast<size_t>(pe) * 3 + i) % 7;  // no period of a chunk
  const int factors[] = {1, -2, -1, 1, 2, 1, -1}, terms[] = {16, -4, 7, 1, 12, -9, 0};
  return op == ReduceOp::prod ? factors[at] : terms[at];
}

template <typename E>
E result(ReduceOp op, const TeamView& view, size_t i) {
  int total = element(op, view.world(0), i);
  for (size_t pe = 1; pe < view.size(); ++pe) {
    const int other = element(op, view.world(pe), i);
    total = op == ReduceOp::prod  ? total * other
            : op == ReduceOp::min ? std::min(total, other)
            : op == ReduceOp::max ? std::max(total, other)
                                  : total + other;
  }
  if (op != ReduceOp::avg) return E(static_cast<float>(total));
  if constexpr (std::is_integral_v<E>) {
    return static_cast<E>(total / view.n());
  } else if constexpr (std::is_same_v<E, double>) {
    return static_cast<double>(total) / view.n();
  } else {
    return E(static_cast<float>(total) / static_cast<float>(view.n()));
  }
}

template <typename E>
void expect_same_bits(const char* what, const std::vector<E>& found,
                      const std::vector<E>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(std::memcmp(&found[i], &expected[i], sizeof(E)), 0)
        << what << ": element " << i << " is " << static_cast<double>(static_cast<float>(found[i]))
        << ", not " << static_cast<double>(static_cast<float>(expected[i]));
  }
}

// Runs one all-reduce into another buffer and one in place.
template <typename E>
void check(AllReduce& all_reduce, const TeamView& view, DataType type, ReduceOp op, Buffer& send,
           Buffer& recv, size_t n, const OwnStream& stream) {
  SCOPED_TRACE(testing::Message() << "type " << static_cast<int>(type) << ", operation "
                                  << static_cast<int>(op) << ", count " << n);
  const E old(static_cast<float>(my_pe() + 50));
  std::vector<E> mine(n), there(n + 2, old), expected(n);
  for (size_t i = 0; i < n; ++i) mine[i] = E(static_cast<float>(element(op, my_pe(), i)));
  for (size_t i = 0; i < n; ++i) expected[i] = result<E>(op, view, i);
  upload(send.of<E>(), mine);
  upload(recv.of<E>(), there);
  expect_ok(all_reduce.execute(send.of<E>(), recv.of<E>() + 1, n, type, op, stream));
  expect_ok(all_reduce.execute(send.of<E>(), send.of<E>(), n, type, op, stream));
  stream.synchronize();
  std::copy(expected.begin(), expected.end(), there.begin() + 1);
  expect_same_bits("recv", download(recv.of<E>(), n + 2), there);
  expect_same_bits("in place", download(send.of<E>(), n), expected);
}

template <typename Check>
void for_each_type(const Check& check) {
  check(DataType::f32, float());
  check(DataType::f64, double());
  check(DataType::i32, std::int32_t());
  check(DataType::i64, std::int64_t());
  check(DataType::f16, meshmem_half());
  check(DataType::bf16, meshmem_bfloat16());
}

// Counts change from call to call: of one chunk and of several, none, odd.
void check_every_type(AllReduce& all_reduce, const TeamView& view, Buffer& send, Buffer& recv) {
  constexpr size_t kCounts[] = {101, 1, 13, 0};
  const OwnStream stream;
  size_t turn = 0;
  for_each_type([&](DataType type, auto zero) {
    for (const ReduceOp op : kOps)
      check<decltype(zero)>(all_reduce, view, type, op, send, recv, kCounts[turn++ % 4], stream);
  });
}

TEST(AllReduce, EveryTypeAndOperationOnEveryKindOfBuffer) {
  AllReduce all_reduce(SHMEM_TEAM_WORLD, kSmallStaging);
  expect_ok(all_reduce.status());
  for (const Kind kind : kKinds) {
    SCOPED_TRACE(name_of(kind));
    Buffer send(kind), recv(kind);
    check_every_type(all_reduce, world_view(), send, recv);
  }
}

TEST(AllReduce, KindsOfSendAndRecvMayDiffer) {
  AllReduce all_reduce(SHMEM_TEAM_WORLD, kSmallStaging);
  const OwnStream stream;
  for (const Kind from : kKinds) {
    for (const Kind to : kKinds) {
      SCOPED_TRACE(testing::Message() << name_of(from) << " to " << name_of(to));
      Buffer send(from), recv(to);
      check<float>(all_reduce, world_view(), DataType::f32, ReduceOp::sum, send, recv, 101, stream);
    }
  }
}

// Made by all; the team is no team on PEs that are not in it.
TEST(AllReduce, OfATeamIsExecutedByItsPes) {
  const int n = n_pes();
  for (const TeamView& view : {make_view(n - 1, -1, n), make_view(0, 2, (n + 1) / 2)}) {
    AllReduce all_reduce(view.team, kSmallStaging);
    for (const Kind kind : kKinds) {
      SCOPED_TRACE(name_of(kind));
      Buffer send(kind), recv(kind);
      const OwnStream stream;
      if (view.me >= 0) {
        check<double>(all_reduce, view, DataType::f64, ReduceOp::avg, send, recv, 101, stream);
      } else {
        const Status status = all_reduce.execute(send.of<double>(), recv.of<double>(), 1,
                                                 DataType::f64, ReduceOp::avg, stream);
        EXPECT_STREQ(status.text(), "AllReduce::execute: this PE is not in the team");
      }
      shmem_barrier_all();
    }
    if (view.me >= 0) shmem_team_destroy(view.team);
  }
}

TEST(AllReduce, AGraphIsReplayed) {
  const int kReplays = rounds(50);
  AllReduce all_reduce(SHMEM_TEAM_WORLD, kSmallStaging);
  const OwnStream stream;
  Buffer symmetric(Kind::symmetric), registered(Kind::registered), other(Kind::other);
  const size_t n = 101;
  for (Buffer* buffer : {&symmetric, &registered, &other})
    upload(buffer->of<float>(), std::vector<float>(n, static_cast<float>(my_pe())));
  // The largest number, and then the average of equal numbers, which changes nothing; of one buffer
  // after the other.
  const OwnGraph graph(stream, [&] {
    for (Buffer* buffer : {&symmetric, &registered, &other}) {
      float* data = buffer->of<float>();
      for (const ReduceOp op : {ReduceOp::max, ReduceOp::avg})
        expect_ok(all_reduce.execute(data, data, n, DataType::f32, op, stream));
    }
  });
  for (int i = 0; i < kReplays; ++i) graph.replay(stream);
  stream.synchronize();
  for (Buffer* buffer : {&symmetric, &registered, &other})
    expect_equal("the largest", download(buffer->of<float>(), n),
                 std::vector<float>(n, static_cast<float>(n_pes() - 1)));
  const OwnGraph doubling(stream, [&] {
    float* data = other.of<float>();
    expect_ok(all_reduce.execute(data, data, n, DataType::f32, ReduceOp::sum, stream));
  });
  upload(other.of<float>(), std::vector<float>(n, 1));
  for (int i = 0; i < 3; ++i) doubling.replay(stream);
  stream.synchronize();
  const auto pes = static_cast<float>(n_pes());
  expect_equal("the third power of the PEs", download(other.of<float>(), n),
               std::vector<float>(n, pes * pes * pes));
}

TEST(AllReduce, WrongArgumentsAreRefusedWithALine) {
  AllReduce all_reduce;
  const OwnStream stream;
  Buffer buffer(Kind::symmetric);
  float* data = buffer.of<float>();
  const auto text = [&](const void* send, void* recv, size_t count, int type, int op) {
    const Status status = all_reduce.execute(send, recv, count, static_cast<DataType>(type),
                                             static_cast<ReduceOp>(op), stream);
    EXPECT_FALSE(status.ok());
    return std::string(status.text());
  };
  EXPECT_EQ(text(data, data, 1, 6, 0), "AllReduce::execute: 6 is no DataType");
  EXPECT_EQ(text(data, data, 1, 0, -1), "AllReduce::execute: -1 is no ReduceOp");
  EXPECT_EQ(text(data, data, 1, 0, 5), "AllReduce::execute: 5 is no ReduceOp");
  EXPECT_EQ(text(nullptr, data, 1, 0, 0), "AllReduce::execute: send is null");
  EXPECT_EQ(text(data, nullptr, 1, 0, 0), "AllReduce::execute: recv is null");
  EXPECT_EQ(text(data, data + 3, 4, 0, 0), "AllReduce::execute: recv begins within send");
  EXPECT_EQ(text(data + 3, data, 4, 0, 0), "AllReduce::execute: send begins within recv");
  EXPECT_NE(text(reinterpret_cast<char*>(data) + 2, data + 8, 1, 0, 0).find("is not aligned"),
            std::string::npos);
  EXPECT_NE(text(data, data, SIZE_MAX / 2, 0, 0).find("more than memory holds"), std::string::npos);
  expect_ok(all_reduce.execute(nullptr, nullptr, 0, DataType::f32, ReduceOp::sum, stream));

  AllReduce without_staging(SHMEM_TEAM_WORLD, 0);
  Buffer other(Kind::other);
  const Status status =
      without_staging.execute(other.of<float>(), data, 1, DataType::f32, ReduceOp::sum, stream);
  EXPECT_NE(std::string(status.text()).find("is not symmetric"), std::string::npos);
  expect_ok(without_staging.execute(data, data, 1, DataType::f32, ReduceOp::sum, stream));
  stream.synchronize();
}

TEST(AllReduce, SaysWhenDevicesDoNotReachEachOther) {
  if (!std::getenv("MESHMEM_CPU_PEERS")) GTEST_SKIP() << "they do";
  AllReduce all_reduce;
  EXPECT_STREQ(all_reduce.status().text(),
               "AllReduce: the devices of the PEs do not all reach each other");
  Buffer symmetric(Kind::symmetric);
  EXPECT_FALSE(all_reduce.execute(symmetric.of<float>(), symmetric.of<float>(), 1, DataType::f32,
                                  ReduceOp::sum, nullptr));
}

TEST(SymmetricMemory, SaysWhatCannotBeShared) {
  float on_host[4];
  const Status status = SymmetricMemory::register_buffer(on_host, sizeof on_host);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(std::string(status.text()).find("SymmetricMemory::register_buffer: 16 bytes"),
            std::string::npos);
  EXPECT_FALSE(SymmetricMemory::deregister(on_host).ok());
  EXPECT_EQ(SymmetricMemory::allocate(size_t{1} << 50), nullptr);
  AllReduce too_large(SHMEM_TEAM_WORLD, size_t{1} << 50);
  EXPECT_NE(std::string(too_large.status().text()).find("bytes of symmetric device memory"),
            std::string::npos);
  EXPECT_FALSE(too_large.execute(nullptr, nullptr, 0, DataType::f32, ReduceOp::sum, nullptr).ok());
}

}  // namespace
}  // namespace meshmem
