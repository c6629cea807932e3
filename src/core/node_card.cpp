// SPDX-License-Identifier: Apache-2.0
//
// The text of a card: a version, the build's name, the facts, the host's name, cores and addresses,
// then number and address of each PE.
// Numbers are as the processor has them; a node of another byte order finds another version.
#include "core/node_card.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/agreement.hpp"

namespace meshmem {
namespace {

constexpr std::uint64_t kVersion = 0x3464726163686d;  // "mhcard4"
static_assert(std::is_trivially_copyable_v<NodeFacts>);
static_assert(std::has_unique_object_representations_v<NodeFacts>, "no bytes without a meaning");

template <typename Number>
void write(std::string& text, const Number& number) {
  text.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void write_text(std::string& text, std::string_view part) {
  write(text, static_cast<std::uint16_t>(part.size()));
  text.append(part);
}

// Takes fields off the beginning of a text. is_good() is false once a field was missing or too
// long.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  template <typename Number>
  Number number() {
    Number number{};
    const std::string_view bytes = take(sizeof number);
    if (is_good_) std::memcpy(&number, bytes.data(), sizeof number);
    return number;
  }
  std::string text(std::size_t most) {
    const auto bytes = number<std::uint16_t>();
    if (bytes > most) is_good_ = false;
    return std::string(take(bytes));
  }
  bool is_good() const { return is_good_; }
  std::size_t left() const { return rest_.size(); }

 private:
  std::string_view take(std::size_t bytes) {
    if (bytes > rest_.size()) is_good_ = false;
    if (!is_good_) return {};
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }
  std::string_view rest_;
  bool is_good_ = true;
};

MachineAddresses machine_in(Reader& reader) {
  MachineAddresses machine;
  machine.network = reader.number<std::uint64_t>();
  for (auto n = reader.number<std::uint16_t>(); n > 0 && reader.is_good(); --n)
    machine.all.push_back(reader.text(kMostIpBytes));
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
  std::string text;
  write(text, kVersion);
  write_text(text, build_name());
  write(text, card.facts);
  write_text(text, std::string_view(card.host).substr(0, kMostHostBytes));
  write(text, card.core_set);
  write(text, card.n_cores);
  write(text, card.machine.network);
  write(text, static_cast<std::uint16_t>(card.machine.all.size()));
  for (const std::string& address : card.machine.all) write_text(text, address);
  write(text, static_cast<std::uint32_t>(card.pes.size()));
  for (std::size_t i = 0; i < card.pes.size(); ++i) {
    write(text, static_cast<std::uint32_t>(card.pes[i]));
    write_text(text, card.addresses[i]);
  }
  return text;
}

std::string build_of_card(std::string_view text) {
  Reader reader(text);
  if (reader.number<std::uint64_t>() != kVersion) return {};
  return reader.text(kMostBuildBytes);
}

std::optional<std::string> unpack_card(std::string_view text, int n_pes, NodeCard& card) {
  Reader reader(text);
  if (reader.number<std::uint64_t>() != kVersion || reader.text(kMostBuildBytes) != build_name())
    return "is of another version of meshmem";
  card.facts = reader.number<NodeFacts>();
  card.host = reader.text(kMostHostBytes);
  card.core_set = reader.number<std::uint64_t>();
  card.n_cores = reader.number<std::uint32_t>();
  card.machine = machine_in(reader);
  const auto n = reader.number<std::uint32_t>();
  if (n > static_cast<std::uint32_t>(n_pes))
    return fmt::format("names {} PEs of the job's {}", n, n_pes);
  card.pes.clear();
  card.addresses.clear();
  for (std::uint32_t i = 0; i < n; ++i) {
    const auto pe = reader.number<std::uint32_t>();
    if (!reader.is_good()) break;
    const bool is_next = card.pes.empty() || static_cast<int>(pe) > card.pes.back();
    if (pe >= static_cast<std::uint32_t>(n_pes) || !is_next)
      return fmt::format("names PE {} out of order or out of range", pe);
    card.pes.push_back(static_cast<int>(pe));
    card.addresses.push_back(reader.text(kMostWireAddressBytes));
  }
  if (!reader.is_good() || reader.left() != 0 || n == 0)
    return fmt::format("has {} bytes, which is not its length", text.size());
  return std::nullopt;
}

}  // namespace meshmem
