// SPDX-License-Identifier: Apache-2.0
//
// The shared part of 07_heat2d and 12_halo_kernel: the plate's division into bands, how heat
// spreads, and what comes out: lines of output and a picture. Each has its own way to exchange the
// edges of bands.
// Invariant: every cell, the sums and the picture have the same bits for any division into bands,
// and on CPUs and GPUs.
#ifndef MESHMEM_EXAMPLES_HEAT_HPP
#define MESHMEM_EXAMPLES_HEAT_HPP

#include <shmem.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "arguments.hpp"
#include "picture.hpp"

// Functions that kernels call too are marked so where kernels are compiled.
#ifdef MESHMEM_COMPILES_KERNELS
#define EXAMPLES_KERNELS_TOO __host__ __device__
#else
#define EXAMPLES_KERNELS_TOO
#endif

namespace examples {

struct HeatSettings {
  long width = 320, height = 240, steps = 1000;
  long every = 1L << 40;  // steps between two lines of output
  std::string output;
};

// The options that both examples take.
inline void add_heat_options(Arguments& arguments, HeatSettings& settings, const char* picture) {
  arguments.number("--width", settings.width, 1, 20000, "Cells in a row");
  arguments.number("--height", settings.height, 1, 20000, "Rows");
  arguments.number("--steps", settings.steps, 0, 1L << 40, "Steps in time");
  settings.output = picture;
  if (kHasPictures) arguments.text("--output", settings.output, "The picture, a PNG file");
}

// Rows in bands as equal as can be. With more bands than rows the last bands have none.
struct Bands {
  long height;
  long count;

  EXAMPLES_KERNELS_TOO long first_row(long band) const {
    const long extra = height % count;  // the first ones have one row more
    return height / count * band + (band < extra ? band : extra);
  }
  EXAMPLES_KERNELS_TOO long rows(long band) const { return first_row(band + 1) - first_row(band); }
  EXAMPLES_KERNELS_TOO long most_rows() const { return rows(0); }
  EXAMPLES_KERNELS_TOO bool has_rows(long band) const { return band < count && rows(band) > 0; }

  long of_row(long y) const {
    long band = 0;
    while (y >= first_row(band + 1)) ++band;
    return band;
  }
};

// A cold plate with a hot ring, a hot disc and two bars.
inline double first_temperature(const HeatSettings& settings, long x, long y) {
  const double u = (static_cast<double>(x) + 0.5) / static_cast<double>(settings.width);
  const double v = (static_cast<double>(y) + 0.5) / static_cast<double>(settings.height);
  const double from_ring = std::hypot((u - 0.32) * 4, (v - 0.5) * 3);
  const double from_disc = std::hypot((u - 0.78) * 4, (v - 0.3) * 3);
  if (from_ring > 0.75 && from_ring < 0.95) return 100;
  if (from_disc < 0.4) return 80;
  if (u > 0.62 && u < 0.94 && (std::fabs(v - 0.65) < 0.025 || std::fabs(v - 0.8) < 0.025)) {
    return 100;
  }
  return 0;
}

// Each cell of row `here` moves towards the mean of its four neighbours. Both factors are powers of
// two, so their products are exact. Compilers may fuse them with the additions, as those for GPUs
// do.
EXAMPLES_KERNELS_TOO inline double next_temperature(const double* up, const double* here,
                                                    const double* down, long x, long width) {
  constexpr double kSpeed = 0.125;  // stable up to 0.25
  const double left = here[x > 0 ? x - 1 : x];
  const double right = here[x + 1 < width ? x + 1 : x];
  return here[x] + kSpeed * ((up[x] + down[x]) + (left + right) - 4 * here[x]);
}

// A line of output every few steps: the largest change of a cell in the last step, and the sum of
// all cells, which must not change.
class HeatReport {
 public:
  explicit HeatReport(long height)
      : rows_(static_cast<std::size_t>(height)),
        row_heat_(allocate<double>(rows_)),
        all_row_heat_(allocate<double>(rows_)),
        change_(allocate<double>(2)) {}

