// SPDX-License-Identifier: Apache-2.0
//
// Heat spreads in a plate, as in 07_heat2d, but on GPUs: one kernel runs all steps in time, and
// pushes the rows at the edges ("halos") to other GPUs itself. The host starts it and sleeps.
// Run it:
//   oshhip -O2 12_halo_kernel.hip arguments.cpp -o halo && oshrun -n 4 ./halo

// Every block of threads has a band of rows of its own, and the bands of all blocks of all PEs form
// one chain. In each step a block puts its outer rows, with a signal, to the two blocks next to it,
// and waits for theirs. Whether such a neighbour is on the same GPU or on another one makes no
// difference to the code. There is no barrier, neither of the PEs nor of the blocks of one GPU.
//
// Invariant: every cell, the sums and the picture have the bits that 07_heat2d gives.

#include <chrono>

#include "gpu.hpp"
#include "heat.hpp"

namespace {

// --------------------------------------------------------------------------- 1. Data of the kernel

// Handed to the kernel by value. Blocks wait for each other, so all PEs must have equally many, and
// all must run at the same time.
struct Plate {
  long width;
  long blocks;             // of each PE
  examples::Bands bands;   // one for each block of each PE, numbered from top to bottom
  double* states[2];       // symmetric; they take turns as the present and the next state
  std::uint64_t* arrived;  // symmetric: for each block and side, the last step whose halo is here

  EXAMPLES_KERNELS_TOO int pe_of(long band) const { return static_cast<int>(band / blocks); }
  EXAMPLES_KERNELS_TOO std::size_t cells_of_a_band() const {
    return static_cast<std::size_t>((bands.most_rows() + 2) * width);
  }
  // Row r of a band, at its PE. Row -1 and the one after the last are the halo.
  EXAMPLES_KERNELS_TOO double* row(long step, long band, long r) const {
    return states[step % 2] + static_cast<std::size_t>(band % blocks) * cells_of_a_band() +
           (r + 1) * width;
  }
  enum Side { kFromAbove, kFromBelow };
  EXAMPLES_KERNELS_TOO std::uint64_t* arrived_at(long band, Side side) const {
    return &arrived[band % blocks * 2 + side];
  }
};

// --------------------------------------------------------------------------------- 2. The kernel

// Rows first .. last - 1, by all threads of the block. No heat passes the edges of the plate, as if
// a copy of the outermost row lay behind them.
__device__ void update_rows(const Plate& plate, long step, long band, long first, long last) {
  const long width = plate.width;
  const bool at_top = band == 0;
  const bool at_bottom = !plate.bands.has_rows(band + 1);
  for (long r = first; r < last; ++r) {
    const double* here = plate.row(step, band, r);
    const double* up = at_top && r == 0 ? here : here - width;
    const double* down = at_bottom && r + 1 == plate.bands.rows(band) ? here : here + width;
    double* out = plate.row(step + 1, band, r);
    for (long x = threadIdx.x; x < width; x += blockDim.x) {
      out[x] = examples::next_temperature(up, here, down, x, width);
    }
  }
}

// Steps first_step .. last_step - 1.
//
// A halo may come while its receiver still computes the step before, which reads the other state.
// It cannot come two steps early: its sender needed the receiver's rows of the step before.
__global__ void __launch_bounds__(1024) spread_heat(Plate plate, long first_step, long last_step) {
  const long band = shmem_my_pe() * plate.blocks + static_cast<long>(blockIdx.x);
  const long rows = plate.bands.rows(band);
  if (rows == 0) return;  // more blocks than rows: nobody waits for this one
  const bool has_above = band > 0;
  const bool has_below = plate.bands.has_rows(band + 1);
  const auto width = static_cast<std::size_t>(plate.width);

  for (long step = first_step; step < last_step; ++step) {
    // The signal is the number of the step, from 1 on: it only grows, also from kernel to kernel.
    const auto signal = static_cast<std::uint64_t>(step) + 1;
    if (has_above) {
      shmemx_double_put_signal_block(plate.row(step, band - 1, plate.bands.rows(band - 1)),
                                     plate.row(step, band, 0), width,
                                     plate.arrived_at(band - 1, Plate::kFromBelow), signal,
                                     SHMEM_SIGNAL_SET, plate.pe_of(band - 1));
    }
    if (has_below) {
      shmemx_double_put_signal_block(plate.row(step, band + 1, -1), plate.row(step, band, rows - 1),
                                     width, plate.arrived_at(band + 1, Plate::kFromAbove), signal,
                                     SHMEM_SIGNAL_SET, plate.pe_of(band + 1));
    }
    update_rows(plate, step, band, 1, rows - 1);  // these need no halo: work while it travels

    if (has_above) {
      shmemx_signal_wait_until_block(plate.arrived_at(band, Plate::kFromAbove), SHMEM_CMP_GE,
                                     signal);
    }
    if (has_below) {
      shmemx_signal_wait_until_block(plate.arrived_at(band, Plate::kFromBelow), SHMEM_CMP_GE,
                                     signal);
    }
    update_rows(plate, step, band, 0, 1);
    if (rows > 1) update_rows(plate, step, band, rows - 1, rows);
    __syncthreads();  // the next state is complete, and this one may be overwritten
  }
}

// --------------------------------------------------------------------------------- 3. The host

// A copy on the host of this PE's bands in one state.
class HostCopy {
 public:
  explicit HostCopy(const Plate& plate)
      : plate_(plate), cells_(static_cast<std::size_t>(plate.blocks) * plate.cells_of_a_band()) {}

