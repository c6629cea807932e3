// SPDX-License-Identifier: Apache-2.0
//
// Symmetric memory of CUDA tensors: allocations on the device heap, with torch's own handle over
// them. So torch's kernels, barriers and signals work on this memory as on torch's own.
// Invariant: all ranks of a group reach each other's memory by loads and stores.
#include "symm_mem.hpp"

#if __has_include(<cuda_runtime_api.h>)
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/DeviceGuard.h>
#define PYTORCH_C10_DRIVER_API_SUPPORTED  // as torch is built; it gives the type of a handle
#include <cuda.h>

#include <torch/csrc/distributed/c10d/symm_mem/CUDASymmetricMemory.hpp>

namespace meshmem::pytorch::symm_mem {
namespace {

using c10d::symmetric_memory::CUDAPeerAllocInfo;
using c10d::symmetric_memory::CUDASymmetricMemory;

// Waits for work on the device that may use an allocation.
void settle_device(c10::DeviceIndex device) {
  if (!c10d::symmetric_memory::is_finalizing())
    at::detail::getCUDAHooks().deviceSynchronize(device);
}

class CudaMemory final : public CUDASymmetricMemory {
 public:
  CudaMemory(std::shared_ptr<Allocation> allocation,
             const c10::intrusive_ptr<CUDAPeerAllocInfo>& places, size_t offset)
      : CUDASymmetricMemory(places, offset), allocation_(std::move(allocation)) {}

  // A handle may outlive its tensor, and then the end of the handle frees the memory.
  ~CudaMemory() override { settle_device(get_device().index()); }

  // Only torch's code for NVSHMEM asks.
  const std::vector<int>& get_rank_to_global_rank() override {
    TORCH_CHECK_NOT_IMPLEMENTED(false,
                                "this operator of torch.ops.symm_mem needs the backend "
                                "NVSHMEM");
  }

 private:
  const std::shared_ptr<Allocation> allocation_;
};

class CudaAllocator final : public Allocator {
 public:
  using Allocator::Allocator;

 protected:
  void check_device(const Pool& pool, int device) override {
    device_ = at::detail::getCUDAHooks().getDeviceFromPtr(pool.base()).index();
    TORCH_CHECK_VALUE(device < 0 || device == device_, "symm_mem.empty: device: cuda:", device,
                      ", but this PE has cuda:", static_cast<int>(device_),
                      "; call torch.cuda.set_device before meshmem starts");
  }

  void settle() override { settle_device(device_); }

  c10::intrusive_ptr<SymmetricMemory> make_handle(std::shared_ptr<Allocation> allocation, int rank,
                                                  std::vector<Peer> peers, size_t offset) override {
    std::vector<void*> buffers, pads;
    for (size_t i = 0; i < peers.size(); ++i) {
      auto* const pool =
          static_cast<char*>(shmem_ptr(allocation->pool->base(), static_cast<int>(peers[i].pe)));
      TORCH_CHECK(pool, "rendezvous: group: rank ", i,
                  " is on another machine or GPUs cannot reach ",
                  "each other's memory; use a group of one machine's ranks");
      buffers.push_back(pool + peers[i].offset);
      pads.push_back(pool + peers[i].offset + (allocation->pad() - allocation->data));
    }
    // torch's handle takes memory of the current device.
    const c10::DeviceGuard guard(c10::Device(c10::kCUDA, device_));
    const auto places = c10::make_intrusive<CUDAPeerAllocInfo>(
        std::vector<c10::intrusive_ptr<c10d::symmetric_memory::AllocationRef>>{},
        std::move(buffers), std::move(pads), 0ULL, nullptr, allocation->bytes, device_, rank,
        static_cast<int>(peers.size()));
    return c10::make_intrusive<CudaMemory>(std::move(allocation), places, offset);
  }

 private:
  c10::DeviceIndex device_ = 0;
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
  c10d::symmetric_memory::register_availability("MESHMEM",
                                                c10d::symmetric_memory::get_allocator(c10::kCPU));
}
}  // namespace meshmem::pytorch::symm_mem
#endif
