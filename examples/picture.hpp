// SPDX-License-Identifier: Apache-2.0
//
// Writes a picture as a PNG file by libpng. Used by heat.hpp.
// Invariant: the file is opened by the constructor, so that a wrong name is found before the work.
// Where libpng is missing, CMakeLists.txt leaves EXAMPLES_LIBPNG undefined: then there are no
// pictures. By hand: oshc++ -DEXAMPLES_LIBPNG 07_heat2d.cpp -lpng
#ifndef MESHMEM_EXAMPLES_PICTURE_HPP
#define MESHMEM_EXAMPLES_PICTURE_HPP

#ifdef EXAMPLES_LIBPNG
#include <png.h>
#endif

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace examples {

#ifdef EXAMPLES_LIBPNG
constexpr bool kHasPictures = true;
#else
constexpr bool kHasPictures = false;
#endif

struct Colour {
  std::uint8_t red, green, blue;
};

class PictureFile {
 public:
  explicit PictureFile(const std::string& path) : file_(std::fopen(path.c_str(), "wb")) {
    if (!file_) error_ = std::strerror(errno);
  }

  // The first error so far; empty without one.
  const std::string& error() const { return error_; }

  // The pixels lie row after row, `width` in each.
  void write(std::size_t width, const std::vector<Colour>& pixels) {
#ifdef EXAMPLES_LIBPNG
    png_image image = {};
    image.version = PNG_IMAGE_VERSION;
    image.width = static_cast<png_uint_32>(width);
    image.height = static_cast<png_uint_32>(pixels.size() / width);
    image.format = PNG_FORMAT_RGB;
    if (!png_image_write_to_stdio(&image, file_.get(), 0, pixels.data(), 0, nullptr)) {
      error_ = image.message;
    }
#else
    (void)width, (void)pixels;
#endif
    if (std::fclose(file_.release()) != 0 && error_.empty()) error_ = std::strerror(errno);
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
  std::string error_;
};

}  // namespace examples

#endif
