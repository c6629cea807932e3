// SPDX-License-Identifier: Apache-2.0
//
// Trains a classifier of handwritten digits on the GPUs of all PEs at once (data-parallel), as
// 06_train_digits does on CPUs. Each GPU holds a share of the images, and the gradients of all GPUs
// are added with shmemx_float_sum_reduce_on_stream. Run it:
//   oshhip -O2 13_train_digits_gpu.hip arguments.cpp -o train && oshrun -n 4 ./train

// A step of the training is a sequence of kernels with the reduction among them. It is captured
// into a graph, and then the host only says "again": where a step takes microseconds, launching its
// parts one by one would cost more than the work.
//
// Invariant: all PEs have the same model at all times, and it is that of 06_train_digits up to
// rounding: GPUs add in another order.

#include "classifier_gpu.hpp"
#include "digits.hpp"
#include "gpu.hpp"

namespace {

using examples::Batches;
using examples::Images;
using examples::kBlocks;
using examples::kDigits;
using examples::kInputs;
using examples::kThreads;
using examples::Model;
using examples::Progress;

// ------------------------------------------------------------------------------ 1. Onto the GPU

template <typename T>
T* copy_of(const std::vector<T>& here) {
  T* there = examples::allocate_private<T>(here.size());
  examples::copy_to_gpu(there, here.data(), here.size());
  return there;
}

Images copy_of(const std::vector<examples::Image>& images) {
  std::vector<float> pixels;
  std::vector<int> digits;
  for (const examples::Image& image : images) {
    pixels.insert(pixels.end(), image.pixels.begin(), image.pixels.end());
    digits.push_back(static_cast<int>(image.digit));
  }
  return {copy_of(pixels), copy_of(digits)};
}

// The order of this PE's images: for each of its blocks, their places in one array of all of them.
std::vector<std::vector<int>> first_order(const examples::Share& share) {
  std::vector<std::vector<int>> order(kBlocks);
  int next = 0;
  for (std::size_t block = 0; block < kBlocks; ++block) {
    order[block].resize(share.blocks[block].size());
    for (int& place : order[block]) place = next++;
  }
  return order;
}

// ----------------------------------------------------------------------------------- 2. Training

class Training {
 public:
  Training(const examples::DigitsSettings& settings, examples::Share share)
      : settings_(settings), share_(std::move(share)), places_(first_order(share_)) {
    const examples::Classifier first(settings.hidden, settings.seed);
    model_.hidden = static_cast<int>(settings.hidden);
    model_.parameters = copy_of(first.parameters());
    model_.velocity = examples::allocate_private<float>(first.size());
    make_batches();
    held_out_ = copy_of(share_.held_out);
    held_out_active_ = examples::allocate_private<float>(share_.held_out.size() * settings.hidden);
    right_ = examples::allocate_on_gpus<int>(2);

    const std::size_t width = first.size() + 1;
    gradient_ = examples::allocate_on_gpus<float>(width);
    examples::check(hipStreamCreate(&stream_), "make a stream");
    for (hipGraphExec_t& step : steps_)
      step = capture_step(examples::allocate_on_gpus<float>(width));
  }

  void run() {
    const auto start = examples::Clock::now();
    double accuracy = 0;
    for (std::size_t epoch = 0; epoch < settings_.epochs; ++epoch) {
      shuffle(epoch);
      const double loss = train_epoch() / static_cast<double>(share_.all_training);
      accuracy = measure_accuracy();
      examples::print_epoch(settings_, epoch + 1, loss, accuracy);
    }
    if (shmem_my_pe() == 0) print_summary(examples::seconds_since(start), accuracy);
  }

 private:
  void make_batches() {
    std::vector<examples::Image> images;
    for (const auto& block : share_.blocks) images.insert(images.end(), block.begin(), block.end());
    batches_.images = copy_of(images);
    batches_.all_images = static_cast<int>(share_.all_training);
    const std::size_t batch = std::min(settings_.batch, share_.all_training);
    batches_.batch = static_cast<int>(batch);
    const std::size_t longest = (share_.all_training + kBlocks - 1) / kBlocks;
    batches_.longest_block = static_cast<int>(longest);
    batches_.order = order_ = examples::allocate_private<int>(kBlocks * longest);
    batches_.progress = examples::allocate_private<Progress>(1);
    batches_.is_mine = examples::allocate_private<bool>(batch);
    batches_.input = examples::allocate_private<float>(batch * kInputs);
    batches_.active = examples::allocate_private<float>(batch * (settings_.hidden + 1));
    batches_.hidden_error = examples::allocate_private<float>(batch * settings_.hidden);
    batches_.error = examples::allocate_private<float>(batch * kDigits);
    batches_.loss = examples::allocate_private<float>(batch);
  }

