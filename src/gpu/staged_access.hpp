// SPDX-License-Identifier: Apache-2.0
//
// DeviceAccess through pinned host memory. A copy engine writes and reads pieces while other pieces
// are on the network, and a small kernel executes pages of operations. The processor stores small
// writes where it may (HostStores).
// Invariant: uses only streams of its own, of high priority. So it waits for no kernel of the
// program, and its own kernel runs as soon as it finds room on the device. A device that reaches
// the memory does the operations, at system scope, so they are atomic with those of running
// kernels. One object in a process.
#ifndef MESHMEM_GPU_STAGED_ACCESS_HPP_
#define MESHMEM_GPU_STAGED_ACCESS_HPP_

#include <hip/hip_runtime_api.h>

#include <array>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "device/launch.hpp"
#include "gpu/device_access.hpp"
#include "gpu/device_segments.hpp"

namespace meshmem {

class StagedAccess : public DeviceAccess {
 public:
  // `routes`: by the owner of memory; without them this PE's device reaches all. They outlive it.
  void open(int device, const std::vector<DeviceRoute>* routes = nullptr) {
    device_ = device;
    routes_ = routes;
  }

  void take_room(DeviceWork& work, std::size_t bytes) override;
  void submit(DeviceWork& work) override;
  void release(DeviceWork& work) override;
  bool drive() override;

 private:
  static constexpr int kPieces = 8;
  static constexpr int kMostForWrites = 4;     // pieces; reads always have the others
  static constexpr std::size_t kSmall = 4096;  // writes up to here take no piece
  static constexpr int kOperationsOfPage = 256;
  static constexpr int kRounds = 2;  // of a stream, under way at once

  // Work that a stream gets at once; it is done when the event is reached.
  struct Round {
    hipEvent_t done = nullptr;
    std::vector<DeviceWork*> works;
    std::byte* small = nullptr;               // for the data of writes without a piece
    std::size_t used = 0;                     // bytes of `small`
    device::Operation* operations = nullptr;  // a page of them
  };
  struct Lane {
    int device = -1;
    hipStream_t stream = nullptr;
    std::deque<DeviceWork*> waiting;
    std::array<Round, kRounds> rounds;
    unsigned begun = 0, ended = 0;  // rounds, ever
    Round& round(unsigned number) { return rounds[number % kRounds]; }
  };

  void make_streams();
  void make_lane(Lane& lane, int device);
  Lane& operations_on(int device);
  void take_submitted();
  bool end_rounds(Lane& lane);
  void finish(const Round& round);
  void finish(DeviceWork& work);
  bool store_writes();
  bool begin_copies();
  bool begin_operations(Lane& lane);
  bool add_copy(Round& round, DeviceWork& work);
  void begin(Lane& lane);
  std::byte* take_piece(int left_for_others);
  void give_back(std::byte* piece);

  int device_ = -1;
  const std::vector<DeviceRoute>* routes_ = nullptr;
  std::atomic<std::size_t> n_open_{0};  // submitted, and not done

  std::mutex mutex_;  // guards submitted_ and free_pieces_
  std::vector<DeviceWork*> submitted_;
  std::vector<std::byte*> free_pieces_;

  std::mutex turn_;  // of the thread that drives
  std::vector<DeviceWork*> taken_, stored_;
  Lane copies_;
  // By device. This PE's device does not do operations on memory that it does not reach.
  std::map<int, Lane> operations_;
};

// Lives for ever, as streams must. Without a device nothing is submitted.
StagedAccess& staged_access();

}  // namespace meshmem

#endif  // MESHMEM_GPU_STAGED_ACCESS_HPP_
