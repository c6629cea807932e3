// SPDX-License-Identifier: Apache-2.0
//
// Exchange of large blocks, chunk by chunk of each.
// Invariant: nobody begins a chunk before it has received the one before from all who send to it,
// so no more than two chunks of a block lie unread anywhere.
#include "collectives/between_nodes/alltoall_direct.hpp"

#include "collectives/between_nodes/choice.hpp"
#include "collectives/between_nodes/operation.hpp"
#include "collectives/between_nodes/partners.hpp"
#include "collectives/team_steps.hpp"
#include "memory/copy.hpp"

namespace meshmem::between_nodes {
namespace {

// Elements of a buffer at a stride, in elements.
struct Strided {
  std::byte* begin;
  std::ptrdiff_t stride;
};

void copy_elements(const Strided& dest, const Strided& source, std::size_t elem_bytes,
                   std::size_t count) {
  if (dest.stride == 1 && source.stride == 1)
    return copy_buffer(dest.begin, source.begin, count * elem_bytes);
  const auto unit = static_cast<std::ptrdiff_t>(elem_bytes);
  for (std::size_t i = 0; i < count; ++i) {
    const auto index = static_cast<std::ptrdiff_t>(i);
    std::memcpy(dest.begin + index * dest.stride * unit,
                source.begin + index * source.stride * unit, elem_bytes);
  }
}

class Exchange {
 public:
  Exchange(Team& team, void* dest, const void* source, const AlltoallShape& shape)
      : team_(team),
        operation_(team),
        dest_{static_cast<std::byte*>(dest), shape.dest_stride},
        source_{static_cast<std::byte*>(const_cast<void*>(source)), shape.source_stride},
        shape_(shape),
        most_(std::max<std::size_t>(1, kMoveChunk / shape.elem_bytes)),
        room_(make_room(std::min(most_, shape.count) * shape.elem_bytes)) {}

  void run() {
    NodeTeam& node = team_.node;
    const std::uint64_t sequence = begin_operation(node);
    announce(node, sequence);  // this PE's source is ready, and its dest may be written
    await_all_announced(node, sequence);
    const int chunks = static_cast<int>((shape_.count + most_ - 1) / most_);
    expect(0);
    for (int chunk = 0; chunk < chunks; ++chunk) {
      if (chunk + 1 < chunks) expect(chunk + 1);
      for_other_nodes(team_, [&](int there) { send(there, chunk); });
      if (chunk == 0) copy_near();
      receive(chunk);
    }
    finish_together(node, sequence);
  }

 private:
  std::size_t length(int chunk) const {
    return std::min(most_, shape_.count - static_cast<std::size_t>(chunk) * most_);
  }
  // A chunk of the block of PE `block`, in a member's copy of a buffer.
  Strided part(const Strided& buffer, int block, int chunk, int index) const {
    return elements(buffer, block, static_cast<std::size_t>(chunk) * most_, length(chunk), index);
  }
  Strided elements(const Strided& buffer, int block, std::size_t first, std::size_t count,
                   int index) const {
    const auto elem =
        static_cast<std::ptrdiff_t>(static_cast<std::size_t>(block) * shape_.count + first);
    std::byte* begin =
        buffer.begin + elem * buffer.stride * static_cast<std::ptrdiff_t>(shape_.elem_bytes);
    const std::size_t span =
        ((count - 1) * static_cast<std::size_t>(buffer.stride) + 1) * shape_.elem_bytes;
    const NodeTeam& node = team_.node;
    return {index == node.me ? begin : node.translate(begin, span, index), buffer.stride};
  }
  std::size_t bytes(int chunk) const { return length(chunk) * shape_.elem_bytes; }
  // Its place among its node's members tells the messages for different PEs apart.
  static int step(int chunk, int index, int members) { return chunk * members + index; }

  void send(int there, int chunk) {
    const int members = count_members(node_at(team_, there));
    for (int i = 0; i < members; ++i) {
      const Strided block = part(source_, member(node_at(team_, there), i), chunk, team_.node.me);
      const bool is_dense = block.stride == 1;
      if (!is_dense) copy_elements({room_.get(), 1}, block, shape_.elem_bytes, length(chunk));
      operation_.send(partner_on(team_, there), is_dense ? block.begin : room_.get(), bytes(chunk),
                      step(chunk, i, members));
    }
  }

  // Calls run(pe, its block, step) for all that this PE receives, whomever it is for.
  template <typename Run>
  void for_arrivals(int chunk, const Run& run) {
    const int members = team_.node.n;
    for_partners_of(team_, team_.node.me, [&](int pe) {
      for (int i = 0; i < members; ++i) run(pe, part(dest_, pe, chunk, i), step(chunk, i, members));
    });
  }

  // What has a place already when it comes is not copied once more.
  void expect(int chunk) {
    if (dest_.stride != 1) return;
    for_arrivals(chunk, [&](int pe, const Strided& block, int step) {
      operation_.expect(pe, block.begin, bytes(chunk), step);
    });
  }

  void receive(int chunk) {
    for_arrivals(chunk, [&](int pe, const Strided& block, int step) {
      const bool is_dense = block.stride == 1;
      operation_.receive(pe, is_dense ? block.begin : room_.get(), bytes(chunk), step);
      if (!is_dense) copy_elements(block, {room_.get(), 1}, shape_.elem_bytes, length(chunk));
    });
  }

  void copy_near() {
    const NodeTeam& node = team_.node;
    for (int i = 0; i < node.n; ++i) {
      const int index = (node.me + i) % node.n;
      copy_elements(elements(dest_, member(my_node(team_), index), 0, shape_.count, node.me),
                    elements(source_, team_.me, 0, shape_.count, index), shape_.elem_bytes,
                    shape_.count);
    }
  }

  Team& team_;
  const Operation operation_;
  const Strided dest_;
  const Strided source_;
  const AlltoallShape& shape_;
  const std::size_t most_;
  const Room room_;
};

}  // namespace

void alltoall_direct(Team& team, void* dest, const void* source, const AlltoallShape& shape) {
  Exchange(team, dest, source, shape).run();
}

}  // namespace meshmem::between_nodes
