// SPDX-License-Identifier: Apache-2.0
//
// Trains a classifier of handwritten digits on all PEs at once (data-parallel): each PE holds a
// share of the images, and the gradients of all PEs are added with shmem_float_sum_reduce.
// Run it:
//   oshc++ -O2 06_train_digits.cpp -o train && oshrun -n 4 ./train
//
// Invariant: all PEs have the same model at all times. They start with the same one, and change it
// by the same sums; so no PE ever has to send its model to another.
//
// The number of PEs only changes the order of additions, and so the last digits of the losses. With
// MESHMEM_DETERMINISTIC=1 not even that: see GradientSum.

#include <shmem.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <numeric>
#include <sstream>

#include "arguments.hpp"
#include "classifier.hpp"

#ifndef MESHMEM_EXAMPLES_DATA
#define MESHMEM_EXAMPLES_DATA "examples/data"
#endif

namespace {

using examples::Classifier;
using examples::Image;

constexpr char kUsage[] =
    "usage: 06_train_digits [options]\n"
    "Trains a classifier of handwritten digits over all PEs.\n"
    "  --data FILE   images, one a line: 64 pixels of 0 to 16, then the digit\n"
    "  --epochs N    how often each image is used (default 20)\n"
    "  --hidden N    units of the hidden layer (default 128)\n"
    "  --batch N     images between two steps of the model (default 64)\n"
    "  --seed N      of the first model and the order of the images (default 1)\n"
    "  --exact       print all bits of the losses, as hexadecimal floating point\n";

struct Settings {
  std::string data;
  std::size_t epochs;
  std::size_t hidden;
  std::size_t batch;
  unsigned seed;
  bool exact;
};

// The data beside this source file when it was compiled, or else below the current folder.
std::string default_data() {
  const std::string installed = MESHMEM_EXAMPLES_DATA "/digits.csv";
  for (const std::string& path : {installed, std::string("data/digits.csv")}) {
    if (access(path.c_str(), R_OK) == 0) return path;
  }
  return "examples/data/digits.csv";
}

Settings read_settings(int argc, char** argv) {
  examples::Arguments arguments(argc, argv, kUsage);
  Settings settings;
  settings.data = arguments.text("--data", default_data());
  settings.epochs = static_cast<std::size_t>(arguments.number("--epochs", 20, 1, 100000));
  settings.hidden = static_cast<std::size_t>(arguments.number("--hidden", 128, 1, 100000));
  settings.batch = static_cast<std::size_t>(arguments.number("--batch", 64, 1, 1000000));
  settings.seed = static_cast<unsigned>(arguments.number("--seed", 1, 0, 1L << 31));
  settings.exact = arguments.flag("--exact");
  arguments.finish();
  return settings;
}

// ----------------------------------------------------------------------- 1. Each PE has its images

// Training images are dealt, one each, to a fixed number of blocks, and the blocks to the PEs.
// A batch takes equally much of every block, so that PEs have equal work, and so that what is in a
// batch does not depend on the number of PEs. PEs above kBlocks have no block, and only help to
// add.
constexpr std::size_t kBlocks = 32;

struct Share {
  std::vector<std::vector<Image>> blocks{kBlocks};  // those of other PEs stay empty
  std::vector<Image> held_out;                      // every sixth image is kept for the test
  std::size_t all_training = 0;                     // of all PEs
  std::size_t all_held_out = 0;
};

bool is_mine(std::size_t item) {
  return item % static_cast<std::size_t>(shmem_n_pes()) == static_cast<std::size_t>(shmem_my_pe());
}

bool parse_image(const std::string& line, Image& image) {
  std::istringstream numbers(line);
  int value;
  char comma;
  for (float& pixel : image.pixels) {
    if (!(numbers >> value >> comma) || value < 0 || value > 16 || comma != ',') return false;
    pixel = static_cast<float>(value) / 16;
  }
  if (!(numbers >> value) || value < 0 || value > 9) return false;
  image.digit = static_cast<std::size_t>(value);
  return (numbers >> std::ws).eof();
}

void keep(const Image& image, std::size_t number, Share& share) {
  if (number % 6 == 5) {
    if (is_mine(share.all_held_out++)) share.held_out.push_back(image);
  } else {
    const std::size_t block = share.all_training++ % kBlocks;
    if (is_mine(block)) share.blocks[block].push_back(image);
  }
}

// Reads the file, keeps this PE's share of it, and returns what is wrong, if anything.
std::string try_read_share(const std::string& path, Share& share) {
  std::ifstream file(path);
  std::string line;
  Image image;
  for (std::size_t number = 0; file && std::getline(file, line); ++number) {
    if (!parse_image(line, image)) {
      return "line " + std::to_string(number + 1) + " of '" + path +
             "' is not 64 pixels of 0 to 16 and a digit";
    }
    keep(image, number, share);
  }
  if (!file.eof()) {
    return "cannot read '" + path + "': " + std::strerror(errno) + "; give one with --data FILE";
  }
  return share.all_held_out == 0 ? "'" + path + "' has too few images" : "";
}

// ------------------------------------------------------------------- 2. The sum over all PEs' work

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The library reads this variable too: its reductions then add in the order of the PEs.
bool deterministic() {
  const char* value = std::getenv("MESHMEM_DETERMINISTIC");
  if (value == nullptr) return false;
  for (const char* yes : {"1", "yes", "on", "true"}) {
    if (std::strcmp(value, yes) == 0) return true;
  }
  return false;
}

// Adds rows of `width` floats over blocks and PEs.
//
// Normally a PE adds up its own blocks in one row, and a reduction adds the PEs' rows. Floating
// point sums depend on the order, and here it depends on which PE has which blocks. In
// deterministic mode each block has a row of its own, which is zero on all PEs but one. To add
// zeros changes nothing, so the reduction only brings the rows together, and all PEs add them in
// the same order.
class GradientSum {
 public:
  explicit GradientSum(std::size_t width) : width_(width), rows_(deterministic() ? kBlocks : 1) {
    mine_ = examples::allocate<float>(rows_ * width_);
    for (float*& sum : sums_) sum = examples::allocate<float>(rows_ * width_);
  }

