// SPDX-License-Identifier: Apache-2.0
//
// Numbers and texts, one behind the other in the bytes of a message. Numbers are as the processor
// has them; a text has its length before it, in 32 bits.
// Invariant: nothing is read beyond the bytes that came. Used by start-up.
#ifndef MESHMEM_BASE_PACKED_HPP_
#define MESHMEM_BASE_PACKED_HPP_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace meshmem {

class Packed {
 public:
  template <typename Number>
  requires(!std::convertible_to<const Number&, std::string_view>) Packed& add(
      const Number& number) {
    static_assert(std::is_trivially_copyable_v<Number>);
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof number);
    return *this;
  }
  Packed& add(std::string_view text) {
    add(static_cast<std::uint32_t>(text.size()));
    bytes_ += text;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Reads them in order. A missing number reads as 0, and a text that is cut ends with the bytes.
class PackedReader {
 public:
  explicit PackedReader(std::string_view bytes) : rest_(bytes) {}

  template <typename Number = std::uint32_t>
  Number number() {
    Number number{};
    if (const std::string_view bytes = take(sizeof number); bytes.size() == sizeof number)
      std::memcpy(&number, bytes.data(), sizeof number);
    return number;
  }
  std::string_view text(std::size_t most = SIZE_MAX) {
    const std::size_t bytes = number();
    if (bytes > most) is_good_ = false;
    return take(bytes);
  }
  bool is_good() const { return is_good_; }  // nothing was missing or too long
  std::size_t left() const { return rest_.size(); }

 private:
  std::string_view take(std::size_t bytes) {
    const std::string_view taken = rest_.substr(0, bytes);
    if (taken.size() < bytes) is_good_ = false;
    rest_.remove_prefix(taken.size());
    return taken;
  }

  std::string_view rest_;
  bool is_good_ = true;
};

}  // namespace meshmem

#endif  // MESHMEM_BASE_PACKED_HPP_
