// SPDX-License-Identifier: Apache-2.0
//
// Each collective between nodes, with PEs that are threads of this process. A parameter of a test
// gives the node of each PE: nodes have one to five PEs, and a node's PEs have numbers in a row or
// not. Lengths are on both sides of every limit in choice.hpp. No barrier separates two operations.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <mutex>
#include <numeric>
#include <string>
#include <vector>

#include "base/status/slow_ways.hpp"
#include "blocks.hpp"
#include "collectives/between_nodes.hpp"
#include "collectives/combine.hpp"
#include "collectives/policy/reduce_policy.hpp"
#include "node_threads.hpp"

namespace meshmem {
namespace {

using Kind = CollectiveKind;
constexpr Reduction kSum = reduction<Sum, double>();

using Pe = NodeThreads::Pe;

// A PE's heap begins with the source. The dest begins at this offset.
constexpr std::size_t kHalf = std::size_t{2} << 20;

class Nodes : public testing::TestWithParam<std::vector<int>> {};
INSTANTIATE_TEST_SUITE_P(
    Of, Nodes,
    testing::Values(std::vector{0, 1}, std::vector{0, 0, 1}, std::vector{0, 1, 1, 1, 1, 1},
                    std::vector{0, 0, 0, 0, 1, 1, 1, 1}, std::vector{0, 1, 0, 1, 0},
                    std::vector{0, 0, 1, 1, 2}, std::vector{0, 1, 2, 2, 2, 0, 0},
                    std::vector{0, 0, 0, 0, 0, 1, 1, 2, 3, 4}, std::vector{0, 1, 2, 3, 4, 0, 1, 2},
                    std::vector{0, 1, 2, 3, 4, 5, 6, 7, 8}),
    [](const auto& info) {
      std::string name;
      for (const int node : info.param) name += std::to_string(node);
      return name;
    });

// In each round each PE adds 1 to the counter before the sync. After it the counter has all PEs'
// 1s.
TEST_P(Nodes, NobodyLeavesASyncBeforeAllHaveEntered) {
  NodeThreads job(GetParam(), 4096);
  std::atomic<int> entered{0};
  job.run([&](Pe&, Team& team) {
    for (int round = 1; round <= 20; ++round) {
      ++entered;
      between_nodes::sync(team);
      EXPECT_GE(entered.load(), round * team.n);
    }
  });
}

TEST_P(Nodes, BroadcastGivesAllTheSourceOfTheRoot) {
  NodeThreads job(GetParam(), 2 * kHalf);
  job.run([](Pe& pe, Team& team) {
    for (const std::size_t bytes : {1, 57, 2000, 32 * 1024, 32 * 1024 + 1, 140'001, 700'003}) {
      for (const int root : {0, team.n / 2, team.n - 1}) {
        const bool in_place = root % 2 == 1;
        std::byte* dest = in_place ? pe.heap : pe.heap + kHalf;
        put_block(pe.heap, block_of(pe.number, bytes, bytes));
        dest[bytes] = std::byte{99};
        between_nodes::run(team, moving(Kind::broadcast, dest, pe.heap, bytes, root));
        EXPECT_TRUE(Bytes(dest, dest + bytes) == block_of(root, bytes, bytes)) << bytes;
        EXPECT_EQ(dest[bytes], std::byte{99});
      }
    }
  });
}

template <typename Length, typename Run>
void expect_gathered(const Pe& pe, const Team& team, const Length& length, const Run& run) {
  const Bytes expected = joined_blocks(team.n, length, 1);
  std::byte* dest = pe.heap + kHalf;
  put_block(pe.heap, block_of(pe.number, length(pe.number), 1));
  dest[expected.size()] = std::byte{99};
  run(dest);
  EXPECT_TRUE(Bytes(dest, dest + expected.size()) == expected) << length(0);
  EXPECT_EQ(dest[expected.size()], std::byte{99});
}

const std::size_t kBlocks[] = {1, 8, 57, 2049, 9000, 33'000, 140'001};

TEST_P(Nodes, FcollectGivesAllTheBlocksInPeOrder) {
  NodeThreads job(GetParam(), 2 * kHalf);
  job.run([](Pe& pe, Team& team) {
    for (const std::size_t bytes : kBlocks) {
      expect_gathered(
          pe, team, [&](int) { return bytes; },
          [&](std::byte* dest) {
            between_nodes::run(team, moving(Kind::fcollect, dest, pe.heap, bytes));
          });
    }
  });
}

TEST_P(Nodes, CollectJoinsBlocksOfDifferentLengths) {
  NodeThreads job(GetParam(), 2 * kHalf);
  job.run([](Pe& pe, Team& team) {
    for (const std::size_t bytes : kBlocks) {
      const auto length = [&](int other) { return uneven(bytes, other); };
      expect_gathered(pe, team, length, [&](std::byte* dest) {
        between_nodes::run(team, moving(Kind::collect, dest, pe.heap, length(pe.number)));
      });
    }
    between_nodes::run(team, moving(Kind::collect, nullptr, pe.heap, 0));
  });
}

TEST_P(Nodes, GatherTakesAnyMemory) {
  NodeThreads job(GetParam(), 4096);
  job.run([](Pe& pe, Team& team) {
    for (const std::size_t bytes : {8, 9000, 70'000}) {
      const Bytes mine = block_of(pe.number, bytes, 3);
      Bytes all(bytes * static_cast<std::size_t>(team.n));
      between_nodes::gather(team, all.data(), mine.data(), bytes);
      const auto expected = joined_blocks(
          team.n, [&](int) { return bytes; }, 3);
      EXPECT_TRUE(all == expected) << bytes;
    }
  });
}

struct Shape {
  std::size_t elem_bytes, count;
  std::ptrdiff_t dest_stride, source_stride;
};

void expect_alltoall(const Pe& pe, Team& team, const Shape& shape,
                     decltype(between_nodes::run) alltoall = between_nodes::run) {
  const auto elems = shape.count * static_cast<std::size_t>(team.n);
  const auto at = [&](std::byte* buffer, std::size_t elem, std::ptrdiff_t stride) {
    return buffer + elem * static_cast<std::size_t>(stride) * shape.elem_bytes;
  };
  std::byte* dest = pe.heap + kHalf;
  const std::size_t dest_bytes =
      elems * static_cast<std::size_t>(shape.dest_stride) * shape.elem_bytes;
  ASSERT_LE(dest_bytes, kHalf);
  std::memset(dest, 99, dest_bytes);
  Bytes expected(dest, dest + dest_bytes);
  // The value of an element depends on the PE that sends it and on its place in the source.
  const auto write = [&](std::byte* to, int owner, std::size_t elem) {
    const std::uint64_t word = mixed(static_cast<std::uint64_t>(owner), elem);
    for (std::size_t i = 0; i < shape.elem_bytes; ++i)
      to[i] = static_cast<std::byte>(word >> 8 * (i % 8));
  };
  for (std::size_t i = 0; i < elems; ++i) write(at(pe.heap, i, shape.source_stride), pe.number, i);
  for (std::size_t i = 0; i < elems; ++i) {
    write(at(expected.data(), i, shape.dest_stride), static_cast<int>(i / shape.count),
          static_cast<std::size_t>(team.me) * shape.count + i % shape.count);
  }
  alltoall(team, alltoalls_of(dest, pe.heap, shape.elem_bytes, shape.count, shape.dest_stride,
                              shape.source_stride));
  EXPECT_TRUE(Bytes(dest, dest + dest_bytes) == expected)
      << shape.count << " x " << shape.elem_bytes << " bytes, strides " << shape.dest_stride << ", "
      << shape.source_stride;
}

TEST_P(Nodes, AlltoallTurnsBlocksOfAnyStride) {
  NodeThreads job(GetParam(), 2 * kHalf);
  job.run([](Pe& pe, Team& team) {
    for (const std::size_t count : {0, 1, 7, 300, 1700}) {
      expect_alltoall(pe, team, {8, count, 1, 1});
      expect_alltoall(pe, team, {8, count, 3, 2});
    }
    expect_alltoall(pe, team, {1, 140'001, 1, 1});
    expect_alltoall(pe, team, {16, 8200, 1, 1});
    for (const int cores : {1, 2, 3}) {  // with fewer cores than PEs, not all PEs send
      team.fewest_cores = cores;
      expect_alltoall(pe, team, {8, 1700, 1, 1});
      expect_alltoall(pe, team, {1, 140'001, 1, 1});
      expect_alltoall(pe, team, {8, 1700, 2, 3});
    }
  });
}

// Such elements also occur in practice: 16 bytes for each of more than 4,096 PEs exceed a stage.
TEST_P(Nodes, AlltoallOfElementsThatDoNotFitIntoAStage) {
  NodeThreads job(GetParam(), 2 * kHalf);
  job.run([](Pe& pe, Team& team) {
    expect_alltoall(pe, team, {40'000, 3, 1, 1}, between_nodes::alltoall_of_any_memory);
    expect_alltoall(pe, team, {33'001, 2, 3, 2}, between_nodes::alltoall_of_any_memory);
  });
}

// A PE waits if it has sent another PE more than kMostUnreceived bytes that this one has not
// received. If all PEs reached this limit in an exchange, all would wait for ever.
TEST(LargeNodes, ExchangeLargeBlocksWithoutGoingFarAhead) {
  constexpr int kOfNode = 14;
  std::vector<int> nodes(2 * kOfNode, 0);
  std::fill_n(nodes.begin(), kOfNode, 1);
  constexpr std::size_t kBlock = 100'000, kAll = 2 * kOfNode * kBlock;
  for (const int cores : {2, 2 * kOfNode}) {
    NodeThreads job(nodes, 2 * kAll);
    job.run([&](Pe& pe, Team& team) {
      team.fewest_cores = cores;
      for (int to = 0; to < team.n; ++to)
        std::memset(pe.heap + static_cast<std::size_t>(to) * kBlock, 3 * pe.number + to, kBlock);
      between_nodes::run(team, alltoall_of(pe.heap + kAll, pe.heap, 1, kBlock));
      for (int from = 0; from < team.n; ++from) {
        const std::byte* block = pe.heap + kAll + static_cast<std::size_t>(from) * kBlock;
        const auto value = static_cast<std::byte>(3 * from + pe.number);
        EXPECT_EQ(std::count(block, block + kBlock, value), kBlock) << from << " " << pe.number;
      }
    });
    EXPECT_LE(job.most_ahead(), std::size_t{1} << 20) << cores;
  }
}

// Numbers of very different size: any other order of additions gives other bits.
double rough(int pe, std::size_t i) {
  const std::uint64_t bits = mixed(static_cast<std::uint64_t>(pe), i, 5);
  const double magnitude = static_cast<double>(std::uint64_t{1} << bits % 40);
  return (static_cast<double>(bits >> 11) / 9007199254740992.0 - 0.5) * magnitude;
}
// Sums of whole numbers are exact in any order.
double whole(int pe, std::size_t i) {
  return static_cast<double>(mixed(static_cast<std::uint64_t>(pe), i, 7) % 1000);
}
using Value = double (*)(int pe, std::size_t i);

void fill(double* source, int pe, std::size_t count, Value value) {
  for (std::size_t i = 0; i < count; ++i) source[i] = value(pe, i);
}
// Sums in PE order over the first `pes` PEs.
std::vector<double> sums(int pes, std::size_t count, Value value) {
  std::vector<double> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (int pe = 0; pe < pes; ++pe) result[i] = pe == 0 ? value(0, i) : result[i] + value(pe, i);
  }
  return result;
}

const std::size_t kCounts[] = {1, 7, 130, 2048, 2049, 9001, 70'001};

void expect_sums(const Pe& pe, Team& team, std::size_t count, Value value, bool in_place) {
  auto* source = reinterpret_cast<double*>(pe.heap);
  double* dest = in_place ? source : reinterpret_cast<double*>(pe.heap + kHalf);
  fill(source, pe.number, count, value);
  dest[count] = 99;
  between_nodes::run(team, combining(Kind::reduce, kSum, dest, source, count));
  EXPECT_TRUE(std::vector(dest, dest + count) == sums(team.n, count, value)) << count;
  EXPECT_EQ(dest[count], 99);
}

TEST_P(Nodes, ReduceAddsAllSources) {
  NodeThreads job(GetParam(), 2 * kHalf);
  job.run([](Pe& pe, Team& team) {
    for (const std::size_t count : kCounts) {
      expect_sums(pe, team, count, whole, false);
      expect_sums(pe, team, count, whole, true);
    }
  });
}

TEST_P(Nodes, ReduceAddsInPeOrderWhereThatIsAskedFor) {
  NodeThreads job(GetParam(), 2 * kHalf);
  job.run([](Pe& pe, Team& team) {
    team.node.in_pe_order = true;
    for (const std::size_t count : {7, 2049, 9001, 130'001}) {
      expect_sums(pe, team, count, rough, false);
      expect_sums(pe, team, count, rough, true);
    }
    for (const std::size_t count : {1, 600, 20'001}) {
      const std::size_t total = count * static_cast<std::size_t>(team.n);
      const std::size_t begin = count * static_cast<std::size_t>(team.me);
      auto* source = reinterpret_cast<double*>(pe.heap);
      auto* dest = reinterpret_cast<double*>(pe.heap + kHalf);
      fill(source, pe.number, total, rough);
      between_nodes::run(team, combining(Kind::reduce_scatter, kSum, dest, source, count));
      const std::vector<double> all = sums(team.n, total, rough);
      EXPECT_TRUE(std::equal(dest, dest + count, all.data() + begin)) << count;
    }
  });
}

TEST_P(Nodes, ReductionsGiveTheSameBitsOnAllPesAndEveryTime) {
  for (const std::size_t count : {130, 9001, 70'001}) {
    std::vector<double> first;
    std::mutex mutex;
    for (int repetition = 0; repetition < 2; ++repetition) {
      NodeThreads job(GetParam(), 2 * kHalf);
      job.run([&](Pe& pe, Team& team) {
        auto* source = reinterpret_cast<double*>(pe.heap);
        auto* dest = reinterpret_cast<double*>(pe.heap + kHalf);
        fill(source, pe.number, count, rough);
        between_nodes::run(team, combining(Kind::reduce, kSum, dest, source, count));
        const std::lock_guard lock(mutex);
        if (first.empty()) first.assign(dest, dest + count);
        EXPECT_EQ(std::memcmp(first.data(), dest, count * sizeof(double)), 0) << pe.number;
      });
    }
  }
}

TEST_P(Nodes, ReduceScatterGivesEachPeTheSumsOfItsBlocks) {
  NodeThreads job(GetParam(), 2 * kHalf);
  job.run([](Pe& pe, Team& team) {
    for (const std::size_t count : {1, 7, 600, 3001, 20'001}) {
      const std::size_t total = count * static_cast<std::size_t>(team.n);
      const std::size_t begin = count * static_cast<std::size_t>(team.me);
      const std::vector<double> all = sums(team.n, total, whole);
      auto* source = reinterpret_cast<double*>(pe.heap);
      for (double* dest : {reinterpret_cast<double*>(pe.heap + kHalf), source + begin}) {
        fill(source, pe.number, total, whole);
        between_nodes::run(team, combining(Kind::reduce_scatter, kSum, dest, source, count));
        EXPECT_TRUE(std::equal(dest, dest + count, all.data() + begin)) << count;
      }
    }
  });
}

TEST_P(Nodes, ScansAddTheSourcesOfThePesBeforeInPeOrder) {
  NodeThreads job(GetParam(), 2 * kHalf);
  job.run([](Pe& pe, Team& team) {
    for (const std::size_t count : {1, 7, 130, 2049, 9001}) {
      for (const bool inclusive : {false, true}) {
        auto* source = reinterpret_cast<double*>(pe.heap);
        auto* dest = inclusive ? source : reinterpret_cast<double*>(pe.heap + kHalf);
        fill(source, pe.number, count, rough);
        between_nodes::run(
            team, combining(inclusive ? Kind::inscan : Kind::exscan, kSum, dest, source, count));
        EXPECT_TRUE(std::vector(dest, dest + count) ==
                    sums(team.me + (inclusive ? 1 : 0), count, rough))
            << count;
      }
    }
  });
}

// A scan notes the slow way on up to 8 nodes, and on more nodes if the data is not small.
TEST_P(Nodes, ScansNoteTheSlowWayIfMachinesComeInTurns) {
  const std::vector<int>& nodes = GetParam();
  std::vector<int> changes = nodes;
  changes.erase(std::unique(changes.begin(), changes.end()), changes.end());
  const int n_nodes = *std::max_element(nodes.begin(), nodes.end()) + 1;
  const bool are_in_turn = static_cast<int>(changes.size()) > n_nodes;
  const auto& said = slow_way_counts[static_cast<std::size_t>(SlowWay::machines_in_turn)];
  const std::uint64_t before = said;
  NodeThreads job(nodes, 2 * kHalf);
  job.run([](Pe& pe, Team& team) {
    auto* source = reinterpret_cast<double*>(pe.heap);
    fill(source, pe.number, 9001, whole);
    between_nodes::run(team, combining(Kind::inscan, kSum, pe.heap + kHalf, source, 9001));
  });
  EXPECT_EQ(said - before, are_in_turn ? nodes.size() : 0);
}

// A team of all PEs of WORLD but the last, in the reverse order.
TEST_P(Nodes, OfATeamInAnotherOrder) {
  NodeThreads job(GetParam(), 2 * kHalf);
  job.run([&](Pe& pe, Team& world) {
    std::vector<int> pes(static_cast<std::size_t>(world.n - 1));
    std::iota(pes.rbegin(), pes.rend(), 0);
    Team team = job.team(pe, pes, 1);
    if (team.me < 0 || team.is_on_one_node()) return;
    for (const std::size_t count : {7, 9001}) {
      auto* source = reinterpret_cast<double*>(pe.heap);
      auto* dest = reinterpret_cast<double*>(pe.heap + kHalf);
      fill(source, team.me, count, whole);
      between_nodes::run(team, combining(Kind::reduce, kSum, dest, source, count));
      EXPECT_TRUE(std::vector(dest, dest + count) == sums(team.n, count, whole));
      between_nodes::run(team,
                         moving(Kind::broadcast, dest, source, count * sizeof(double), team.n - 1));
      EXPECT_EQ(dest[count - 1], whole(team.n - 1, count - 1));
    }
  });
}

// How many messages `body` sends on two nodes of four PEs.
int messages_of(const std::function<void(Pe&, Team&)>& body) {
  NodeThreads job({0, 0, 0, 0, 1, 1, 1, 1}, 2 * kHalf);
  job.run(body);
  return job.messages();
}

TEST(NodePairs, ExchangeTwoMessages) {
  EXPECT_EQ(messages_of([](Pe&, Team& team) { between_nodes::sync(team); }), 2);
  EXPECT_EQ(messages_of([](Pe& pe, Team& team) {
              between_nodes::run(team, alltoall_of(pe.heap + kHalf, pe.heap, 8, 512));
            }),
            2);
  EXPECT_EQ(messages_of([](Pe& pe, Team& team) {
              between_nodes::run(team,
                                 combining(Kind::reduce, kSum, pe.heap + kHalf, pe.heap, 1000));
            }),
            2);
  EXPECT_EQ(messages_of([](Pe& pe, Team& team) {
              between_nodes::run(team, moving(Kind::fcollect, pe.heap + kHalf, pe.heap, 1000));
            }),
            2);
  EXPECT_EQ(messages_of([](Pe& pe, Team& team) {
              between_nodes::run(team, moving(Kind::broadcast, pe.heap + kHalf, pe.heap, 1000, 3));
            }),
            1);
}

}  // namespace
}  // namespace meshmem
