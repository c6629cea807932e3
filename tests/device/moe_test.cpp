// SPDX-License-Identifier: Apache-2.0
//
// Expert parallelism on streams and in kernels: rows, scales, counts and sums are compared bit by
// bit with those of plain loops.
// Invariant: kernels make a round's inputs and do the experts' work, so rounds can follow each
// other without the host.
#include <chrono>
#include <meshmem/moe.hpp>
#include <thread>

#include "moe_model.hpp"

namespace meshmem {
namespace {

// This PE's arrays of a round, in memory of hipMalloc.
struct Inputs {
  int* indices;
  void* tokens;
  float* scales;
  float* weights;
};

// The number of the round, which lies in device memory so that a graph can count on.
__global__ void next_round(int* round) { ++*round; }

__global__ void make_inputs(Kind kind, Inputs inputs, const int* round_now, int pe) {
  const int round = *round_now, tokens = tokens_of(kind, round, pe);
  const int first = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int step = static_cast<int>(gridDim.x * blockDim.x);
  const int hidden = kind.shape.hidden;
  for (int i = first; i < tokens * kind.shape.top_k; i += step) {
    inputs.indices[i] = index_of(kind, round, pe, i);
    store_element(inputs.weights, static_cast<size_t>(i), 4, weight_of(kind, round, pe, i));
  }
  for (int i = first; i < tokens * hidden; i += step)
    store_element(inputs.tokens, static_cast<size_t>(i), bytes_of_type(kind.shape.type),
                  element_of(kind, round, pe, i / hidden, i % hidden));
  if (!inputs.scales) return;
  const int scales = (hidden - 1) / SHMEMX_MOE_SCALED_ELEMENTS + 1;
  for (int i = first; i < tokens * scales; i += step)
    store_element(inputs.scales, static_cast<size_t>(i), 4,
                  scale_of(kind, round, pe, i / scales, i % scales));
}

__device__ void run_experts(const Kind& kind, const shmemx_moe_view_t& moe, int first, int step) {
  const int hidden = kind.shape.hidden;
  for (int e = 0; e < moe.local_experts; ++e)
    for (int at = first; at < moe.counts[e] * hidden; at += step) {
      const int i = at % hidden;
      const auto row = static_cast<size_t>(moe.offsets[e] + at / hidden);
      const auto from = row * static_cast<size_t>(hidden) + static_cast<size_t>(hidden - 1 - i);
      const auto scale = row * static_cast<size_t>(moe.scales_of_row) +
                         static_cast<size_t>((hidden - 1 - i) / SHMEMX_MOE_SCALED_ELEMENTS);
      store_element(moe.results, row * static_cast<size_t>(hidden) + static_cast<size_t>(i),
                    bytes_of_type(kind.shape.result_type),
                    result_of(kind, moe.first_expert + e,
                              load_element(moe.rows, from, bytes_of_type(kind.shape.type)),
                              moe.scales_of_row > 0 ? load_element(moe.row_scales, scale, 4) : 0));
    }
}
__global__ void experts(Kind kind, shmemx_moe_view_t moe) {
  run_experts(kind, moe, static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x),
              static_cast<int>(gridDim.x * blockDim.x));
}

// Whole rounds in one kernel, by one block and by several.
template <typename E>
__global__ void round_by_block(Kind kind, shmemx_moe_view_t moe, Inputs inputs, int tokens,
                               void* out) {
  moe::plan(moe, inputs.indices, tokens);
  moe::dispatch(moe, inputs.tokens, inputs.scales, moe::alone());
  shmemx_team_sync_block(moe.team);
  run_experts(kind, moe, static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x));
  shmemx_team_sync_block(moe.team);
  moe::combine<E>(moe, moe.results, inputs.weights, out, moe::alone());
}
template <typename E>
MESHMEM_DEVICE void do_round(Kind kind, const shmemx_moe_view_t& moe, const Inputs& inputs,
                             int tokens, void* out) {
  moe::count(moe, inputs.indices, tokens, moe::of_grid());
  shmemx_team_sync_grid(moe.team);
  if (blockIdx.x == 0) {
    moe::exchange(moe);
    moe::place(moe);
  }
  shmemx_team_sync_grid(moe.team);
  moe::dispatch(moe, inputs.tokens, inputs.scales, moe::of_grid());
  shmemx_team_sync_grid(moe.team);
  run_experts(kind, moe, static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x),
              static_cast<int>(gridDim.x * blockDim.x));
  shmemx_team_sync_grid(moe.team);
  moe::combine<E>(moe, moe.results, inputs.weights, out, moe::of_grid());
}
template <typename E>
__global__ void rounds_by_grid(Kind kind, shmemx_moe_view_t moe, Inputs inputs, int tokens,
                               void* out) {
  for (const int now : {tokens / 2, 0, tokens}) {
    do_round<E>(kind, moe, inputs, now, out);
    shmemx_team_sync_grid(moe.team);
  }
}

