// SPDX-License-Identifier: Apache-2.0
//
// Questions and answers between the nodes of MESHMEM_CHECK=races that name what there is not, and
// accesses of PEs of other nodes. The test is PE 0, alone on its node, and answers in place of all
// other PEs.
#include "tools/races/boards.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "tools/races/parts.hpp"
#include "tools/races/shadow.hpp"

// Of a node of one PE.
extern "C" {
void* pshmem_malloc(std::size_t bytes) { return std::malloc(bytes); }
void pshmem_free(void* block) { std::free(block); }
void pshmem_barrier_all() {}
void pshmem_getmem(void* dest, const void* source, std::size_t bytes, int) {
  std::memcpy(dest, source, bytes);
}
}

namespace meshmem::races {
namespace {

// A job of this size tells fewer strands apart than an access has room for.
constexpr int kPes = 200;

AnswerQuestion answer_here = nullptr;
// Given each question, and room for its answer, which is all zeros.
std::function<void(std::vector<std::byte> question, std::byte* answer)> when_asked;

struct Node {
  Boards boards;

  Node() {
    TraceJob job;
    job.n_pes = kPes;
    job.n_nodes = 2;
    job.heap.bytes = 4096;
    job.ask = [](int, const void* question, std::size_t bytes, void* answer, std::size_t) {
      const auto* first = static_cast<const std::byte*>(question);
      when_asked({first, first + bytes}, static_cast<std::byte*>(answer));
    };
    job.answer_with = [](AnswerQuestion answer) { answer_here = answer; };
    job.node_of = [](int pe) { return pe == 0 ? 0 : 1; };
    EXPECT_EQ(boards.open(job), "");
    EXPECT_LT(strands(), kMaxStrands);
  }
  ~Node() { boards.close(); }
  unsigned strands() const { return boards.of_node().strands(); }
};

// Puts PE 0 in place of PE 1, at the place of its number: a question's second word, and behind it.
void ask_of_pe_0(std::vector<std::byte>& question) {
  std::memset(question.data() + 4, 0, 4);
  if (std::to_integer<int>(question[question.size() - 4]) == 1)
    std::memset(question.data() + question.size() - 4, 0, 4);
}

TEST(Questions, NameStrandsThatThereAre) {
  Node node;
  bool is_answered = false;
  std::size_t answer_bytes = 0;
  when_asked = [&](std::vector<std::byte> question, std::byte*) {
    ask_of_pe_0(question);
    std::vector<std::byte> room(answer_bytes);
    is_answered = answer_here(question.data(), question.size(), room.data(), room.size());
  };
  const int pe = 1;
  const std::uint32_t clock[2] = {};
  const auto use = [](std::size_t, std::uint32_t) {};
  for (const bool is_there : {true, false}) {
    Access access{};
    access.row = static_cast<std::uint8_t>(is_there ? node.strands() - 1 : node.strands());
    answer_bytes = 4 + sizeof(Access);
    (void)node.boards.add(pe, {0, 8}, access, true, clock);
    EXPECT_EQ(is_answered, is_there);
    answer_bytes = 4 + 1024 * 4;
    node.boards.read_clocks(
        {&pe, 1}, {.when = Moment::When::version, .strand = is_there ? access.row : 1u << 30}, use);
    EXPECT_EQ(is_answered, is_there);
  }
}

TEST(Answers, HaveClocksOfStrandsThatThereAre) {
  Node node;
  when_asked = [](std::vector<std::byte>, std::byte* answer) { std::memset(answer, 0xff, 4); };
  std::size_t numbers = 0;
  const int pe = 1;
  node.boards.read_clocks({&pe, 1}, {}, [&](std::size_t, std::uint32_t) { ++numbers; });
  EXPECT_EQ(numbers, node.strands() * kPes * kOrders);
}

TEST(Answers, HaveWritesOfStrandsThatThereAre) {
  Node node;
  Access write{};
  when_asked = [&](std::vector<std::byte>, std::byte* answer) {
    const std::uint32_t one = 1;
    std::memcpy(answer, &one, 4);      // Added has a race,
    std::memcpy(answer + 4, &one, 4);  // SeenThere a write
    std::memcpy(answer + 8, &write, sizeof write);
  };
  for (const bool is_there : {true, false}) {
    write.row = static_cast<std::uint8_t>(is_there ? node.strands() - 1 : node.strands());
    EXPECT_EQ(node.boards.see(1, {0, 8}, 0).writes.size(), is_there ? 1 : 0);
  }
}

// PE 1 uses memory of PE 0, which may be writing its ledger there.
struct Newcomers {
  Node node;
  PeBoard& part = node.boards.of_node().of(0);
  std::vector<std::uint32_t> numbers = std::vector<std::uint32_t>(kPes * kOrders);

  Newcomers() {
    part.ledger = LedgerState::open;
    part.phase = 5;
  }
  void add(const Range& range, bool writes) {
    Access access{};
    access.pe = 1;
    access.writes = writes;
    access.call_number = access.version = 1;
    (void)add_to_part(node.boards.of_node(), 0, range, access, false, Clock(numbers, kPes));
  }
};

TEST(Newcomers, AreTheNewest) {
  Newcomers all;
  for (std::size_t i = 0; i <= PeBoard::kNewcomers; ++i) all.add({i % 512 * 8, 8 - i % 2}, true);
  EXPECT_EQ(all.part.newcomers[0].range.offset, 0u);
  EXPECT_EQ(all.part.newcomers[1].range.offset, 8u);
  EXPECT_EQ(all.part.newcomers[1].range.bytes, 7u);
  all.add({16, 4}, true);
  EXPECT_EQ(all.part.newcomers[1].range.offset, 16u);
}

TEST(Newcomers, LieInMemory) {
  Newcomers all;
  const std::size_t end = all.node.boards.of_node().shadow(0).cells.size() * Cell::kBytes;
  all.add({end - 4, 4096}, true);
  EXPECT_EQ(all.part.newcomers[0].range.bytes, 4u);
  for (const std::size_t offset : {end, SIZE_MAX - 7}) all.add({offset, 8}, true);
  EXPECT_EQ(all.part.n_newcomers, 1u);
}

TEST(Newcomers, DoNotReadAPhaseThatTheyKnow) {
  Newcomers all;
  all.numbers[place_in_clock(kPes, {0, 0}, Order::program)] = 5;
  all.add({0, 8}, false);
  EXPECT_EQ(all.part.n_newcomers, 0u);
  all.add({0, 8}, true);
  EXPECT_EQ(all.part.n_newcomers, 1u);
  EXPECT_EQ(all.part.newcomers[0].known, 5u);
  all.part.phase = 6;
  all.add({0, 8}, false);
  EXPECT_EQ(all.part.n_newcomers, 2u);
}

}  // namespace
}  // namespace meshmem::races
