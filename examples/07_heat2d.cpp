// SPDX-License-Identifier: Apache-2.0
//
// Heat spreads in a plate: a grid of cells, cut into bands of rows, one for each PE. In each step a
// PE needs the row next to its band from both neighbours ("halo"); they put it there, with a signal
// that says it has arrived. No barrier is needed. Writes a picture of the last state.
// Run it:
//   oshc++ -O2 07_heat2d.cpp -o heat2d && oshrun -n 4 ./heat2d
//
// Invariant: every cell, the sums and the picture have the same bits for any number of PEs.

#include <shmem.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>

#include "arguments.hpp"
#include "png.hpp"

namespace {

constexpr char kUsage[] =
    "usage: 07_heat2d [options]\n"
    "Spreads heat in a plate over all PEs and writes a picture of it.\n"
    "  --width N      cells in a row (default 320)\n"
    "  --height N     rows (default 240)\n"
    "  --steps N      steps in time (default 1000)\n"
    "  --every N      steps between two lines of output (default 100)\n"
    "  --output FILE  the picture, a PNG file (default heat2d.png)\n";

struct Settings {
  long width, height, steps, every;
  std::string output;
};

Settings read_settings(int argc, char** argv) {
  examples::Arguments arguments(argc, argv, kUsage);
  Settings settings;
  settings.width = arguments.number("--width", 320, 1, 20000);
  settings.height = arguments.number("--height", 240, 1, 20000);
  settings.steps = arguments.number("--steps", 1000, 0, 1L << 40);
  settings.every = arguments.number("--every", 100, 1, 1L << 40);
  settings.output = arguments.text("--output", "heat2d.png");
  arguments.finish();
  return settings;
}

// ------------------------------------------------------------------------------ 1. Who has which
// rows

// Rows in bands as equal as can be. With more PEs than rows the last PEs have none: they have no
// neighbours, wait for nobody, and only take part in the sums.
struct Bands {
  long height;
  long pes;

  long first_row(long pe) const { return height / pes * pe + std::min(pe, height % pes); }
  long rows(long pe) const { return first_row(pe + 1) - first_row(pe); }
  long most_rows() const { return rows(0); }
};

// ----------------------------------------------------------------------------------- 2. The plate

constexpr int kNobody = -1;

class Plate {
 public:
  explicit Plate(const Settings& settings)
      : width_(settings.width), bands_{settings.height, shmem_n_pes()}, me_(shmem_my_pe()) {
    const auto cells = static_cast<std::size_t>((bands_.most_rows() + 2) * width_);
    for (double*& state : states_) state = examples::allocate<double>(cells);
    arrived_ = examples::allocate<std::uint64_t>(2);
    row_heat_ = examples::allocate<double>(static_cast<std::size_t>(bands_.height));
    all_row_heat_ = examples::allocate<double>(static_cast<std::size_t>(bands_.height));
    above_ = has_rows(me_) && me_ > 0 ? me_ - 1 : kNobody;
    below_ = has_rows(me_) && me_ + 1 < bands_.pes && has_rows(me_ + 1) ? me_ + 1 : kNobody;
    set_first_state();
  }

  void step() {
    send_halos();
    const long last = my_rows() - 1;
    for (long r = 1; r < last; ++r) update_row(r);  // these need no halo: work while it travels
    receive_halos();
    if (last >= 0) update_row(0);
    if (last > 0) update_row(last);
    shmem_quiet();  // the rows that were sent may be overwritten: the next step does so
    ++steps_;
  }

  // The largest change of a cell in the last step. A maximum is the same in any order.
  double largest_change() {
    static double mine;
    static double largest;
    shmem_sync_all();  // all have read the last answer
    mine = 0;
    for (long i = 0; i < my_rows() * width_; ++i) {
      mine = std::max(mine, std::fabs(row(now(), 0)[i] - row(next(), 0)[i]));
    }
    shmem_double_max_reduce(SHMEM_TEAM_WORLD, &largest, &mine, 1);
    return largest;
  }