// Memory of hipMalloc that begins `shift` bytes behind an even address.
class Bytes {
 public:
  explicit Bytes(size_t bytes, size_t shift = 0) : shift_(shift) {
    must(hipMalloc(&memory_, bytes + shift + 16), "hipMalloc");
    must(hipMemset(memory_, 0xA5, bytes + shift + 16), "hipMemset");
  }
  ~Bytes() { must(hipFree(memory_), "hipFree"); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(static_cast<char*>(memory_) + shift_);
  }

 private:
  void* memory_ = nullptr;
  size_t shift_;
};

constexpr unsigned kBlocks = 3, kThreads = 64;

// A team's handle with its rounds. All PEs of the world make and drop it.
class Layer {
 public:
  Layer(shmem_team_t team, Kind kind, size_t shift = 0, int most_rounds = 1)
      : kind_(kind),
        pes_(pes_of(team)),
        indices_(choices() * sizeof(int)),
        tokens_(elements() * size_of(kind.shape.type), shift * size_of(kind.shape.type)),
        scales_(static_cast<size_t>(kind.shape.max_tokens * kind.shape.hidden) * sizeof(float)),
        weights_(choices() * sizeof(float)),
        round_(sizeof(int)),
        out_(static_cast<size_t>(most_rounds) * elements() * size_of(kind.shape.result_type),
             shift * size_of(kind.shape.result_type)) {
    EXPECT_EQ(shmemx_moe_create(team, &kind.shape, &moe_), 0);
    set_round(0);
    if (is_member()) shmemx_moe_view(moe_, &view_);
  }
  ~Layer() {
    synchronize();
    if (moe_) shmemx_moe_destroy(moe_);
  }
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  bool is_member() const { return !pes_.empty() && moe_ != nullptr; }
  const Kind& kind() const { return kind_; }
  const shmemx_moe_view_t& view() const { return view_; }
  Inputs inputs() const {
    const bool has_scales = kind_.shape.type == SHMEMX_MOE_FP8;
    return {indices_.as<int>(), tokens_.as<void>(), has_scales ? scales_.as<float>() : nullptr,
            weights_.as<float>()};
  }
  char* out(int number = 0) const {
    return out_.as<char>() +
           static_cast<size_t>(number) * elements() * size_of(kind_.shape.result_type);
  }
  void set_round(int round) { upload(round_.as<int>(), std::vector<int>{round}); }

