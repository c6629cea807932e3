// SPDX-License-Identifier: Apache-2.0
// Runs the waves of a block in turn, on one thread of the process: some instructions of one, then
// of another. A wave gives way when it sleeps, meets the block's barrier, or has had its turn.
// Invariant: with MESHMEM_AMD_SEED the order of a block's waves and the length of their turns are
// drawn from that seed; without, they take turns of one length. With MESHMEM_AMD_MEMORY=strict a
// block has a WeakMemory, whose random choices come from that seed too. Called by LaunchRun.
#include <sched.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string_view>

#include "dispatch.hpp"
#include "faults.hpp"
#include "memory_kinds.hpp"
#include "wave.hpp"
#include "weak_memory.hpp"

namespace amd_gpu {
namespace {

constexpr unsigned kTurn = 2000, kLongestDrawnTurn = 60;      // instructions
constexpr unsigned kYields = 200, kDynamicStack = 16 * 1024;  // bytes of a lane
constexpr unsigned kTurnsToArrive = 16, kPausesToArrive = 4;  // one of them lets stores arrive
constexpr long kNap = 30 * 1000;                              // nanoseconds

// Bits of the kernel descriptor (LLVM's AMDGPU usage).
constexpr unsigned kPrivateBuffer = 1, kDispatchPointer = 2, kQueuePointer = 4, kArguments = 8,
                   kDispatchId = 16, kFlatScratchStart = 32, kPrivateSize = 64;
// Words 1 and 3 of a descriptor of scratch: swizzled by words, with the lane's number, 64 lanes.
constexpr std::uint32_t kSwizzled = 1u << 31, kLaneBits = 1u << 23 | 3u << 21 | 1u << 19;

struct Queue {
  std::uint8_t bytes[256];
};
Queue queue;  // kernels ask for its address and read nothing that compilers for GFX9 need

const char* seed_text() {
  static const char* const text = std::getenv("MESHMEM_AMD_SEED");
  return text;
}

bool has_strict_memory() {
  static const bool is_strict = [] {
    const char* const text = std::getenv("MESHMEM_AMD_MEMORY");
    return text != nullptr && std::string_view(text) == "strict";
  }();
  return is_strict;
}

class WaveMemory {
 public:
  WaveMemory() {
    void* const memory = mmap(nullptr, sizeof(Wave), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    wave_ = new (memory) Wave;
  }
  ~WaveMemory() {
    munmap(wave_, sizeof(Wave));
    if (scratch_ != nullptr) munmap(scratch_, scratch_size_);
  }
  WaveMemory(const WaveMemory&) = delete;
  WaveMemory& operator=(const WaveMemory&) = delete;

  Wave& wave() { return *wave_; }
  void give_scratch(std::size_t bytes_of_lane) {
    const std::size_t size = bytes_of_lane * kLanes;
    if (size > scratch_size_) {
      if (scratch_ != nullptr) munmap(scratch_, scratch_size_);
      void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (memory == MAP_FAILED) std::abort();
      scratch_ = static_cast<std::uint8_t*>(memory);
      scratch_size_ = size;
    }
    wave_->scratch = scratch_;
    wave_->scratch_size = bytes_of_lane;
  }

 private:
  Wave* wave_;
  std::uint8_t* scratch_ = nullptr;
  std::size_t scratch_size_ = 0;
};

class BlockRunner {
 public:
  void run(hip_on_cpu::LaunchRun& launch, const dim3& block);

 private:
  void begin(const Dispatch& dispatch, const hip_on_cpu::KernelLaunch& launch, const dim3& block);
  void begin_wave(unsigned number, const Dispatch& dispatch);
  void set_scalars(Wave& wave, const Dispatch& dispatch) const;
  void set_thread_numbers(Wave& wave, const DispatchPacket& packet) const;
  void take_turn(Wave& wave);
  void release_barrier();
  void pause(hip_on_cpu::LaunchRun& launch);
  unsigned turn() {
    return seed_text() == nullptr ? kTurn
                                  : 1 + static_cast<unsigned>(random_() % kLongestDrawnTurn);
  }

