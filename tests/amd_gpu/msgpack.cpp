// SPDX-License-Identifier: Apache-2.0
// See msgpack.hpp. The format: https://github.com/msgpack/msgpack/blob/master/spec.md
#include "msgpack.hpp"

namespace amd_gpu {
namespace {

constexpr int kMostNested = 16;

class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> bytes) : left_(bytes) {}

  Value read(int depth = 0) {
    const std::uint8_t tag = static_cast<std::uint8_t>(big_endian(1));
    if (failed_ || depth > kMostNested) return {};
    if (tag < 0x80) return of_number(tag);
    if (tag < 0x90) return of_list(tag & 15u, Value::Kind::kMap, depth);
    if (tag < 0xa0) return of_list(tag & 15u, Value::Kind::kList, depth);
    if (tag < 0xc0) return of_text(tag & 31u);
    if (tag >= 0xe0) return of_number(static_cast<std::uint64_t>(static_cast<std::int8_t>(tag)));
    switch (tag) {
      case 0xc2:
      case 0xc3:
        return of_number(tag - 0xc2u);
      case 0xcc:
      case 0xcd:
      case 0xce:
      case 0xcf:
        return of_number(big_endian(1u << (tag - 0xcc)));
      case 0xd0:
      case 0xd1:
      case 0xd2:
      case 0xd3:
        return signed_number(1u << (tag - 0xd0));
      case 0xd9:
      case 0xda:
      case 0xdb:
        return of_text(big_endian(1u << (tag - 0xd9)));
      case 0xdc:
      case 0xdd:
        return of_list(big_endian(2u << (tag - 0xdc)), Value::Kind::kList, depth);
      case 0xde:
      case 0xdf:
        return of_list(big_endian(2u << (tag - 0xde)), Value::Kind::kMap, depth);
      default:
        return {};
    }
  }

 private:
  std::uint64_t big_endian(unsigned bytes) {
    if (left_.size() < bytes) failed_ = true;
    if (failed_) return 0;
    std::uint64_t value = 0;
    for (unsigned n = 0; n < bytes; ++n) value = value << 8 | left_[n];
    left_ = left_.subspan(bytes);
    return value;
  }
  static Value of_number(std::uint64_t number) {
    Value value;
    value.kind = Value::Kind::kNumber;
    value.number = number;
    return value;
  }
  Value signed_number(unsigned bytes) {
    const unsigned shift = 64 - 8 * bytes;
    return of_number(
        static_cast<std::uint64_t>(static_cast<std::int64_t>(big_endian(bytes) << shift) >> shift));
  }
  Value of_text(std::uint64_t length) {
    if (left_.size() < length) failed_ = true;
    if (failed_) return {};
    Value value;
    value.kind = Value::Kind::kText;
    value.text.assign(left_.begin(), left_.begin() + static_cast<std::ptrdiff_t>(length));
    left_ = left_.subspan(length);
    return value;
  }
  Value of_list(std::uint64_t length, Value::Kind kind, int depth) {
    Value value;
    value.kind = kind;
    const std::uint64_t values = kind == Value::Kind::kMap ? 2 * length : length;
    for (std::uint64_t n = 0; n < values && !failed_; ++n) value.list.push_back(read(depth + 1));
    return value;
  }

  std::span<const std::uint8_t> left_;
  bool failed_ = false;
};

}  // namespace

Value read_msgpack(std::span<const std::uint8_t> bytes) { return Reader(bytes).read(); }

}  // namespace amd_gpu