  void read(long step) {
    examples::copy_from_gpu(cells_.data(), plate_.states[step % 2], cells_.size());
  }
  void write(long step) const {
    examples::copy_to_gpu(plate_.states[step % 2], cells_.data(), cells_.size());
  }
  double* row(long band, long r) {
    const auto before = static_cast<std::size_t>(band % plate_.blocks) * plate_.cells_of_a_band();
    return cells_.data() + before + (r + 1) * plate_.width;
  }

  // Calls visit(y, band, row of the band) for each row y of the plate that this PE has.
  template <typename Visit>
  void for_each_row(Visit visit) {
    const long first = shmem_my_pe() * plate_.blocks;
    for (long band = first; band < first + plate_.blocks; ++band) {
      for (long r = 0; r < plate_.bands.rows(band); ++r) {
        visit(plate_.bands.first_row(band) + r, band, r);
      }
    }
  }

 private:
  Plate plate_;
  std::vector<double> cells_;
};

Plate make_plate(const examples::HeatSettings& settings, long blocks) {
  Plate plate{};
  plate.width = settings.width;
  plate.blocks = blocks;
  plate.bands = {settings.height, blocks * shmem_n_pes()};
  const auto cells = static_cast<std::size_t>(blocks) * plate.cells_of_a_band();
  for (double*& state : plate.states) state = examples::allocate_on_gpus<double>(cells);
  plate.arrived = examples::allocate_on_gpus<std::uint64_t>(static_cast<std::size_t>(blocks) * 2);

  HostCopy start(plate);
  start.for_each_row([&](long y, long band, long r) {
    for (long x = 0; x < settings.width; ++x) {
      start.row(band, r)[x] = first_temperature(settings, x, y);
    }
  });
  start.write(0);
  shmem_barrier_all();  // no halo may come before the state into which it is put
  return plate;
}

void print_report(const Plate& plate, long step, examples::HeatReport& report) {
  HostCopy now(plate), before(plate);
  now.read(step);
  before.read(step + 1);  // states take turns, so that this is the one before
  now.for_each_row([&](long y, long band, long r) {
    report.add_row(y, now.row(band, r), before.row(band, r), plate.width);
  });
  report.print(step);
}

// Any row of the whole plate, fetched from the GPU that has it.
std::vector<double> fetch_row(const Plate& plate, long step, long y) {
  const long band = plate.bands.of_row(y);
  std::vector<double> cells(static_cast<std::size_t>(plate.width));
  shmem_double_get(cells.data(), plate.row(step, band, y - plate.bands.first_row(band)),
                   cells.size(), plate.pe_of(band));
  return cells;
}

void run(int argc, char** argv) {
  examples::Arguments arguments("Spreads heat in a plate over the GPUs of all PEs and draws it.");
  examples::HeatSettings settings;
  long blocks = 0, threads = 128;
  examples::add_heat_options(arguments, settings, "halo_kernel.png");
  arguments.number_or_none("--every", settings.every, 1, 1L << 40,
                           "Steps of one kernel, between two lines of output (all)");
  arguments.number_or_none("--blocks", blocks, 1, 1L << 30,
                           "Blocks of each PE; all run at once (as many as the GPU can)");
  arguments.number("--threads", threads, 1, 1024, "Threads of a block");
  arguments.parse(argc, argv);
  examples::require_gpus();
  const long rows_each = (settings.height + shmem_n_pes() - 1) / shmem_n_pes();
  const long most = examples::blocks_that_run_together();
  if (blocks > most) examples::refuse("--blocks: at most " + std::to_string(most) + " run at once");
  if (blocks == 0) blocks = std::min(most, rows_each);

  examples::HeatPicture picture(settings);
  examples::HeatReport report(settings.height);
  const Plate plate = make_plate(settings, blocks);
  const auto start = std::chrono::steady_clock::now();
  for (long step = 0; step < settings.steps;) {
    const long next = std::min(step + settings.every - step % settings.every, settings.steps);
    hipLaunchKernelGGL(spread_heat, dim3(static_cast<unsigned>(blocks)),
                       dim3(static_cast<unsigned>(threads)), 0, 0, plate, step, next);
    examples::check_launch("start its kernel");
    examples::wait_for_gpu();
    print_report(plate, step = next, report);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

  shmem_barrier_all();  // all have done the last step
  picture.write([&](long y) { return fetch_row(plate, settings.steps, y); });
  examples::print_heat_summary(settings, seconds.count());
}

}  // namespace

int main(int argc, char** argv) { return examples::run_between_init_and_finalize(run, argc, argv); }
