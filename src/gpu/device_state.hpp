// SPDX-License-Identifier: Apache-2.0
//
// Makes and updates the data by which kernels know the job: the State that all modules get, and the
// tables in device memory that it points to.
// Invariant: before any member learns of a team, the team's flags in this PE's sync slab are at the
// first epoch, and its rows have no packets. Only open() allocates device memory. Devices opens it;
// Runtime and all code that launches kernels of a team use it.
#ifndef MESHMEM_GPU_DEVICE_STATE_HPP_
#define MESHMEM_GPU_DEVICE_STATE_HPP_

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "device/state.hpp"
#include "gpu/device_memory.hpp"
#include "gpu/device_segments.hpp"

namespace meshmem {

// Where kernels find the memory of each PE, by world PE; null if the PE is far, or the device does
// not reach it.
struct KernelReach {
  int me;
  const std::vector<DeviceRoute>& routes;
  const std::vector<std::byte*>& data;
  std::vector<std::byte*> sync;
  std::vector<std::byte*> heaps;  // host heaps; null where kernels do not reach them
  const void* heap;               // this PE's host heap
  std::size_t heap_bytes;
};

class DeviceState {
 public:
  static constexpr int kMaxBuffers = 256;

  void open(const DeviceMemory& memory, const KernelReach& reach, std::uint64_t first_epoch);
  void close();
  bool is_open() const { return is_open_; }
  const device::State& state() const { return state_; }

  // me: this PE's number in the team; pes: the world PE of each member.
  void add_team(int slot, int me, std::span<const int> pes);
  void remove_team(int slot);
  // The handle that a kernel for the team gets.
  device::TeamHandle kernel_handle(int slot, int me, std::span<const int> pes) const;
  // Gives kernels the registered buffers that device_segments() has now.
  void update_buffers();
  // Sets the most bytes that users' kernels reduce in one shot, and the most in two.
  void limit_reductions(const device::KernelReduceLimits& limits);
  // Sets the ring by which kernels reach far PEs. Called before publish().
  void use_proxy(const device::ProxyRing& ring) { state_.proxy = ring; }
  void publish();  // to all modules

 private:
  void make_tables(int n_pes);
  device::KernelSegment segment_of(int which, const void* base, std::size_t bytes,
                                   const std::vector<std::byte*>& copies) const;
  void reset_flags(int slot, int channel, int channels);
  void clear_packets(int slot, int channel, int channels);
  void clear_slot(int slot);
  // Returns where kernels find the world PEs of a team; null if they equal the members' numbers.
  int* place_of_pes(int slot, std::span<const int> pes) const;
  void free_rows(const std::vector<DeviceSegment>& segments);
  void fill_row(const DeviceSegment& segment);

  std::mutex mutex_;
  bool is_open_ = false;
  device::State state_{};
  int device_ = -1;
  std::uint64_t first_epoch_ = 0;
  std::vector<bool> slot_was_used_;
  // By row of buffers_: the base of the buffer that has it, or 0 if it is free.
  std::vector<std::uintptr_t> rows_;

  // In device memory; made once a process.
  std::byte* tables_ = nullptr;
  device::TeamView* views_ = nullptr;  // by slot
  int* team_pes_ = nullptr;            // n_pes of each slot
  std::byte** far_ = nullptr;          // far_copy of the three segments: n_pes addresses each
  device::RegisteredBuffer* buffers_ = nullptr;
  std::byte** buffer_copies_ = nullptr;  // n_pes of each buffer
};

}  // namespace meshmem

#endif  // MESHMEM_GPU_DEVICE_STATE_HPP_
