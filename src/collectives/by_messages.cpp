// SPDX-License-Identifier: Apache-2.0
//
// Staged collectives. Words: a *piece* is what one message holds; a PE's *part* is its source.
// Invariant: exchange() is the only communication.
#include "collectives/by_messages.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "collectives/message.hpp"
#include "memory/room.hpp"
#include "transport/one_sided.hpp"

namespace meshmem::by_messages {
namespace {

// Every PE shows `bytes` bytes of host memory and takes those of every PE, itself too.
template <typename Take>
void exchange(Team& team, const void* mine, std::size_t bytes, const Take& take) {
  const std::uint64_t sequence = begin_operation(team);
  post_message(team, sequence, mine, bytes);
  MessageRoom room;
  for (int pe = 0; pe < team.n; ++pe) take(pe, await_message(team, sequence, bytes, pe, room));
  all_have_started(team, sequence);
}

std::byte* at(void* base, std::size_t offset) { return static_cast<std::byte*>(base) + offset; }
const std::byte* at(const void* base, std::size_t offset) {
  return static_cast<const std::byte*>(base) + offset;
}

// Parts of `bytes` bytes; take(pe, offset, data, length) gets the pieces of all. What lies beyond
// one's own part is sent as it is.
template <typename Take>
void exchange_parts(Team& team, const void* source, std::size_t own_bytes, std::size_t bytes,
                    const Take& take) {
  std::vector<std::byte> piece(std::min(bytes, kStageBytes));
  for (std::size_t offset = 0; offset < bytes; offset += piece.size()) {
    const std::size_t length = std::min(piece.size(), bytes - offset);
    if (offset < own_bytes) {
      copy_local(team.routine, piece.data(), at(source, offset),
                 std::min(length, own_bytes - offset));
    }
    exchange(team, piece.data(), length,
             [&](int pe, const std::byte* data) { take(pe, offset, data, length); });
  }
}

// Runs `combine` on pieces in host memory.
template <typename Combine>
void in_pieces(Team& team, std::size_t elem_bytes, void* dest, const void* source,
               std::size_t count, const Combine& combine) {
  const std::size_t most = kStageBytes / elem_bytes;
  std::vector<std::byte> piece(std::min(most, count) * elem_bytes);
  for (std::size_t done = 0; done < count; done += most) {
    const std::size_t n = std::min(most, count - done);
    copy_local(team.routine, piece.data(), at(source, done * elem_bytes), n * elem_bytes);
    combine(piece.data(), n);
    copy_local(team.routine, at(dest, done * elem_bytes), piece.data(), n * elem_bytes);
  }
}

}  // namespace

void gather(Team& team, void* all, const void* mine, std::size_t bytes) {
  exchange(team, mine, bytes, [&](int pe, const std::byte* data) {
    std::memcpy(at(all, static_cast<std::size_t>(pe) * bytes), data, bytes);
  });
}

void broadcast(Team& team, void* dest, const void* source, std::size_t bytes, int root) {
  const std::size_t own_bytes = team.me == root ? bytes : 0;
  const bool in_place = team.me == root && dest == source;
  exchange_parts(team, source, own_bytes, bytes,
                 [&](int pe, std::size_t offset, const std::byte* data, std::size_t length) {
                   if (pe == root && !in_place)
                     copy_local(team.routine, at(dest, offset), data, length);
                 });
}

void fcollect(Team& team, void* dest, const void* source, std::size_t bytes) {
  exchange_parts(team, source, bytes, bytes,
                 [&](int pe, std::size_t offset, const std::byte* data, std::size_t length) {
                   const std::size_t begin = static_cast<std::size_t>(pe) * bytes + offset;
                   copy_local(team.routine, at(dest, begin), data, length);
                 });
}

void collect(Team& team, void* dest, const void* source, std::size_t bytes) {
  std::vector<std::size_t> sizes(static_cast<std::size_t>(team.n));
  gather(team, sizes.data(), &bytes, sizeof bytes);
  std::vector<std::size_t> begins;
  std::size_t total = 0;
  for (const std::size_t size : sizes) begins.push_back(std::exchange(total, total + size));
  check_room(team.routine, dest, total);
  exchange_parts(team, source, bytes, *std::max_element(sizes.begin(), sizes.end()),
                 [&](int pe, std::size_t offset, const std::byte* data, std::size_t length) {
                   const std::size_t size = sizes[static_cast<std::size_t>(pe)];
                   if (offset >= size) return;
                   copy_local(team.routine, at(dest, begins[static_cast<std::size_t>(pe)] + offset),
                              data, std::min(length, size - offset));
                 });
}

// A piece holds the same elements of the blocks for all PEs.
void alltoall(Team& team, void* dest, const void* source, const AlltoallShape& shape) {
  const auto n = static_cast<std::size_t>(team.n);
  const auto elem = static_cast<std::ptrdiff_t>(shape.elem_bytes);
  const std::size_t most = std::max(kStageBytes / shape.elem_bytes / n, std::size_t{1});
  std::vector<std::byte> piece(std::min(most, shape.count) * n * shape.elem_bytes);
  const auto offset_of = [&](std::size_t block, std::size_t element, std::ptrdiff_t stride) {
    return static_cast<std::ptrdiff_t>(block * shape.count + element) * stride * elem;
  };
  for (std::size_t done = 0; done < shape.count; done += most) {
    const std::size_t count = std::min(most, shape.count - done);
    const std::size_t part = count * shape.elem_bytes;
    for (std::size_t block = 0; block < n; ++block) {
      copy_local_blocks(
          team.routine, piece.data() + block * part,
          static_cast<const std::byte*>(source) + offset_of(block, done, shape.source_stride),
          {shape.elem_bytes, count, elem, shape.source_stride * elem});
    }
    exchange(team, piece.data(), part * n, [&](int pe, const std::byte* data) {
      copy_local_blocks(team.routine,
                        static_cast<std::byte*>(dest) +
                            offset_of(static_cast<std::size_t>(pe), done, shape.dest_stride),
                        data + static_cast<std::size_t>(team.me) * part,
                        {shape.elem_bytes, count, shape.dest_stride * elem, elem});
    });
  }
}

void reduce(Team& team, const Reduction& op, void* dest, const void* source, std::size_t count) {
  in_pieces(team, op.elem_bytes, dest, source, count, [&](void* piece, std::size_t n) {
    if (team.n > 1) reduce_one_shot(team, op, piece, piece, n);
    finish(op, piece, n, team.n);
  });
}

// A piece holds the same elements of the blocks for all PEs.
void reduce_scatter(Team& team, const Reduction& op, void* dest, const void* source,
                    std::size_t count) {
  const auto n = static_cast<std::size_t>(team.n);
  const std::size_t most = std::max(kStageBytes / op.elem_bytes / n, std::size_t{1});
  std::vector<std::byte> piece(std::min(most, count) * n * op.elem_bytes);
  std::vector<std::byte> result(std::min(most, count) * op.elem_bytes);
  for (std::size_t done = 0; done < count; done += most) {
    const std::size_t elems = std::min(most, count - done);
    const std::size_t part = elems * op.elem_bytes;
    for (std::size_t block = 0; block < n; ++block) {
      copy_local(team.routine, piece.data() + block * part,
                 at(source, (block * count + done) * op.elem_bytes), part);
    }
    exchange(team, piece.data(), part * n, [&](int pe, const std::byte* data) {
      const std::byte* mine = data + static_cast<std::size_t>(team.me) * part;
      if (pe == 0) {
        std::memcpy(result.data(), mine, part);
      } else {
        op.combine(result.data(), result.data(), mine, elems);
      }
    });
    finish(op, result.data(), elems, team.n);
    copy_local(team.routine, at(dest, done * op.elem_bytes), result.data(), part);
  }
}

void scan(Team& team, const Reduction& op, void* dest, const void* source, std::size_t count,
          bool inclusive) {
  in_pieces(team, op.elem_bytes, dest, source, count, [&](void* piece, std::size_t n) {
    meshmem::scan(team, op, piece, piece, n, inclusive);
  });
}

}  // namespace meshmem::by_messages
