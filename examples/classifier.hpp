// SPDX-License-Identifier: Apache-2.0
//
// The model of 06_train_digits: a classifier with one hidden layer (ReLU), softmax and cross
// entropy, trained by gradient descent with momentum. It knows nothing of PEs. 13_train_digits_gpu
// begins with its parameters.
// Invariant: equal seeds, images and gradients give equal bits, in any process of this program.
#ifndef MESHMEM_EXAMPLES_CLASSIFIER_HPP
#define MESHMEM_EXAMPLES_CLASSIFIER_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

namespace examples {

constexpr std::size_t kPixels = 64;
constexpr std::size_t kDigits = 10;
constexpr float kMomentum = 0.9f;

struct Image {
  std::array<float, kPixels> pixels;  // 0 paper .. 1 ink
  std::size_t digit;
};

class Classifier {
 public:
  Classifier(std::size_t hidden, unsigned seed)
      : hidden_(hidden), parameters_(size()), velocity_(size()), active_(hidden) {
    std::mt19937 random(seed);
    fill(0, kPixels * hidden_, kPixels, random);
    fill(weights2(), kDigits * hidden_, hidden_, random);
  }

  // How many parameters there are: weights and biases of both layers, in this order.
  std::size_t size() const { return weights2() + kDigits * hidden_ + kDigits; }
  const std::vector<float>& parameters() const { return parameters_; }

  // Adds the gradient of the image's loss to gradient[0..size()) and returns the loss.
  float add_gradient(const Image& image, float* gradient) {
    std::array<float, kDigits> error = probabilities(image);
    const float loss = -std::log(std::max(error[image.digit], 1e-30f));
    error[image.digit] -= 1;
    for (std::size_t digit = 0; digit < kDigits; ++digit) {
      add_scaled(error[digit], active_.data(), hidden_, gradient + weights2() + digit * hidden_);
      gradient[biases2() + digit] += error[digit];
    }
    for (std::size_t unit = 0; unit < hidden_; ++unit) {
      if (active_[unit] == 0) continue;  // ReLU passes nothing back
      const float back = error_of_unit(error, unit);
      add_scaled(back, image.pixels.data(), kPixels, gradient + unit * kPixels);
      gradient[biases1() + unit] += back;
    }
    return loss;
  }

  // The digit that the model sees in the image.
  std::size_t classify(const Image& image) {
    const std::array<float, kDigits> scores = probabilities(image);
    return static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) -
                                    scores.begin());
  }

  // One step down the gradient times `rate`, with momentum.
  void descend(const float* gradient, float rate) {
    for (std::size_t i = 0; i < size(); ++i) {
      velocity_[i] = kMomentum * velocity_[i] - rate * gradient[i];
      parameters_[i] += velocity_[i];
    }
  }

 private:
  std::size_t biases1() const { return kPixels * hidden_; }
  std::size_t weights2() const { return biases1() + hidden_; }
  std::size_t biases2() const { return weights2() + kDigits * hidden_; }

  // Random weights for units with `inputs` inputs each, wide enough that signals neither grow nor
  // fade from layer to layer (He et al., 2015).
  void fill(std::size_t first, std::size_t count, std::size_t inputs, std::mt19937& random) {
    const float limit = std::sqrt(6.0f / static_cast<float>(inputs));
    std::uniform_real_distribution<float> weight(-limit, limit);
    for (std::size_t i = first; i < first + count; ++i) parameters_[i] = weight(random);
  }

  static float dot(const float* a, const float* b, std::size_t count) {
    float sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += a[i] * b[i];
    return sum;
  }

  static void add_scaled(float factor, const float* from, std::size_t count, float* to) {
    for (std::size_t i = 0; i < count; ++i) to[i] += factor * from[i];
  }

  // The forward pass; leaves the hidden layer in active_ for the backward pass.
  std::array<float, kDigits> probabilities(const Image& image) {
    const float* p = parameters_.data();
    for (std::size_t unit = 0; unit < hidden_; ++unit) {
      const float sum = dot(p + unit * kPixels, image.pixels.data(), kPixels);
      active_[unit] = std::max(0.0f, sum + p[biases1() + unit]);
    }
    std::array<float, kDigits> score;
    for (std::size_t digit = 0; digit < kDigits; ++digit) {
      const float sum = dot(p + weights2() + digit * hidden_, active_.data(), hidden_);
      score[digit] = sum + p[biases2() + digit];
    }
    return softmax(score);
  }

  static std::array<float, kDigits> softmax(std::array<float, kDigits> score) {
    const float highest = *std::max_element(score.begin(), score.end());
    float sum = 0;
    for (float& s : score) sum += s = std::exp(s - highest);  // no overflow
    for (float& s : score) s /= sum;
    return score;
  }

  float error_of_unit(const std::array<float, kDigits>& error, std::size_t unit) const {
    float sum = 0;
    for (std::size_t digit = 0; digit < kDigits; ++digit) {
      sum += error[digit] * parameters_[weights2() + digit * hidden_ + unit];
    }
    return sum;
  }

  std::size_t hidden_;
  std::vector<float> parameters_;
  std::vector<float> velocity_;
  std::vector<float> active_;
};

}  // namespace examples

#endif