  BlockContext context_{};
  L2 own_l2_{Scope::kBlock};  // for GPUs whose blocks have an L2 each
  WeakMemory weak_;
  std::unique_ptr<std::uint8_t[]> local_ = std::make_unique<std::uint8_t[]>(64 * 1024);
  std::vector<std::unique_ptr<WaveMemory>> memory_;
  std::vector<Wave*> live_;
  std::minstd_rand random_;
  unsigned pauses_ = 0;
};

void BlockRunner::begin(const Dispatch& dispatch, const hip_on_cpu::KernelLaunch& launch,
                        const dim3& block) {
  const unsigned given = seed_text() == nullptr ? 0 : static_cast<unsigned>(std::atoi(seed_text()));
  const unsigned seed = given * 7919u + block.x + 31u * block.y + 1u;
  random_.seed(seed);
  if (has_strict_memory()) {
    L2* const l2 = l2_of_gpu(dispatch.device);
    weak_.begin(seed, l2 == nullptr ? own_l2_ : *l2, dispatch.device, memory_range_at);
  }
  context_ = {local_.get(),
              dispatch.local_size,
              {block.x, block.y, block.z},
              launch.kernel.name,
              has_strict_memory() ? &weak_ : nullptr};
  const unsigned threads = launch.block.x * launch.block.y * launch.block.z;
  live_.clear();
  for (unsigned number = 0; number * kLanes < threads; ++number) begin_wave(number, dispatch);
}

void BlockRunner::begin_wave(unsigned number, const Dispatch& dispatch) {
  while (memory_.size() <= number) memory_.push_back(std::make_unique<WaveMemory>());
  const Kernel& kernel = *dispatch.kernel;
  WaveMemory& memory = *memory_[number];
  Wave& wave = memory.wave();
  const std::size_t scratch =
      kernel.descriptor.private_size + (kernel.has_dynamic_stack ? kDynamicStack : 0u);
  memory.give_scratch((scratch + 15) & ~std::size_t{15});
  wave.scalar.fill(0);
  wave.pc = kernel.entry;
  wave.scc = wave.has_stored = false;
  wave.memory_issue = 0;
  wave.state = WaveState::kReady;
  wave.mode = kernel.descriptor.resources1 >> 12 & 0xff;
  wave.number = number;
  wave.block = &context_;
  wave.code = kernel.code;
  wave.current = nullptr;
  // gfx942's hardware sets it; code for gfx90a does so itself.
  wave.set_pair(kFlatScratch, reinterpret_cast<std::uint64_t>(wave.scratch));
  set_scalars(wave, dispatch);
  set_thread_numbers(wave, dispatch.packet);
  live_.push_back(&wave);
}

// Sets the registers that the descriptor asks for, in the order of LLVM's AMDGPU usage, "Initial
// Kernel Execution State".
void BlockRunner::set_scalars(Wave& wave, const Dispatch& dispatch) const {
  const KernelDescriptor& about = dispatch.kernel->descriptor;
  const auto scratch = reinterpret_cast<std::uint64_t>(wave.scratch);
  unsigned next = 0;
  const auto put = [&](std::uint64_t value, unsigned words = 2) {
    wave.scalar[next] = static_cast<std::uint32_t>(value);
    if (words == 2) wave.scalar[next + 1] = static_cast<std::uint32_t>(value >> 32);
    next += words;
  };
  if (about.properties & kPrivateBuffer) {
    put(scratch | std::uint64_t{kSwizzled} << 32);
    put(std::uint64_t{kLaneBits} << 32 | 0xffffffff);
  }
  if (about.properties & kDispatchPointer) put(reinterpret_cast<std::uint64_t>(&dispatch.packet));
  if (about.properties & kQueuePointer) put(reinterpret_cast<std::uint64_t>(&queue));
  if (about.properties & kArguments) put(dispatch.packet.arguments);
  if (about.properties & kDispatchId) put(0);
  if (about.properties & kFlatScratchStart) put(scratch);
  if (about.properties & kPrivateSize) put(about.private_size, 1);
  next = about.resources2 >> 1 & 31;
  for (unsigned axis = 0; axis < 3; ++axis)
    if (about.resources2 >> (7 + axis) & 1) put(context_.index[axis], 1);
  if (about.resources2 >> 10 & 1) put(0, 1);
  if (about.resources2 & 1) put(0, 1);  // each wave has a scratch base of its own
}

// Ten bits for each axis: GFX90A and later ones pack them into v0.
void BlockRunner::set_thread_numbers(Wave& wave, const DispatchPacket& packet) const {
  const unsigned width = packet.block[0], height = packet.block[1], depth = packet.block[2];
  std::uint64_t active = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const unsigned thread = wave.number * kLanes + lane;
    if (thread >= width * height * depth) break;
    active |= std::uint64_t{1} << lane;
    wave.vector[0][lane] =
        thread % width | thread / width % height << 10 | thread / (width * height) << 20;
  }
  wave.set_pair(kExec, active);
}

void BlockRunner::take_turn(Wave& wave) {
  const RunningWave mark(wave);
  run_wave(wave, turn());
  if (context_.weak == nullptr) return;
  if (wave.state == WaveState::kEnded) {
    weak_.wait(wave.number, wave.memory_issue);
  } else {
    weak_.let_some_arrive(kTurnsToArrive);
  }
}

void BlockRunner::release_barrier() {
  for (const Wave* wave : live_)
    if (wave->state != WaveState::kAtBarrier) return;
  for (Wave* wave : live_) wave->state = WaveState::kReady;
  pauses_ = 0;
}

// All waves that are not at the barrier sleep: only another thread or process can help.
void BlockRunner::pause(hip_on_cpu::LaunchRun& launch) {
  launch.ask_for_another_thread();
  if (context_.weak != nullptr) weak_.let_some_arrive(kPausesToArrive);
  if (++pauses_ < kYields || pauses_ % 4 != 0) {
    sched_yield();
    return;
  }
  const timespec nap{0, kNap};
  nanosleep(&nap, nullptr);
}

void BlockRunner::run(hip_on_cpu::LaunchRun& launch, const dim3& block) {
  begin(*static_cast<const Dispatch*>(launch.launch.kernel.arguments), launch.launch, block);
  while (!live_.empty()) {
    bool all_wait = true;
    for (std::size_t n = 0; n < live_.size(); ++n) {
      Wave& wave = *live_[seed_text() == nullptr ? n : random_() % live_.size()];
      if (wave.state == WaveState::kSleeping) wave.state = WaveState::kReady;
      if (wave.state == WaveState::kReady) take_turn(wave);
      if (wave.state == WaveState::kReady || wave.state == WaveState::kEnded) all_wait = false;
    }
    std::erase_if(live_, [](const Wave* wave) { return wave->state == WaveState::kEnded; });
    if (!all_wait) pauses_ = 0;
    release_barrier();
    const bool all_sleep = all_wait && !live_.empty() &&
                           std::none_of(live_.begin(), live_.end(), [](const Wave* wave) {
                             return wave->state == WaveState::kReady;
                           });
    if (all_sleep) pause(launch);
  }
  if (context_.weak == nullptr) return;
  weak_.end();
  own_l2_.end_kernel();
  own_l2_.begin_kernel();
}

}  // namespace

// Caches are invalidated between kernels, which leave nothing in them (LLVM's AMDGPU usage, "Memory
// Model"; the packet's fences are for the system).
void run_kernel(hip_on_cpu::LaunchRun& run) {
  L2* const l2 = has_strict_memory()
                     ? l2_of_gpu(static_cast<const Dispatch*>(run.launch.kernel.arguments)->device)
                     : nullptr;
  if (l2 != nullptr) l2->begin_kernel();
  run.run_on_threads();
  if (l2 != nullptr) l2->end_kernel();
}

void run_block(hip_on_cpu::LaunchRun& run, dim3 block) {
  thread_local const auto runner = std::make_unique<BlockRunner>();
  hip_on_cpu::use_signal_stack();
  runner->run(run, block);
}

}  // namespace amd_gpu
