// SPDX-License-Identifier: Apache-2.0
//
// Publishing and reading cards. Invariant: a PE that finds a card that it cannot use says whose it
// is and ends the job. Cards are not kept: a PE that needs one again looks it up again.
#include "core/card_exchange.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <optional>

#include "base/error.hpp"
#include "base/machine/machine.hpp"
#include "bootstrap/job.hpp"
#include "core/agreement.hpp"

namespace meshmem {
namespace {

constexpr const char* kCardKey = "meshmem.node";

// Returns the card that the PE `first_pe` has published. Ends the job if another build made it;
// `speaks`: this PE prints that at once, while others leave it time to do so.
NodeCard card_of(const Nodes& nodes, int first_pe, bool speaks = true) {
  NodeCard card;
  const std::string text = lookup(first_pe, kCardKey);
  if (const std::string build = build_of_card(text); build != build_name()) {
    if (!speaks) wait_for_others_to_report();
    fatal_message(other_build_line(first_pe, build));
  }
  if (const auto error = unpack_card(text, nodes.n_pes(), card))
    fatal("the start-up data of PE {}'s node {}; start the same meshmem on all machines", first_pe,
          *error);
  return card;
}

void publish_card(const NodeMemory& memory) {
  NodeCard card{.pes = memory.pes(),
                .addresses = {},
                .host = host_name(),
                .core_set = name_of_cores(memory.directory(), memory.n()),
                .n_cores = static_cast<std::uint32_t>(count_cores(memory.directory(), memory.n())),
                .machine = own_addresses(),
                .facts = facts_of_node(memory.directory(), memory.layout())};
  for (int index = 0; index < memory.n(); ++index) {
    const WireAddress& address = memory.arena().wire_address(index);
    card.addresses.emplace_back(address.bytes, address.size);
  }
  if (card.pes.front() == 0)
    check(getrandom(card.facts.secret.data(), sizeof card.facts.secret, 0), "get random bits");
  publish(kCardKey, pack_card(card), Among::job);
}

}  // namespace

void exchange_cards(const NodeMemory& memory, double start_timeout) {
  if (memory.is_first()) publish_card(memory);
  exchange_published(Among::job, start_timeout);
}

NodeFacts read_cards(const NodeMemory& memory, Nodes& nodes, CoreShare& share,
                     std::vector<MachineAddresses>& others) {
  std::optional<NodeFacts> all;
  Settings first;
  const std::uint64_t core_set = name_of_cores(memory.directory(), memory.n());
  share = {.nodes = 0, .index = 0, .pes = 0, .pes_before = 0};
  FewestCores fewest_cores;
  while (nodes.next_pe() >= 0) {
    const int first_pe = nodes.next_pe();
    const bool is_me = memory.is_first() && memory.pes().front() == first_pe;
    // A PE of another build than the first node's finds that out from the first card.
    const NodeCard card = card_of(nodes, first_pe, memory.is_first() && !all);
    if (const auto error = nodes.add(card))
      fatal("the start-up data of PE {}'s node {}; the launcher confuses the PEs", first_pe,
            *error);
    fewest_cores.add(card.core_set, static_cast<int>(card.n_cores),
                     static_cast<int>(card.pes.size()));
    const bool is_mine = first_pe == memory.pes().front();  // nodes is not filled yet
    if (!is_mine) others.push_back(card.machine);
    if (is_mine || (core_set != 0 && card.core_set == core_set)) {
      if (is_mine) {
        share.index = share.nodes;
        share.pes_before = share.pes;
      }
      ++share.nodes;
      share.pes += static_cast<int>(card.pes.size());
    }
    if (!all) {
      all = card.facts;
      first = card.facts.settings;
    }
    require_same_settings(card.facts.settings, first, nodes.name_of(0), is_me);
    add_facts(*all, card.facts);
  }
  share.fewest_cores = fewest_cores.count();
  return *all;
}

std::string wire_address_of(const Nodes& nodes, int pe) {
  if (nodes.server_of(pe) == pe) return std::string(nodes.address_of_server(pe));
  const NodeCard card = card_of(nodes, nodes.first_pe_of(nodes.node_of(pe)));
  return card.addresses[static_cast<std::size_t>(nodes.index_of(pe))];
}

}  // namespace meshmem
