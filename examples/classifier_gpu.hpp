// SPDX-License-Identifier: Apache-2.0
//
// The model of 13_train_digits_gpu: what classifier.hpp computes, as kernels for a batch of images.
// Of PEs, kernels only know which images of a batch are this PE's.
// Invariant: sums have a fixed order, so the same images give the same bits each time. Results are
// those of classifier.hpp up to rounding.
#ifndef MESHMEM_EXAMPLES_CLASSIFIER_GPU_HPP
#define MESHMEM_EXAMPLES_CLASSIFIER_GPU_HPP

#include <hip/hip_runtime.h>
#include <shmemx.h>

#include "classifier.hpp"
#include "digits.hpp"

namespace examples {

constexpr unsigned kThreads = 128;  // of every block here: whole waves, of 32 threads or of 64

// ------------------------------------------------------------------------------ 1. Data of kernels

// All pointers are to memory of this PE's GPU. Handed to kernels by value.

// The parameters of both layers in one array, in the order of Classifier.
struct Model {
  int hidden;
  float* parameters;
  float* velocity;  // of each parameter, for the momentum

  __host__ __device__ int biases1() const { return static_cast<int>(kPixels) * hidden; }
  __host__ __device__ int weights2() const { return biases1() + hidden; }
  __host__ __device__ int biases2() const {
    return weights2() + static_cast<int>(kDigits) * hidden;
  }
  __host__ __device__ int size() const { return biases2() + static_cast<int>(kDigits); }
};

struct Images {
  const float* pixels;  // kPixels for each image
  const int* digits;
};

// Where the training is: in memory of the GPU, since a graph is run again with the same arguments.
struct Progress {
  int begin;    // images of this epoch that are done, by all PEs
  double loss;  // of those
};

// The training images, and what one batch of them yields for the gradient. A batch has a slot for
// each of its images, also for those of other PEs. Biases are weights of an input that is always 1.
constexpr int kAlwaysOne = static_cast<int>(kPixels);  // the number of that input
constexpr int kInputs = kAlwaysOne + 1;

struct Batches {
  Images images;
  int all_images;     // of all PEs
  int batch;          // images between two steps of the model
  const int* order;   // for each block, its images in this epoch's order, if it is mine
  int longest_block;  // in images: the distance between two blocks' orders
  Progress* progress;
  bool* is_mine;        // for each slot
  float* input;         // of each slot, the pixels, and 1
  float* active;        // of each slot, the hidden layer, and 1
  float* hidden_error;  // of each slot, the gradient at the hidden layer, before the ReLU
  float* error;         // of each slot, that at the output layer: kDigits numbers
  float* loss;

