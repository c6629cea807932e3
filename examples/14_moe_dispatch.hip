// SPDX-License-Identifier: Apache-2.0
//
// Mixture of experts: a layer of a network that consists of many small ones ("experts"), of which
// each token uses two. The experts are spread over the GPUs, so tokens travel to the experts that
// they need, and the results travel back. Run it:
//   oshhip -O2 14_moe_dispatch.hip arguments.cpp -o moe && oshrun -n 4 ./moe --tokens 256

// A round is on one stream, without any work of the host in between:
//   plan       all PEs learn how many tokens each expert gets from where
//   dispatch   the tokens go to their experts' PEs, expert by expert
//   experts    a kernel of this program makes a result of each row that has come
//   combine    each token becomes the weighted sum of its results
//
// All numbers are small whole ones, so that sums are exact in any order. The results are compared
// with those of a plain loop on the host, bit by bit.

#include <algorithm>
#include <chrono>

#include "gpu.hpp"

namespace {

constexpr int kThreads = 128;
constexpr int kChoices = 2;  // experts for each token

// ------------------------------------------------------------------------- 1. Tokens and experts

// These stand for what a network would have learned, the same on the host and in kernels.
__host__ __device__ inline unsigned scramble(unsigned a, unsigned b, unsigned c) {
  unsigned hash = a * 0x9e3779b1u ^ b * 0x85ebca77u ^ c * 0xc2b2ae3du;
  hash ^= hash >> 15;
  hash *= 0x2c1b3c6du;
  return hash ^ hash >> 13;
}

// Tokens of all PEs and rounds have different numbers.
__host__ __device__ inline float value_of(unsigned token, unsigned i) {
  return static_cast<float>(scramble(token, i, 1) % 9) - 4;
}
__host__ __device__ inline float weight_of(unsigned expert, unsigned to, unsigned from) {
  return static_cast<float>(scramble(expert, to * 65537 + from, 2) % 5) - 2;
}
// Choices of a token differ. Some experts are more popular than others.
__host__ __device__ inline int expert_of(unsigned token, int choice, int experts) {
  const unsigned dice = scramble(token, 0, 3);
  const unsigned first = dice % 4 == 0 ? 0 : dice / 4 % static_cast<unsigned>(experts);
  if (choice == 0) return static_cast<int>(first);
  const unsigned further = 1 + scramble(token, 1, 3) % static_cast<unsigned>(experts - 1);
  return static_cast<int>((first + further) % static_cast<unsigned>(experts));
}
// How much an answer counts.
__host__ __device__ inline float share_of(int choice) { return choice == 0 ? 0.75f : 0.25f; }

// ------------------------------------------------------------------------------ 2. Data of kernels

// Handed to kernels by value.
struct Layer {
  int tokens;   // of each PE
  int width;    // of each token
  int experts;  // on all PEs
  int choices;  // kChoices, or 1 if there is only one expert

  const float* weights;  // of the local experts: width x width each, [from][to]
  // Of this PE: [token][width] and [token][choice].
  float* token;
  float* result;
  int* expert;
  float* share;

