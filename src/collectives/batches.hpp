// SPDX-License-Identifier: Apache-2.0
//
// Collectives on buffers in any memory, batch by batch. A batch of source is copied to host memory,
// the caller's function exchanges it with the other PEs, and the result is copied to dest.
// Invariant: all members go through the same batches. A batch of dest is written after the same
// batch of source has been read. Used by by_messages.cpp and in between_nodes/.
#ifndef MESHMEM_COLLECTIVES_BATCHES_HPP_
#define MESHMEM_COLLECTIVES_BATCHES_HPP_

#include <algorithm>
#include <cstddef>
#include <memory>

#include "collectives/collective.hpp"
#include "core/team.hpp"
#include "one_sided/one_sided.hpp"

namespace meshmem {

inline std::byte* at(void* base, std::size_t offset) {
  return static_cast<std::byte*>(base) + offset;
}
inline const std::byte* at(const void* base, std::size_t offset) {
  return static_cast<const std::byte*>(base) + offset;
}

// Memory for data that is needed only during one operation.
using Room = std::unique_ptr<std::byte[]>;
inline Room make_room(std::size_t bytes) {
  return std::make_unique_for_overwrite<std::byte[]>(bytes);
}

// For each batch of at most `most` elements, calls change(batch, elems). `batch` has elements of
// source, and change() replaces them by the elements for dest.
template <typename Change>
void in_batches(Team& team, const Collective& call, std::size_t most, const Change& change) {
  const Room batch = make_room(std::min(most, call.count) * call.elem_bytes);
  for (std::size_t done = 0; done < call.count; done += most) {
    const std::size_t elems = std::min(most, call.count - done);
    const std::size_t offset = done * call.elem_bytes, bytes = elems * call.elem_bytes;
    copy_local(team.routine(), batch.get(), at(call.source, offset), bytes);
    change(batch.get(), elems);
    copy_local(team.routine(), at(call.dest, offset), batch.get(), bytes);
  }
}

// Calls combine(combined, terms, result), which makes `results` elements of the `count` elements at
// `terms` and puts them into `result`. Elements with a carrier are wide there, and rounded once at
// the end. data may be result, if `count` is `results`; then terms is result.
template <typename CombineAll>
void combine_wide(const Reduction& op, std::byte* data, std::size_t count, std::byte* result,
                  std::size_t results, const CombineAll& combine) {
  if (!op.carrier) return combine(op, data, result);
  const Reduction combined = as_combined(op);
  const bool in_place = data == result;
  const Room terms = make_room(count * combined.elem_bytes);
  const Room total = make_room(in_place ? 0 : results * combined.elem_bytes);
  std::byte* const wide = in_place ? terms.get() : total.get();
  op.carrier->widen(terms.get(), data, count);
  combine(combined, terms.get(), wide);
  op.carrier->narrow(result, wide, results);
}

// A reduce-scatter: calls combine(all, mine, elems), where `all` has `elems` <= `most` elements of
// the block for each PE, and `mine` becomes the finished result for this one.
template <typename Combine>
void scatter_in_batches(Team& team, const Collective& call, std::size_t most,
                        const Combine& combine) {
  const auto n = static_cast<std::size_t>(team.n);
  const std::size_t most_bytes = std::min(most, call.count) * call.elem_bytes;
  const Room all = make_room(n * most_bytes), mine = make_room(most_bytes);
  for (std::size_t done = 0; done < call.count; done += most) {
    const std::size_t elems = std::min(most, call.count - done), block = elems * call.elem_bytes;
    for (std::size_t pe = 0; pe < n; ++pe) {
      copy_local(team.routine(), all.get() + pe * block,
                 at(call.source, (pe * call.count + done) * call.elem_bytes), block);
    }
    combine(all.get(), mine.get(), elems);
    copy_local(team.routine(), at(call.dest, done * call.elem_bytes), mine.get(), block);
  }
}

// An alltoall: calls exchange(outflow, block, take), where the outflow has `block` bytes for each
// PE. A block has at most `most_bytes`: whole elements, or a part of an element that is larger.
// exchange() calls take(pe, data) with the data that each PE has for this one.
template <typename Exchange>
void alltoall_in_batches(Team& team, const Collective& call, std::size_t most_bytes,
                         const Exchange& exchange) {
  const auto n = static_cast<std::size_t>(team.n), elem_bytes = call.elem_bytes;
  const std::size_t most = std::max(most_bytes / elem_bytes, std::size_t{1});
  const std::size_t most_of_elem = std::min(most_bytes, elem_bytes);
  const Room outflow = make_room(std::min(most, call.count) * n * most_of_elem);
  std::size_t done = 0, offset = 0;  // elements, and bytes of the next one
  const auto place_in = [&](const void* buffer, std::size_t block, std::ptrdiff_t stride) {
    return static_cast<const std::byte*>(buffer) + offset +
           static_cast<std::ptrdiff_t>(block * call.count + done) * stride;
  };
  const auto elem = static_cast<std::ptrdiff_t>(elem_bytes);
  const std::ptrdiff_t dest_stride = call.dest_stride * elem;
  const std::ptrdiff_t source_stride = call.source_stride * elem;
  while (done < call.count) {
    const std::size_t elems = std::min(most, call.count - done);
    const std::size_t bytes = std::min(most_of_elem, elem_bytes - offset), block = elems * bytes;
    const auto packed = static_cast<std::ptrdiff_t>(bytes);
    for (std::size_t pe = 0; pe < n; ++pe) {
      copy_local_blocks(team.routine(), outflow.get() + pe * block,
                        place_in(call.source, pe, source_stride),
                        {bytes, elems, packed, source_stride});
    }
    exchange(outflow.get(), block, [&](int pe, const std::byte* data) {
      const auto* to = place_in(call.dest, static_cast<std::size_t>(pe), dest_stride);
      copy_local_blocks(team.routine(), const_cast<std::byte*>(to), data,
                        {bytes, elems, dest_stride, packed});
    });
    offset += bytes;
    if (offset < elem_bytes) continue;
    offset = 0;
    done += elems;
  }
}

}  // namespace meshmem

#endif  // MESHMEM_COLLECTIVES_BATCHES_HPP_
