// SPDX-License-Identifier: Apache-2.0
//
// Counts what the PEs of a large job tell each other by their launcher at start-up. The launcher is
// a table here, in place of bootstrap/'s.
// Invariant: of each node the first PE and one more go through start-up as far as the cards are
// read. All others of the node do as the second.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "base/error.hpp"
#include "base/machine/file_handover.hpp"
#include "bootstrap/job.hpp"
#include "core/card_exchange.hpp"

namespace meshmem {
namespace {

struct Told {
  std::map<std::string, std::string> of_node, of_job;  // "<PE> <key>"
  std::map<int, int> meetings_of_node, meetings_of_job;
  int lookups = 0;
};
Told told;
int calling = 0;  // the PE that calls now
Job job;

std::string name_of(int pe, std::string_view key) {
  return std::to_string(pe) + " " + std::string(key);
}

constexpr int kPes = 10'000, kPesOfNode = 64, kNodes = 157;
constexpr std::size_t kAddressBytes = 140;  // as long as UCX makes them

std::vector<int> pes_of(int node) {
  std::vector<int> pes;
  for (int pe = node * kPesOfNode; pe < std::min((node + 1) * kPesOfNode, kPes); ++pe)
    pes.push_back(pe);
  return pes;
}

void start(int node, int index, NodeMemory& memory) {
  const std::vector<int> pes = pes_of(node);
  calling = pes[static_cast<std::size_t>(index)];
  memory.open({.pes = pes,
               .me = calling,
               .exchange = Among::node,
               .has_wire_addresses = true,
               .static_bytes = 4096,
               .heap_bytes = 4096,
               .start_timeout = 0});
  for (int i = 0; i < memory.n() && memory.is_first(); ++i) {
    WireAddress& address = memory.arena().wire_address(i);
    address.size = kAddressBytes;
    std::fill_n(address.bytes, kAddressBytes, 'u');
  }
  exchange_cards(memory, 0);
}

void start_node(int node) {
  NodeMemory first, second;
  start(node, 0, first);
  start(node, 1, second);
  end_offer();
}

}  // namespace

// The launcher.
const Job& connect_to_launcher(double) { return job; }
const Job& joined_job() { return job; }
bool is_child_of_pe() { return false; }
void publish(std::string_view key, std::string_view value, Among who) {
  (who == Among::job ? told.of_job : told.of_node)[name_of(calling, key)] = value;
}
void exchange_published(Among who, double) {
  ++(who == Among::job ? told.meetings_of_job : told.meetings_of_node)[calling];
}
std::string lookup(int pe, std::string_view key) {
  ++told.lookups;
  const std::string name = name_of(pe, key);
  const auto found = told.of_job.find(name);
  return found != told.of_job.end() ? found->second : told.of_node.at(name);
}
void meet_at_start(double) {}
void meet_at_end(double) {}
void abort_job(int status, const char*) { _exit(status); }
void begin_use() {}
void end_use(double) {}
void disconnect_from_launcher() {}

namespace {

// Both PEs of every node reserve addresses for all PEs of the node, and keep them.
class StartMessages : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "ThreadSanitizer leaves too few addresses";
#endif
    told = {};
  }
};

TEST_F(StartMessages, AreOneExchangeWithAnEntryForEachNode) {
  for (int node = 0; node < kNodes; ++node) start_node(node);

  ASSERT_EQ(told.of_job.size(), std::size_t{kNodes});
  std::size_t bytes = 0;
  for (const auto& [name, card] : told.of_job) bytes += card.size();
  EXPECT_LE(bytes, std::size_t{kNodes} * 400 + std::size_t{kPes} * (kAddressBytes + 8));
  for (const auto* meetings : {&told.meetings_of_job, &told.meetings_of_node}) {
    EXPECT_EQ(meetings->size(), std::size_t{2 * kNodes});
    for (const auto& [pe, times] : *meetings) EXPECT_EQ(times, 1) << "of PE " << pe;
  }
  // The build of each of both PEs, and from the first how to get at the memory of the node.
  EXPECT_EQ(told.of_node.size(), std::size_t{2 * kNodes});
}

TEST_F(StartMessages, AreReadOnceByEachPe) {
  for (int node = 0; node < kNodes; ++node) start_node(node);
  NodeMemory memory;
  start(1, 0, memory);
  end_offer();
  Nodes nodes(kPes, calling, 0);
  told.lookups = 0;
  CoreShare share;
  std::vector<MachineAddresses> others;
  read_cards(memory, nodes, share, others);
  EXPECT_EQ(told.lookups, kNodes);
  EXPECT_EQ(nodes.n(), kNodes);
  EXPECT_LE(nodes.bytes(), std::size_t{kNodes} * 300 + std::size_t{kPes} * 8);
  EXPECT_EQ(wire_address_of(nodes, kPes - 1), std::string(kAddressBytes, 'u'));
}

}  // namespace
}  // namespace meshmem
