// SPDX-License-Identifier: Apache-2.0
//
// Mixture of experts: a layer of a network that consists of many small ones ("experts"), of which
// each token uses two. The experts are spread over the GPUs, so tokens travel to the experts that
// they need, and the results travel back. Kernels send both themselves, as soon as they have them.
// Run it:
//   oshhip -O2 14_moe_dispatch.hip arguments.cpp -o moe && oshrun -n 4 ./moe --tokens 256

// A round is three kernels on one stream, without any work of the host in between:
//   dispatch   a block for each expert: puts the tokens for it into its inbox, wherever it is, and
//              then, with a signal, the list of which tokens these are
//   compute    a block for each pair of an expert here and a PE: waits for that PE's list, and puts
//              each result back to where its token came from
//   combine    waits until all experts have answered, and adds the results of each token
//
// No PE knows in advance how many tokens come from where: the list says it when it arrives. All
// numbers are small whole ones, so that sums are exact in any order. The results are compared with
// those of a plain loop on the host, bit by bit.

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

// Handed to kernels by value; what is symmetric has the same size on all PEs. `mine` and `theirs`:
// the PE that has the token and the PE that has the expert.
struct Layer {
  int tokens;         // of each PE
  int width;          // of each token
  int experts;        // on all PEs
  int local_experts;  // on each PE
  int choices;        // kChoices, or 1 if there is only one expert

  const float* weights;  // of the local experts: width x width each, [from][to]
  float* token;          // of this PE: [token][width]
  float* result;         // of this PE: [token][width]

  // Symmetric. For each local expert and PE: the tokens from there, the list, and the last round
  // whose list is here. A list says how many tokens there are, then the number of each one's answer
  // on that PE.
  float* inbox;
  int* list;
  std::uint64_t* list_arrived;
  // Symmetric. The answers to this PE's tokens, by token * choices + choice; and how often experts
  // have sent all their answers, counted on from round to round.
  float* answer;
  std::uint64_t* experts_done;

  int* my_list;  // of each expert: the list until it is sent

  __host__ __device__ int answers() const { return tokens * choices; }
  __host__ __device__ int list_length() const { return 1 + tokens; }
  __host__ __device__ std::size_t pair(int local_expert, int pe) const {
    return static_cast<std::size_t>(local_expert) * (experts / local_experts) + pe;
  }
  __host__ __device__ float* inbox_of(std::size_t pair, int place) const {
    return inbox + (pair * tokens + place) * width;
  }
};

// ------------------------------------------------------------------------------------ 3. Kernels

__global__ void make_tokens(Layer layer, unsigned first_token) {
  const unsigned token = blockIdx.x;
  for (int i = static_cast<int>(threadIdx.x); i < layer.width; i += kThreads) {
    layer.token[static_cast<std::size_t>(token) * layer.width + i] =
        value_of(first_token + token, static_cast<unsigned>(i));
  }
}

// The block of an expert looks through all choices, a wave at each, and sends the expert's tokens.
__global__ void dispatch(Layer layer, unsigned first_token, std::uint64_t round) {
  __shared__ int count;
  const int expert = static_cast<int>(blockIdx.x);
  const int theirs = expert / layer.local_experts;
  const std::size_t pair = layer.pair(expert % layer.local_experts, shmem_my_pe());
  int* list = layer.my_list + expert * layer.list_length();
  if (threadIdx.x == 0) count = 0;
  __syncthreads();

  const int lane = static_cast<int>(threadIdx.x) % warpSize;
  const int waves = kThreads / warpSize;
  for (int i = static_cast<int>(threadIdx.x) / warpSize; i < layer.answers(); i += waves) {
    const int token = i / layer.choices;
    const int choice = i % layer.choices;
    if (expert_of(first_token + static_cast<unsigned>(token), choice, layer.experts) != expert) {
      continue;  // all lanes of the wave
    }
    int place = lane == 0 ? atomicAdd(&count, 1) : 0;
    place = __shfl(place, 0);
    if (lane == 0) list[1 + place] = i;
    shmemx_float_put_nbi_wave(layer.inbox_of(pair, place),
                              layer.token + static_cast<std::size_t>(token) * layer.width,
                              static_cast<std::size_t>(layer.width), theirs);
  }

  // The signal that comes with the list vouches for the list only. The tokens, which many threads
  // have put, must arrive before: each thread orders its own puts, and the block waits for all
  // threads.
  shmemx_fence_block();
  __syncthreads();
  if (threadIdx.x == 0) list[0] = count;
  __syncthreads();
  shmemx_int_put_signal_block(layer.list + pair * layer.list_length(), list,
                              static_cast<std::size_t>(1 + count), layer.list_arrived + pair, round,
                              SHMEM_SIGNAL_SET, theirs);
}

