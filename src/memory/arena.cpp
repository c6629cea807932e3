// SPDX-License-Identifier: Apache-2.0
//
// Makes, finds and maps the node arena.
// Invariant: only processes of the maker's user get it, and they map only a file that this user has
// made; file_handover ensures both.
#include "memory/arena.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>
#include <utility>

#include "base/error.hpp"
#include "base/machine/file_handover.hpp"
#include "base/machine/start_obstacles.hpp"

namespace meshmem {
namespace {

std::size_t board_offset(std::size_t n_pes) {
  return round_up(sizeof(ArenaHeader) + n_pes * sizeof(DirectoryEntry), kStatusPage);
}

std::size_t wire_addresses_offset(std::size_t n_pes) {
  return board_offset(n_pes) + StatusBoard::bytes_for(static_cast<int>(n_pes));
}

std::size_t front_bytes(const ArenaLayout& layout) {
  const std::size_t addresses = layout.has_wire_addresses ? layout.n_pes * sizeof(WireAddress) : 0;
  return round_up(wire_addresses_offset(layout.n_pes) + addresses, kRegionAlignment);
}

// Offsets in the region of a PE. The PE maps its static data a second time, where the linker has
// put it, so in the arena that data begins at a multiple of the largest page.
std::size_t bytes_before_statics(const ArenaLayout& layout) {
  return round_up(layout.control_bytes, kLargestPage);
}
std::size_t bytes_before_heap(const ArenaLayout& layout) {
  return round_up(bytes_before_statics(layout) + layout.static_bytes + kBelowHeap,
                  kRegionAlignment);
}

std::byte* map_whole(int file, const ArenaLayout& layout, int index) {
  const std::size_t bytes = layout.total();
  std::byte* base =
      map_shared_file(file, bytes, layout.heap(index), wanted_heap_alignment(layout.heap_bytes));
  if (!base) {
    fatal(
        "cannot reserve {} MiB of address space for the symmetric heaps: {}; set "
        "SHMEM_SYMMETRIC_SIZE to less or raise `ulimit -v`",
        (bytes + kRegionAlignment) >> 20, errno_text());
  }
  madvise(base, bytes, MADV_HUGEPAGE);  // a hint; the kernel's settings may disable it
  return base;
}

}  // namespace

std::size_t ArenaLayout::region(int index) const {
  const std::size_t stride = bytes_before_heap(*this) + round_up(heap_bytes, kRegionAlignment);
  return front_bytes(*this) + static_cast<std::size_t>(index) * stride;
}
std::size_t ArenaLayout::statics(int index) const {
  return region(index) + bytes_before_statics(*this);
}
std::size_t ArenaLayout::heap(int index) const { return region(index) + bytes_before_heap(*this); }
std::size_t ArenaLayout::total() const { return region(static_cast<int>(n_pes)); }

Arena::Arena(int file, const ArenaLayout& layout, int index)
    : file_(file), layout_(layout), base_(map_whole(file, layout, index)) {}
Arena::Arena(Arena&& other) noexcept
    : file_(std::exchange(other.file_, -1)), layout_(other.layout_), base_(other.base_) {}
Arena::~Arena() { close_file(); }

void Arena::close_file() {
  if (file_ >= 0) close(std::exchange(file_, -1));
}

Arena Arena::create(const ArenaLayout& layout) {
  if (largest_file_bytes() < layout.total()) {
    fatal(
        "cannot make {} MiB of shared memory for {} PEs: a file may have {} bytes only; raise the "
        "limit (ulimit -f), or set SHMEM_SYMMETRIC_SIZE to less",
        layout.total() >> 20, layout.n_pes, largest_file_bytes());
  }
  const int file = try_make_shared_file("meshmem", layout.total());
  if (file < 0) {
    fatal("cannot make {} MiB of shared memory for {} PEs: {}; set SHMEM_SYMMETRIC_SIZE to less",
          layout.total() >> 20, layout.n_pes, errno_text());
  }
  Arena arena(file, layout, 0);
  StatusBoard::make(arena.base_ + board_offset(layout.n_pes), static_cast<int>(layout.n_pes),
                    program_invocation_short_name, "");
  return arena;
}

StatusBoard Arena::status_board() const {
  return StatusBoard(base_ + board_offset(layout_.n_pes),
                     StatusBoard::bytes_for(static_cast<int>(layout_.n_pes)));
}

WireAddress& Arena::wire_address(int index) const {
  auto* const addresses =
      reinterpret_cast<WireAddress*>(base_ + wire_addresses_offset(layout_.n_pes));
  return addresses[index];
}

// "<PEs> <control bytes> <static bytes> <heap bytes> <has wire addresses> <ticket of the file>"
std::string Arena::ticket() const {
  return fmt::format("{} {} {} {} {:d} {}", layout_.n_pes, layout_.control_bytes,
                     layout_.static_bytes, layout_.heap_bytes, layout_.has_wire_addresses,
                     offer_file(file_));
}

ArenaLayout Arena::layout_of(const std::string& ticket) {
  ArenaLayout layout;
  std::istringstream numbers(ticket);
  if (!(numbers >> layout.n_pes >> layout.control_bytes >> layout.static_bytes >>
        layout.heap_bytes >> layout.has_wire_addresses)) {
    fatal("the start-up data '{}' of the node's first PE cannot be read", ticket);
  }
  return layout;
}

Arena Arena::attach(const std::string& ticket, int index) {
  std::size_t file_ticket = 0;
  for (int field = 0; field < 5; ++field) file_ticket = ticket.find(' ', file_ticket) + 1;
  return Arena(take_file(ticket.substr(file_ticket)), layout_of(ticket), index);
}

}  // namespace meshmem
