// SPDX-License-Identifier: Apache-2.0
// See weak_memory.hpp. Memory itself is accessed as memory.hpp does, by words that are single-copy
// atomic, since other processes and threads of the host do so too.
#include "weak_memory.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "memory.hpp"

namespace amd_gpu {
namespace {

// A block that has more on the way waits for room, as hardware would.
constexpr std::size_t kMostPending = 512;
constexpr unsigned kInL2 = ~0u;  // the wave of stores that have been awaited

std::uint8_t* at(std::uint64_t address) { return reinterpret_cast<std::uint8_t*>(address); }

std::uint64_t load_from_memory(std::uint64_t address, unsigned bytes) {
  switch (bytes) {
    case 1:
      return load_as<std::uint8_t>(at(address));
    case 2:
      return load_as<std::uint16_t>(at(address));
    case 4:
      return load_as<std::uint32_t>(at(address));
    default:
      return load_as<std::uint64_t>(at(address));
  }
}
void store_to_memory(std::uint64_t address, unsigned bytes, std::uint64_t value) {
  switch (bytes) {
    case 1:
      return store_as(at(address), static_cast<std::uint8_t>(value));
    case 2:
      return store_as(at(address), static_cast<std::uint16_t>(value));
    case 4:
      return store_as(at(address), static_cast<std::uint32_t>(value));
    default:
      return store_as(at(address), value);
  }
}

std::size_t bit_of(std::uint64_t address) { return address / 8 % 4096; }

}  // namespace

LineCache::Line& LineCache::line_of(std::uint64_t address) {
  const auto [found, is_new] = lines_.try_emplace(address / kLine);
  if (is_new) {
    for (unsigned n = 0; n < kLine; n += 8) {
      const auto word = load_as<std::uint64_t>(at(address / kLine * kLine + n));
      std::memcpy(&found->second[n], &word, sizeof word);
    }
  }
  return found->second;
}

std::uint64_t LineCache::load(std::uint64_t address, unsigned bytes) {
  std::uint64_t value = 0;
  const auto here = static_cast<unsigned>(std::min<std::uint64_t>(bytes, kLine - address % kLine));
  std::memcpy(&value, &line_of(address)[address % kLine], here);
  if (here < bytes)
    std::memcpy(reinterpret_cast<char*>(&value) + here, line_of(address + here).data(),
                bytes - here);
  return value;
}

void LineCache::update(std::uint64_t address, unsigned bytes, std::uint64_t value) {
  for (unsigned n = 0; n < bytes; ++n) {
    const auto found = lines_.find((address + n) / kLine);
    if (found != lines_.end())
      found->second[(address + n) % kLine] = static_cast<std::uint8_t>(value >> 8 * n);
  }
}

void WeakMemory::begin(unsigned seed) {
  vector_cache_.drop_all();
  scalar_cache_.drop_all();
  random_.seed(seed);
}

bool WeakMemory::may_be_pending(std::uint64_t address, unsigned bytes) const {
  return words_[bit_of(address)] || words_[bit_of(address + bytes - 1)];
}

std::uint64_t WeakMemory::load(std::uint64_t address, unsigned bytes, bool passes_cache) {
  if (passes_cache) vector_cache_.drop(address);
  std::uint64_t value =
      passes_cache ? load_from_memory(address, bytes) : vector_cache_.load(address, bytes);
  if (!may_be_pending(address, bytes)) return value;
  for (const Store& store : pending_) {
    if (!store.overlaps(address, bytes)) continue;
    for (unsigned n = 0; n < store.bytes; ++n) {
      const std::uint64_t place = store.address + n - address;
      if (place < bytes)
        reinterpret_cast<std::uint8_t*>(&value)[place] =
            static_cast<std::uint8_t>(store.value >> 8 * n);
    }
  }
  return value;
}

std::uint32_t WeakMemory::load_scalar(std::uint64_t address) {
  return static_cast<std::uint32_t>(scalar_cache_.load(address, 4));
}

void WeakMemory::store(const Store& store) {
  if (pending_.size() >= kMostPending) arrive(random_() % pending_.size());
  pending_.push_back(store);
  words_.set(bit_of(store.address)).set(bit_of(store.address + store.bytes - 1));
}

// That store, or an older one that has to come before it.
void WeakMemory::arrive(std::size_t n) {
  for (std::size_t older = 0; older < n; ++older)
    if (pending_[older].overlaps(pending_[n].address, pending_[n].bytes))
      n = std::exchange(older, ~std::size_t{0});  // which may have an older one too
  const Store store = pending_[n];
  store_to_memory(store.address, store.bytes, store.value);
  vector_cache_.update(store.address, store.bytes, store.value);
  pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(n));
  if (pending_.empty()) words_.reset();
}

void WeakMemory::before_atomic(std::uint64_t address, unsigned bytes) {
  vector_cache_.drop(address);
  if (!may_be_pending(address, bytes)) return;
  for (std::size_t n = 0; n < pending_.size(); ++n)
    while (n < pending_.size() && pending_[n].overlaps(address, bytes)) {
      arrive(n);
      n = 0;
    }
}

void WeakMemory::wait(unsigned wave, std::uint64_t last_issue) {
  for (Store& store : pending_)
    if (store.stays_in_l2 && store.wave == wave && store.issue <= last_issue) store.wave = kInL2;
  for (;;) {
    std::vector<std::size_t> awaited;
    for (std::size_t n = 0; n < pending_.size(); ++n)
      if (pending_[n].wave == wave && pending_[n].issue <= last_issue) awaited.push_back(n);
    if (awaited.empty()) return;
    arrive(awaited[random_() % awaited.size()]);
  }
}

void WeakMemory::write_back(unsigned wave, std::uint64_t issue) {
  for (Store& store : pending_) {
    if (!store.stays_in_l2 || (store.wave != wave && store.wave != kInL2)) continue;
    store.wave = wave;
    store.issue = issue;
    store.stays_in_l2 = false;
  }
}

void WeakMemory::end() {
  while (!pending_.empty()) arrive(random_() % pending_.size());
}

void WeakMemory::let_some_arrive(unsigned one_in) {
  if (random_() % one_in != 0) return;
  for (auto left = (pending_.size() + 7) / 8; left > 0 && !pending_.empty(); --left)
    arrive(random_() % pending_.size());
}

}  // namespace amd_gpu