  // The sum over all cells. It is made of the rows' sums, in their order, so that bands do not
  // matter: the reduction only collects them, as it adds zeros to each but one.
  double total_heat() {
    shmem_sync_all();  // all have read the last answer
    for (long r = 0; r < my_rows(); ++r) {
      double sum = 0;
      for (long x = 0; x < width_; ++x) sum += row(now(), r)[x];
      row_heat_[bands_.first_row(me_) + r] = sum;
    }
    const auto rows = static_cast<std::size_t>(bands_.height);
    shmem_double_sum_reduce(SHMEM_TEAM_WORLD, all_row_heat_, row_heat_, rows);
    double total = 0;
    for (std::size_t r = 0; r < rows; ++r) total += all_row_heat_[r];
    return total;
  }

  // Any row of the whole plate, fetched from the PE that has it.
  std::vector<double> fetch_row(long y) const {
    int pe = 0;
    while (y >= bands_.first_row(pe + 1)) ++pe;
    std::vector<double> cells(static_cast<std::size_t>(width_));
    shmem_double_get(cells.data(), row(now(), y - bands_.first_row(pe)), cells.size(), pe);
    return cells;
  }

 private:
  bool has_rows(int pe) const { return bands_.rows(pe) > 0; }
  long my_rows() const { return bands_.rows(me_); }

  // Two states take turns, the present and the next one.
  double* now() const { return states_[steps_ % 2]; }
  double* next() const { return states_[(steps_ + 1) % 2]; }

  // Row r of a PE's band. Row -1 and the one after the last are the halo.
  double* row(double* state, long r) const { return state + (r + 1) * width_; }

  // A cold plate with a hot ring, a hot disc and two bars.
  double first_temperature(long x, long y) const {
    const double u = (static_cast<double>(x) + 0.5) / static_cast<double>(width_);
    const double v = (static_cast<double>(y) + 0.5) / static_cast<double>(bands_.height);
    const double from_ring = std::hypot((u - 0.32) * 4, (v - 0.5) * 3);
    const double from_disc = std::hypot((u - 0.78) * 4, (v - 0.3) * 3);
    if (from_ring > 0.75 && from_ring < 0.95) return 100;
    if (from_disc < 0.4) return 80;
    if (u > 0.62 && u < 0.94 && (std::fabs(v - 0.65) < 0.025 || std::fabs(v - 0.8) < 0.025)) {
      return 100;
    }
    return 0;
  }

  void set_first_state() {
    for (long r = 0; r < my_rows(); ++r) {
      for (long x = 0; x < width_; ++x) {
        row(now(), r)[x] = first_temperature(x, bands_.first_row(me_) + r);
      }
    }
  }

  // My outer rows into the halos of my neighbours. Their number of the step is the signal: it only
  // grows, so nobody has to set it back.
  //
  // A neighbour that is one step behind still reads the halo of the other state. It cannot be two
  // behind: what it sent for this step was needed to get here.
  void send_halos() {
    const auto cells = static_cast<std::size_t>(width_);
    const auto signal = static_cast<std::uint64_t>(steps_ + 1);
    if (above_ != kNobody) {
      shmem_double_put_signal_nbi(row(now(), bands_.rows(above_)), row(now(), 0), cells,
                                  &arrived_[kFromBelow], signal, SHMEM_SIGNAL_SET, above_);
    }
    if (below_ != kNobody) {
      shmem_double_put_signal_nbi(row(now(), -1), row(now(), my_rows() - 1), cells,
                                  &arrived_[kFromAbove], signal, SHMEM_SIGNAL_SET, below_);
    }
  }

  // Waits for the neighbours' rows. No heat passes the edges of the plate: behind them is a copy of
  // the row before them.
  void receive_halos() {
    const auto signal = static_cast<std::uint64_t>(steps_ + 1);
    const auto bytes = static_cast<std::size_t>(width_) * sizeof(double);
    if (above_ != kNobody) {
      shmem_signal_wait_until(&arrived_[kFromAbove], SHMEM_CMP_GE, signal);
    } else {
      std::memcpy(row(now(), -1), row(now(), 0), bytes);
    }
    if (below_ != kNobody) {
      shmem_signal_wait_until(&arrived_[kFromBelow], SHMEM_CMP_GE, signal);
    } else {
      std::memcpy(row(now(), my_rows()), row(now(), my_rows() - 1), bytes);
    }
  }

