// SPDX-License-Identifier: Apache-2.0
//
// Symmetric memory of CUDA tensors: blocks of the device heap, with torch's own handle over them.
// So torch's kernels, barriers and signals work on this memory as on torch's own.
// Invariant: all ranks of a group reach each other's memory by loads and stores.
#include "symm_mem.hpp"

#if __has_include(<cuda_runtime_api.h>)
#include <c10/cuda/CUDAFunctions.h>
#define PYTORCH_C10_DRIVER_API_SUPPORTED  // as torch is built; it gives the type of a handle
#include <cuda.h>
#include <torch/csrc/distributed/c10d/symm_mem/CUDASymmetricMemory.hpp>

namespace meshmem::pytorch::symm_mem {
namespace {

using c10d::symmetric_memory::CUDAPeerAllocInfo;
using c10d::symmetric_memory::CUDASymmetricMemory;

class CudaMemory final : public CUDASymmetricMemory {
 public:
  CudaMemory(std::shared_ptr<Block> block, std::vector<int> pes,
             const c10::intrusive_ptr<CUDAPeerAllocInfo>& places, size_t offset)
      : CUDASymmetricMemory(places, offset), block_(std::move(block)), pes_(std::move(pes)) {}

  const std::vector<int>& get_rank_to_global_rank() override { return pes_; }

 private:
  const std::shared_ptr<Block> block_;
  const std::vector<int> pes_;
};

class CudaAllocator final : public Allocator {
 public:
  using Allocator::Allocator;

 protected:
  void check_device(int device) override { device_ = device; }

  c10::intrusive_ptr<SymmetricMemory> make_handle(std::shared_ptr<Block> block, int rank,
                                                  std::vector<Peer> peers, size_t offset) override {
    std::vector<int> pes;
    std::vector<void*> buffers, pads;
    for (size_t i = 0; i < peers.size(); ++i) {
      pes.push_back(static_cast<int>(peers[i].pe));
      auto* const pool = static_cast<char*>(shmem_ptr(block->pool->base(), pes.back()));
      TORCH_CHECK(pool, "rendezvous: group: rank ", i, " is on another machine or GPUs cannot reach ",
                  "each other's memory; use a group of one machine's ranks");
      buffers.push_back(pool + peers[i].offset);
      pads.push_back(pool + peers[i].offset + (block->pad() - block->data));
    }
    const auto places = c10::make_intrusive<CUDAPeerAllocInfo>(
        std::vector<c10::intrusive_ptr<c10d::symmetric_memory::AllocationRef>>{},
        std::move(buffers), std::move(pads), 0ULL, nullptr, block->bytes, device_, rank,
        static_cast<int>(peers.size()));
    return c10::make_intrusive<CudaMemory>(std::move(block), std::move(pes), places, offset);
  }

 private:
  int device_ = 0;
};

}  // namespace

void register_cuda() {
  c10d::symmetric_memory::register_availability(
      "MESHMEM", c10::make_intrusive<CudaAllocator>(c10::kCUDA, SHMEMX_MALLOC_DEVICE));
}

}  // namespace meshmem::pytorch::symm_mem
#else
namespace meshmem::pytorch::symm_mem {
// A program that chooses the backend also runs without CUDA.
void register_cuda() {
  c10d::symmetric_memory::register_availability(
      "MESHMEM", c10d::symmetric_memory::get_allocator(c10::kCPU));
}
}  // namespace meshmem::pytorch::symm_mem
#endif