  __device__ int end() const {
    const int full = progress->begin + batch;
    return full < all_images ? full : all_images;
  }
  // The image of a slot; -1 if another PE has it or the slot is empty. Blocks take turns: image i
  // of an epoch is in block i % kBlocks, which is_mine() gave to a PE.
  __device__ int image_in(int slot) const {
    const int i = progress->begin + slot;
    const int block = i % static_cast<int>(kBlocks);
    if (i >= end() || block % shmem_n_pes() != shmem_my_pe()) return -1;
    return order[block * longest_block + i / static_cast<int>(kBlocks)];
  }
};

// ------------------------------------------------------------------------------------ 2. Kernels

// One image by one block: leaves the hidden layer in active, and the score of each digit in score,
// which all threads may read.
static __device__ void propagate(const Model& model, const float* pixels, float* active,
                                 float* score) {
  const float* parameters = model.parameters;
  for (int unit = static_cast<int>(threadIdx.x); unit < model.hidden;
       unit += static_cast<int>(blockDim.x)) {
    const float* weights = parameters + unit * static_cast<int>(kPixels);
    float sum = 0;
    for (int i = 0; i < static_cast<int>(kPixels); ++i) sum += weights[i] * pixels[i];
    sum += parameters[model.biases1() + unit];
    active[unit] = sum > 0 ? sum : 0;  // ReLU
  }
  __syncthreads();  // a score needs the whole hidden layer

  // A wave computes a score together: each lane adds a part, and the parts go down to lane 0.
  const int lane = static_cast<int>(threadIdx.x) % warpSize;
  const int waves = static_cast<int>(blockDim.x) / warpSize;
  for (int digit = static_cast<int>(threadIdx.x) / warpSize; digit < static_cast<int>(kDigits);
       digit += waves) {
    const float* weights = parameters + model.weights2() + digit * model.hidden;
    float sum = 0;
    for (int unit = lane; unit < model.hidden; unit += warpSize)
      sum += weights[unit] * active[unit];
    for (int distance = warpSize / 2; distance > 0; distance /= 2)
      sum += __shfl_down(sum, distance);
    if (lane == 0) score[digit] = sum + parameters[model.biases2() + digit];
  }
  __syncthreads();
}

// Softmax: how probable the scores make a digit.
static __device__ float probability_of(int digit, const float* score) {
  float highest = score[0];
  for (int i = 1; i < static_cast<int>(kDigits); ++i) highest = fmaxf(highest, score[i]);
  float sum = 0;
  for (int i = 0; i < static_cast<int>(kDigits); ++i) sum += expf(score[i] - highest);
  return expf(score[digit] - highest) / sum;
}

// Forward and backward through the model: a block for each slot.
static __global__ void find_errors(Model model, Batches batches) {
  __shared__ float score[kDigits];
  __shared__ float error[kDigits];
  const int thread = static_cast<int>(threadIdx.x);
  const long slot = blockIdx.x;
  const int image = batches.image_in(static_cast<int>(slot));
  if (thread == 0) batches.is_mine[slot] = image >= 0;
  if (image < 0) return;  // all threads of the block

  const float* pixels = batches.images.pixels + static_cast<std::size_t>(image) * kPixels;
  float* input = batches.input + slot * kInputs;
  float* active = batches.active + slot * (model.hidden + 1);
  for (int i = thread; i < kInputs; i += static_cast<int>(blockDim.x)) {
    input[i] = i == kAlwaysOne ? 1 : pixels[i];
  }
  if (thread == 0) active[model.hidden] = 1;
  propagate(model, pixels, active, score);

  if (thread < static_cast<int>(kDigits)) {
    const int right = batches.images.digits[image];
    const float probability = probability_of(thread, score);
    error[thread] = probability - (thread == right ? 1.0f : 0.0f);
    batches.error[slot * static_cast<int>(kDigits) + thread] = error[thread];
    if (thread == right) batches.loss[slot] = -logf(fmaxf(probability, 1e-30f));
  }
  __syncthreads();  // the way back needs the errors of all digits

  float* hidden_error = batches.hidden_error + slot * model.hidden;
  for (int unit = thread; unit < model.hidden; unit += static_cast<int>(blockDim.x)) {
    const float* weights = model.parameters + model.weights2() + unit;
    float sum = 0;
    for (int digit = 0; digit < static_cast<int>(kDigits); ++digit) {
      sum += error[digit] * weights[digit * model.hidden];
    }
    hidden_error[unit] = active[unit] > 0 ? sum : 0;  // ReLU passes nothing back elsewhere
  }
}

// A slot adds a product to the gradient of one parameter: the error of the parameter's unit times
// the value that comes in there. Each factor is at `first` for slot 0, and `step` further for each
// next slot.
struct Factor {
  const float* first;
  long step;
};
struct Product {
  Factor error, input;
};
static __device__ Product product_at(const Model& model, const Batches& batches, int i) {
  const auto input = [&](int pixel) { return Factor{batches.input + pixel, kInputs}; };
  const auto active = [&](int unit) { return Factor{batches.active + unit, model.hidden + 1}; };
  const auto hidden_error = [&](int unit) {
    return Factor{batches.hidden_error + unit, model.hidden};
  };
  const auto error = [&](int digit) {
    return Factor{batches.error + digit, static_cast<int>(kDigits)};
  };
  const int pixels = static_cast<int>(kPixels);
  if (i < model.biases1()) return {hidden_error(i / pixels), input(i % pixels)};
  if (i < model.weights2()) return {hidden_error(i - model.biases1()), input(kAlwaysOne)};
  const int weight = i - model.weights2();
  if (i < model.biases2()) return {error(weight / model.hidden), active(weight % model.hidden)};
  if (i < model.size()) return {error(i - model.biases2()), active(model.hidden)};
  return {Factor{batches.loss, 1}, input(kAlwaysOne)};  // after the gradient: see add_gradient
}

// A thread for each parameter, and one for the loss, which travels with the gradient as one more
// number to add. A thread adds slots in their order, without atomics, so the bits are the same each
// time.
static __global__ void add_gradient(Model model, Batches batches, float* gradient) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i > model.size()) return;
  const Product product = product_at(model, batches, i);
  float sum = 0;
  for (long slot = 0; slot < batches.batch; ++slot) {
    if (!batches.is_mine[slot]) continue;
    sum += product.error.first[slot * product.error.step] *
           product.input.first[slot * product.input.step];
  }
  gradient[i] = sum;
}

// One step down the gradient of all PEs, with momentum.
static __global__ void descend(Model model, Batches batches, const float* gradient) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= model.size()) return;
  const float rate = kRate / static_cast<float>(batches.end() - batches.progress->begin);
  const float velocity = kMomentum * model.velocity[i] - rate * gradient[i];
  model.velocity[i] = velocity;
  model.parameters[i] += velocity;
}

// A kernel of its own, since all threads of the kernels before it read the progress.
static __global__ void finish_batch(Model model, Batches batches, const float* gradient) {
  batches.progress->loss += gradient[model.size()];
  batches.progress->begin = batches.end();
}

// Counts the held-out images that the model recognizes: a block for each.
static __global__ void count_right(Model model, Images images, float* active, int* right) {
  __shared__ float score[kDigits];
  const auto image = static_cast<std::size_t>(blockIdx.x);
  propagate(model, images.pixels + image * kPixels, active + image * model.hidden, score);
  if (threadIdx.x != 0) return;
  int best = 0;
  for (int digit = 1; digit < static_cast<int>(kDigits); ++digit) {
    if (score[digit] > score[best]) best = digit;
  }
  if (best == images.digits[image]) atomicAdd(right, 1);
}

}  // namespace examples

#endif