  // A row of this PE: its cells now, and one step before.
  void add_row(long y, const double* now, const double* before, long width) {
    double sum = 0;
    for (long x = 0; x < width; ++x) {
      sum += now[x];
      change_[kMine] = std::max(change_[kMine], std::fabs(now[x] - before[x]));
    }
    row_heat_[y] = sum;
  }

  // Called by all PEs, after each has added its rows. A maximum is the same in any order. The total
  // is made of the rows' sums, in their order: the reduction only collects them, since all PEs but
  // one add zeros.
  void print(long step) {
    shmem_sync_all();  // all have read the last answers
    shmem_double_max_reduce(SHMEM_TEAM_WORLD, &change_[kAll], &change_[kMine], 1);
    shmem_double_sum_reduce(SHMEM_TEAM_WORLD, all_row_heat_, row_heat_, rows_);
    change_[kMine] = 0;
    double total = 0;
    for (std::size_t y = 0; y < rows_; ++y) total += all_row_heat_[y];
    if (shmem_my_pe() != 0) return;
    std::printf("step %6ld  largest change %.9e  total heat %.9f\n", step, change_[kAll], total);
    std::fflush(stdout);
  }

 private:
  enum { kMine, kAll };

  std::size_t rows_;
  double* row_heat_;  // of my rows; 0 for the others
  double* all_row_heat_;
  double* change_;
};

// Black, purple, red, orange, yellow, white: 0 to 1.
inline Colour colour_of(double heat) {
  constexpr double kStops[][3] = {{0, 0, 4},     {66, 10, 104},  {147, 38, 103},
                                  {221, 81, 58}, {252, 165, 10}, {252, 255, 164}};
  constexpr int kLast = 5;
  const double place = std::min(std::max(heat, 0.0), 1.0) * kLast;
  const int stop = std::min(static_cast<int>(place), kLast - 1);
  const auto mix = [&](int channel) {
    const double from = kStops[stop][channel];
    return static_cast<std::uint8_t>(from + (kStops[stop + 1][channel] - from) * (place - stop));
  };
  return {mix(0), mix(1), mix(2)};
}

// PE 0 writes the picture; the others need not help. Its file is opened before the work, so that a
// wrong name does not cost that work.
class HeatPicture {
 public:
  explicit HeatPicture(const HeatSettings& settings) : settings_(settings) {
    if (kHasPictures && shmem_my_pe() == 0) file_ = std::make_unique<PictureFile>(settings.output);
    agree(error());
  }

  // fetch_row(y) is a vector with the cells of any row.
  template <typename FetchRow>
  void write(FetchRow fetch_row) {
    if (file_) write_rows(fetch_row);
    agree(error());
  }

 private:
  std::string error() const {
    if (!file_ || file_->error().empty()) return "";
    return "cannot write '" + settings_.output + "': " + file_->error() +
           "; give a file with --output FILE";
  }

  template <typename FetchRow>
  void write_rows(FetchRow fetch_row) {
    std::vector<double> cells;
    for (long y = 0; y < settings_.height; ++y) {
      const std::vector<double> row = fetch_row(y);
      cells.insert(cells.end(), row.begin(), row.end());
    }
    const double hottest = std::max(1e-300, *std::max_element(cells.begin(), cells.end()));
    std::vector<Colour> pixels;
    pixels.reserve(cells.size());
    for (double cell : cells) pixels.push_back(colour_of(cell / hottest));
    file_->write(static_cast<std::size_t>(settings_.width), pixels);
  }

  HeatSettings settings_;
  std::unique_ptr<PictureFile> file_;
};

inline void print_heat_summary(const HeatSettings& settings, double seconds) {
  if (shmem_my_pe() != 0) return;
  const auto cells = static_cast<double>(settings.width * settings.height * settings.steps);
  std::printf("%s: %.2f s, %.0f million cells/s; %s%s\n", number_of_pes().c_str(), seconds,
              cells / seconds / 1e6, kHasPictures ? "wrote " : "no picture: built without libpng",
              kHasPictures ? settings.output.c_str() : "");
}

}  // namespace examples

#endif
