// SPDX-License-Identifier: Apache-2.0
//
// The list of active sets: a hash table of their names, in which the place of a name is the number
// of its slot.
// Invariant: a PE that looks for a name passes no empty place, so it finds what another has
// entered.
#include "core/active_sets.hpp"

namespace meshmem {
namespace {

constexpr std::uint64_t kIsList = std::uint64_t{1} << 63;  // no start of a set reaches this bit

std::size_t first_place_of(std::uint64_t name) {
  return static_cast<std::size_t>((name * 0x9e3779b97f4a7c15u) >> 32) % kActiveSetSlots;
}

template <typename Enter>
int find_slot(std::uint64_t name, const Enter& enter) {
  std::size_t place = first_place_of(name);
  for (int tries = 0; tries < kActiveSetSlots; ++tries) {
    const std::uint64_t found = enter(place, name);
    if (found == 0 || found == name) return kFirstActiveSetSlot + static_cast<int>(place);
    place = (place + 1) % kActiveSetSlots;
  }
  return -1;
}

}  // namespace

// Sets and lists of one PE communicate with nobody, so they share a name, and with it a slot.
std::uint64_t name_of(const ActiveSet& set) {
  if (set.size == 1) return 1;
  return static_cast<std::uint64_t>(set.start) << 37 |
         static_cast<std::uint64_t>(set.log_stride) << 32 | static_cast<std::uint64_t>(set.size);
}

std::uint64_t name_of(const std::vector<int>& pes) {
  if (pes.size() == 1) return name_of(ActiveSet{pes[0], 0, 1});
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a, of words
  for (const int pe : pes) hash = (hash ^ static_cast<std::uint64_t>(pe)) * 0x100000001b3u;
  return hash | kIsList;
}

std::vector<int> ActiveSet::pes() const {
  std::vector<int> pes;
  for (int i = 0; i < size; ++i) pes.push_back(start + (i << log_stride));
  return pes;
}

int ActiveSetList::slot_of(std::uint64_t name) {
  return find_slot(name, [this](std::size_t place, std::uint64_t wanted) {
    std::uint64_t found = names[place].load(std::memory_order_relaxed);
    // Nothing but the name itself is published by entering it.
    if (found == 0) names[place].compare_exchange_strong(found, wanted, std::memory_order_relaxed);
    return found;
  });
}

int slot_of(std::uint64_t name, ActiveSetList& known, const EnterName& enter) {
  return find_slot(name, [&](std::size_t place, std::uint64_t wanted) {
    std::atomic<std::uint64_t>& here = known.names[place];
    if (const std::uint64_t found = here.load(std::memory_order_relaxed)) return found;
    const std::uint64_t found = enter(place, wanted);
    here.store(found == 0 ? wanted : found, std::memory_order_relaxed);
    return found;
  });
}

}  // namespace meshmem