  // Puts the parts of a round on the stream. number: which of the outs.
  void prepare(const OwnStream& stream) const {
    launch_on(stream, next_round, 1, 1, round_.as<int>());
    launch_on(stream, make_inputs, kBlocks, kThreads, kind_, inputs(), round_.as<int>(), my_pe());
  }
  void send(const OwnStream& stream, int tokens) const {
    EXPECT_EQ(shmemx_moe_plan_on_stream(moe_, inputs().indices, tokens, stream), 0);
    send_again(stream);
  }
  void send_again(const OwnStream& stream) const {
    EXPECT_EQ(shmemx_moe_dispatch_on_stream(moe_, inputs().tokens, inputs().scales, stream), 0);
  }
  void work(const OwnStream& stream) const {
    launch_on(stream, experts, kBlocks, kThreads, kind_, view_);
  }
  void finish(const OwnStream& stream, int number = 0) const {
    work(stream);
    EXPECT_EQ(combine(stream, number), 0);
  }
  int combine(const OwnStream& stream, int number) const {
    return shmemx_moe_combine_on_stream(moe_, view_.results, inputs().weights, out(number), stream);
  }

  void expect_rows(int round) const {
    const Expected expected(kind_, pes_, round);
    const auto n = static_cast<size_t>(view_.local_experts);
    ASSERT_EQ(n, expected.counts.size());
    EXPECT_EQ(view_.first_expert, expected.first_expert);
    EXPECT_EQ(download(view_.counts, n), expected.counts);
    EXPECT_EQ(download(view_.offsets, n + 1), expected.offsets);
    EXPECT_EQ(download(view_.dropped, 1)[0], expected.dropped);
    EXPECT_EQ(download(view_.status, 1)[0], 0);
    const size_t rows = expected.rows.size();
    ASSERT_LE(rows, static_cast<size_t>(view_.max_rows));
    const auto found = download(static_cast<const char*>(view_.rows), rows * view_.row_bytes);
    const auto scales_of_row = static_cast<size_t>(view_.scales_of_row);
    const auto scales = download(view_.row_scales, rows * scales_of_row);
    const int bytes = bytes_of_type(kind_.shape.type);
    for (size_t row = 0; row < rows; ++row) {
      const auto [pe, token] = expected.rows[row];
      if (pe < 0) continue;
      for (int i = 0; i < kind_.shape.hidden; ++i)
        ASSERT_EQ(load_element(found.data() + row * view_.row_bytes, static_cast<size_t>(i), bytes),
                  element_of(kind_, round, pe, token, i))
            << "row " << row << ", element " << i;
      for (size_t i = 0; i < scales_of_row; ++i)
        ASSERT_EQ(bits_of(scales[row * scales_of_row + i]),
                  scale_of(kind_, round, pe, token, static_cast<int>(i)))
            << "row " << row << ", scale " << i;
    }
  }
  void expect_sums(int round, int number = 0) const {
    const Expected expected(kind_, pes_, round);
    const int tokens = tokens_of(kind_, round, my_pe()), hidden = kind_.shape.hidden;
    const auto found = download(out(number), elements() * size_of(kind_.shape.result_type));
    for (int token = 0; token < tokens; ++token)
      for (int i = 0; i < hidden; ++i)
        ASSERT_EQ(load_element(found.data(), static_cast<size_t>(token * hidden + i),
                               bytes_of_type(kind_.shape.result_type)),
                  expected.sum(token, i))
            << "round " << round << ", token " << token << ", element " << i;
    for (size_t at = static_cast<size_t>(tokens * hidden) * size_of(kind_.shape.result_type);
         at < found.size(); ++at)
      ASSERT_EQ(static_cast<unsigned char>(found[at]), 0xA5) << "behind the last token";
  }
  void expect_round(const OwnStream& stream, int round) {
    SCOPED_TRACE(testing::Message()
                 << "round " << round << ", type " << kind_.shape.type << ", results "
                 << kind_.shape.result_type << ", hidden " << kind_.shape.hidden << ", top_k "
                 << kind_.shape.top_k << ", experts " << kind_.shape.experts << ", max_tokens "
                 << kind_.shape.max_tokens << ", capacity " << kind_.shape.capacity << ", seed "
                 << kind_.seed);
    set_round(round - 1);
    must(hipMemset(out(), 0xA5, elements() * size_of(kind_.shape.result_type)), "hipMemset");
    prepare(stream);
    send(stream, tokens_of(kind_, round, my_pe()));
    stream.synchronize();
    expect_rows(round);
    finish(stream);
    stream.synchronize();
    expect_sums(round);
  }

