// SPDX-License-Identifier: Apache-2.0
//
// The text of a card: a version, the build's name, the facts, the host's name, cores and addresses,
// then number and address of each PE.
// Numbers are as the processor has them; a node of another byte order finds another version.
#include "core/node_card.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "base/packed.hpp"
#include "core/agreement.hpp"

namespace meshmem {
namespace {

constexpr std::uint64_t kVersion = 0x3564726163686d;  // "mhcard5"
static_assert(std::has_unique_object_representations_v<NodeFacts>, "no bytes without a meaning");

MachineAddresses machine_in(PackedReader& reader) {
  MachineAddresses machine;
  machine.network = reader.number<std::uint64_t>();
  for (auto n = reader.number(); n > 0 && reader.is_good(); --n)
    machine.all.emplace_back(reader.text(kMostIpBytes));
  return machine;
}

}  // namespace

NodeFacts facts_of_node(const DirectoryEntry* directory, const ArenaLayout& layout) {
  NodeFacts facts{.settings = directory[0].settings,
                  .control_bytes = layout.control_bytes,
                  .static_bytes = layout.static_bytes,
                  .program = directory[0].program,
                  .heap_alignment = directory[0].heap_alignment};
  for (std::size_t i = 0; i < layout.n_pes; ++i) {
    if (directory[i].program != facts.program) facts.program = 0;
    facts.heap_alignment = std::min(facts.heap_alignment, directory[i].heap_alignment);
    facts.is_checked |= directory[i].is_checked ? 1 : 0;
  }
  return facts;
}

void add_facts(NodeFacts& all, const NodeFacts& node) {
  if (node.program != all.program || node.static_bytes != all.static_bytes) all.program = 0;
  all.settings.heap_bytes = std::min(all.settings.heap_bytes, node.settings.heap_bytes);
  all.heap_alignment = std::min(all.heap_alignment, node.heap_alignment);
  all.is_checked |= node.is_checked;
}

std::string pack_card(const NodeCard& card) {
  Packed text;
  text.add(kVersion)
      .add(build_name())
      .add(card.facts)
      .add(std::string_view(card.host).substr(0, kMostHostBytes))
      .add(card.core_set)
      .add(card.n_cores)
      .add(card.machine.network)
      .add(static_cast<std::uint32_t>(card.machine.all.size()));
  for (const std::string& address : card.machine.all) text.add(address);
  text.add(static_cast<std::uint32_t>(card.pes.size()));
  for (std::size_t i = 0; i < card.pes.size(); ++i)
    text.add(static_cast<std::uint32_t>(card.pes[i])).add(card.addresses[i]);
  return text.bytes();
}

std::string build_of_card(std::string_view text) {
  PackedReader reader(text);
  if (reader.number<std::uint64_t>() != kVersion) return {};
  return std::string(reader.text(kMostBuildBytes));
}

std::optional<std::string> unpack_card(std::string_view text, int n_pes, NodeCard& card) {
  PackedReader reader(text);
  if (reader.number<std::uint64_t>() != kVersion || reader.text(kMostBuildBytes) != build_name())
    return "is of another version of meshmem";
  card.facts = reader.number<NodeFacts>();
  card.host = reader.text(kMostHostBytes);
  card.core_set = reader.number<std::uint64_t>();
  card.n_cores = reader.number();
  card.machine = machine_in(reader);
  const auto n = reader.number();
  if (n > static_cast<std::uint32_t>(n_pes))
    return fmt::format("names {} PEs of the job's {}", n, n_pes);
  card.pes.clear();
  card.addresses.clear();
  for (std::uint32_t i = 0; i < n; ++i) {
    const auto pe = reader.number();
    if (!reader.is_good()) break;
    const bool is_next = card.pes.empty() || static_cast<int>(pe) > card.pes.back();
    if (pe >= static_cast<std::uint32_t>(n_pes) || !is_next)
      return fmt::format("names PE {} out of order or out of range", pe);
    card.pes.push_back(static_cast<int>(pe));
    card.addresses.emplace_back(reader.text(kMostWireAddressBytes));
  }
  if (!reader.is_good() || reader.left() != 0 || n == 0)
    return fmt::format("has {} bytes, which is not its length", text.size());
  return std::nullopt;
}

}  // namespace meshmem
