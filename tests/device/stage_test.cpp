// SPDX-License-Identifier: Apache-2.0
//
// meshmem/stage.hpp and mailbox.hpp: values of each size arrive, whole and once, also when one PE
// is much faster than the others.
// Invariant: values differ from round to round, so a value of an earlier round shows.
#include <meshmem/stage.hpp>
#include <string>

#include "../api/team_views.hpp"
#include "own_stream.hpp"

namespace meshmem {
namespace {

using device::Bits128;

// In ticks of the device's clock, which are nanoseconds on cpu.
__device__ void spend_time(long long ticks) {
  const long long start = clock64();
  while (clock64() - start < ticks) device::pause();
}

// Each PE sends its number and the round to all others, in 1, 2, 4, 8 and 16 bytes; those of 16 in
// two steps. Block b has slots of its own. `wrong` counts values that are not as sent.
template <typename T>
__device__ void exchange(const Mailbox& mail, const StageView& stage, std::size_t at, int round,
                         unsigned* wrong) {
  for (int i = 1; i < stage.n; ++i)
    mail.send((stage.me + i) % stage.n, at + static_cast<std::size_t>(stage.me) * sizeof(T),
              Mailbox::filled(static_cast<T>(stage.me * 16 + round % 8)));
  for (int pe = 0; pe < stage.n; ++pe) {
    if (pe == stage.me) continue;
    const T found = mail.take<T>(at + static_cast<std::size_t>(pe) * sizeof(T));
    if (found != static_cast<T>(pe * 16 + round % 8)) atomicAdd(wrong, 1u);
  }
}
__global__ void exchange_all(const StageView stage, int round, unsigned* wrong) {
  const Mailbox mail(stage);
  if (threadIdx.x == 0) {
    const std::size_t row = static_cast<std::size_t>(stage.n) * sizeof(Bits128);
    const std::size_t at = 5 * row * blockIdx.x;
    exchange<std::uint8_t>(mail, stage, at, round, wrong);
    exchange<std::uint16_t>(mail, stage, at + row, round, wrong);
    exchange<std::uint32_t>(mail, stage, at + 2 * row, round, wrong);
    exchange<std::uint64_t>(mail, stage, at + 3 * row, round, wrong);
    const auto mine = static_cast<std::size_t>(stage.me) * sizeof(Bits128);
    const auto number = static_cast<std::uint64_t>(round);
    for (int half = 0; half < 2; ++half) {
      for (int i = 1; i < stage.n; ++i)
        mail.send((stage.me + i) % stage.n, at + 4 * row + mine + half * 8u, number + half);
      if (half == 0) spend_time(10000);
    }
    for (int pe = 0; pe < stage.n; ++pe) {
      if (pe == stage.me) continue;
      const auto pair = mail.take<Bits128>(at + 4 * row + static_cast<std::size_t>(pe) * 16);
      if (pair.word[0] != number || pair.word[1] != number + 1) atomicAdd(wrong, 1u);
    }
  }
  mail.leave();
}

// PE 0 sends to the others and hears nothing from them. They take their time.
__global__ void pass_down(const StageView stage, int round, unsigned* wrong) {
  const Mailbox mail(stage);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    for (int pe = 1; stage.me == 0 && pe < stage.n; ++pe)
      mail.send(pe, 0, static_cast<std::uint32_t>(round));
    if (stage.me > 0) {
      spend_time(20000 * stage.me);
      if (mail.take<std::uint32_t>(0) != static_cast<std::uint32_t>(round)) atomicAdd(wrong, 1u);
    }
  }
  mail.leave();
}

// Each PE sends a value of all bits to all others.
template <typename T>
__device__ void exchange_ones(const Mailbox& mail, const StageView& stage, std::size_t at,
                              unsigned* wrong) {
  using Word = device::Bits<sizeof(T)>;
  T ones;
  memset(static_cast<void*>(&ones), 0xff, sizeof ones);
  for (int i = 1; i < stage.n; ++i)
    mail.send((stage.me + i) % stage.n, at + static_cast<std::size_t>(stage.me) * sizeof(T),
              Mailbox::filled(ones));
  for (int pe = 0; pe < stage.n; ++pe) {
    if (pe == stage.me) continue;
    const T found = mail.take<T>(at + static_cast<std::size_t>(pe) * sizeof(T));
    const auto word = device::bit_cast<Word>(found);
    if constexpr (sizeof(T) == 16) {
      for (const std::uint64_t half : word.word)
        if (half != ~std::uint64_t{1}) atomicAdd(wrong, 1u);
    } else {
      if (word != static_cast<Word>(-2)) atomicAdd(wrong, 1u);
      if (std::is_floating_point_v<T> && found == found) atomicAdd(wrong, 1u);
    }
  }
}
__global__ void exchange_all_ones(const StageView stage, int, unsigned* wrong) {
  const Mailbox mail(stage);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    const std::size_t row = static_cast<std::size_t>(stage.n) * sizeof(Bits128);
    exchange_ones<float>(mail, stage, 0, wrong);
    exchange_ones<double>(mail, stage, row, wrong);
    exchange_ones<Bits128>(mail, stage, 2 * row, wrong);
    exchange_ones<std::uint8_t>(mail, stage, 3 * row, wrong);
    exchange_ones<std::int16_t>(mail, stage, 4 * row, wrong);
  }
  mail.leave();
}

