// SPDX-License-Identifier: Apache-2.0
//
// Kernels and the ring by which they reach far PEs, with a thread at its other end (far_world.hpp),
// which executes commands on another piece of memory. The tests cover every operation, a ring that
// is full, and what quiet waits for. ThreadSanitizer sees both sides.
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "far_world.hpp"

namespace meshmem {
namespace device {
namespace {

template <typename Kernel, typename... Args>
void run(unsigned blocks, unsigned threads, Kernel kernel, Args... args) {
  hipLaunchKernelGGL(kernel, dim3(blocks), dim3(threads), 0, nullptr, args...);
  ASSERT_EQ(hipDeviceSynchronize(), hipSuccess);
}

TEST(ProxyRing, CarriesEveryBitOfACommand) {
  std::mt19937_64 random(some_seed());
  for (int i = 0; i < 100; ++i) {
    ProxyCommand sent{ProxyOp::collective,
                      static_cast<std::uint8_t>(random() & 0x3f),
                      static_cast<std::uint8_t>(random()),
                      static_cast<std::uint32_t>(random()),
                      {}};
    for (std::uint64_t& word : sent.word) word = random();
    for (const std::uint64_t phase : {kPhase, std::uint64_t{0}}) {
      const ProxySlot slot = slot_of_command(sent, phase);
      for (const std::uint64_t word : slot.word) EXPECT_EQ(word & kPhase, phase);
      const ProxyCommand found = command_in(slot);
      EXPECT_EQ(found.op, sent.op);
      EXPECT_EQ(found.length, sent.length);
      EXPECT_EQ(found.detail, sent.detail);
      EXPECT_EQ(found.pe, sent.pe);
      for (int k = 0; k < ProxyCommand::kWords; ++k) EXPECT_EQ(found.word[k], sent.word[k]);
    }
  }
}

TEST(ProxyRing, TakesASlotWhenAllItsWordsAreOfThisLap) {
  const FarWorld world(4);
  ProxyRingReader reader(world.memory());
  ProxyCommand command;
  for (std::uint64_t ticket = 0; ticket < 12; ++ticket) {
    ProxyCommand sent{ProxyOp::put, 0, 0, 7, {ticket, 1, 2, 3, 4, 5, 6}};
    const ProxySlot slot = slot_of_command(sent, phase_of(ticket, 4));
    for (int i = 0; i < ProxySlot::kWords; ++i) {
      const int at = static_cast<int>(ticket + static_cast<std::uint64_t>(i)) % ProxySlot::kWords;
      EXPECT_FALSE(reader.try_take(&command));
      world.memory().slots[ticket & 3].word[at] = slot.word[at];
    }
    ASSERT_TRUE(reader.try_take(&command));
    EXPECT_EQ(command.word[0], ticket);
  }
}

// The host's quiet waits for all that is there, also where some places are not filled yet.
TEST(ProxyRing, HasAllCommandsCounted) {
  constexpr std::uint64_t kSlots = 4096;
  const FarWorld world(kSlots);
  const ProxyMemory& memory = world.memory();
  const auto fill = [&](std::uint64_t first, std::uint64_t end) {
    for (std::uint64_t ticket = first; ticket < end; ++ticket)
      memory.slots[ticket % kSlots] =
          slot_of_command({ProxyOp::put, 0, 0, 7, {}}, phase_of(ticket, kSlots));
  };
  EXPECT_EQ(count_commands(memory), 0U);
  fill(0, 1000);
  EXPECT_EQ(count_commands(memory), 1000U);
  fill(1100, 1300);  // those between are on their way
  EXPECT_EQ(count_commands(memory), 1300U);
  fill(1000, 1100);
  fill(1300, kSlots);
  EXPECT_EQ(count_commands(memory), kSlots);
  memory.progress->consumed = 1000;
  fill(kSlots, kSlots + 1000);
  EXPECT_EQ(count_commands(memory), kSlots + 1000);
}

// Threads that have waited for room in a full ring may leave any number of places empty.
TEST(ProxyRing, HasAllTicketsCountedWhereTheHostReadsThem) {
  const FarWorld world(4096);
  ProxyMemory memory = world.memory();
  std::uint64_t head = 1001;
  memory.head = &head;
  memory.slots[1000] = slot_of_command({ProxyOp::put, 0, 0, 7, {}}, phase_of(1000, 4096));
  EXPECT_EQ(count_commands(memory), 1001U);
}

// Where each operation has a place of its own: 1 KiB a caller.
template <typename Group>
__global__ void all_operations(const State* state, std::byte* heap) {
  state_of_thread = state;
  const Group group;
  const int callers_before =
      std::is_same<Group, Block>::value ? static_cast<int>(blockIdx.x)
      : std::is_same<Group, Wave>::value
          ? (static_cast<int>(blockIdx.x) * 64 + thread_in_block()) / warpSize
          : static_cast<int>(blockIdx.x) * 64 + thread_in_block();
  std::byte* place = heap + callers_before * 512;
  const WorldPes pes;
  auto* words = reinterpret_cast<std::uint64_t*>(place);
  auto* shorts = reinterpret_cast<std::uint16_t*>(place + 128);
  if (group.rank() == 0) {
    for (unsigned i = 0; i < 16; ++i) words[i] = 0xfedcba9800000000u + i;
    for (unsigned i = 0; i < 32; ++i) shorts[i] = static_cast<std::uint16_t>(i);
  }
  group.sync();
  put<std::uint64_t>(group, pes, words, words, 16, kFarPe);       // by its source
  put<std::uint16_t>(group, pes, shorts, shorts + 1, 3, kFarPe);  // in the slot
  ibput<std::uint16_t>(group, pes, shorts + 8, shorts, 3, 2, 1, 4, kFarPe);
  auto* signals = reinterpret_cast<std::uint64_t*>(place + 192);
  put_signal<std::uint64_t>(group, pes, signals + 1, words, 2, signals, 5, SHMEM_SIGNAL_ADD,
                            kFarPe);
  put_signal<std::uint64_t>(group, pes, signals + 3, words, 5, signals, std::uint64_t{1} << 63,
                            SHMEM_SIGNAL_ADD, kFarPe);
  fence(group);
  auto* counts = reinterpret_cast<std::uint32_t*>(place + 288);
  if (group.rank() == 0) {
    p<std::uint32_t>(Thread(), pes, counts, 40, kFarPe);
    atomic_add<std::uint32_t>(pes, counts, 2, kFarPe);
    counts[1] = atomic_fetch_inc<std::uint32_t>(pes, counts, kFarPe);
    counts[2] = g<std::uint32_t>(Thread(), pes, counts, kFarPe);
    counts[3] = atomic_compare_swap<std::uint32_t>(pes, counts, 43, 99, kFarPe);
  }
  quiet(group);
  get<std::uint64_t>(group, pes, signals + 8 - 8, signals, 8, kFarPe);
  auto* back = reinterpret_cast<std::uint16_t*>(place + 320);
  ibget<std::uint16_t>(group, pes, back, shorts, 2, 3, 1, 3, kFarPe);
  get<std::uint16_t>(group, pes, back + 8, shorts, 3, kFarPe);
  put_packets(group, pes, place + 384, words, 20, 77, kFarPe);
  quiet(group);
}

void check_operations(FarWorld& world, std::size_t callers) {
  for (std::size_t caller = 0; caller < callers; ++caller) {
    const std::size_t place = caller * 512;
    SCOPED_TRACE(testing::Message() << "caller " << caller);
    const auto* words = world.far<std::uint64_t>(place);
    for (unsigned i = 0; i < 16; ++i) ASSERT_EQ(words[i], 0xfedcba9800000000u + i);
    const auto* shorts = world.far<std::uint16_t>(place + 128);
    for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(shorts[i], i + 1);
    for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(shorts[8 + 3 * i], 2 * i);
    EXPECT_EQ(shorts[9], 0);
    for (const auto* signals :
         {world.far<std::uint64_t>(place + 192), world.mine<std::uint64_t>(place + 192)}) {
      EXPECT_EQ(signals[0], (std::uint64_t{1} << 63) + 5);
      for (unsigned i = 0; i < 2; ++i) EXPECT_EQ(signals[1 + i], words[i]);
      for (unsigned i = 0; i < 5; ++i) EXPECT_EQ(signals[3 + i], words[i]);
    }
    EXPECT_EQ(*world.far<std::uint32_t>(place + 288), 99u);
    const auto* counts = world.mine<std::uint32_t>(place + 288);
    EXPECT_EQ(counts[1], 42u);
    EXPECT_EQ(counts[2], 43u);
    EXPECT_EQ(counts[3], 43u);
    const auto* back = world.mine<std::uint16_t>(place + 320);
    for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(back[2 * i], shorts[3 * i]);
    for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(back[8 + i], shorts[i]);
    const auto* lines = world.far<Bits128>(place + 384);
    for (unsigned i = 0; i < 3; ++i) {
      EXPECT_TRUE(has_come(lines[i], 77));
      EXPECT_EQ(data_of(lines[i]), i < 2 ? words[i] : words[2] & 0xffffffff);
    }
  }
}

TEST(Proxy, DoesWhatThreadsAsk) {
  FarWorld world;
  const Server server(world);
  run(2, 64, all_operations<Thread>, &world.state(), world.mine<std::byte>(0));
  check_operations(world, 128);
}
TEST(Proxy, DoesWhatWavesAsk) {
  FarWorld world;
  const Server server(world);
  run(2, 64, all_operations<Wave>, &world.state(), world.mine<std::byte>(0));
  check_operations(world, 2 * 64 / warpSize);
}
TEST(Proxy, DoesWhatBlocksAsk) {
  FarWorld world;
  const Server server(world);
  run(3, 64, all_operations<Block>, &world.state(), world.mine<std::byte>(0));
  check_operations(world, 3);
}

__global__ void many_stores(const State* state, std::uint64_t* counter, std::uint64_t* places,
                            int times) {
  state_of_thread = state;
  const auto me = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 1; i <= times; ++i) {
    p<std::uint64_t>(Thread(), WorldPes(), places + me, static_cast<std::uint64_t>(i), kFarPe);
    atomic_inc<std::uint64_t>(WorldPes(), counter, kFarPe);
  }
}

// More callers than slots, all of them in the way of each other.
TEST(Proxy, LetsNobodyStickWhereTheRingIsFull) {
  constexpr int kTimes = 4, kBlocks = 6, kThreads = 64;
  FarWorld world(64);
  const Server server(world);
  run(kBlocks, kThreads, many_stores, &world.state(), world.mine<std::uint64_t>(0),
      world.mine<std::uint64_t>(64), kTimes);
  const std::uint64_t issued = std::uint64_t{2} * kTimes * kBlocks * kThreads;
  while (server.taken < issued) std::this_thread::yield();
  EXPECT_EQ(*world.far<std::uint64_t>(0), issued / 2);
  for (std::size_t i = 0; i < kBlocks * kThreads; ++i)
    EXPECT_EQ(world.far<std::uint64_t>(64)[i], static_cast<std::uint64_t>(kTimes));
}

// Block 0 issues one command and is quiet; block 1 has issued a later one, which is not done.
__global__ void quiet_for_own(const State* state, std::uint64_t* place, std::uint64_t* step) {
  state_of_thread = state;
  const Thread thread;
  if (blockIdx.x == 0) {
    p<std::uint64_t>(thread, WorldPes(), place, 1, kFarPe);
    store_relaxed(step, std::uint64_t{1});
    while (load_relaxed(step) < 2) pause();
    quiet(thread);
    store_relaxed(step, std::uint64_t{3});
  } else {
    while (load_relaxed(step) < 1) pause();
    p<std::uint64_t>(thread, WorldPes(), place + 1, 1, kFarPe);
    store_relaxed(step, std::uint64_t{2});
    while (load_relaxed(step) < 4) pause();
    quiet(thread);
  }
}
TEST(Proxy, MakesQuietWaitForItsOwnCommands) {
  FarWorld world;
  Server server(world);
  server.limit = 0;
  auto* step = world.mine<std::uint64_t>(256);
  hipLaunchKernelGGL(quiet_for_own, dim3(2), dim3(1), 0, nullptr, &world.state(),
                     world.mine<std::uint64_t>(0), step);
  while (server.taken < 2) std::this_thread::yield();
  EXPECT_LT(load_relaxed(step), 3u);
  server.limit = 1;
  while (load_relaxed(step) < 3) std::this_thread::yield();
  server.limit = UINT64_MAX;
  store_relaxed(step, std::uint64_t{4});
  EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
}

// Each lane stores for itself, then all are quiet, or fence before a signal.
__global__ void quiet_of_all_lanes(const State* state, std::uint64_t* places, std::uint64_t* step) {
  state_of_thread = state;
  p<std::uint64_t>(Thread(), WorldPes(), places + threadIdx.x, 1, kFarPe);
  quiet(Block());
  if (threadIdx.x == 0) store_relaxed(step, std::uint64_t{1});
}
TEST(Proxy, MakesQuietOfAGroupWaitForTheCommandsOfAllLanes) {
  FarWorld world;
  Server server(world);
  server.limit = warpSize - 1;
  auto* step = world.mine<std::uint64_t>(1024);
  hipLaunchKernelGGL(quiet_of_all_lanes, dim3(1), dim3(warpSize), 0, nullptr, &world.state(),
                     world.mine<std::uint64_t>(0), step);
  while (server.taken < static_cast<std::uint64_t>(warpSize)) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(load_relaxed(step), 0u);
  server.limit = UINT64_MAX;
  EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
  EXPECT_EQ(load_relaxed(step), 1u);
}

template <typename Group>
__global__ void fence_of_all_lanes(const State* state, std::uint64_t* places) {
  state_of_thread = state;
  p<std::uint64_t>(Thread(), WorldPes(), places + threadIdx.x, 1, kFarPe);
  fence(Group());
  if (threadIdx.x == 0) signal_set(WorldPes(), places + 128, 1, kFarPe);
}
template <typename Group>
void expect_fence_behind_stores() {
  FarWorld world(256);
  run(1, warpSize, fence_of_all_lanes<Group>, &world.state(), world.mine<std::uint64_t>(0));
  ProxyRingReader reader(world.memory());
  ProxyCommand command;
  std::vector<ProxyOp> found, wanted(warpSize, ProxyOp::put_inline);
  wanted.insert(wanted.end(), {ProxyOp::fence, ProxyOp::signal});
  while (reader.try_take(&command)) found.push_back(command.op);
  EXPECT_EQ(found, wanted);
}
TEST(Proxy, MakesFenceOfAGroupComeBehindTheCommandsOfAllLanes) {
  expect_fence_behind_stores<Wave>();
  expect_fence_behind_stores<Block>();
}

// A collective by each kind of group: all blocks, one block, a wave, a thread.
__global__ void ask_for_collectives(const State* state, float* dest, const float* source) {
  state_of_thread = state;
  if (blockIdx.x == 0) p<float>(Thread(), WorldPes(), dest, 1, kFarPe);
  barrier_all(CooperativeGrid());
  max_reduce(CooperativeGrid(), SHMEM_TEAM_WORLD, dest, source, 7);
  if (blockIdx.x != 1) return;
  broadcast<double>(Block(), SHMEM_TEAM_WORLD, dest, source, 3, 1);
  if (threadIdx.x < 32) alltoalls<short>(Wave(), SHMEM_TEAM_WORLD, dest, source, 2, 3, 4);
  if (threadIdx.x != 0) return;
  sum_exscan(Thread(), SHMEM_TEAM_WORLD, dest, source, 5);
  sum_reduce(Thread(), SHMEM_TEAM_WORLD, reinterpret_cast<meshmem_half*>(dest),
             reinterpret_cast<const meshmem_half*>(source), 6);
}
TEST(Proxy, HasTheHostDoCollectivesOfTeamsThatSpanNodes) {
  FarWorld world;
  auto *dest = world.mine<float>(0), *source = world.mine<float>(1024);
  {
    const Server server(world);
    const State* state = &world.state();
    void* args[] = {&state, &dest, &source};
    ASSERT_EQ(hipLaunchCooperativeKernel(ask_for_collectives, dim3(3), dim3(64), args, 0, nullptr),
              hipSuccess);
    ASSERT_EQ(hipDeviceSynchronize(), hipSuccess);
  }
  struct Asked {
    CollectiveKind kind;
    ReduceOp op;
    ElemType type;
    std::uint64_t count, first, second, elem_bytes;
  };
  const std::vector<Asked> asked = {
      {CollectiveKind::sync, ReduceOp::sum, ElemType::none, 0, 1, 1, 1},
      {CollectiveKind::reduce, ReduceOp::max, ElemType::f32, 7, 1, 1, 4},
      {CollectiveKind::broadcast, ReduceOp::sum, ElemType::f64, 3, 1, 1, 8},
      {CollectiveKind::alltoalls, ReduceOp::sum, ElemType::i16, 4, 2, 3, 2},
      {CollectiveKind::exscan, ReduceOp::sum, ElemType::f32, 5, 1, 1, 4},
      {CollectiveKind::reduce, ReduceOp::sum, ElemType::f16, 6, 1, 1, 2},
  };
  ASSERT_EQ(world.collectives.size(), asked.size());
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const ProxyCommand& found = world.collectives[i];
    EXPECT_EQ(static_cast<CollectiveKind>(found.detail & 0xf), asked[i].kind) << i;
    EXPECT_EQ(static_cast<ReduceOp>(found.detail >> 4), asked[i].op) << i;
    EXPECT_EQ(static_cast<ElemType>(found.length), asked[i].type) << i;
    EXPECT_EQ(found.pe, 0u);
    if (i > 0) {
      EXPECT_EQ(found.word[0], number_of(dest));
      EXPECT_EQ(found.word[1], number_of(source));
    }
    EXPECT_EQ(found.word[2], asked[i].count) << i;
    EXPECT_EQ(found.word[3], asked[i].first) << i;
    EXPECT_EQ(found.word[4], asked[i].second) << i;
    EXPECT_EQ(found.word[5], asked[i].elem_bytes) << i;
  }
}

}  // namespace
}  // namespace device
}  // namespace meshmem
