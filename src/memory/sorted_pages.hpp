// SPDX-License-Identifier: Apache-2.0
//
// An ordered map for a million entries and more. A page holds neighbouring entries. A call finds
// its page by an array of the pages' first keys, so it touches little memory.
// Invariant: no page is empty, and firsts_ has the first key of each. insert() invalidates all
// places, erase() only those at or behind its own. Called by the allocator.
#ifndef MESHMEM_MEMORY_SORTED_PAGES_HPP_
#define MESHMEM_MEMORY_SORTED_PAGES_HPP_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace meshmem {

template <typename Key, typename Value>
class SortedPages {
 public:
  struct Entry {
    const Key& key;
    const Value& value;
  };
  struct Place {
    std::size_t page, index;
  };

  // *comparisons counts the comparisons that searches make.
  explicit SortedPages(std::uint64_t* comparisons) : comparisons_(comparisons) {}

  std::size_t size() const { return size_; }
  bool is_end(Place place) const { return place.page == pages_.size(); }
  bool is_begin(Place place) const { return place.page == 0 && place.index == 0; }
  Place begin() const { return {0, 0}; }
  Place end() const { return {pages_.size(), 0}; }
  Entry at(Place place) const {
    const Page& page = *pages_[place.page];
    return {page.keys[place.index], page.values[place.index]};
  }
  Value& value_at(Place place) { return pages_[place.page]->values[place.index]; }
  Entry last() const { return at(previous(end())); }

  Place next(Place place) const { return skip_page_end({place.page, place.index + 1}); }
  Place previous(Place place) const {
    if (place.index != 0) return {place.page, place.index - 1};
    return {place.page - 1, pages_[place.page - 1]->count - 1};
  }

  // The first entry whose key is not less.
  Place lower_bound(const Key& key) const {
    return pages_.empty() ? end() : skip_page_end(place_in_page(key));
  }
  Place find(const Key& key) const {
    const Place place = lower_bound(key);
    return is_end(place) || key < at(place).key ? end() : place;
  }

  // Adds an entry, whose key is not there yet.
  void insert(const Key& key, const Value& value) {
    if (pages_.empty()) add_page(0, key);
    Place place = place_in_page(key);
    if (pages_[place.page]->count == kMostEntries) place = split(place, key);
    Page& page = *pages_[place.page];
    Key* const keys = page.keys.data();
    Value* const values = page.values.data();
    std::move_backward(keys + place.index, keys + page.count, keys + page.count + 1);
    std::move_backward(values + place.index, values + page.count, values + page.count + 1);
    keys[place.index] = key;
    values[place.index] = value;
    ++page.count;
    ++size_;
    if (place.index == 0) firsts_[place.page] = key;
  }

  void erase(Place place) {
    Page& page = *pages_[place.page];
    page.move(place.index + 1, page, place.index);
    --page.count;
    --size_;
    if (page.count == 0) return remove_page(place.page);
    if (place.index == 0) firsts_[place.page] = page.keys[0];
    if (page.count < kMostEntries / 4) merge_next_page(place.page);
  }

 private:
  static constexpr std::size_t kMostEntries = 128;

  // Keys lie together, so that a search touches few cache lines.
  struct Page {
    std::size_t count = 0;
    std::array<Key, kMostEntries> keys;
    std::array<Value, kMostEntries> values;

    // The entries from `begin` on go to place `at` of a page, which may be this one.
    void move(std::size_t begin, Page& to, std::size_t at) {
      std::move(keys.data() + begin, keys.data() + count, to.keys.data() + at);
      std::move(values.data() + begin, values.data() + count, to.values.data() + at);
    }
    void prefetch_keys() const {
      for (std::size_t i = 0; i < kMostEntries; i += 64 / sizeof(Key))
        __builtin_prefetch(keys.data() + i);
    }
  };

  // How many of `n` sorted keys are less than `key`. A binary search without branches, since the
  // processor could not predict them.
  template <typename KeyAt>
  std::size_t count_before(std::size_t n, const Key& key, const KeyAt& key_at) const {
    *comparisons_ += n == 0 ? 0 : static_cast<std::uint64_t>(std::bit_width(n - 1)) + 1;
    std::size_t before = 0;
    for (; n > 1; n -= n / 2) before += key_at(before + n / 2 - 1) < key ? n / 2 : 0;
    return before + (n == 1 && key_at(before) < key);
  }

  Place skip_page_end(Place place) const {
    return place.index < pages_[place.page]->count ? place : Place{place.page + 1, 0};
  }

  // Returns the place of the key, or the place where it would be inserted in its page. That may be
  // the end of the page.
  Place place_in_page(const Key& key) const {
    const std::size_t pages =
        count_before(pages_.size(), key, [this](std::size_t i) { return firsts_[i]; });
    const bool is_first = pages != pages_.size() && firsts_[pages] == key;
    const std::size_t number = pages == 0 || is_first ? pages : pages - 1;
    const Page& page = *pages_[number];
    page.prefetch_keys();
    return {number, count_before(page.count, key,
                                 [&page](std::size_t i) -> const Key& { return page.keys[i]; })};
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

  // Splits a full page to make room for the key, and returns the key's new place. Keys that are
  // inserted in ascending order leave full pages.
  Place split(Place place, const Key& key) {
    Page& page = *pages_[place.page];
    const bool in_order = place.page + 1 == pages_.size() && place.index == kMostEntries;
    const std::size_t kept = in_order ? kMostEntries : kMostEntries / 2;
    add_page(place.page + 1, in_order ? key : page.keys[kept]);
    Page& added = *pages_[place.page + 1];
    page.move(kept, added, 0);
    added.count = kMostEntries - kept;
    page.count = kept;
    return place.index < kept ? place : Place{place.page + 1, place.index - kept};
  }

  void merge_next_page(std::size_t number) {
    if (number + 1 == pages_.size()) return;
    Page& page = *pages_[number];
    Page& taken = *pages_[number + 1];
    if (page.count + taken.count > kMostEntries / 2) return;
    taken.move(0, page, page.count);
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
