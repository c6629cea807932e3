// SPDX-License-Identifier: Apache-2.0
//
// fcollect and collect between nodes: small blocks through the leaders, which exchange packs, and
// large ones in host memory straight from each PE. Words: a *pack* is the blocks of a node's
// members, one behind another.
// Invariant: a PE's dest is written by that PE alone.
#include "collectives/between_nodes.hpp"
#include "collectives/between_nodes/algorithms.hpp"
#include "collectives/between_nodes/choice.hpp"
#include "collectives/between_nodes/through_leader.hpp"
#include "memory/argument_checks.hpp"
#include "one_sided/one_sided.hpp"

namespace meshmem::between_nodes {
namespace {

void unpack(const Team::Node& node, const Layout& layout, std::byte* all, const std::byte* blocks) {
  for (const int pe : node.members) {
    std::copy_n(blocks, layout.size(pe), all + layout.begin(pe));
    blocks += layout.size(pe);
  }
}

// Each leader sends its pack to all others.
void exchange_flat(const Team& team, const Operation& operation, const Layout& layout,
                   std::byte* all) {
  const Room room = make_room(layout.total());
  const Team::Node& here = my_node(team);
  pack(here, layout, room.get(), all);
  for_other_nodes(team, [&](int node) {
    operation.send(node_at(team, node).leader(), room.get(), layout.total_of(here));
  });
  for_other_nodes(team, [&](int number) {
    const Team::Node& node = node_at(team, number);
    operation.receive(node.leader(), {room.get(), layout.total_of(node)});
    unpack(node, layout, all, room.get());
  });
}

// After round k a leader has the packs of its own node and of the 2^k - 1 nodes before it, in this
// order. In the next round it sends them to the node 2^k places after its own (Bruck and others
// 1997).
void exchange_by_doubling(const Team& team, const Operation& operation, const Layout& layout,
                          std::byte* all) {
  const int n = count_nodes(team);
  const Room packs = make_room(layout.total());
  // The bytes of the first `count` packs of the node that is `back` places before this one.
  const auto bytes_of_packs = [&](int back, int count) {
    std::size_t bytes = 0;
    for (int i = 0; i < count; ++i)
      bytes += layout.total_of(node_at(team, (team.my_node - back - i + 2 * n) % n));
    return bytes;
  };
  pack(my_node(team), layout, packs.get(), all);
  std::size_t have_bytes = bytes_of_packs(0, 1);
  for (int have = 1; have < n; have *= 2) {
    const int more = std::min(have, n - have);
    operation.send(node_at(team, node_after(team, have)).leader(), packs.get(),
                   bytes_of_packs(0, more), have);
    const std::size_t bytes = bytes_of_packs(have, more);
    operation.receive(node_at(team, node_after(team, -have)).leader(),
                      {packs.get() + have_bytes, bytes}, have);
    have_bytes += bytes;
  }
  const std::byte* next = packs.get() + bytes_of_packs(0, 1);
  for (int back = 1; back < n; ++back) {
    const Team::Node& node = node_at(team, node_after(team, -back));
    unpack(node, layout, all, next);
    next += layout.total_of(node);
  }
}

// Gathers blocks in host memory, of at most kStageBytes in all.
void gather_batch(Team& team, const Layout& layout, std::byte* all, const std::byte* mine) {
  const Operation operation(team);
  ThroughLeader node(team.node);
  if (!team.is_leader()) {
    node.bring(mine, layout.size(team.me));
    return node.take(all, layout.total());
  }
  std::copy_n(mine, layout.size(team.me), all + layout.begin(team.me));
  const Team::Node& here = my_node(team);
  for (int i = 1; i < team.node.n; ++i) {
    const int pe = member(here, i);
    std::copy_n(node.brought_by(i, layout.size(pe)), layout.size(pe), all + layout.begin(pe));
  }
  if (count_nodes(team) <= kMostFlatNodes) {
    exchange_flat(team, operation, layout, all);
  } else {
    exchange_by_doubling(team, operation, layout, all);
  }
  node.hand_out(all, layout.total());
}

// Gathers blocks in any memory.
void gather_in_batches(Team& team, const Layout& layout, void* dest, const void* source) {
  const auto n = static_cast<std::size_t>(team.n);
  const std::size_t most = std::max<std::size_t>(kStageBytes / n, 1);
  const Room all = make_room(std::min(most * n, layout.total()));
  const Room mine = make_room(most);
  std::vector<std::size_t> lengths(n);
  for (std::size_t offset = 0; offset < layout.largest(); offset += most) {
    for (int pe = 0; pe < team.n; ++pe)
      lengths[static_cast<std::size_t>(pe)] = layout.length(pe, offset, most);
    const Layout batch(lengths);
    copy_local(team.routine(), mine.get(), at(source, offset), batch.size(team.me));
    gather_batch(team, batch, all.get(), mine.get());
    for (int pe = 0; pe < team.n; ++pe) {
      copy_local(team.routine(), at(dest, layout.begin(pe) + offset), all.get() + batch.begin(pe),
                 batch.size(pe));
    }
  }
}

// `on_host`: dest and the sources of all PEs are in host memory.
void gather_blocks(Team& team, const Layout& layout, void* dest, const void* source, bool on_host) {
  if (layout.total() == 0) return;
  if (on_host && layout.total() <= kGatherThroughLeaders) {
    return gather_batch(team, layout, static_cast<std::byte*>(dest),
                        static_cast<const std::byte*>(source));
  }
  if (on_host && layout.largest() > kGatherBlock) return gather_direct(team, layout, dest, source);
  if (!on_host && suits_puts(team, dest, layout.total(), layout.largest()))
    return gather_by_puts(team, layout, dest, source);
  gather_in_batches(team, layout, dest, source);
}

}  // namespace

void gather(Team& team, std::byte* all, const void* mine, std::size_t bytes) {
  const Layout layout(team.n, bytes);
  if (layout.total() <= kStageBytes)
    return gather_batch(team, layout, all, static_cast<const std::byte*>(mine));
  gather_in_batches(team, layout, all, mine);
}

void fcollect(Team& team, const Collective& call) {
  gather_blocks(team, Layout(team.n, call.bytes()), call.dest, call.source,
                are_in_host_memory(call.dest, call.source));
}

// PEs may have different sources, and a PE that brings nothing may have none. So each sends, with
// its length, whether its source is in host memory.
void collect(Team& team, const Collective& call) {
  constexpr std::size_t kNotInHostMemory = ~(~std::size_t{0} >> 1);
  const std::size_t bytes = call.bytes();
  const bool in_host_memory = bytes == 0 || !is_on_device(call.source);
  const std::size_t mine = in_host_memory ? bytes : bytes | kNotInHostMemory;
  std::vector<std::size_t> sizes(static_cast<std::size_t>(team.n));
  gather(team, reinterpret_cast<std::byte*>(sizes.data()), &mine, sizeof mine);
  bool on_host = !is_on_device(call.dest);
  for (std::size_t& size : sizes) {
    on_host = on_host && (size & kNotInHostMemory) == 0;
    size &= ~kNotInHostMemory;
  }
  const Layout layout(sizes);
  check_room(team.routine(), "dest", call.dest, layout.total());
  const void* const source = bytes > 0 ? call.source : call.dest;  // not NULL
  gather_blocks(team, layout, call.dest, source, on_host);
}

}  // namespace meshmem::between_nodes
