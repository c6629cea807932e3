// SPDX-License-Identifier: Apache-2.0
//
// One call, one site, one line of a report. Invariant: as accesses.hpp says.
#include "tools/races/accesses.hpp"

#include <fmt/format.h>

#include <optional>

namespace meshmem::races {
namespace {

void tell(const Range& range, int pe, const Access& here, const Access& before) {
  const bool has_returned = before.pe != here.pe && before.how() != Order::program &&
                            before.call_number <= checker.clock().of(before.pe, Order::program);
  const std::string text =
      text_of(checker.boards,
              {.place = fmt::format("{} bytes at {} of PE {}", range.bytes, name_of(range), pe),
               .here = here,
               .before = before,
               .has_returned = has_returned});
  if (!text.empty()) checker.job.print_line(text);
}

}  // namespace

void add_to_shadow(const Place& place, int pe, const Range& range, const What& what) {
  publish();
  Access mine{};
  mine.call_number = checker.call_number;
  mine.version = checker.version;
  mine.site = site_of(checker.boards.mine(), checker.job, place);
  mine.pe = static_cast<std::uint16_t>(checker.job.pe);
  mine.order = static_cast<std::uint8_t>(what.order);
  mine.manner = static_cast<std::uint8_t>(what.manner);
  mine.writes = what.writes;
  const bool may_be_polled =
      checker.job.polls && what.writes && pe != checker.job.pe && range.bytes <= Told::kBytes;
  // A PE that polls has seen it arrive.
  if (may_be_polled && what.order == Order::put)
    mine.order = static_cast<std::uint8_t>(Order::program);
  const std::optional<Access> race =
      checker.boards.add(pe, range, mine, may_be_polled, checker.numbers);
  if (race) tell(range, pe, mine, *race);
}

void access(const Call& call, int pe, std::uint64_t address, std::size_t bytes, const What& what) {
  if (bytes == 0 || pe < 0 || pe >= checker.job.n_pes) return;
  if (const std::optional<Range> range = symmetric(address, bytes))
    add_to_shadow({call.caller, call.number}, pe, *range, what);
}

void access_elements(const Call& call, int pe, std::uint64_t address, std::int64_t stride,
                     const What& what) {
  const std::size_t element = call.element_bytes;
  std::size_t blocks = call.blocks, bytes = call.elements * element;
  if (stride != 0 && blocks == 1 && !call.op.starts_with("ib")) {
    blocks = call.elements;
    bytes = element;
  }
  if (stride == static_cast<std::int64_t>(bytes / element)) {
    bytes *= blocks;
    blocks = 1;
  }
  for (std::size_t i = 0; i < blocks; ++i)
    access(call, pe, address + i * static_cast<std::size_t>(stride) * element, bytes, what);
}

void see_symmetric(int pe, std::uint64_t address, std::size_t bytes, Unknown writer) {
  if (bytes == 0 || pe < 0 || pe >= checker.job.n_pes) return;
  if (const std::optional<Range> range = symmetric(address, bytes)) see(pe, *range, writer);
}

}  // namespace meshmem::races
