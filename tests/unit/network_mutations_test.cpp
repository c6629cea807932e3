// SPDX-License-Identifier: Apache-2.0
//
// Messages of a known PE, changed at random: each is taken, ignored, or ends the job with a line.
// AddressSanitizer reports any other effect: an access outside the message or a segment.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "fed_arrivals.hpp"

namespace meshmem {
namespace {

using network::Head;
using network::Record;
using network::RecordKind;

constexpr int kMessages = 100'000;
constexpr int kMostOfOne = 200;  // messages that one receiver takes

struct Letter {
  int sender = -1;
  Head head = FedArrivals::head();
  std::size_t head_bytes = sizeof head;
  std::vector<std::byte> body;
};

class Author {
 public:
  Letter write() {
    Letter letter;
    letter.head.flags = static_cast<std::uint8_t>(below(4));
    letter.sender = below(8) == 0 ? static_cast<int>(below(3)) : -1;
    const unsigned records = below(4);
    if (records == 0) {
      letter.head.lone = record(RecordKind::hello);
      letter.body.resize(network::data_bytes(letter.head.lone));
    }
    for (unsigned i = 0; i < records; ++i) add(letter.body, record(RecordKind::put));
    return letter;
  }

  void change(Letter& letter) {
    for (unsigned n = below(4); n > 0; --n) {
      const bool is_in_head = letter.body.empty() || below(2) == 0;
      auto* const bytes =
          is_in_head ? reinterpret_cast<std::byte*>(&letter.head) : letter.body.data();
      // The token is mostly right, otherwise all else would be ignored.
      const std::size_t first = is_in_head && below(50) != 0 ? sizeof letter.head.token : 0;
      change(bytes + first, (is_in_head ? sizeof letter.head : letter.body.size()) - first);
      if (below(8) == 0) letter.body.resize(below(8) == 0 ? below(100'000) : below(200));
      if (below(50) == 0) letter.head_bytes = below(sizeof letter.head + 1);
    }
  }

 private:
  unsigned below(std::size_t n) { return static_cast<unsigned>(random_() % n); }

  Record record(RecordKind first_kind) {
    const auto first = static_cast<unsigned>(first_kind);
    const auto kinds = static_cast<unsigned>(network::kLastKind) - first + 1;
    Record r{.kind = static_cast<RecordKind>(first + below(kinds))};
    r.segment = below(3);
    r.follows_fence = below(2);
    r.op = static_cast<std::uint8_t>(below(9));
    r.width = r.kind == RecordKind::put_signal ? below(3) : 8;
    r.index = below(2);
    r.offset = 8 * below(FedArrivals::kSegmentBytes / 8);
    r.bytes = below(2) == 0 ? FedArrivals::kAnswerBytes : below(600);
    // The kind decides what these two mean (format.hpp).
    r.first = 8 * below(64);
    r.second = r.bytes * (1 + below(2));
    switch (r.kind) {
      case RecordKind::hello:
        r.first = FedArrivals::kToken[1];
        break;
      case RecordKind::bye:
        r.first = below(3);
        break;
      case RecordKind::reply:
        r.first = (std::uint64_t{below(3)} << 32) + below(3);
        break;
      case RecordKind::credit:
        r.first = 0;
        break;
      case RecordKind::message:
        r.offset = below(2);
        r.first = 1 + below(3);
        break;
      default:
        break;
    }
    return r;
  }

  void add(std::vector<std::byte>& body, const Record& record) {
    if (record.kind == RecordKind::hello || record.kind == RecordKind::bye) return;
    const std::vector<std::byte> data(network::data_bytes(record), std::byte{0x55});
    const std::size_t at = body.size();
    body.resize(at + network::packed_bytes(record));
    network::pack(&body[at], record, data.data());
  }

  void change(std::byte* bytes, std::size_t n) {
    static constexpr std::uint64_t kOdd[] = {
        0,    1,     7,        8,          63,         64,         4095,  4096,
        4097, 61440, 1u << 31, 0xffffffff, 1ull << 32, 1ull << 63, ~0ull, ~0ull - 7};
    const std::size_t at = below(n);
    if (below(3) == 0) {
      bytes[at] ^= std::byte(1u << below(8));
    } else if (below(2) == 0) {
      bytes[at] = std::byte(below(256));
    } else {
      const std::uint64_t word = kOdd[below(std::size(kOdd))];
      const std::size_t place = at / 8 * 8;
      std::memcpy(bytes + place, &word, std::min(sizeof word, n - place));
    }
  }

  std::mt19937_64 random_{20251128};
};

TEST(Mutations, AreTakenIgnoredOrEndTheJob) {
  Author author;
  int fates[3] = {};
  auto receiver = std::make_unique<FedArrivals>();
  for (int n = 0, of_one = 0; n < kMessages; ++n, ++of_one) {
    Letter letter = author.write();
    author.change(letter);
    const Fate fate = receiver->take(letter.sender, &letter.head, letter.head_bytes, letter.body);
    ++fates[static_cast<int>(fate)];
    if (fate != Fate::ends_job && of_one < kMostOfOne) continue;
    receiver = std::make_unique<FedArrivals>();
    of_one = 0;
  }
  // Each fate was met often.
  for (const int count : fates) EXPECT_GT(count, kMessages / 50);
}

}  // namespace
}  // namespace meshmem