 private:
  static size_t size_of(int type) { return static_cast<size_t>(bytes_of_type(type)); }
  static std::vector<int> pes_of(shmem_team_t team) {
    std::vector<int> pes;
    if (team == SHMEM_TEAM_INVALID) return pes;
    for (int i = 0; i < shmem_team_n_pes(team); ++i)
      pes.push_back(shmem_team_translate_pe(team, i, SHMEM_TEAM_WORLD));
    return pes;
  }
  size_t choices() const {
    return static_cast<size_t>(kind_.shape.max_tokens) * static_cast<size_t>(kind_.shape.top_k);
  }
  size_t elements() const {
    return static_cast<size_t>(kind_.shape.max_tokens) * static_cast<size_t>(kind_.shape.hidden);
  }

  Kind kind_;
  std::vector<int> pes_;
  Bytes indices_, tokens_, scales_, weights_, round_, out_;
  shmemx_moe_t moe_ = nullptr;
  shmemx_moe_view_t view_{};
};

struct Types {
  int type, result_type;
};
constexpr Types kTypes[] = {{SHMEMX_MOE_FLOAT, SHMEMX_MOE_FLOAT},
                            {SHMEMX_MOE_HALF, SHMEMX_MOE_HALF},
                            {SHMEMX_MOE_BFLOAT16, SHMEMX_MOE_BFLOAT16},
                            {SHMEMX_MOE_FP8, SHMEMX_MOE_BFLOAT16},
                            {SHMEMX_MOE_FP8, SHMEMX_MOE_FLOAT}};

shmemx_moe_shape_t shape_of(Types types, int hidden, int top_k, int experts, int max_tokens,
                            int capacity = 0, int max_blocks = 0) {
  return {types.type, types.result_type, hidden, top_k, experts, max_tokens, capacity, max_blocks};
}

TEST(Moe, RowsAndSumsAreRightForEachType) {
  const OwnStream stream;
  int seed = 1;
  for (const Types types : kTypes)
    for (const int hidden : {1, 7, 128, 130, 1032}) {
      Layer layer(SHMEM_TEAM_WORLD,
                  {shape_of(types, hidden, 2, 2 * n_pes() + 1, 9), Routing::any, false, ++seed});
      for (int round = 1; round <= 3; ++round) layer.expect_round(stream, round);
    }
}

TEST(Moe, ShapesOfAllKindsAreRight) {
  const OwnStream stream;
  const std::vector<int> experts = {1, n_pes() > 1 ? n_pes() - 1 : 3, n_pes(), 3 * n_pes() + 2, 70};
  for (int seed = 0; seed < 30; ++seed) {
    const Kind dice{{}, Routing::any, false, 1000 + seed};
    const auto choose = [&](int what, const std::vector<int>& from) {
      return from[drawn(dice, 10 + what, 0, 0, 0) % from.size()];
    };
    const Types types = kTypes[static_cast<size_t>(seed) % 5];
    const shmemx_moe_shape_t shape = shape_of(
        types, choose(0, {2, 8, 24, 129, 256}), choose(1, {1, 2, 3, 5, 8, 16}), choose(2, experts),
        choose(3, {1, 2, 13, 40}), choose(4, {0, 0, 1, 7, 64}), choose(5, {0, 1, 2}));
    const auto routing = static_cast<Routing>(choose(6, {0, 0, 0, 0, 1, 2}));
    Layer layer(SHMEM_TEAM_WORLD, {shape, routing, false, seed},
                static_cast<size_t>(choose(7, {0, 0, 1, 3})));
    for (int round = 1; round <= 2; ++round) layer.expect_round(stream, round);
  }
}

