// SPDX-License-Identifier: Apache-2.0
//
// Trains a classifier of handwritten digits on all PEs at once (data-parallel): each PE holds a
// share of the images, and the gradients of all PEs are added with shmem_float_sum_reduce.
// Run it:
//   oshc++ -O2 06_train_digits.cpp arguments.cpp -o train && oshrun -n 4 ./train
//
// Invariant: all PEs have the same model at all times. They start with the same one, and change it
// by the same sums; so no PE ever has to send its model to another.

// The number of PEs only changes the order of additions, and so the last digits of the losses. With
// MESHMEM_DETERMINISTIC=1 it changes nothing: see GradientSum.

#include <shmem.h>

#include <cstring>

#include "arguments.hpp"
#include "classifier.hpp"
#include "digits.hpp"

namespace {

using examples::Classifier;
using examples::Clock;
using examples::Image;
using examples::kBlocks;
using examples::seconds_since;

// ------------------------------------------------------------------- 1. The sum over all PEs' work

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
// deterministic mode each block has a row of its own, which is zero on all PEs but one. Adding
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

  // Returns the sum, valid until the next call but one. Reductions take turns with two arrays: a PE
  // that is ahead may begin the next one while this PE still reads the result of the last. It
  // cannot be further ahead, as no reduction ends without the part of every PE.
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

// ------------------------------------------------------------------------------------- 2. Training

class Training {
 public:
  Training(const examples::DigitsSettings& settings, examples::Share share)
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
      examples::print_epoch(settings_, epoch_ + 1, loss, accuracy);
    }
    if (shmem_my_pe() == 0) print_summary(seconds_since(start), accuracy);
  }

 private:
  void shuffle() {
    for (std::size_t block = 0; block < kBlocks; ++block) {
      examples::shuffle(share_.blocks[block], settings_.seed, epoch_, block);
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
  // The loss follows the gradient, as one more number to add.
  double train_batch(std::size_t begin, std::size_t end) {
    sum_.clear();
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t block = i % kBlocks;
      if (!examples::is_mine(block)) continue;
      float* row = sum_.row_of_block(block);
      row[model_.size()] += model_.add_gradient(share_.blocks[block][i / kBlocks], row);
    }
    const float* total = sum_.add_up();
    model_.descend(total, examples::kRate / static_cast<float>(end - begin));
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
    examples::print_speed(settings_, share_, model_.size(), seconds);
    std::printf(
        "gradients: %zu sums of %zu floats, %.2f s, %.0f us each with waiting, %.0f %% of the "
        "time\n",
        sum_.calls(), sum_.floats(), sum_.seconds(),
        sum_.seconds() * 1e6 / static_cast<double>(sum_.calls()), sum_.seconds() * 100 / seconds);
    examples::print_accuracy(share_, accuracy);
  }

  examples::DigitsSettings settings_;
  examples::Share share_;
  Classifier model_;
  GradientSum sum_;
  examples::ProgressBar bar_;
  std::size_t epoch_ = 0;
};

void run(int argc, char** argv) {
  const auto settings = examples::take_digits_settings(argc, argv);
  Training(settings, examples::read_share(settings.data)).run();
}

}  // namespace

int main(int argc, char** argv) { return examples::run_between_init_and_finalize(run, argc, argv); }
