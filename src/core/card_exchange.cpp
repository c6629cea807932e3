// SPDX-License-Identifier: Apache-2.0
//
// Publishing and reading cards. Invariant: who finds a card that it cannot use says whose it is and
// ends the job. Cards are not kept: what is needed later again is asked for again.
#include "core/card_exchange.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "bootstrap/job.hpp"
#include "core/same_settings.hpp"

namespace meshmem {
namespace {

constexpr const char* kCardKey = "meshmem.node";

NodeCard card_of(const Nodes& nodes, int first_pe) {
  NodeCard card;
  if (const auto error = unpack_card(lookup(first_pe, kCardKey), nodes.n_pes(), card))
    fatal("the start-up data of PE {}'s node {}; start the same meshmem on all machines", first_pe,
          *error);
  return card;
}

}  // namespace

NodeFacts exchange_cards(NodeCard card, bool is_first, Nodes& nodes, double start_timeout) {
  if (card.pes.front() == 0)
    check(getrandom(card.facts.token.data(), sizeof card.facts.token, 0), "get random bits");
  if (is_first) publish(kCardKey, pack_card(card), Among::job);
  exchange_published(Among::job, start_timeout);
  std::optional<NodeFacts> all;
  Settings first;
  while (nodes.next_pe() >= 0) {
    const int first_pe = nodes.next_pe();
    const NodeCard read = card_of(nodes, first_pe);
    if (const auto error = nodes.add(read))
      fatal("the start-up data of PE {}'s node {}; the launcher tells the PEs apart wrongly",
            first_pe, *error);
    if (!all) {
      all = read.facts;
      first = read.facts.settings;
    }
    require_same_settings(read.facts.settings, first, nodes.name_of(0),
                          is_first && first_pe == card.pes.front());
    if (read.facts.control_bytes != all->control_bytes)
      fatal("{} runs another build of meshmem; start the same on all machines",
            nodes.name_of(first_pe));
    add_facts(*all, read.facts);
  }
  return *all;
}

std::string wire_address_of(const Nodes& nodes, int pe) {
  if (nodes.server_of(pe) == pe) return std::string(nodes.address_of_server(pe));
  const NodeCard card = card_of(nodes, nodes.first_pe_of(nodes.node_of(pe)));
  return card.addresses[static_cast<std::size_t>(nodes.index_of(pe))];
}

}  // namespace meshmem