// Long rows of few tokens, which waves and blocks share, and many short ones.
TEST(Moe, FewLongAndManyShortTokensAreRight) {
  const OwnStream stream;
  const Types bfloat16 = kTypes[2];
  Layer few(SHMEM_TEAM_WORLD, {shape_of(bfloat16, 7168, 3, 6, 1), Routing::any, true, 71});
  few.expect_round(stream, 1);
  Layer many(SHMEM_TEAM_WORLD, {shape_of(bfloat16, 8, 4, 9, 600), Routing::any, true, 72});
  many.expect_round(stream, 1);
}

// One PE is late in some rounds, by its host and by its kernels.
void fall_behind(int round) {
  if (my_pe() == round / 3 % n_pes() && round % 3 == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
}

TEST(Moe, RoundsFollowEachOtherWithoutTheHost) {
  const OwnStream stream;
  constexpr int kRounds = 40;
  for (const Types types : {kTypes[2], kTypes[3]}) {
    Layer layer(SHMEM_TEAM_WORLD, {shape_of(types, 40, 2, n_pes() + 2, 6), Routing::any, false, 81},
                0, kRounds);
    for (int round = 1; round <= kRounds; ++round) {
      fall_behind(round);
      layer.prepare(stream);
      layer.send(stream, tokens_of(layer.kind(), round, my_pe()));
      layer.finish(stream, round - 1);
    }
    stream.synchronize();
    for (int round = 1; round <= kRounds; ++round) layer.expect_sums(round, round - 1);
  }
}

TEST(Moe, HandlesTakeTurns) {
  const OwnStream stream;
  constexpr int kRounds = 6;
  Layer one(SHMEM_TEAM_WORLD, {shape_of(kTypes[0], 33, 3, 5, 4), Routing::any, false, 91}, 0,
            kRounds);
  Layer other(SHMEM_TEAM_WORLD, {shape_of(kTypes[1], 16, 1, 4, 7, 3), Routing::any, false, 92}, 0,
              kRounds);
  for (int round = 1; round <= kRounds; ++round) {
    fall_behind(round);
    for (Layer* layer : {&one, &other}) {
      layer->prepare(stream);
      layer->send(stream, tokens_of(layer->kind(), round, my_pe()));
    }
    for (Layer* layer : {&other, &one}) layer->finish(stream, round - 1);
  }
  stream.synchronize();
  for (int round = 1; round <= kRounds; ++round)
    for (const Layer* layer : {&one, &other}) layer->expect_sums(round, round - 1);
}

// A dispatch may follow a combine without a plan, and a second combine its results.
TEST(Moe, APlanServesSeveralDispatches) {
  const OwnStream stream;
  Layer layer(SHMEM_TEAM_WORLD, {shape_of(kTypes[0], 20, 2, 5, 6), Routing::any, true, 95}, 0, 3);
  layer.prepare(stream);
  layer.send(stream, layer.kind().shape.max_tokens);
  layer.work(stream);
  // Before combine, while the rows are still this PE's.
  const auto rows = static_cast<size_t>(layer.view().max_rows) * layer.view().row_bytes;
  must(hipMemsetAsync(layer.view().rows, 0, rows, stream), "hipMemsetAsync");
  EXPECT_EQ(layer.combine(stream, 0), 0);
  layer.send_again(stream);
  layer.finish(stream, 1);
  EXPECT_EQ(layer.combine(stream, 2), 0);
  stream.synchronize();
  for (int number = 0; number < 3; ++number) layer.expect_sums(1, number);
}

TEST(Moe, GraphsReplayRounds) {
  const OwnStream stream;
  constexpr int kReplays = 8;
  Layer layer(SHMEM_TEAM_WORLD,
              {shape_of(kTypes[2], 48, 4, 2 * n_pes() + 1, 5), Routing::any, true, 101});
  Bytes kept(kReplays * layer.view().result_bytes * 5);
  const OwnGraph graph(stream, [&] {
    layer.prepare(stream);
    layer.send(stream, layer.kind().shape.max_tokens);
    layer.finish(stream);
  });
  for (int i = 0; i < kReplays; ++i) {
    fall_behind(i);
    graph.replay(stream);
    must(
        hipMemcpyAsync(kept.as<char>() + static_cast<size_t>(i) * layer.view().result_bytes * 5,
                       layer.out(), layer.view().result_bytes * 5, hipMemcpyDeviceToDevice, stream),
        "hipMemcpyAsync");
  }
  stream.synchronize();
  for (int i = 0; i < kReplays; ++i) {
    must(hipMemcpy(layer.out(),
                   kept.as<char>() + static_cast<size_t>(i) * layer.view().result_bytes * 5,
                   layer.view().result_bytes * 5, hipMemcpyDeviceToDevice),
         "hipMemcpy");
    layer.expect_sums(i + 1);
  }
}

// Two teams at a time, of different shapes; a PE may be in none.
TEST(Moe, TeamsOfSomePesHaveTheirOwn) {
  const OwnStream stream;
  shmem_team_t even, odd;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (n_pes() + 1) / 2, nullptr, 0, &even);
  const bool has_odd = n_pes() > 3;
  if (has_odd) shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 2, n_pes() / 2, nullptr, 0, &odd);
  const bool is_even = my_pe() % 2 == 0;
  const shmem_team_t mine = is_even ? even : has_odd ? odd : SHMEM_TEAM_INVALID;
  {
    Layer layer(mine, is_even ? Kind{shape_of(kTypes[0], 30, 2, 5, 8), Routing::any, false, 111}
                              : Kind{shape_of(kTypes[3], 140, 3, 3, 5), Routing::any, false, 112});
    if (layer.is_member())
      for (int round = 1; round <= 3; ++round) layer.expect_round(stream, round);
  }
  shmem_team_destroy(mine);
}

