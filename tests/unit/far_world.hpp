// SPDX-License-Identifier: Apache-2.0
//
// A PE whose only other PE is far, in this process. It has the ring of its kernels, and a thread at
// its other end that executes their commands on the memory of the other PE, as a transport would.
// Invariant: the ring is short, so that tests fill it. Included by the test of the kernels' ring.
#ifndef MESHMEM_TESTS_UNIT_FAR_WORLD_HPP_
#define MESHMEM_TESTS_UNIT_FAR_WORLD_HPP_

#include <atomic>
#include <thread>
#include <vector>

#include "kernel_world.hpp"
#include "proxy/ring_reader.hpp"

namespace meshmem {
namespace device {
namespace {

constexpr int kMe = 0, kFarPe = 1;
constexpr std::size_t kBytes = 1 << 16;

// A PE whose only other PE is far, and that one's memory. The ring is short, so that it is full.
class FarWorld {
 public:
  explicit FarWorld(std::uint64_t n_slots = 64) {
    memory_ = {new (std::align_val_t{64}) ProxySlot[n_slots](), new ProxyProgress(),
               new ProxyResult[64](), n_slots, 64};
    state_ = {};
    state_.me = kMe;
    state_.n_pes = 2;
    state_.device_heap.base = reinterpret_cast<std::uintptr_t>(mine_);
    state_.device_heap.bytes = kBytes;
    state_.device_heap.near_copy[kMe] = mine_;
    state_.sync_layout = SyncLayout::of(1, false);
    state_.sync.base = reinterpret_cast<std::uintptr_t>(slab_.get());
    state_.proxy = {.slots = memory_.slots,
                    .progress = memory_.progress,
                    .results = memory_.results,
                    .head = &head_,
                    .known_consumed = &known_consumed_,
                    .known_completed = &known_completed_,
                    .next_result = &next_result_,
                    .result_turn = turn_,
                    .last_of_caller = callers_,
                    .is_far = is_far_,
                    .spans_nodes = spans_,
                    .first_far = std::uint64_t{1} << kFarPe,
                    .n_slots = n_slots,
                    .n_results = 64,
                    .n_callers = 8};
  }
  ~FarWorld() {
    operator delete[](memory_.slots, std::align_val_t{64});
    delete memory_.progress;
    delete[] memory_.results;
  }
  FarWorld(const FarWorld&) = delete;

  const State& state() const { return state_; }
  const ProxyMemory& memory() const { return memory_; }
  template <typename T>
  T* mine(std::size_t at) {
    return reinterpret_cast<T*>(mine_ + at);
  }
  template <typename T>
  T* far(std::size_t at) {
    return reinterpret_cast<T*>(far_ + at);
  }
  std::vector<ProxyCommand> collectives;  // that have been asked for, in order
  std::byte* far_of(std::uint64_t address) {
    return far_ + (reinterpret_cast<std::byte*>(address) - mine_);
  }

 private:
  DeviceMemory slab_ = zeroed(SyncLayout::of(1, false).space(0).channel_after(1).packets);
  alignas(64) std::byte mine_[kBytes] = {};
  alignas(64) std::byte far_[kBytes] = {};
  State state_;
  ProxyMemory memory_;
  std::uint64_t head_ = 0, known_consumed_ = 0, known_completed_ = 0, next_result_ = 0;
  std::uint64_t turn_[64] = {}, callers_[8] = {};
  std::uint8_t is_far_[2] = {0, 1}, spans_[kTeamSlots] = {1};
};

std::byte* own(std::uint64_t address) { return reinterpret_cast<std::byte*>(address); }

// Does the transport's work at once.
void execute(FarWorld& world, ProxyRingReader& reader, const ProxyCommand& c) {
  const bool has_pe = c.op != ProxyOp::fence && c.op != ProxyOp::collective;
  EXPECT_EQ(static_cast<int>(c.pe), has_pe ? kFarPe : static_cast<int>(c.pe));
  const auto update = [&](std::uint64_t value) {
    auto* word = reinterpret_cast<std::uint64_t*>(world.far_of(c.word[0]));
    if (c.detail == SHMEM_SIGNAL_ADD) {
      fetch_add(word, value);
    } else {
      store_relaxed(word, value);
    }
  };
  const auto copy_blocks = [&](std::byte* to, const std::byte* from) {
    for (std::uint64_t i = 0; i < c.word[5]; ++i)
      std::memcpy(to + i * c.word[2], from + i * c.word[3], c.word[4]);
  };
  switch (c.op) {
    case ProxyOp::put:
      std::memcpy(world.far_of(c.word[0]), own(c.word[1]), c.word[2]);
      break;
    case ProxyOp::put_inline:
      std::memcpy(world.far_of(c.word[0]), c.word + 1, c.length);
      break;
    case ProxyOp::get:
      std::memcpy(own(c.word[0]), world.far_of(c.word[1]), c.word[2]);
      break;
    case ProxyOp::load: {
      std::uint64_t value = 0;
      std::memcpy(&value, world.far_of(c.word[0]), c.length);
      reader.answer(c.word[1], value);
      break;
    }
    case ProxyOp::put_blocks:
      copy_blocks(world.far_of(c.word[0]), own(c.word[1]));
      break;
    case ProxyOp::get_blocks:
      copy_blocks(own(c.word[0]), world.far_of(c.word[1]));
      break;
    case ProxyOp::atomic:
    case ProxyOp::fetch: {
      const auto op = static_cast<AtomicOp>(c.detail);
      std::byte* at = world.far_of(c.word[0]);
      const std::uint64_t before =
          c.length == 8
              ? apply_atomic(op, reinterpret_cast<std::uint64_t*>(at), c.word[1], c.word[2])
              : apply_atomic(op, reinterpret_cast<std::uint32_t*>(at),
                             static_cast<std::uint32_t>(c.word[1]),
                             static_cast<std::uint32_t>(c.word[2]));
      if (c.op == ProxyOp::fetch) reader.answer(c.word[3], before);
      break;
    }
    case ProxyOp::signal:
      update(c.word[1]);
      break;
    case ProxyOp::put_signal:
      std::memcpy(world.far_of(c.word[2]), own(c.word[3]), c.word[4]);
      update(c.word[1]);
      break;
    case ProxyOp::put_signal_inline:
      std::memcpy(world.far_of(c.word[2]), c.word + 3, c.length);
      update(c.word[1]);
      break;
    case ProxyOp::collective:
      world.collectives.push_back(c);
      reader.answer(c.word[6], 0);
      break;
    default:
      break;
  }
}

// Serves the ring until the end of its scope. It reports at most `limit` commands as completed.
class Server {
 public:
  explicit Server(FarWorld& world) : world_(world), thread_([this] { run(); }) {}
  ~Server() {
    stops_ = true;
    thread_.join();
  }
  Server(const Server&) = delete;
  std::atomic<std::uint64_t> limit{UINT64_MAX};
  std::atomic<std::uint64_t> taken{0};

 private:
  void run() {
    ProxyRingReader reader(world_.memory());
    ProxyCommand command;
    while (!stops_) {
      const bool took = reader.try_take(&command);
      if (took) {
        execute(world_, reader, command);
        reader.note_consumed();
        taken = reader.taken();
      }
      const std::uint64_t most = limit;
      reader.note_completed(reader.taken() < most ? reader.taken() : most);
      if (!took) std::this_thread::yield();
    }
  }
  FarWorld& world_;
  std::atomic<bool> stops_{false};
  std::thread thread_;
};

}  // namespace
}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_TESTS_UNIT_FAR_WORLD_HPP_
