// SPDX-License-Identifier: Apache-2.0
// See weak_memory.hpp.
#include "weak_memory.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace amd_gpu {
namespace {

// A block with this many stores on the way waits for one to arrive, as hardware would.
constexpr std::size_t kMostPending = 512;

std::size_t bit_of(std::uint64_t address) { return address / 8 % 4096; }

}  // namespace

template <typename Behind>
LineCache::Line& LineCache::line_of(std::uint64_t address, const Behind& behind) {
  const auto [found, is_new] = lines_.try_emplace(address / kLine);
  if (is_new) {
    for (unsigned n = 0; n < kLine; n += 8) {
      const std::uint64_t word = behind(address / kLine * kLine + n);
      std::memcpy(&found->second[n], &word, sizeof word);
    }
  }
  return found->second;
}

template <typename Behind>
std::uint64_t LineCache::load(std::uint64_t address, unsigned bytes, const Behind& behind) {
  std::uint64_t value = 0;
  const auto here = static_cast<unsigned>(std::min<std::uint64_t>(bytes, kLine - address % kLine));
  std::memcpy(&value, &line_of(address, behind)[address % kLine], here);
  if (here < bytes)
    std::memcpy(reinterpret_cast<char*>(&value) + here, line_of(address + here, behind).data(),
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

void WeakMemory::begin(unsigned seed, L2& l2, int device, RangeAt range_at) {
  l2_ = &l2;
  ranges_.begin(device, range_at);
  vector_cache_.drop_all();
  scalar_cache_.drop_all();
  random_.seed(seed);
}

bool WeakMemory::may_be_pending(std::uint64_t address, unsigned bytes) const {
  return words_[bit_of(address)] || words_[bit_of(address + bytes - 1)];
}

std::uint64_t WeakMemory::load(std::uint64_t address, unsigned bytes, Scope scope) {
  const bool passes_cache = scope > Scope::kBlock;
  if (passes_cache) vector_cache_.drop(address);
  const auto behind = [&](std::uint64_t at) { return load_behind(at, 8, scope); };
  std::uint64_t value = passes_cache ? load_behind(address, bytes, scope)
                                     : vector_cache_.load(address, bytes, behind);
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
  const auto behind = [&](std::uint64_t at) { return load_behind(at, 8, Scope::kBlock); };
  return static_cast<std::uint32_t>(scalar_cache_.load(address, 4, behind));
}

void WeakMemory::store(const Store& store) {
  if (pending_.size() >= kMostPending) arrive(random_() % pending_.size());
  pending_.push_back(store);
  words_.set(bit_of(store.address)).set(bit_of(store.address + store.bytes - 1));
}

// Lets that store arrive, or an older one that has to come before it.
void WeakMemory::arrive(std::size_t n) {
  for (std::size_t older = 0; older < n; ++older)
    if (pending_[older].overlaps(pending_[n].address, pending_[n].bytes))
      n = std::exchange(older, ~std::size_t{0});  // which may have an older one too
  const Store store = pending_[n];
  l2_->store(store.address, store.bytes, store.value, caching_of(store.address), store.scope);
  vector_cache_.update(store.address, store.bytes, store.value);
  pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(n));
  if (pending_.empty()) words_.reset();
}

L2* WeakMemory::before_atomic(std::uint64_t address, unsigned bytes, Scope scope) {
  vector_cache_.drop(address);
  if (may_be_pending(address, bytes)) {
    for (std::size_t n = 0; n < pending_.size(); ++n)
      while (n < pending_.size() && pending_[n].overlaps(address, bytes)) {
        arrive(n);
        n = 0;
      }
  }
  return l2_->does_atomics(address, caching_of(address), scope) ? l2_ : nullptr;
}

void WeakMemory::wait(unsigned wave, std::uint64_t last_issue) {
  for (;;) {
    std::vector<std::size_t> awaited;
    for (std::size_t n = 0; n < pending_.size(); ++n)
      if (pending_[n].wave == wave && pending_[n].issue <= last_issue) awaited.push_back(n);
    if (awaited.empty()) break;
    arrive(awaited[random_() % awaited.size()]);
  }
  std::erase_if(write_backs_, [&](const WriteBack& awaited) {
    if (awaited.wave != wave || awaited.issue > last_issue) return false;
    l2_->end_write_back(awaited.begun);
    return true;
  });
}

void WeakMemory::write_back(unsigned wave, std::uint64_t issue, Scope scope) {
  if (!l2_->is_passed_by(scope)) return;
  for (Store& store : pending_) {
    if (store.wave != wave) continue;
    store.issue = issue;
    store.scope = std::max(store.scope, scope);
  }
  write_backs_.push_back({wave, issue, l2_->begin_write_back()});
}

void WeakMemory::invalidate(Scope scope) {
  if (scope == Scope::kBlock) return;
  vector_cache_.drop_all();
  if (l2_->is_passed_by(scope)) l2_->invalidate();
  ranges_.forget();
}

void WeakMemory::invalidate_l2() {
  l2_->invalidate();
  ranges_.forget();
}

void WeakMemory::end() {
  while (!pending_.empty()) arrive(random_() % pending_.size());
  for (const WriteBack& last : write_backs_) l2_->end_write_back(last.begun);
  write_backs_.clear();
}

void WeakMemory::let_some_arrive(unsigned one_in) {
  if (random_() % one_in != 0) return;
  for (auto left = (pending_.size() + 7) / 8; left > 0 && !pending_.empty(); --left)
    arrive(random_() % pending_.size());
  l2_->let_some_be_written(random_);
}

}  // namespace amd_gpu