  void clear() { std::fill(mine_, mine_ + rows_ * width_, 0.0f); }

  float* row_of_block(std::size_t block) { return mine_ + block % rows_ * width_; }

  // The sum, until the next but one call. Reductions take turns with two arrays: a PE that is ahead
  // may begin the next one while this PE still reads the result of the last. It cannot be further
  // ahead, as no reduction ends without the part of every PE.
  const float* add_up() {
    const auto start = Clock::now();
    float* sum = sums_[calls_++ % 2];
    shmem_float_sum_reduce(SHMEM_TEAM_WORLD, sum, mine_, rows_ * width_);
    seconds_ += seconds_since(start);
    for (std::size_t row = 1; row < rows_; ++row) {
      for (std::size_t i = 0; i < width_; ++i) sum[i] += sum[row * width_ + i];
    }
    return sum;
  }

  std::size_t floats() const { return rows_ * width_; }
  std::size_t calls() const { return calls_; }
  double seconds() const { return seconds_; }

 private:
  std::size_t width_;
  std::size_t rows_;
  float* mine_;
  float* sums_[2];
  std::size_t calls_ = 0;
  double seconds_ = 0;
};

// --------------------------------------------------------------------------- 3. What the user sees

// A bar in the last line of a terminal. PE 0 draws it; where the output is no terminal, none does.
class ProgressBar {
 public:
  // oshrun passes the output on, so that it is a pipe here; it says whether it writes to a
  // terminal.
  ProgressBar() {
    const char* told = std::getenv("MESHMEM_OUTPUT_TTY");
    shown_ = shmem_my_pe() == 0 && (isatty(STDOUT_FILENO) || (told && std::strcmp(told, "1") == 0));
  }

  void draw(double done) {
    if (!shown_ || seconds_since(last_) < 0.04) return;
    last_ = Clock::now();
    constexpr int kWidth = 40;
    const int full = static_cast<int>(done * kWidth);
    std::printf("\r[%.*s%*s] %3.0f %%", full, "########################################",
                kWidth - full, "", done * 100);
    std::fflush(stdout);
  }

  void erase() const {
    if (shown_) std::printf("\r\033[K");
  }

