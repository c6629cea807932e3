// SPDX-License-Identifier: Apache-2.0
//
// Writes a picture as a PNG file, row by row, without compression: a PNG may hold its pixels in
// "stored" blocks, which need no library. Used by heat.hpp.
// Invariant: exactly `height` rows of `width` pixels are added before finish().
#ifndef MESHMEM_EXAMPLES_PNG_HPP
#define MESHMEM_EXAMPLES_PNG_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace examples {

struct Colour {
  std::uint8_t red, green, blue;
};

class PngWriter {
 public:
  // Whether the file can be written is seen by good().
  explicit PngWriter(const std::string& path) : file_(path, std::ios::binary) {}

  bool good() const { return file_.good(); }

  void begin(std::uint32_t width, std::uint32_t height) {
    const Bytes signature = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    write(signature);
    Bytes header;
    put32(header, width);
    put32(header, height);
    header.insert(header.end(), {8, 2, 0, 0, 0});  // 8 bits each of red, green, blue
    write_chunk("IHDR", header);
  }

  void add_row(const std::vector<Colour>& row) {
    pixels_.push_back(0);  // this row is not filtered
    for (const Colour& c : row) pixels_.insert(pixels_.end(), {c.red, c.green, c.blue});
  }

  void finish() {
    write_chunk("IDAT", stored(pixels_));
    write_chunk("IEND", {});
    file_.close();
  }

 private:
  using Bytes = std::vector<std::uint8_t>;

  static void put32(Bytes& to, std::uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      to.push_back(static_cast<std::uint8_t>(value >> shift));
    }
  }

  void write(const Bytes& bytes) {
    file_.write(reinterpret_cast<const char*>(bytes.data()),
                static_cast<std::streamsize>(bytes.size()));
  }

  // A chunk: length of the data, name, data, checksum of name and data.
  void write_chunk(const std::string& name, const Bytes& data) {
    Bytes length;
    put32(length, static_cast<std::uint32_t>(data.size()));
    Bytes body(name.begin(), name.end());
    body.insert(body.end(), data.begin(), data.end());
    const std::uint32_t checksum = crc32(body);
    put32(body, checksum);
    write(length);
    write(body);
  }

  // The zlib format around blocks of at most 65535 bytes, stored as they are.
  static Bytes stored(const Bytes& data) {
    constexpr std::size_t kMostInABlock = 65535;
    Bytes out = {0x78, 0x01};
    for (std::size_t begin = 0; begin < data.size(); begin += kMostInABlock) {
      const std::size_t size = std::min(kMostInABlock, data.size() - begin);
      const bool last = begin + size == data.size();
      const auto low = static_cast<std::uint8_t>(size);
      const auto high = static_cast<std::uint8_t>(size >> 8);
      out.insert(out.end(), {static_cast<std::uint8_t>(last), low, high,
                             static_cast<std::uint8_t>(~low), static_cast<std::uint8_t>(~high)});
      const auto from = data.begin() + static_cast<std::ptrdiff_t>(begin);
      out.insert(out.end(), from, from + static_cast<std::ptrdiff_t>(size));
    }
    put32(out, adler32(data));
    return out;
  }

  static std::uint32_t crc32(const Bytes& bytes) {
    std::uint32_t crc = 0xffffffff;
    for (std::uint8_t byte : bytes) {
      crc ^= byte;
      for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
    }
    return ~crc;
  }

  static std::uint32_t adler32(const Bytes& bytes) {
    std::uint32_t sum = 1;
    std::uint32_t sum_of_sums = 0;
    for (std::uint8_t byte : bytes) {
      sum = (sum + byte) % 65521;
      sum_of_sums = (sum_of_sums + sum) % 65521;
    }
    return sum_of_sums << 16 | sum;
  }

  std::ofstream file_;
  Bytes pixels_;
};

}  // namespace examples

#endif