// The PEs of the second team are numbered the other way around.
TEST(Moe, TeamsHaveStreamsOfTheirOwn) {
  constexpr int kRounds = 12;
  const OwnStream streams[2];
  std::vector<int> pes(static_cast<size_t>(n_pes()));
  std::iota(pes.rbegin(), pes.rend(), 0);
  shmem_team_t reversed = SHMEM_TEAM_INVALID;
  ASSERT_EQ(shmemx_team_of_pes(pes.data(), n_pes(), &reversed), 0);
  {
    Layer forward(SHMEM_TEAM_WORLD, {shape_of(kTypes[2], 50, 2, 5, 6), Routing::any, false, 115}, 0,
                  kRounds);
    Layer backward(reversed, {shape_of(kTypes[0], 24, 3, 4, 9), Routing::any, false, 116}, 0,
                   kRounds);
    const Layer* layers[] = {&forward, &backward};
    for (int round = 1; round <= kRounds; ++round) {
      fall_behind(round);
      for (int i = 0; i < 2; ++i) {
        layers[i]->prepare(streams[i]);
        layers[i]->send(streams[i], tokens_of(layers[i]->kind(), round, my_pe()));
        layers[i]->finish(streams[i], round - 1);
      }
    }
    for (int i = 0; i < 2; ++i) {
      streams[i].synchronize();
      for (int round = 1; round <= kRounds; ++round) layers[i]->expect_sums(round, round - 1);
    }
  }
  shmem_team_destroy(reversed);
}

template <typename E>
void check_kernels(Types types) {
  const OwnStream stream;
  Layer layer(SHMEM_TEAM_WORLD, {shape_of(types, 65, 3, n_pes() + 1, 7), Routing::any, false, 121});
  for (int round = 1; round <= 4; ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    layer.set_round(round - 1);
    must(hipMemset(layer.out(), 0xA5, layer.view().result_bytes * 7), "hipMemset");
    layer.prepare(stream);
    const int tokens = tokens_of(layer.kind(), round, my_pe());
    if (round % 2 == 0)
      launch_on(stream, round_by_block<E>, 1, kThreads, layer.kind(), layer.view(), layer.inputs(),
                tokens, layer.out());
    else
      launch_grid_on(stream, rounds_by_grid<E>, dim3(kBlocks), kThreads, layer.kind(), layer.view(),
                     layer.inputs(), tokens, layer.out());
    stream.synchronize();
    layer.expect_sums(round);
  }
}
TEST(Moe, KernelsRunWholeRounds) {
  check_kernels<float>(kTypes[0]);
  check_kernels<meshmem_bfloat16>(kTypes[3]);
}

