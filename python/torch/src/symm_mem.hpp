// SPDX-License-Identifier: Apache-2.0
//
// Memory of torch's SymmetricMemory backend "MESHMEM": pools of the symmetric heaps, the tensors'
// allocations in them, and what PEs tell each other about an allocation at its rendezvous.
// Invariant: an allocation stays where it is while its tensor or a handle of it exists. Each PE
// allocates alone, so a tensor's allocation may be at another place in each PE's pool.
// Included by symm_mem*.cpp.
#pragma once
#include <shmemx.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>
#include <torch/csrc/distributed/c10d/symm_mem/SymmetricMemory.hpp>
#include <vector>

#include "without_gil.hpp"

namespace meshmem::pytorch::symm_mem {

using c10d::symmetric_memory::SymmetricMemory;

// A part of one symmetric heap, of the same size on all PEs. Each PE divides its own part.
class Pool {
 public:
  // A collective of all PEs.
  explicit Pool(long hints);

  // nullptr if there is no room.
  char* take(size_t bytes);
  void give_back(char* data, size_t bytes);

  char* base() const { return base_; }
  size_t size() const { return size_; }
  static size_t rounded(size_t bytes) { return (bytes + kUnit - 1) / kUnit * kUnit; }

 private:
  static constexpr size_t kUnit = 512;  // what torch's CUDA allocator wants of addresses

  std::mutex mutex_;
  char* base_ = nullptr;
  size_t size_ = 0;
  std::map<char*, size_t> free_;  // address to bytes; neighbours are joined
};

// A tensor's memory, then its signal pad.
struct Allocation {
  Allocation(std::shared_ptr<Pool> from, size_t n, std::optional<std::string> group);
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;
  ~Allocation();

  size_t offset() const { return data - pool->base(); }
  char* pad() const { return data + Pool::rounded(bytes); }
  size_t whole_bytes() const { return Pool::rounded(bytes) + Pool::rounded(pad_bytes); }

  // The handle of one group.
  struct Meeting {
    c10::weak_intrusive_ptr<c10d::ProcessGroup> group;
    size_t offset;
    c10::intrusive_ptr<SymmetricMemory> handle;
  };

  std::shared_ptr<Pool> pool;
  char* data = nullptr;
  size_t bytes;
  size_t pad_bytes;
  std::optional<std::string> default_group;
  std::vector<Meeting> meetings;  // these keep the allocation, until free() clears them
};

// Where a rank of a group has its allocation, and the tensor in it.
struct Peer {
  int64_t pe;
  uint64_t offset;
  uint64_t bytes;
  uint64_t pad_bytes;
  uint64_t tensor_offset;
};

// Starts the library if it was not, by the function that Python has set.
void require_started();
void set_start(std::function<void()> start);

// The allocator of one type of device.
class Allocator : public c10d::symmetric_memory::SymmetricMemoryAllocator {
 public:
  Allocator(c10::DeviceType type, long hints) : type_(type), hints_(hints) {}

  void* alloc(size_t size, int device, const std::optional<std::string>& group) override;
  void free(void* ptr) override;
  size_t get_alloc_size(void* ptr) override;
  c10::intrusive_ptr<SymmetricMemory> rendezvous(void* ptr,
                                                 const std::optional<std::string>& group) override;
  bool has_multicast_support(int) override { return false; }
  c10::DeviceType supported_device_type() override { return type_; }
  std::string name() override { return "MESHMEM"; }

  // The allocation that has these bytes in its memory or pad, or nullptr.
  std::shared_ptr<Allocation> find(const void* ptr, size_t bytes = 1);

 protected:
  virtual void check_device(const Pool& /*pool*/, int /*device*/) {}
  // Waits for work on the device that may use an allocation.
  virtual void settle() {}
  virtual c10::intrusive_ptr<SymmetricMemory> make_handle(std::shared_ptr<Allocation> allocation,
                                                          int rank, std::vector<Peer> peers,
                                                          size_t offset) = 0;

 private:
  const c10::DeviceType type_;
  const long hints_;
  std::mutex mutex_;
  std::shared_ptr<Pool> pool_;
  std::map<char*, std::shared_ptr<Allocation>> allocations_;
};

// Whether it is memory of a tensor of symm_mem.empty.
bool is_in_pool(const void* data);

void register_cpu();
void register_cuda();  // nothing where torch has no CUDA

}  // namespace meshmem::pytorch::symm_mem
