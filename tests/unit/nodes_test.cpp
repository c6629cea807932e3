// SPDX-License-Identifier: Apache-2.0
//
// Cards and the table of nodes: what is packed comes out again, what is no card is refused whatever
// its bytes are, and a large job's table stays small.
#include "core/nodes.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <random>
#include <string>

#include "core/agreement.hpp"
#include "core/spread.hpp"

namespace meshmem {
namespace {

NodeCard make_card(const std::vector<int>& pes, const std::string& host) {
  NodeCard card{.pes = pes,
                .addresses = {},
                .host = host,
                .core_set = 42,
                .n_cores = 6,
                .machine = {.network = 9, .all = {"1234", "0123456789abcdef"}},
                .facts = {}};
  for (const int pe : pes) card.addresses.push_back(fmt::format("address of {}", pe));
  card.facts = {.settings = {.heap_bytes = 1u << 20,
                             .heap_size_is_set = 0,
                             .tuning = 3,
                             .shared = {1, 2, 3, 4, 5, 6, 7, 0xfedcba9876543210}},
                .control_bytes = 4096,
                .static_bytes = 8192,
                .program = 77,
                .heap_alignment = 1u << 20,
                .is_checked = 0,
                .secret = {5, 0xffffffffffffffff}};
  return card;
}

std::string refusal(std::string_view text, int n_pes) {
  NodeCard card;
  return unpack_card(text, n_pes, card).value_or("");
}

TEST(NodeCard, ComesOutAsItWasPacked) {
  NodeCard card = make_card({1, 4, 7}, "b.example");
  card.addresses[1] = std::string("\0\xff\n", 3);
  card.addresses[2] = std::string(kMostWireAddressBytes, 'x');
  NodeCard read;
  ASSERT_EQ(unpack_card(pack_card(card), 8, read), std::nullopt);
  EXPECT_EQ(read.pes, card.pes);
  EXPECT_EQ(read.addresses, card.addresses);
  EXPECT_EQ(read.host, "b.example");
  EXPECT_EQ(read.core_set, 42u);
  EXPECT_EQ(read.n_cores, 6u);
  EXPECT_EQ(read.machine.network, 9u);
  EXPECT_EQ(read.machine.all, card.machine.all);
  EXPECT_EQ(read.facts.settings.shared[7], 0xfedcba9876543210);
  EXPECT_EQ(read.facts.secret, card.facts.secret);
  EXPECT_EQ(read.facts.static_bytes, 8192u);
}

TEST(NodeCard, IsRefusedWhereverItIsCutAndWithMoreBehindIt) {
  const std::string text = pack_card(make_card({0, 2}, "a"));
  for (std::size_t length = 0; length < text.size(); ++length)
    EXPECT_NE(refusal(text.substr(0, length), 4), "") << length;
  EXPECT_EQ(refusal(text, 4), "");
  EXPECT_NE(refusal(text + "x", 4), "");
}

TEST(NodeCard, IsRefusedWithPesThatTheJobHasNot) {
  EXPECT_EQ(refusal(pack_card(make_card({0, 4}, "a")), 4),
            "names PE 4 out of order or out of range");
  EXPECT_EQ(refusal(pack_card(make_card({2, 1}, "a")), 4),
            "names PE 1 out of order or out of range");
  EXPECT_EQ(refusal(pack_card(make_card({1, 1}, "a")), 4),
            "names PE 1 out of order or out of range");
  EXPECT_EQ(refusal(pack_card(make_card({0, 1, 2}, "a")), 2), "names 3 PEs of the job's 2");
  EXPECT_NE(refusal(pack_card(make_card({}, "a")), 4), "");
  NodeCard long_address = make_card({0}, "a");
  long_address.addresses[0].assign(kMostWireAddressBytes + 1, 'x');
  EXPECT_NE(refusal(pack_card(long_address), 4), "");
}

TEST(NodeCard, OfAnotherVersionIsToldSo) {
  std::string text = pack_card(make_card({0}, "a"));
  text[0] ^= 1;
  EXPECT_EQ(refusal(text, 1), "is of another version of meshmem");
}

TEST(NodeCard, OfAnotherBuildNamesItsBuild) {
  std::string text = pack_card(make_card({0}, "a"));
  EXPECT_EQ(build_of_card(text), build_name());
  const std::size_t last = text.find(build_name()) + build_name().size() - 1;
  text[last] = text[last] == '0' ? '1' : '0';
  EXPECT_EQ(refusal(text, 1), "is of another version of meshmem");
  std::string other = build_name();
  other.back() = text[last];
  EXPECT_EQ(build_of_card(text), other);
  EXPECT_NE(other_build_line(7, other).find("PE 7 runs build " + other), std::string::npos);
}

TEST(NodeCard, OfABuildThatIsNoNameIsNotPrinted) {
  for (const std::string name : {"", "0.1.0", "\x1b[2J-", "a-\n"}) {
    EXPECT_FALSE(is_build_name(name));
    EXPECT_NE(other_build_line(0, name).find("runs another version"), std::string::npos);
  }
  EXPECT_TRUE(is_build_name(build_name()));
}

TEST(NodeCard, OfAnyBytesIsReadWithoutHarm) {
  const std::string text = pack_card(make_card({0, 1, 3}, "a"));
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string changed = text;
    for (unsigned change = random() % 4 + 1; change > 0; --change)
      changed[8 + random() % (text.size() - 8)] = static_cast<char>(random());
    NodeCard card;
    if (unpack_card(changed, 4, card)) continue;
    EXPECT_EQ(card.pes.size(), card.addresses.size());
    EXPECT_TRUE(std::is_sorted(card.pes.begin(), card.pes.end()));
    EXPECT_LT(card.pes.back(), 4);
  }
}

TEST(Nodes, PlaceEachPeAndNameItsServer) {
  Nodes nodes(6, 4, 1);  // PE 4 is the second of its node
  EXPECT_EQ(nodes.next_pe(), 0);
  ASSERT_EQ(nodes.add(make_card({0, 2, 5}, "a")), std::nullopt);
  EXPECT_EQ(nodes.next_pe(), 1);
  ASSERT_EQ(nodes.add(make_card({1, 4}, "b")), std::nullopt);
  EXPECT_EQ(nodes.next_pe(), 3);
  ASSERT_EQ(nodes.add(make_card({3}, "c")), std::nullopt);
  EXPECT_EQ(nodes.next_pe(), -1);
  EXPECT_EQ(nodes.n(), 3);
  EXPECT_EQ(nodes.mine(), 1);
  EXPECT_TRUE(nodes.is_near(1));
  EXPECT_FALSE(nodes.is_near(5));
  EXPECT_EQ(nodes.node_of(5), 0);
  EXPECT_EQ(nodes.index_of(5), 2);
  EXPECT_EQ(nodes.first_pe_of(2), 3);
  EXPECT_EQ(nodes.server_of(0), 2);
  EXPECT_EQ(nodes.server_of(3), 3);  // the only one there
  EXPECT_EQ(nodes.address_of_server(5), "address of 2");
  EXPECT_EQ(nodes.name_of(5), "PE 5 on host a");
}

TEST(Nodes, RefuseCardsOfOthers) {
  Nodes nodes(4, 0, 0);
  EXPECT_EQ(nodes.add(make_card({1, 2}, "a")), "is not that of the node's first PE");
  ASSERT_EQ(nodes.add(make_card({0, 2}, "a")), std::nullopt);
  EXPECT_EQ(nodes.add(make_card({1, 2}, "b")), "names PE 2, which is on another node");
  EXPECT_EQ(nodes.next_pe(), 1);
}

TEST(Nodes, OfOneTakeNoMemory) {
  const Nodes nodes;
  EXPECT_LT(nodes.bytes(), sizeof(std::string));  // what is in a string itself
  EXPECT_FALSE(nodes.has_several());
  EXPECT_TRUE(nodes.is_near(3));
  EXPECT_EQ(nodes.node_of(3), 0);
}

// The memory that a large job's PE keeps, with addresses as long as UCX makes them.
TEST(Nodes, OfALargeJobTakeFewBytes) {
  constexpr int kPes = 10'000, kPesOfNode = 64;
  Nodes nodes(kPes, 130, 2);
  while (nodes.next_pe() >= 0) {
    std::vector<int> pes;
    for (int pe = nodes.next_pe(); pe < std::min(nodes.next_pe() + kPesOfNode, kPes); ++pe)
      pes.push_back(pe);
    NodeCard card = make_card(pes, fmt::format("node{:04}.cluster.example", nodes.n()));
    for (std::string& address : card.addresses) address.assign(140, 'u');
    NodeCard read;
    ASSERT_EQ(unpack_card(pack_card(card), kPes, read), std::nullopt);
    ASSERT_EQ(nodes.add(read), std::nullopt);
  }
  ASSERT_EQ(nodes.n(), 157);
  EXPECT_LE(nodes.bytes(), std::size_t{157} * 300 + std::size_t{kPes} * 8);
  EXPECT_EQ(nodes.server_of(9'999), 9'986);
}

int fewest_cores(const std::vector<std::array<int, 3>>& nodes) {  // name, cores, PEs
  FewestCores fewest;
  for (const auto& [name, cores, pes] : nodes)
    fewest.add(static_cast<std::uint64_t>(name), cores, pes);
  return fewest.count();
}

TEST(FewestCores, CountWhereThereAreMorePes) {
  constexpr int kEnough = std::numeric_limits<int>::max();
  EXPECT_EQ(fewest_cores({{1, 4, 4}, {2, 2, 2}}), kEnough);
  EXPECT_EQ(fewest_cores({{1, 8, 9}, {2, 4, 4}}), 8);
  EXPECT_EQ(fewest_cores({{1, 8, 9}, {2, 4, 5}}), 4);
  EXPECT_EQ(fewest_cores({{1, 8, 5}, {1, 8, 4}}), 4);  // two nodes on one machine
  EXPECT_EQ(fewest_cores({{1, 2, 2}, {1, 2, 2}, {1, 2, 1}}), 1);
  EXPECT_EQ(fewest_cores({{0, 2, 2}, {0, 2, 2}}), kEnough);  // nobody knows that they are one
  EXPECT_EQ(fewest_cores({{0, 0, 2}}), kEnough);
}

TEST(NodeFacts, AreWhatAllNodesHave) {
  NodeFacts all = make_card({0}, "a").facts;
  NodeFacts other = all;
  other.settings.heap_bytes = 1u << 19;
  other.heap_alignment = 4096;
  other.is_checked = 1;
  add_facts(all, other);
  EXPECT_EQ(all.heap_bytes(), 1u << 19);
  EXPECT_EQ(all.heap_alignment, 4096u);
  EXPECT_EQ(all.is_checked, 1u);
  EXPECT_EQ(all.program, 77u);
  other.program = 78;
  add_facts(all, other);
  EXPECT_EQ(all.program, 0u);
}

TEST(Settings, OfDifferentHeapsAreRefusedOnlyIfOneIsAskedFor) {
  Settings first{.heap_bytes = 100, .heap_size_is_set = 0, .tuning = 1, .shared = {2}};
  Settings other = first;
  other.heap_bytes = 200;
  EXPECT_EQ(difference_of(other, first, "PE 0 on host a"), std::nullopt);
  other.heap_size_is_set = 1;
  EXPECT_EQ(difference_of(other, first, "PE 0 on host a"),
            "SHMEM_SYMMETRIC_SIZE makes the heap 200 bytes here but 100 bytes in PE 0 on host a");
  other = first;
  other.shared[6] = 1;
  EXPECT_EQ(difference_of(other, first, "PE 0"),
            "MESHMEM_CHECK has another value here than in PE 0");
}

}  // namespace
}  // namespace meshmem