TEST(Moe, BadIndicesAreToldAndGoNowhere) {
  if (device::kChecks) GTEST_SKIP() << "the library's kernels have checks, which end the job";
  const OwnStream stream;
  Layer layer(SHMEM_TEAM_WORLD, {shape_of(kTypes[0], 4, 2, 3, 2), Routing::nobody, true, 131});
  layer.prepare(stream);
  stream.synchronize();
  upload(layer.inputs().indices, {3, -1, -2, -1});
  layer.send(stream, 2);
  layer.finish(stream);
  stream.synchronize();
  EXPECT_EQ(download(layer.view().status, 1)[0], SHMEMX_MOE_BAD_INDEX);
  EXPECT_EQ(download(layer.view().offsets + layer.view().local_experts, 1)[0], 0);
  layer.expect_sums(1);
}

bool is_refused(shmemx_moe_shape_t shape, shmem_team_t team = SHMEM_TEAM_WORLD) {
  shmemx_moe_t moe = nullptr;
  const bool refused = shmemx_moe_create(team, &shape, &moe) != 0;
  EXPECT_EQ(refused, moe == nullptr);
  if (moe) shmemx_moe_destroy(moe);
  return refused;
}
TEST(Moe, BadShapesAreRefusedOnAllPes) {
  const shmemx_moe_shape_t good = shape_of(kTypes[2], 8, 2, 4, 4);
  EXPECT_FALSE(is_refused(good));
  const auto with = [&](auto change) {
    shmemx_moe_shape_t shape = good;
    if (my_pe() == n_pes() - 1) change(shape);
    return shape;
  };
  EXPECT_TRUE(is_refused(with([](auto& shape) { shape.type = 0; })));
  EXPECT_TRUE(is_refused(with([](auto& shape) { shape.type = 5; })));
  EXPECT_TRUE(is_refused(with([](auto& shape) { shape.result_type = SHMEMX_MOE_FP8; })));
  EXPECT_TRUE(is_refused(with([](auto& shape) { shape.hidden = 0; })));
  EXPECT_TRUE(is_refused(with([](auto& shape) { shape.top_k = SHMEMX_MOE_MOST_CHOICES + 1; })));
  EXPECT_TRUE(is_refused(with([](auto& shape) { shape.experts = 0; })));
  EXPECT_TRUE(is_refused(with([](auto& shape) { shape.max_tokens = 0x7fffffff; })));
  EXPECT_TRUE(is_refused(with([](auto& shape) { shape.capacity = -1; })));
  const bool differs = is_refused(with([](auto& shape) { shape.hidden = 16; }));
  EXPECT_EQ(differs, n_pes() > 1);
  EXPECT_TRUE(is_refused(with([](auto& shape) { shape.experts = 4097; })));
  shmemx_moe_shape_t many = good;
  many.capacity = 1;
  many.max_tokens = 1 << 29;
  EXPECT_TRUE(is_refused(many));
  const bool is_last = my_pe() == n_pes() - 1;
  const bool is_partial = is_refused(good, is_last ? SHMEM_TEAM_INVALID : SHMEM_TEAM_WORLD);
  EXPECT_EQ(is_partial, n_pes() > 1);
  shmemx_moe_shape_t large = good;
  large.max_tokens = 1 << 20;
  large.hidden = 1 << 20;
  EXPECT_TRUE(is_refused(large));
}

}  // namespace
}  // namespace meshmem
