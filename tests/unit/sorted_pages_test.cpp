// SPDX-License-Identifier: Apache-2.0
//
// SortedPages against std::map, while it grows to dozens of pages and shrinks to none.
#include "memory/sorted_pages.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <random>

namespace meshmem {
namespace {

using Pages = SortedPages<std::size_t, int>;
using Map = std::map<std::size_t, int>;

void expect_same(const Pages& pages, const Map& map) {
  ASSERT_EQ(pages.size(), map.size());
  Pages::Place place = pages.begin();
  for (const auto& [key, value] : map) {
    ASSERT_FALSE(pages.is_end(place));
    ASSERT_EQ(pages.at(place).key, key);
    ASSERT_EQ(pages.at(place).value, value);
    place = pages.next(place);
  }
  ASSERT_TRUE(pages.is_end(place));
  for (auto at = map.rbegin(); at != map.rend(); ++at) {
    place = pages.previous(place);
    ASSERT_EQ(pages.at(place).key, at->first);
  }
  ASSERT_TRUE(map.empty() || pages.is_begin(place));
}

void expect_same_bound(const Pages& pages, const Map& map, std::size_t key) {
  const auto bound = map.lower_bound(key);
  const Pages::Place place = pages.lower_bound(key);
  ASSERT_EQ(pages.is_end(place), bound == map.end());
  if (bound != map.end()) {
    ASSERT_EQ(pages.at(place).key, bound->first);
  }
  ASSERT_EQ(pages.is_end(pages.find(key)), !map.contains(key));
}

TEST(SortedPages, HoldWhatAMapHolds) {
  std::mt19937_64 random(7);
  std::uint64_t comparisons = 0;
  Pages pages(&comparisons);
  Map map;
  for (const std::size_t goal : {5000u, 300u, 4000u, 0u, 129u, 0u}) {
    while (map.size() != goal) {
      const std::size_t key = random() % 20'000;
      ASSERT_NO_FATAL_FAILURE(expect_same_bound(pages, map, key));
      // One step in eight goes the other way.
      if ((map.size() < goal) == (random() % 8 != 0)) {
        if (map.emplace(key, static_cast<int>(key) + 1).second) {
          pages.insert(key, static_cast<int>(key) + 1);
        }
      } else if (const auto at = map.lower_bound(key); at != map.end()) {
        pages.erase(pages.find(at->first));
        map.erase(at);
      }
      if (random() % 512 == 0) {
        ASSERT_NO_FATAL_FAILURE(expect_same(pages, map));
      }
    }
    ASSERT_NO_FATAL_FAILURE(expect_same(pages, map));
  }
}

std::uint64_t made = 0;  // comparisons
struct CountedKey {
  std::size_t number;
  bool operator==(const CountedKey&) const = default;
  bool operator<(const CountedKey& other) const {
    ++made;
    return number < other.number;
  }
};

TEST(SortedPages, CountTheComparisonsOfSearches) {
  std::uint64_t comparisons = 0;
  SortedPages<CountedKey, int> pages(&comparisons);
  for (std::size_t number = 0; number < 300; ++number) {
    pages.insert({number}, 0);
    made = comparisons = 0;
    (void)pages.lower_bound({number / 2});
    ASSERT_EQ(comparisons, made) << number + 1 << " keys";
  }
}

TEST(SortedPages, KeepPlacesBeforeAnErasedOne) {
  std::uint64_t comparisons = 0;
  Pages pages(&comparisons);
  for (std::size_t key = 0; key < 1000; ++key) pages.insert(key, 0);
  const Pages::Place first = pages.begin();
  while (pages.size() > 1) {
    pages.erase(pages.next(first));
    ASSERT_EQ(pages.at(first).key, 0u);
  }
  EXPECT_TRUE(pages.is_end(pages.next(first)));
}

}  // namespace
}  // namespace meshmem