// A block for each (local expert, PE). Each result leaves at once, a number by each thread.
__global__ void compute(Layer layer, std::uint64_t round) {
  const int local_expert = static_cast<int>(blockIdx.x);
  const int mine = static_cast<int>(blockIdx.y);
  const std::size_t pair = layer.pair(local_expert, mine);
  const int* list = layer.list + pair * layer.list_length();
  const float* weights =
      layer.weights + static_cast<std::size_t>(local_expert) * layer.width * layer.width;

  shmemx_signal_wait_until_block(layer.list_arrived + pair, SHMEM_CMP_GE, round);
  for (int place = 0; place < list[0]; ++place) {
    const float* token = layer.inbox_of(pair, place);
    float* answer = layer.answer + static_cast<std::size_t>(list[1 + place]) * layer.width;
    for (int to = static_cast<int>(threadIdx.x); to < layer.width; to += kThreads) {
      float sum = 0;
      for (int from = 0; from < layer.width; ++from) {
        sum += weights[from * layer.width + to] * token[from];
      }
      shmem_float_p(&answer[to], sum > 0 ? sum : 0, mine);
    }
  }
  shmemx_fence_block();  // as in dispatch
  __syncthreads();
  if (threadIdx.x == 0) shmem_signal_add(layer.experts_done, 1, mine);
}

// Nothing of the next round can come too early. Others send its tokens when they have all answers
// of this round. Answers are for tokens that this PE sends after it has combined these.
__global__ void combine(Layer layer, std::uint64_t round) {
  shmemx_signal_wait_until_block(layer.experts_done, SHMEM_CMP_GE,
                                 round * static_cast<std::uint64_t>(layer.experts));
  const auto token = static_cast<std::size_t>(blockIdx.x);
  for (int i = static_cast<int>(threadIdx.x); i < layer.width; i += kThreads) {
    float sum = 0;
    for (int choice = 0; choice < layer.choices; ++choice) {
      sum += share_of(choice) * layer.answer[(token * layer.choices + choice) * layer.width + i];
    }
    layer.result[token * layer.width + i] = sum;
  }
}

// --------------------------------------------------------------------------------- 4. The host

Layer make_layer(int tokens, int width, int local_experts) {
  Layer layer{};
  layer.tokens = tokens;
  layer.width = width;
  layer.local_experts = local_experts;
  layer.experts = local_experts * shmem_n_pes();
  layer.choices = std::min(kChoices, layer.experts);

  std::vector<float> weights;
  const auto first = static_cast<unsigned>(local_experts * shmem_my_pe());
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
  const auto numbers = static_cast<std::size_t>(width);
  const auto pairs = static_cast<std::size_t>(layer.experts);
  const auto list = static_cast<std::size_t>(layer.list_length());
  layer.token = examples::allocate_private<float>(count * numbers);
  layer.result = examples::allocate_private<float>(count * numbers);
  layer.my_list = examples::allocate_private<int>(pairs * list);
  layer.inbox = examples::allocate_on_gpus<float>(pairs * count * numbers);
  layer.list = examples::allocate_on_gpus<int>(pairs * list);
  layer.list_arrived = examples::allocate_on_gpus<std::uint64_t>(pairs);
  layer.answer = examples::allocate_on_gpus<float>(count * layer.choices * numbers);
  layer.experts_done = examples::allocate_on_gpus<std::uint64_t>(1);
  return layer;
}

// Rounds count from 1.
unsigned first_token_of(const Layer& layer, long round) {
  const long before = (round - 1) * shmem_n_pes() + shmem_my_pe();
  return static_cast<unsigned>(before * layer.tokens);
}

void start_round(const Layer& layer, long round) {
  const unsigned first_token = first_token_of(layer, round);
  const auto number = static_cast<std::uint64_t>(round);
  const dim3 threads(kThreads), tokens(static_cast<unsigned>(layer.tokens));
  const auto experts = static_cast<unsigned>(layer.experts);
  const dim3 pairs(static_cast<unsigned>(layer.local_experts),
                   static_cast<unsigned>(shmem_n_pes()));
  hipLaunchKernelGGL(make_tokens, tokens, threads, 0, 0, layer, first_token);
  hipLaunchKernelGGL(dispatch, dim3(experts), threads, 0, 0, layer, first_token, number);
  hipLaunchKernelGGL(compute, pairs, threads, 0, 0, layer, number);
  hipLaunchKernelGGL(combine, tokens, threads, 0, 0, layer, number);
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

// How many tokens the busiest expert got from all PEs in the last round, which is in the lists.
int busiest_expert(const Layer& layer) {
  static int mine;
  static int most;
  std::vector<int> lists(static_cast<std::size_t>(layer.experts) * layer.list_length());
  examples::copy_from_gpu(lists.data(), layer.list, lists.size());
  for (int expert = 0; expert < layer.local_experts; ++expert) {
    int tokens = 0;
    for (int pe = 0; pe < shmem_n_pes(); ++pe) {
      tokens += lists[layer.pair(expert, pe) * layer.list_length()];
    }
    mine = std::max(mine, tokens);
  }
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
  shmem_sync_all();  // all have checked
  const int busiest = busiest_expert(layer);
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