  shmemx_moe_t moe;
  shmemx_moe_view_t view;
};

// ------------------------------------------------------------------------------------ 3. Kernels

// A block for each token.
__global__ void make_tokens(Layer layer, unsigned first_token) {
  const unsigned token = blockIdx.x;
  for (int i = static_cast<int>(threadIdx.x); i < layer.width; i += kThreads) {
    layer.token[static_cast<std::size_t>(token) * layer.width + i] =
        value_of(first_token + token, static_cast<unsigned>(i));
  }
  for (int choice = static_cast<int>(threadIdx.x); choice < layer.choices; choice += kThreads) {
    const std::size_t at = static_cast<std::size_t>(token) * layer.choices + choice;
    layer.expert[at] = expert_of(first_token + token, choice, layer.experts);
    layer.share[at] = share_of(choice);
  }
}

// The blocks of column e share the rows of local expert e.
__global__ void run_experts(Layer layer) {
  const int expert = static_cast<int>(blockIdx.x);
  const auto width = static_cast<std::size_t>(layer.width);
  const float* weights = layer.weights + expert * width * width;
  for (int i = static_cast<int>(blockIdx.y); i < layer.view.counts[expert];
       i += static_cast<int>(gridDim.y)) {
    const auto row = static_cast<std::size_t>(layer.view.offsets[expert] + i);
    const float* token = static_cast<const float*>(layer.view.rows) + row * width;
    float* result = static_cast<float*>(layer.view.results) + row * width;
    for (int to = static_cast<int>(threadIdx.x); to < layer.width; to += kThreads) {
      float sum = 0;
      for (int from = 0; from < layer.width; ++from) {
        sum += weights[from * layer.width + to] * token[from];
      }
      result[to] = sum > 0 ? sum : 0;
    }
  }
}

// --------------------------------------------------------------------------------- 4. The host

Layer make_layer(int tokens, int width, int local_experts) {
  Layer layer{};
  layer.tokens = tokens;
  layer.width = width;
  layer.experts = local_experts * shmem_n_pes();
  layer.choices = std::min(kChoices, layer.experts);

  shmemx_moe_shape_t shape{};
  shape.type = SHMEMX_MOE_FLOAT;
  shape.hidden = width;
  shape.top_k = layer.choices;
  shape.experts = layer.experts;
  shape.max_tokens = tokens;
  const bool made = shmemx_moe_create(SHMEM_TEAM_WORLD, &shape, &layer.moe) == 0;
  examples::agree(made ? ""
                       : "no GPU memory for the rows of all experts; set more by "
                         "MESHMEM_DEVICE_HEAP_SIZE");
  shmemx_moe_view(layer.moe, &layer.view);

  std::vector<float> weights;
  const auto first = static_cast<unsigned>(layer.view.first_expert);
  for (unsigned expert = first; expert < first + static_cast<unsigned>(local_experts); ++expert) {
    for (unsigned from = 0; from < static_cast<unsigned>(width); ++from) {
      for (unsigned to = 0; to < static_cast<unsigned>(width); ++to) {
        weights.push_back(weight_of(expert, to, from));
      }
    }
  }
  auto* weights_there = examples::allocate_private<float>(weights.size());
  examples::copy_to_gpu(weights_there, weights.data(), weights.size());
  layer.weights = weights_there;

  const auto count = static_cast<std::size_t>(tokens);
  const auto numbers = count * static_cast<std::size_t>(width);
  const auto choices = count * static_cast<std::size_t>(layer.choices);
  layer.token = examples::allocate_private<float>(numbers);
  layer.result = examples::allocate_private<float>(numbers);
  layer.expert = examples::allocate_private<int>(choices);
  layer.share = examples::allocate_private<float>(choices);
  return layer;
}

// Rounds count from 1.
unsigned first_token_of(const Layer& layer, long round) {
  const long before = (round - 1) * shmem_n_pes() + shmem_my_pe();
  return static_cast<unsigned>(before * layer.tokens);
}

void start_round(const Layer& layer, long round) {
  constexpr unsigned kBlocksOfExpert = 4;
  const dim3 threads(kThreads), tokens(static_cast<unsigned>(layer.tokens));
  const dim3 experts(static_cast<unsigned>(layer.view.local_experts), kBlocksOfExpert);
  hipLaunchKernelGGL(make_tokens, tokens, threads, 0, 0, layer, first_token_of(layer, round));
  shmemx_moe_plan_on_stream(layer.moe, layer.expert, layer.tokens, nullptr);
  shmemx_moe_dispatch_on_stream(layer.moe, layer.token, nullptr, nullptr);
  hipLaunchKernelGGL(run_experts, experts, threads, 0, 0, layer);
  shmemx_moe_combine_on_stream(layer.moe, layer.view.results, layer.share, layer.result, nullptr);
  examples::check_launch("start a round");
}

// Number i of the result of a token, as a plain loop gives it.
float expected(const Layer& layer, unsigned token, unsigned i) {
  float result = 0;
  for (int choice = 0; choice < layer.choices; ++choice) {
    const auto expert = static_cast<unsigned>(expert_of(token, choice, layer.experts));
    float sum = 0;
    for (unsigned from = 0; from < static_cast<unsigned>(layer.width); ++from) {
      sum += weight_of(expert, i, from) * value_of(token, from);
    }
    result += share_of(choice) * (sum > 0 ? sum : 0);
  }
  return result;
}

void check_results(const Layer& layer, long round) {
  const auto tokens = static_cast<unsigned>(layer.tokens);
  const auto width = static_cast<unsigned>(layer.width);
  std::vector<float> result(std::size_t{tokens} * width);
  examples::copy_from_gpu(result.data(), layer.result, result.size());
  for (unsigned token = 0; token < tokens; ++token) {
    for (unsigned i = 0; i < width; ++i) {
      const float wanted = expected(layer, first_token_of(layer, round) + token, i);
      const float found = result[std::size_t{token} * width + i];
      if (found == wanted) continue;
      std::fprintf(stderr, "14_moe_dispatch: PE %d, round %ld, token %u, number %u: %g, not %g\n",
                   shmem_my_pe(), round, token, i, static_cast<double>(found),
                   static_cast<double>(wanted));
      shmem_global_exit(1);
    }
  }
}

// How many tokens the busiest expert got from all PEs in the last round.
int busiest_expert(const Layer& layer) {
  static int mine;
  static int most;
  std::vector<int> counts(static_cast<std::size_t>(layer.view.local_experts));
  examples::copy_from_gpu(counts.data(), layer.view.counts, counts.size());
  mine = *std::max_element(counts.begin(), counts.end());
  shmem_int_max_reduce(SHMEM_TEAM_WORLD, &most, &mine, 1);
  return most;
}

void run(int argc, char** argv) {
  examples::Arguments arguments(
      "Routes tokens to experts on all GPUs and back, and checks the results.");
  long tokens = 32, width = 64, experts = 2, rounds = 3;
  arguments.number("--tokens", tokens, 1, 1L << 16, "Tokens of each PE");
  arguments.number("--width", width, 1, 4096, "Numbers in a token");
  arguments.number("--experts", experts, 1, 256, "Experts on each PE");
  arguments.number("--rounds", rounds, 1, 1L << 20, "How often, with other tokens each time");
  arguments.parse(argc, argv);
  examples::require_gpus();

  const Layer layer =
      make_layer(static_cast<int>(tokens), static_cast<int>(width), static_cast<int>(experts));
  double seconds = 0;
  for (long round = 1; round <= rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    start_round(layer, round);
    examples::wait_for_gpu();
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    check_results(layer, round);
  }
  const int busiest = busiest_expert(layer);
  shmemx_moe_destroy(layer.moe);
  if (shmem_my_pe() == 0) {
    std::printf(
        "%s, %d experts: %ld rounds of %ld tokens, %ld numbers each, %d experts a token: all as "
        "expected\n",
        examples::number_of_pes().c_str(), layer.experts, rounds, tokens * shmem_n_pes(), width,
        layer.choices);
    std::printf("the busiest expert had %d tokens in the last round; %.0f us a round\n", busiest,
                seconds * 1e6 / static_cast<double>(rounds));
  }
}

}  // namespace

int main(int argc, char** argv) { return examples::run_between_init_and_finalize(run, argc, argv); }
