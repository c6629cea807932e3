// SPDX-License-Identifier: Apache-2.0
//
// The shared part of 06_train_digits and 13_train_digits_gpu: their options, the images and which
// PE has which, and what the user sees. Each has its own way to compute and add gradients.
// Invariant: which images are in a batch depends on the seed, and not on the number of PEs.
#ifndef MESHMEM_EXAMPLES_DIGITS_HPP
#define MESHMEM_EXAMPLES_DIGITS_HPP

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

namespace examples {

constexpr float kRate = 0.2f;  // how far a step goes down the mean gradient of a batch

// ---------------------------------------------------------------------------------- 1. The options

struct DigitsSettings {
  std::string data;
  std::size_t epochs = 20;
  std::size_t hidden = 128;
  std::size_t batch = 64;
  unsigned seed = 1;
  bool exact = false;
};

// The data beside this source file when it was compiled, or else below the current folder.
inline std::string default_data() {
  const std::string installed = MESHMEM_EXAMPLES_DATA "/digits.csv";
  for (const std::string& path : {installed, std::string("data/digits.csv")}) {
    if (access(path.c_str(), R_OK) == 0) return path;
  }
  return "examples/data/digits.csv";
}

inline DigitsSettings take_digits_settings(int argc, char** argv) {
  Arguments arguments("Trains a classifier of handwritten digits over all PEs.");
  DigitsSettings settings;
  settings.data = default_data();
  arguments.text("--data", settings.data,
                 "Images, one a line: 64 pixels of 0 to 16, then the digit");
  arguments.number("--epochs", settings.epochs, 1, 100000, "How often each image is used");
  arguments.number("--hidden", settings.hidden, 1, 100000, "Units of the hidden layer");
  arguments.number("--batch", settings.batch, 1, 1000000, "Images between two steps of the model");
  arguments.number("--seed", settings.seed, 0, 1L << 31,
                   "Of the first model and the order of the images");
  arguments.flag("--exact", settings.exact, "Print all bits of the losses, in hexadecimal");
  arguments.parse(argc, argv);
  return settings;
}

// ----------------------------------------------------------------------- 2. Each PE has its images

// Training images are dealt one by one to a fixed number of blocks, and the blocks to the PEs. A
// batch takes equally many images of every block. So PEs have equal work, and the images in a batch
// do not depend on the number of PEs. PEs from kBlocks on have no block, and only help to add.
constexpr std::size_t kBlocks = 32;

struct Share {
  std::vector<std::vector<Image>> blocks{kBlocks};  // those of other PEs stay empty
  std::vector<Image> held_out;                      // every sixth image is kept for the test
  std::size_t all_training = 0;                     // of all PEs
  std::size_t all_held_out = 0;
};

inline bool is_mine(std::size_t item) {
  return item % static_cast<std::size_t>(shmem_n_pes()) == static_cast<std::size_t>(shmem_my_pe());
}

inline bool parse_image(const std::string& line, Image& image) {
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

inline void keep(const Image& image, std::size_t number, Share& share) {
  if (number % 6 == 5) {
    if (is_mine(share.all_held_out++)) share.held_out.push_back(image);
  } else {
    const std::size_t block = share.all_training++ % kBlocks;
    if (is_mine(block)) share.blocks[block].push_back(image);
  }
}

// Reads the file, keeps this PE's share of it, and returns what is wrong, if anything.
inline std::string try_read_share(const std::string& path, Share& share) {
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

inline Share read_share(const std::string& path) {
  Share share;
  agree(try_read_share(path, share));
  return share;
}

// A new order of a block's images, or of what stands for them. It depends on nothing but seed,
// epoch and block.
template <typename T>
void shuffle(std::vector<T>& images, unsigned seed, std::size_t epoch, std::size_t block) {
  std::seed_seq words{std::size_t{seed}, epoch, block};
  std::mt19937 random(words);
  std::shuffle(images.begin(), images.end(), random);
}

// -------------------------------------------------------------------------- 3. Output for the user

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A bar in the last line of a terminal. PE 0 draws it; where the output is no terminal, none does.
class ProgressBar {
 public:
  // Under oshrun the output is a pipe here; oshrun says whether it writes to a terminal.
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

inline void print_epoch(const DigitsSettings& settings, std::size_t epoch, double loss,
                        double accuracy) {
  if (shmem_my_pe() != 0) return;
  std::printf("epoch %3zu  ", epoch);
  std::printf(settings.exact ? "loss %a" : "loss %.6f", loss);
  std::printf("  held out %6.2f %%\n", accuracy * 100);
  std::fflush(stdout);
}

inline void print_speed(const DigitsSettings& settings, const Share& share, std::size_t parameters,
                        double seconds) {
  const auto images = static_cast<double>(settings.epochs * share.all_training);
  std::printf("%s, %zu parameters, %zu images: %.2f s, %.0f images/s\n", number_of_pes().c_str(),
              parameters, share.all_training, seconds, images / seconds);
}

inline void print_accuracy(const Share& share, double accuracy) {
  std::printf("accuracy on %zu held-out images: %.2f %%\n", share.all_held_out, accuracy * 100);
}

}  // namespace examples

#endif
