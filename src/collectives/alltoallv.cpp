// SPDX-License-Identifier: Apache-2.0
//
// alltoallv in three steps: the PEs tell each other where their blocks lie (offers), each PE gets
// its blocks, and all meet.
// Invariant: a PE gets from another only after the other's offer has come, so after the other has
// entered.
#include <cstring>
#include <vector>

#include "base/error.hpp"
#include "collectives/between_nodes.hpp"
#include "collectives/by_messages.hpp"
#include "collectives/data_movement.hpp"
#include "collectives/sync.hpp"
#include "gpu/host_copy.hpp"
#include "memory/address_map.hpp"
#include "memory/argument_checks.hpp"
#include "one_sided/completion.hpp"
#include "one_sided/contiguous.hpp"

namespace meshmem {
namespace {

// The caller's two arrays for dest or for source, copied to host memory: a number for each PE.
struct Blocks {
  std::vector<std::size_t> nelems, displs;
};

// A PE's block for another: its number of elements, and where it begins in the source, in elements.
struct BlockOffer {
  std::size_t nelems, displ;
};

// Returns a copy of an array of the call, which has a number for each PE.
std::vector<std::size_t> numbers_of(const Team& team, const std::size_t* array, bool from_kernel) {
  const auto n = static_cast<std::size_t>(team.n);
  std::vector<std::size_t> numbers(n);
  if (from_kernel || is_on_device(array)) {
    HostCopy<std::size_t> copy(team.routine(), array, n);
    copy.refresh();
    std::memcpy(numbers.data(), copy.data(), n * sizeof *array);
  } else {
    std::memcpy(numbers.data(), array, n * sizeof *array);
  }
  return numbers;
}

// Returns what each PE of the team offers this one.
std::vector<BlockOffer> exchange_offers(Team& team, const Blocks& source) {
  const auto n = static_cast<std::size_t>(team.n);
  std::vector<BlockOffer> mine(n), theirs(n);
  for (std::size_t pe = 0; pe < n; ++pe) mine[pe] = {source.nelems[pe], source.displs[pe]};
  const Collective exchange = alltoall_of(theirs.data(), mine.data(), sizeof(BlockOffer), 1);
  if (team.is_on_one_node()) {
    by_messages::run(team, exchange);
  } else {
    between_nodes::alltoall_of_any_memory(team, exchange);
  }
  return theirs;
}

struct Get {
  std::byte* dest;
  const std::byte* source;
  std::size_t bytes;
};

// Returns the get that brings PE `pe`'s block. Ends the job if that PE's number of elements is not
// the one that this PE expects.
Get checked_get(const Team& team, std::size_t elem_bytes, void* dest, const Blocks& blocks,
                const void* source, const BlockOffer& offer, int pe) {
  const char* const routine = team.routine();
  const auto i = static_cast<std::size_t>(pe);
  if (offer.nelems != blocks.nelems[i])
    fatal("{}: PE {} of the team sends {} elements, but dest_nelems[{}] is {}", routine, pe,
          offer.nelems, pe, blocks.nelems[i]);
  if (offer.nelems == 0) return {};  // its displacements may be any numbers
  const Get get{static_cast<std::byte*>(dest) + bytes_of(routine, blocks.displs[i], elem_bytes),
                static_cast<const std::byte*>(source) + bytes_of(routine, offer.displ, elem_bytes),
                bytes_of(routine, offer.nelems, elem_bytes)};
  check_room(routine, "dest", get.dest, get.bytes);
  return get;
}

Blocks blocks_in(const Team& team, const device::BlocksInArrays& arrays, bool from_kernel) {
  return {numbers_of(team, arrays.nelems, from_kernel),
          numbers_of(team, arrays.displs, from_kernel)};
}

}  // namespace

void alltoallv(Team& team, const Collective& call, bool from_kernel) {
  const Blocks to = blocks_in(team, call.varying->to, from_kernel);
  const std::vector<BlockOffer> offers =
      exchange_offers(team, blocks_in(team, call.varying->from, from_kernel));
  for (int i = 0; i < team.n; ++i) {
    const int pe = (team.me + i) % team.n;
    const Get get = checked_get(team, call.elem_bytes, call.dest, to, call.source,
                                offers[static_cast<std::size_t>(pe)], pe);
    if (get.bytes > 0)
      get_nbi_bytes(team.routine(), get.dest, get.source, get.bytes, team.world_pe(pe));
  }
  complete_transfers(team.routine());
  sync(team);
}

}  // namespace meshmem
