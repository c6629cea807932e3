// SPDX-License-Identifier: Apache-2.0
//
// Collectives by messages. Words: a *batch* is what one message holds.
// Invariant: exchange() is the only communication.
#include "collectives/by_messages.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "collectives/between_nodes.hpp"
#include "collectives/message.hpp"
#include "memory/argument_checks.hpp"
#include "one_sided/one_sided.hpp"

namespace meshmem::by_messages {
namespace {

// Every PE shows `bytes` bytes of host memory and takes those of every PE in team order, itself
// too.
template <typename Take>
void exchange(Team& team, const void* mine, std::size_t bytes, const Take& take) {
  if (!team.is_on_one_node()) {
    std::vector<std::byte> all(static_cast<std::size_t>(team.n) * bytes);
    between_nodes::gather(team, all.data(), mine, bytes);
    for (int pe = 0; pe < team.n; ++pe) take(pe, all.data() + static_cast<std::size_t>(pe) * bytes);
    return;
  }
  NodeTeam& node = team.node;
  const std::uint64_t sequence = begin_operation(node);
  post_message(node, sequence, mine, bytes);
  MessageRoom room;
  for (int pe = 0; pe < node.n; ++pe) take(pe, await_message(node, sequence, bytes, pe, room));
  all_have_started(node, sequence);
}

std::byte* at(void* base, std::size_t offset) { return static_cast<std::byte*>(base) + offset; }
const std::byte* at(const void* base, std::size_t offset) {
  return static_cast<const std::byte*>(base) + offset;
}

// Every PE shows `bytes` bytes of its source; take(pe, offset, data, length) gets the batches of
// all. Data beyond own_bytes is sent as it is.
template <typename Take>
void exchange_in_batches(Team& team, const void* source, std::size_t own_bytes, std::size_t bytes,
                         const Take& take) {
  std::vector<std::byte> batch(std::min(bytes, kStageBytes));
  for (std::size_t offset = 0; offset < bytes; offset += batch.size()) {
    const std::size_t length = std::min(batch.size(), bytes - offset);
    if (offset < own_bytes) {
      copy_local(team.routine(), batch.data(), at(source, offset),
                 std::min(length, own_bytes - offset));
    }
    exchange(team, batch.data(), length,
             [&](int pe, const std::byte* data) { take(pe, offset, data, length); });
  }
}

// total = data for the first term, total op data for the others.
void add_term(const Reduction& op, std::byte* total, const std::byte* data, std::size_t count,
              bool is_first) {
  if (is_first) {
    std::memcpy(total, data, count * op.elem_bytes);
  } else {
    op.combine(total, total, data, count);
  }
}

// Runs `combine` on batches in host memory.
template <typename Combine>
void in_batches(Team& team, const Collective& call, const Combine& combine) {
  const std::size_t most = kStageBytes / call.elem_bytes;
  std::vector<std::byte> batch(std::min(most, call.count) * call.elem_bytes);
  for (std::size_t done = 0; done < call.count; done += most) {
    const std::size_t n = std::min(most, call.count - done);
    const std::size_t offset = done * call.elem_bytes, bytes = n * call.elem_bytes;
    copy_local(team.routine(), batch.data(), at(call.source, offset), bytes);
    combine(batch.data(), n);
    copy_local(team.routine(), at(call.dest, offset), batch.data(), bytes);
  }
}

}  // namespace

void gather(Team& team, void* all, const void* mine, std::size_t bytes) {
  exchange(team, mine, bytes, [&](int pe, const std::byte* data) {
    std::memcpy(at(all, static_cast<std::size_t>(pe) * bytes), data, bytes);
  });
}

namespace {

void broadcast(Team& team, const Collective& call) {
  const bool is_root = team.me == call.root;
  void* const dest = call.dest_of_broadcast(team.me);
  const bool in_place = is_root && dest == call.source;
  exchange_in_batches(team, call.source, is_root ? call.bytes() : 0, call.bytes(),
                      [&](int pe, std::size_t offset, const std::byte* data, std::size_t length) {
                        if (pe == call.root && !in_place)
                          copy_local(team.routine(), at(dest, offset), data, length);
                      });
}

void fcollect(Team& team, const Collective& call) {
  const std::size_t bytes = call.bytes();
  exchange_in_batches(team, call.source, bytes, bytes,
                      [&](int pe, std::size_t offset, const std::byte* data, std::size_t length) {
                        const std::size_t begin = static_cast<std::size_t>(pe) * bytes + offset;
                        copy_local(team.routine(), at(call.dest, begin), data, length);
                      });
}

void collect(Team& team, const Collective& call) {
  const std::size_t bytes = call.bytes();
  std::vector<std::size_t> sizes(static_cast<std::size_t>(team.n));
  gather(team, sizes.data(), &bytes, sizeof bytes);
  std::vector<std::size_t> begins;
  std::size_t total = 0;
  for (const std::size_t size : sizes) begins.push_back(std::exchange(total, total + size));
  check_room(team.routine(), "dest", call.dest, total);
  exchange_in_batches(team, call.source, bytes, *std::max_element(sizes.begin(), sizes.end()),
                      [&](int pe, std::size_t offset, const std::byte* data, std::size_t length) {
                        const std::size_t size = sizes[static_cast<std::size_t>(pe)];
                        if (offset >= size) return;
                        copy_local(team.routine(),
                                   at(call.dest, begins[static_cast<std::size_t>(pe)] + offset),
                                   data, std::min(length, size - offset));
                      });
}

// `count` elements at a stride on each side, in elements.
void copy_elements(const Team& team, void* to, std::ptrdiff_t to_stride, const void* from,
                   std::ptrdiff_t from_stride, std::size_t elem_bytes, std::size_t count) {
  if (to_stride == 1 && from_stride == 1)
    return copy_local(team.routine(), to, from, elem_bytes * count);
  const auto elem = static_cast<std::ptrdiff_t>(elem_bytes);
  copy_local_blocks(team.routine(), to, from,
                    {elem_bytes, count, to_stride * elem, from_stride * elem});
}

// A batch holds the same elements of the blocks for all PEs.
void alltoall(Team& team, const Collective& call) {
  const auto n = static_cast<std::size_t>(team.n);
  const auto elem = static_cast<std::ptrdiff_t>(call.elem_bytes);
  const std::size_t most = std::max(kStageBytes / call.elem_bytes / n, std::size_t{1});
  std::vector<std::byte> batch(std::min(most, call.count) * n * call.elem_bytes);
  const auto offset_of = [&](std::size_t block, std::size_t element, std::ptrdiff_t stride) {
    return static_cast<std::ptrdiff_t>(block * call.count + element) * stride * elem;
  };
  for (std::size_t done = 0; done < call.count; done += most) {
    const std::size_t count = std::min(most, call.count - done);
    const std::size_t block_bytes = count * call.elem_bytes;
    for (std::size_t block = 0; block < n; ++block) {
      copy_elements(
          team, batch.data() + block * block_bytes, 1,
          static_cast<const std::byte*>(call.source) + offset_of(block, done, call.source_stride),
          call.source_stride, call.elem_bytes, count);
    }
    exchange(team, batch.data(), block_bytes * n, [&](int pe, const std::byte* data) {
      copy_elements(team,
                    static_cast<std::byte*>(call.dest) +
                        offset_of(static_cast<std::size_t>(pe), done, call.dest_stride),
                    call.dest_stride, data + static_cast<std::size_t>(team.me) * block_bytes, 1,
                    call.elem_bytes, count);
    });
  }
}

void reduce(Team& team, const Collective& call) {
  const Reduction& op = *call.op;
  in_batches(team, call, [&](std::byte* batch, std::size_t n) {
    std::vector<std::byte> total(n * op.elem_bytes);
    exchange(team, batch, total.size(),
             [&](int pe, const std::byte* data) { add_term(op, total.data(), data, n, pe == 0); });
    finish(op, total.data(), n, team.n);
    std::memcpy(batch, total.data(), total.size());
  });
}

// A batch holds the same elements of the blocks for all PEs.
void reduce_scatter(Team& team, const Collective& call) {
  const Reduction& op = *call.op;
  const auto n = static_cast<std::size_t>(team.n);
  const std::size_t most = std::max(kStageBytes / op.elem_bytes / n, std::size_t{1});
  std::vector<std::byte> batch(std::min(most, call.count) * n * op.elem_bytes);
  std::vector<std::byte> result(std::min(most, call.count) * op.elem_bytes);
  for (std::size_t done = 0; done < call.count; done += most) {
    const std::size_t elems = std::min(most, call.count - done);
    const std::size_t block_bytes = elems * op.elem_bytes;
    for (std::size_t block = 0; block < n; ++block) {
      copy_local(team.routine(), batch.data() + block * block_bytes,
                 at(call.source, (block * call.count + done) * op.elem_bytes), block_bytes);
    }
    exchange(team, batch.data(), block_bytes * n, [&](int pe, const std::byte* data) {
      const std::byte* mine = data + static_cast<std::size_t>(team.me) * block_bytes;
      add_term(op, result.data(), mine, elems, pe == 0);
    });
    finish(op, result.data(), elems, team.n);
    copy_local(team.routine(), at(call.dest, done * op.elem_bytes), result.data(), block_bytes);
  }
}

void scan(Team& team, const Collective& call) {
  const Reduction& op = *call.op;
  const int terms = team.me + (call.kind == CollectiveKind::inscan ? 1 : 0);
  in_batches(team, call, [&](std::byte* batch, std::size_t n) {
    std::vector<std::byte> total(n * op.elem_bytes);
    exchange(team, batch, total.size(), [&](int pe, const std::byte* data) {
      if (pe < terms) add_term(op, total.data(), data, n, pe == 0);
    });
    std::memcpy(batch, total.data(), total.size());
  });
}

}  // namespace

void run(Team& team, const Collective& call) {
  switch (call.kind) {
    case CollectiveKind::broadcast:
      return broadcast(team, call);
    case CollectiveKind::collect:
      return collect(team, call);
    case CollectiveKind::fcollect:
      return fcollect(team, call);
    case CollectiveKind::alltoall:
    case CollectiveKind::alltoalls:
      return alltoall(team, call);
    case CollectiveKind::reduce:
      return reduce(team, call);
    case CollectiveKind::reduce_scatter:
      return reduce_scatter(team, call);
    case CollectiveKind::inscan:
    case CollectiveKind::exscan:
      return scan(team, call);
    case CollectiveKind::sync:
    case CollectiveKind::alltoallv:
      break;
  }
  __builtin_unreachable();
}

}  // namespace meshmem::by_messages