  // All that one batch takes, in the order of the stream.
  void enqueue_step(float* sum) {
    const auto parameters = static_cast<unsigned>(model_.size());
    const dim3 threads(kThreads), slots(static_cast<unsigned>(batches_.batch));
    hipLaunchKernelGGL(examples::find_errors, slots, threads, 0, stream_, model_, batches_);
    hipLaunchKernelGGL(examples::add_gradient, dim3(parameters / kThreads + 1), threads, 0, stream_,
                       model_, batches_, gradient_);
    shmemx_float_sum_reduce_on_stream(SHMEM_TEAM_WORLD, sum, gradient_, parameters + 1, stream_);
    hipLaunchKernelGGL(examples::descend, dim3(parameters / kThreads + 1), threads, 0, stream_,
                       model_, batches_, sum);
    hipLaunchKernelGGL(examples::finish_batch, dim3(1), dim3(1), 0, stream_, model_, batches_, sum);
  }

  hipGraphExec_t capture_step(float* sum) {
    hipGraph_t graph = nullptr;
    hipGraphExec_t step = nullptr;
    examples::check(hipStreamBeginCapture(stream_, hipStreamCaptureModeThreadLocal),
                    "begin a graph");
    enqueue_step(sum);
    examples::check(hipStreamEndCapture(stream_, &graph), "end a graph");
    examples::check(hipGraphInstantiate(&step, graph, nullptr, nullptr, 0), "make a graph ready");
    examples::check(hipGraphDestroy(graph), "destroy a graph");
    return step;
  }

  void shuffle(std::size_t epoch) {
    std::vector<int> order(kBlocks * static_cast<std::size_t>(batches_.longest_block));
    for (std::size_t block = 0; block < kBlocks; ++block) {
      std::vector<int>& places = places_[block];
      examples::shuffle(places, settings_.seed, epoch, block);
      const auto begin = block * static_cast<std::size_t>(batches_.longest_block);
      std::copy(places.begin(), places.end(), order.begin() + static_cast<std::ptrdiff_t>(begin));
    }
    examples::copy_to_gpu(order_, order.data(), order.size());
  }

  // Returns the sum of the losses of all images.
  //
  // Steps take turns with two arrays for the sum: a PE that is ahead may begin the next reduction
  // while this one still reads the result of the last. It cannot be further ahead, as no reduction
  // ends without the part of every PE. So there are two graphs.
  double train_epoch() {
    examples::check(hipMemsetAsync(batches_.progress, 0, sizeof(Progress), stream_),
                    "begin an epoch");
    for (int begin = 0; begin < batches_.all_images; begin += batches_.batch) {
      examples::check(hipGraphLaunch(steps_[steps_done_++ % 2], stream_), "run a graph");
    }
    examples::check(hipStreamSynchronize(stream_), "train for an epoch");
    Progress progress;
    examples::copy_from_gpu(&progress, batches_.progress, 1);
    return progress.loss;
  }

  // The fraction of right answers on images that were never trained on.
  double measure_accuracy() {
    const auto images = static_cast<unsigned>(share_.held_out.size());
    int* mine = &right_[0];
    int* all = &right_[1];
    examples::check(hipMemsetAsync(mine, 0, sizeof(int), stream_), "begin to count");
    if (images > 0) {
      hipLaunchKernelGGL(examples::count_right, dim3(images), dim3(kThreads), 0, stream_, model_,
                         held_out_, held_out_active_, mine);
      examples::check_launch("start to count");
    }
    shmemx_int_sum_reduce_on_stream(SHMEM_TEAM_WORLD, all, mine, 1, stream_);
    examples::check(hipStreamSynchronize(stream_), "count right answers");
    int right = 0;
    examples::copy_from_gpu(&right, all, 1);
    return static_cast<double>(right) / static_cast<double>(share_.all_held_out);
  }

  void print_summary(double seconds, double accuracy) const {
    const auto parameters = static_cast<std::size_t>(model_.size());
    examples::print_speed(settings_, share_, parameters, seconds);
    std::printf("gradients: %zu sums of %zu floats; %.0f us a step\n", steps_done_, parameters + 1,
                seconds * 1e6 / static_cast<double>(steps_done_));
    examples::print_accuracy(share_, accuracy);
  }

  examples::DigitsSettings settings_;
  examples::Share share_;
  std::vector<std::vector<int>> places_;  // of this PE's images, in the order of the epoch
  Model model_{};
  Batches batches_{};
  int* order_ = nullptr;
  Images held_out_{};
  float* held_out_active_ = nullptr;
  int* right_ = nullptr;       // symmetric: of this PE, and of all PEs
  float* gradient_ = nullptr;  // symmetric, of this PE's images
  hipStream_t stream_ = nullptr;
  hipGraphExec_t steps_[2] = {};
  std::size_t steps_done_ = 0;
};

void run(int argc, char** argv) {
  const auto settings = examples::take_digits_settings(argc, argv);
  examples::require_gpus();
  Training(settings, examples::read_share(settings.data)).run();
}

}  // namespace

int main(int argc, char** argv) { return examples::run_between_init_and_finalize(run, argc, argv); }
