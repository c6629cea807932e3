// SPDX-License-Identifier: Apache-2.0
//
// Collectives by messages. Words: a *batch* is what one message holds.
// Invariant: exchange() is the only communication.
#include "collectives/by_messages.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "collectives/batches.hpp"
#include "collectives/between_nodes.hpp"
#include "collectives/message.hpp"
#include "memory/argument_checks.hpp"

namespace meshmem::by_messages {
namespace {

// Every PE sends `bytes` bytes of host memory to all. take(pe, data) gets those of every PE in team
// order, this PE's too.
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
  note_all_started(node, sequence);
}

// Every PE sends `bytes` bytes of its source; take(pe, offset, data, length) gets the batches of
// all. If this PE has fewer, own_bytes, the bytes that it sends beyond them mean nothing.
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

// The terms of a reduction, combined one after the other. Elements with a carrier are widened
// before, and rounded once.
class Total {
 public:
  Total(const Reduction& op, std::size_t count)
      : carrier_(op.carrier),
        combined_(as_combined(op)),
        count_(count),
        total_(make_room(bytes())),
        wide_(make_room(carrier_ ? bytes() : 0)) {}

  void add(const std::byte* data) {
    if (carrier_) carrier_->widen(wide_.get(), data, count_);
    const std::byte* const term = carrier_ ? wide_.get() : data;
    if (std::exchange(is_empty_, false)) {
      std::memcpy(total_.get(), term, bytes());
    } else {
      combined_.combine(total_.get(), total_.get(), term, count_);
    }
  }
  // Puts the result of n PEs there: zeros if no term was added.
  void finish(std::byte* result, int n) {
    if (is_empty_) std::memset(total_.get(), 0, bytes());
    meshmem::finish(combined_, total_.get(), count_, n);
    if (carrier_) return carrier_->narrow(result, total_.get(), count_);
    std::memcpy(result, total_.get(), bytes());
  }

 private:
  std::size_t bytes() const { return count_ * combined_.elem_bytes; }
  const Carrier* const carrier_;
  const Reduction combined_;
  const std::size_t count_;
  const Room total_, wide_;
  bool is_empty_ = true;
};

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
  const auto sizes = gather(team, bytes);
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

void alltoall(Team& team, const Collective& call) {
  const auto n = static_cast<std::size_t>(team.n);
  alltoall_in_batches(team, call, std::max(kStageBytes / n, std::size_t{1}),
                      [&](const std::byte* outflow, std::size_t block, const auto& take) {
                        exchange(team, outflow, block * n, [&](int pe, const std::byte* data) {
                          take(pe, data + static_cast<std::size_t>(team.me) * block);
                        });
                      });
}

void reduce(Team& team, const Collective& call) {
  const Reduction& op = *call.op;
  in_batches(team, call, kStageBytes / op.elem_bytes, [&](std::byte* batch, std::size_t n) {
    Total total(op, n);
    exchange(team, batch, n * op.elem_bytes, [&](int, const std::byte* data) { total.add(data); });
    total.finish(batch, team.n);
  });
}

void reduce_scatter(Team& team, const Collective& call) {
  const Reduction& op = *call.op;
  const auto n = static_cast<std::size_t>(team.n);
  scatter_in_batches(team, call, std::max(kStageBytes / op.elem_bytes / n, std::size_t{1}),
                     [&](const std::byte* all, std::byte* result, std::size_t elems) {
                       const std::size_t block = elems * op.elem_bytes;
                       Total total(op, elems);
                       exchange(team, all, block * n, [&](int, const std::byte* data) {
                         total.add(data + static_cast<std::size_t>(team.me) * block);
                       });
                       total.finish(result, team.n);
                     });
}

void scan(Team& team, const Collective& call) {
  const Reduction& op = *call.op;
  const int terms = team.me + (call.kind == CollectiveKind::inscan ? 1 : 0);
  in_batches(team, call, kStageBytes / op.elem_bytes, [&](std::byte* batch, std::size_t n) {
    Total total(op, n);
    exchange(team, batch, n * op.elem_bytes, [&](int pe, const std::byte* data) {
      if (pe < terms) total.add(data);
    });
    total.finish(batch, terms);
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