  // Each cell moves towards the mean of its four neighbours.
  void update_row(long r) {
    constexpr double kSpeed = 0.2;  // stable up to 0.25
    const double* up = row(now(), r - 1);
    const double* here = row(now(), r);
    const double* down = row(now(), r + 1);
    double* out = row(next(), r);
    for (long x = 0; x < width_; ++x) {
      const double left = here[x > 0 ? x - 1 : x];
      const double right = here[x + 1 < width_ ? x + 1 : x];
      out[x] = here[x] + kSpeed * ((up[x] + down[x]) + (left + right) - 4 * here[x]);
    }
  }

  enum Side { kFromAbove, kFromBelow };

  long width_;
  Bands bands_;
  int me_;
  int above_;
  int below_;
  long steps_ = 0;
  double* states_[2];       // symmetric, as all below
  std::uint64_t* arrived_;  // for each side, the last step whose halo is here
  double* row_heat_;        // of my rows; 0 for the others
  double* all_row_heat_;
};

// --------------------------------------------------------------------------------- 3. What comes
// out

// Black, purple, red, orange, yellow, white: 0 to 1.
examples::Colour colour_of(double heat) {
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

// PE 0 fetches row after row; the others need not help.
void write_picture(const Plate& plate, const Settings& settings, examples::PngWriter& png) {
  std::vector<std::vector<double>> rows;
  double hottest = 1e-300;
  for (long y = 0; y < settings.height; ++y) {
    rows.push_back(plate.fetch_row(y));
    for (double cell : rows.back()) hottest = std::max(hottest, cell);
  }
  png.begin(static_cast<std::uint32_t>(settings.width),
            static_cast<std::uint32_t>(settings.height));
  for (const std::vector<double>& cells : rows) {
    std::vector<examples::Colour> colours;
    for (double cell : cells) colours.push_back(colour_of(cell / hottest));
    png.add_row(colours);
  }
  png.finish();
}

void report(Plate& plate, long step) {
  const double change = plate.largest_change();
  const double heat = plate.total_heat();
  if (shmem_my_pe() != 0) return;
  std::printf("step %6ld  largest change %.9e  total heat %.9f\n", step, change, heat);
  std::fflush(stdout);
}

std::string cannot_write(const std::string& path) {
  return "cannot write '" + path + "': " + std::strerror(errno) +
         "; give a file with --output FILE";
}

void run(int argc, char** argv) {
  const Settings settings = read_settings(argc, argv);
  std::unique_ptr<examples::PngWriter> png;  // opened first: a wrong name should not cost the work
  if (shmem_my_pe() == 0) png = std::make_unique<examples::PngWriter>(settings.output);
  examples::agree(png && !png->good() ? cannot_write(settings.output) : "");

  Plate plate(settings);
  const auto start = std::chrono::steady_clock::now();
  for (long step = 1; step <= settings.steps; ++step) {
    plate.step();
    if (step % settings.every == 0 || step == settings.steps) report(plate, step);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

  shmem_barrier_all();  // all have done the last step
  if (png) write_picture(plate, settings, *png);
  examples::agree(png && !png->good() ? cannot_write(settings.output) : "");
  if (shmem_my_pe() == 0) {
    const auto cells = static_cast<double>(settings.width * settings.height * settings.steps);
    std::printf("%s: %.2f s, %.0f million cells/s; wrote %s\n", examples::number_of_pes().c_str(),
                seconds.count(), cells / seconds.count() / 1e6, settings.output.c_str());
  }
}

}  // namespace

int main(int argc, char** argv) { return examples::run_between_init_and_finalize(run, argc, argv); }
