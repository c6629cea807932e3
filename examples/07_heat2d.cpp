// SPDX-License-Identifier: Apache-2.0
//
// Heat spreads in a plate: a grid of cells, cut into bands of rows, one for each PE. In each step a
// PE needs the row next to its band from both neighbours (its "halo"). They put the row there, with
// a signal that says that it has arrived. No barrier is needed. Writes a picture of the last state.
// Run it:
//   oshc++ -O2 07_heat2d.cpp arguments.cpp -o heat2d && oshrun -n 4 ./heat2d
//
// Invariant: every cell, the sums and the picture have the same bits for any number of PEs.
// 12_halo_kernel.hip does the same on GPUs.

#include <shmem.h>

#include <chrono>
#include <cstdint>
#include <cstring>

#include "arguments.hpp"
#include "heat.hpp"

namespace {

constexpr int kNobody = -1;

class Plate {
 public:
  // With more PEs than rows the last PEs have none: they have no neighbours, wait for nobody, and
  // only take part in the sums.
  explicit Plate(const examples::HeatSettings& settings)
      : width_(settings.width), bands_{settings.height, shmem_n_pes()}, me_(shmem_my_pe()) {
    const auto cells = static_cast<std::size_t>((bands_.most_rows() + 2) * width_);
    for (double*& state : states_) state = examples::allocate<double>(cells);
    arrived_ = examples::allocate<std::uint64_t>(2);
    above_ = bands_.has_rows(me_) && me_ > 0 ? me_ - 1 : kNobody;
    below_ = bands_.has_rows(me_) && bands_.has_rows(me_ + 1) ? me_ + 1 : kNobody;
    for (long r = 0; r < my_rows(); ++r) {
      const long y = bands_.first_row(me_) + r;
      for (long x = 0; x < width_; ++x) row(now(), r)[x] = first_temperature(settings, x, y);
    }
  }

  void step() {
    send_halos();
    const long last = my_rows() - 1;
    for (long r = 1; r < last; ++r) update_row(r);  // these need no halo: work while it travels
    receive_halos();
    if (last >= 0) update_row(0);
    if (last > 0) update_row(last);
    shmem_quiet();  // the sent rows have arrived: the next step overwrites them here
    ++steps_;
  }

  void add_to(examples::HeatReport& report) const {
    for (long r = 0; r < my_rows(); ++r) {
      report.add_row(bands_.first_row(me_) + r, row(now(), r), row(next(), r), width_);
    }
  }

  // Any row of the whole plate, fetched from the PE that has it.
  std::vector<double> fetch_row(long y) const {
    const long pe = bands_.of_row(y);
    std::vector<double> cells(static_cast<std::size_t>(width_));
    shmem_double_get(cells.data(), row(now(), y - bands_.first_row(pe)), cells.size(),
                     static_cast<int>(pe));
    return cells;
  }

 private:
  long my_rows() const { return bands_.rows(me_); }

  // Two states take turns, the present and the next one (which is also the one before).
  double* now() const { return states_[steps_ % 2]; }
  double* next() const { return states_[(steps_ + 1) % 2]; }

  // Row r of a PE's band. Row -1 and the one after the last are the halo.
  double* row(double* state, long r) const { return state + (r + 1) * width_; }

  // Puts my outer rows into the halos of my neighbours. The signal is the number of the step, from
  // 1 on: it only grows, so nobody has to set it back.
  //
  // A neighbour that is one step behind still reads the halo of the other state. It cannot be two
  // behind: this PE needed its rows of the step before to get here.
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

  // Waits for the neighbours' rows. No heat passes the edges of the plate: there the halo is a copy
  // of the plate's outermost row.
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

  void update_row(long r) {
    const double* here = row(now(), r);
    double* out = row(next(), r);
    for (long x = 0; x < width_; ++x) {
      out[x] = examples::next_temperature(here - width_, here, here + width_, x, width_);
    }
  }

  enum Side { kFromAbove, kFromBelow };

  long width_;
  examples::Bands bands_;
  int me_;
  int above_;
  int below_;
  long steps_ = 0;
  double* states_[2];       // symmetric, as is arrived_
  std::uint64_t* arrived_;  // for each side, the last step whose halo is here
};

void run(int argc, char** argv) {
  examples::Arguments arguments("Spreads heat in a plate over all PEs and draws it.");
  examples::HeatSettings settings;
  settings.every = 100;
  examples::add_heat_options(arguments, settings, "heat2d.png");
  arguments.number("--every", settings.every, 1, 1L << 40, "Steps between two lines of output");
  arguments.parse(argc, argv);

  examples::HeatPicture picture(settings);
  examples::HeatReport report(settings.height);
  Plate plate(settings);
  const auto start = std::chrono::steady_clock::now();
  for (long step = 1; step <= settings.steps; ++step) {
    plate.step();
    if (step % settings.every != 0 && step != settings.steps) continue;
    plate.add_to(report);
    report.print(step);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

  shmem_barrier_all();  // all have done the last step
  picture.write([&](long y) { return plate.fetch_row(y); });
  examples::print_heat_summary(settings, seconds.count());
}

}  // namespace

int main(int argc, char** argv) { return examples::run_between_init_and_finalize(run, argc, argv); }