// Launches a kernel `n` times, and returns how many values were wrong.
unsigned wrong_in(Stage& stage, void (*kernel)(StageView, int, unsigned*), int n) {
  const OwnStream stream;
  DeviceArray<unsigned> wrong(1, 0u);
  for (int round = 0; round < n; ++round) {
    const Status done = stage.launch(kernel, 64, stream, round, wrong.data());
    EXPECT_TRUE(done.ok()) << done.text();
  }
  stream.synchronize();
  return wrong.first();
}

TEST(Stage, ValuesOfEachSizeArriveWhole) {
  const std::size_t row = static_cast<std::size_t>(n_pes()) * sizeof(Bits128);
  Stage stage(SHMEM_TEAM_WORLD, 5 * row * Stage::kBlocks);
  ASSERT_TRUE(stage.status().ok()) << stage.status().text();
  EXPECT_EQ(wrong_in(stage, exchange_all, rounds(300)), 0u);
}

TEST(Stage, APeThatHearsNothingWaitsForTheOthers) {
  Stage stage(SHMEM_TEAM_WORLD, 256);
  EXPECT_EQ(wrong_in(stage, pass_down, rounds(300)), 0u);
}

TEST(Stage, TakesTurnsWithAnother) {
  const std::size_t row = static_cast<std::size_t>(n_pes()) * sizeof(Bits128);
  Stage first(SHMEM_TEAM_WORLD, 5 * row * Stage::kBlocks), second(SHMEM_TEAM_WORLD, 1);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(wrong_in(first, exchange_all, 3), 0u);
    EXPECT_EQ(wrong_in(second, pass_down, 5), 0u);
  }
}

TEST(Stage, ValuesOfAllBitsArriveFilled) {
  Stage stage(SHMEM_TEAM_WORLD, 5 * static_cast<std::size_t>(n_pes()) * sizeof(Bits128));
  EXPECT_EQ(wrong_in(stage, exchange_all_ones, 4), 0u);
}

TEST(Stage, ALaunchReportsItsOwnErrorAlone) {
  Stage stage(SHMEM_TEAM_WORLD, 256);
  const hipError_t earlier = hipSetDevice(-1);
  ASSERT_NE(earlier, hipSuccess);
  EXPECT_EQ(wrong_in(stage, pass_down, 2), 0u);
#if defined(MESHMEM_TARGET_IS_CPU)  // calls of GPUs' runtimes and queries of events may clear it
  EXPECT_EQ(hipGetLastError(), earlier);
#endif
}

TEST(Stage, SaysWhyItCannotBeMade) {
  Stage too_large(SHMEM_TEAM_WORLD, size_t{1} << 50), endless(SHMEM_TEAM_WORLD, SIZE_MAX);
  EXPECT_NE(std::string(too_large.status().text()).find("bytes of symmetric device memory"),
            std::string::npos);
  EXPECT_FALSE(endless.status().ok());
  Stage outside(SHMEM_TEAM_INVALID, 256);
  EXPECT_STREQ(outside.status().text(), "Stage: this PE is not in the team");
}

#if defined(MESHMEM_TARGET_IS_CPU)
// PE 0 captures a stream, so its calls that wait for the device fail.
TEST(Stage, AllPesOfTheTeamFailIfOneDoes) {
  const OwnStream stream;
  if (my_pe() == 0)
    must(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal), "hipStreamBeginCapture");
  Stage stage(SHMEM_TEAM_WORLD, 256);
  hipGraph_t graph = nullptr;
  const std::string text = stage.status().text();
  if (my_pe() == 0) {
    EXPECT_NE(hipStreamEndCapture(stream, &graph), hipSuccess);
    EXPECT_EQ(text, std::string("Stage: ") + hipGetErrorString(hipErrorStreamCaptureUnsupported));
  } else {
    EXPECT_EQ(text, "Stage: another PE of the team failed");
  }
}
#endif

TEST(Stage, RefusesPesThatKernelsDoNotReach) {
  Stage stage(SHMEM_TEAM_WORLD, 256);
  int near = 0;
  for (int pe = 0; pe < n_pes(); ++pe) near += shmem_ptr(stage.view().mine, pe) != nullptr;
  if (near == n_pes()) {
    EXPECT_TRUE(stage.status().ok());
    GTEST_SKIP() << "they reach all";
  }
  EXPECT_EQ(std::string(stage.status().text()).find("Stage: kernels do not reach PE "), 0u);
  EXPECT_FALSE(stage.launch(pass_down, 64, nullptr, 0, nullptr).ok());
}

}  // namespace
}  // namespace meshmem
