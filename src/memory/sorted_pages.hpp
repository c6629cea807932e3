// SPDX-License-Identifier: Apache-2.0
//
// An ordered map in pages of neighbouring entries, for a million blocks and more: a call finds its
// page by the pages' first keys, which lie together, and touches little other memory.
// Invariant: no page is empty, and firsts_ has the first key of each. insert() makes places
// invalid, erase() only those at or behind its own. Called by the allocator.
#ifndef MESHMEM_MEMORY_SORTED_PAGES_HPP_
#define MESHMEM_MEMORY_SORTED_PAGES_HPP_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace meshmem {

template <typename Key, typename Value>
class SortedPages {
 public:
  struct Entry {
    Key key;
    [[no_unique_address]] Value value;
  };
  struct Place {
    std::size_t page, index;
  };

  // Counts the comparisons of keys.
  explicit SortedPages(std::uint64_t* comparisons) : comparisons_(comparisons) {}

  std::size_t size() const { return size_; }
  bool is_end(Place place) const { return place.page == pages_.size(); }
  bool is_begin(Place place) const { return place.page == 0 && place.index == 0; }
  Place begin() const { return {0, 0}; }
  Place end() const { return {pages_.size(), 0}; }
  const Entry& at(Place place) const { return pages_[place.page]->entries[place.index]; }
  Value& value_at(Place place) { return pages_[place.page]->entries[place.index].value; }
  const Entry& last() const { return at(previous(end())); }

  Place next(Place place) const { return normal({place.page, place.index + 1}); }
  Place previous(Place place) const {
    if (place.index != 0) return {place.page, place.index - 1};
    return {place.page - 1, pages_[place.page - 1]->count - 1};
  }

  // The first entry whose key is not less.
  Place lower_bound(const Key& key) const {
    return pages_.empty() ? end() : normal(place_in_page(key));
  }
  Place find(const Key& key) const {
    const Place place = lower_bound(key);
    return is_end(place) || is_less(key, at(place).key) ? end() : place;
  }

  // A key that is not there yet.
  void insert(const Key& key, const Value& value) {
    if (pages_.empty()) add_page(0, key);
    Place place = place_in_page(key);
    if (pages_[place.page]->count == kMostEntries) place = split(place, key);
    Page& page = *pages_[place.page];
    Entry* const at = page.entries.data() + place.index;
    std::move_backward(at, page.end(), page.end() + 1);
    *at = {key, value};
    ++page.count;
    ++size_;
    if (place.index == 0) firsts_[place.page] = key;
  }

  void erase(Place place) {
    Page& page = *pages_[place.page];
    Entry* const at = page.entries.data() + place.index;
    std::move(at + 1, page.end(), at);
    --page.count;
    --size_;
    if (page.count == 0) return remove_page(place.page);
    if (place.index == 0) firsts_[place.page] = page.entries[0].key;
    if (page.count < kMostEntries / 4) take_next_page(place.page);
  }

 private:
  static constexpr std::size_t kMostEntries = 128;

  struct Page {
    std::size_t count = 0;
    std::array<Entry, kMostEntries> entries;
    Entry* end() { return entries.data() + count; }
  };

  bool is_less(const Key& a, const Key& b) const {
    ++*comparisons_;
    return a < b;
  }

  // How many of `n` keys in order come before the key, by a search without branches: which way it
  // goes cannot be guessed.
  template <typename KeyAt>
  std::size_t count_before(std::size_t n, const Key& key, const KeyAt& key_at) const {
    std::size_t before = 0;
    for (; n > 1; n -= n / 2) before += is_less(key_at(before + n / 2 - 1), key) ? n / 2 : 0;
    return before + (n == 1 && is_less(key_at(before), key));
  }

  Place normal(Place place) const {
    return place.index < pages_[place.page]->count ? place : Place{place.page + 1, 0};
  }

  // Where the key is or would be, in the page that it belongs to; at its end if it is the greatest.
  Place place_in_page(const Key& key) const {
    const std::size_t pages =
        count_before(pages_.size(), key, [this](std::size_t i) { return firsts_[i]; });
    const bool is_first = pages != pages_.size() && firsts_[pages] == key;
    const std::size_t number = pages == 0 || is_first ? pages : pages - 1;
    const Page& page = *pages_[number];
    return {number, count_before(page.count, key, [&page](std::size_t i) -> const Key& {
              return page.entries[i].key;
            })};
  }

  void add_page(std::size_t number, const Key& first) {
    const auto at = static_cast<std::ptrdiff_t>(number);
    pages_.emplace(pages_.begin() + at, std::make_unique<Page>());
    firsts_.insert(firsts_.begin() + at, first);
  }
  void remove_page(std::size_t number) {
    const auto at = static_cast<std::ptrdiff_t>(number);
    pages_.erase(pages_.begin() + at);
    firsts_.erase(firsts_.begin() + at);
  }

  // Makes room for the key; where its place is then. Keys that come in order leave full pages.
  Place split(Place place, const Key& key) {
    Page& page = *pages_[place.page];
    const bool in_order = place.page + 1 == pages_.size() && place.index == kMostEntries;
    const std::size_t kept = in_order ? kMostEntries : kMostEntries / 2;
    add_page(place.page + 1, in_order ? key : page.entries[kept].key);
    Page& added = *pages_[place.page + 1];
    std::move(page.entries.data() + kept, page.end(), added.entries.data());
    added.count = kMostEntries - kept;
    page.count = kept;
    return place.index < kept ? place : Place{place.page + 1, place.index - kept};
  }

  void take_next_page(std::size_t number) {
    if (number + 1 == pages_.size()) return;
    Page& page = *pages_[number];
    Page& taken = *pages_[number + 1];
    if (page.count + taken.count > kMostEntries / 2) return;
    std::move(taken.entries.data(), taken.end(), page.end());
    page.count += taken.count;
    remove_page(number + 1);
  }

  std::uint64_t* comparisons_;
  std::size_t size_ = 0;
  std::vector<Key> firsts_;
  std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace meshmem

#endif  // MESHMEM_MEMORY_SORTED_PAGES_HPP_
