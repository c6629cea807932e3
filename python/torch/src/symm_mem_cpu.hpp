// SPDX-License-Identifier: Apache-2.0
//
// The handle of a CPU tensor that a group shares.
// Invariant: a signal is a word of a pad that is 0, or 1 from a put until the wait for it, as torch
// has it. So kernels of the user's own may use the pads between calls.
// Included by symm_mem_cpu.cpp and symm_mem_ops.hpp.
#pragma once
#include "symm_mem.hpp"

namespace meshmem::pytorch::symm_mem {

class CpuMemory final : public SymmetricMemory {
 public:
  CpuMemory(std::shared_ptr<Allocation> allocation, int rank, std::vector<Peer> peers,
            size_t offset);

  // nullptr for ranks on other machines.
  std::vector<void*> get_buffer_ptrs() override { return buffers_; }
  std::vector<void*> get_signal_pad_ptrs() override { return pads_; }
  void** get_buffer_ptrs_dev() override { return buffers_.data(); }
  void** get_signal_pad_ptrs_dev() override { return pads_.data(); }
  size_t get_buffer_size() override { return allocation_->bytes; }
  size_t get_offset() override { return offset_; }
  bool has_multicast_support() override { return false; }
  void* get_multicast_ptr() override { return nullptr; }
  int get_rank() override { return rank_; }
  int get_world_size() override { return static_cast<int>(peers_.size()); }
  c10::Device get_device() override { return c10::kCPU; }
  const std::vector<int>& get_rank_to_global_rank() override { return pes_; }
  int* get_rank_to_global_rank_dev() override { return pes_.data(); }
  bool world_within_direct_access() override;

  void barrier(int channel, size_t timeout_ms) override;
  void put_signal(int dst_rank, int channel, size_t timeout_ms) override;
  void wait_signal(int src_rank, int channel, size_t timeout_ms) override;

  // An address that stands for byte `offset` of the rank's allocation in the routines of OpenSHMEM.
  char* symmetric(int rank, size_t offset) const {
    return allocation_->pool->base() + peers_[rank].offset + offset;
  }
  int pe(int rank) const { return pes_[rank]; }

 private:
  uint32_t* signal(int owner, int channel, int from, const char* routine) const;
  void put(int dst_rank, int channel, size_t timeout_ms, const char* routine);
  void wait(int src_rank, int channel, size_t timeout_ms, const char* routine);

  const std::shared_ptr<Allocation> allocation_;
  const int rank_;
  const std::vector<Peer> peers_;
  const size_t offset_;
  std::vector<int> pes_;
  std::vector<void*> buffers_, pads_;
};

// The handle and the place of the bytes of a tensor. Raises ValueError that names the argument if
// the tensor is not symmetric memory, or has gaps and may not.
struct Operand {
  c10::intrusive_ptr<CpuMemory> memory;
  size_t offset;  // in the allocation

  char* symmetric(int rank) const { return memory->symmetric(rank, offset); }
  int pe(int rank) const { return memory->pe(rank); }
};
Operand operand(const at::Tensor& tensor, const std::string& group, const char* name,
                bool may_have_gaps = false);

}  // namespace meshmem::pytorch::symm_mem