 private:
  bool shown_;
  Clock::time_point last_;
};

void print_epoch(const Settings& settings, std::size_t epoch, double loss, double accuracy) {
  if (shmem_my_pe() != 0) return;
  std::printf("epoch %3zu  ", epoch);
  std::printf(settings.exact ? "loss %a" : "loss %.6f", loss);
  std::printf("  held out %6.2f %%\n", accuracy * 100);
  std::fflush(stdout);
}

// ------------------------------------------------------------------------------------- 4. Training

class Training {
 public:
  Training(const Settings& settings, Share share)
      : settings_(settings),
        share_(std::move(share)),
        model_(settings.hidden, settings.seed),
        sum_(model_.size() + 1) {}

  void run() {
    const auto start = Clock::now();
    double accuracy = 0;
    for (epoch_ = 0; epoch_ < settings_.epochs; ++epoch_) {
      shuffle();
      const double loss = train_epoch() / static_cast<double>(share_.all_training);
      accuracy = measure_accuracy();
      bar_.erase();
      print_epoch(settings_, epoch_ + 1, loss, accuracy);
    }
    if (shmem_my_pe() == 0) print_summary(seconds_since(start), accuracy);
  }

 private:
  // A new order of the images within each block. It depends on nothing but seed, epoch and block.
  void shuffle() {
    for (std::size_t block = 0; block < kBlocks; ++block) {
      std::seed_seq seed{std::size_t{settings_.seed}, epoch_, block};
      std::mt19937 random(seed);
      std::shuffle(share_.blocks[block].begin(), share_.blocks[block].end(), random);
    }
  }

  // Returns the sum of the losses of all images.
  double train_epoch() {
    double loss = 0;
    for (std::size_t begin = 0; begin < share_.all_training; begin += settings_.batch) {
      const std::size_t end = std::min(begin + settings_.batch, share_.all_training);
      loss += train_batch(begin, end);
      bar_.draw((static_cast<double>(epoch_) +
                 static_cast<double>(end) / static_cast<double>(share_.all_training)) /
                static_cast<double>(settings_.epochs));
    }
    return loss;
  }

  // Images begin .. end - 1 of the epoch, where blocks take turns: image i is in block i % kBlocks.
  // The loss travels behind the gradient, as one more number to add.
  double train_batch(std::size_t begin, std::size_t end) {
    constexpr float kRate = 0.2f;
    sum_.clear();
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t block = i % kBlocks;
      if (!is_mine(block)) continue;
      float* row = sum_.row_of_block(block);
      row[model_.size()] += model_.add_gradient(share_.blocks[block][i / kBlocks], row);
    }
    const float* total = sum_.add_up();
    model_.descend(total, kRate / static_cast<float>(end - begin));
    return total[model_.size()];
  }

  // The fraction of right answers on images that were never trained on.
  double measure_accuracy() {
    static int mine;   // Symmetric. All PEs have read the last result
    static int right;  // before they added the gradients that came after it.
    mine = 0;
    for (const Image& image : share_.held_out) mine += model_.classify(image) == image.digit;
    shmem_int_sum_reduce(SHMEM_TEAM_WORLD, &right, &mine, 1);
    return static_cast<double>(right) / static_cast<double>(share_.all_held_out);
  }

  void print_summary(double seconds, double accuracy) const {
    const auto images = static_cast<double>(settings_.epochs * share_.all_training);
    std::printf("%s, %zu parameters, %zu images: %.2f s, %.0f images/s\n",
                examples::number_of_pes().c_str(), model_.size(), share_.all_training, seconds,
                images / seconds);
    std::printf(
        "gradients: %zu sums of %zu floats, %.2f s, %.0f us each with waiting, %.0f %% of the "
        "time\n",
        sum_.calls(), sum_.floats(), sum_.seconds(),
        sum_.seconds() * 1e6 / static_cast<double>(sum_.calls()), sum_.seconds() * 100 / seconds);
    std::printf("accuracy on %zu held-out images: %.2f %%\n", share_.all_held_out, accuracy * 100);
  }

  Settings settings_;
  Share share_;
  Classifier model_;
  GradientSum sum_;
  ProgressBar bar_;
  std::size_t epoch_ = 0;
};

void run(int argc, char** argv) {
  const Settings settings = read_settings(argc, argv);
  Share share;
  examples::agree(try_read_share(settings.data, share));
  Training(settings, std::move(share)).run();
}

}  // namespace

int main(int argc, char** argv) { return examples::run_between_init_and_finalize(run, argc, argv); }
