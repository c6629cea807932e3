// SPDX-License-Identifier: Apache-2.0
//
// Symmetric memory of CPU tensors: the handle and its signals.
// Invariant: a put of a signal publishes all that the thread has stored and put before; a wait
// orders the signal before all later loads.
#include "symm_mem_cpu.hpp"

#include <sched.h>

#include <atomic>
#include <chrono>

namespace meshmem::pytorch::symm_mem {
namespace {

// Whether `is_done` became true in time; 0 is without a limit.
template <class IsDone>
bool poll(size_t timeout_ms, IsDone is_done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  while (!is_done()) {
    if (timeout_ms && std::chrono::steady_clock::now() > end) return false;
    sched_yield();
  }
  return true;
}

class CpuAllocator final : public Allocator {
 public:
  using Allocator::Allocator;

 protected:
  c10::intrusive_ptr<SymmetricMemory> make_handle(std::shared_ptr<Allocation> allocation, int rank,
                                                  std::vector<Peer> peers, size_t offset) override {
    return c10::make_intrusive<CpuMemory>(std::move(allocation), rank, std::move(peers), offset);
  }
};

Allocator& allocator() {
  static const auto instance = c10::make_intrusive<CpuAllocator>(c10::kCPU, SHMEMX_MALLOC_HOST);
  return *instance;
}

}  // namespace

CpuMemory::CpuMemory(std::shared_ptr<Allocation> allocation, int rank, std::vector<Peer> peers,
                     size_t offset)
    : allocation_(std::move(allocation)), rank_(rank), peers_(std::move(peers)), offset_(offset) {
  for (const auto& peer : peers_) {
    const int pe = static_cast<int>(peer.pe);
    pes_.push_back(pe);
    auto* const pool = static_cast<char*>(shmem_ptr(allocation_->pool->base(), pe));
    buffers_.push_back(pool ? pool + peer.offset : nullptr);
    pads_.push_back(pool ? pool + peer.offset + (allocation_->pad() - allocation_->data) : nullptr);
  }
}

bool CpuMemory::world_within_direct_access() {
  return std::find(buffers_.begin(), buffers_.end(), nullptr) == buffers_.end();
}

// Words go by PE, not by the group's ranks: a tensor may have handles of several groups.
uint32_t* CpuMemory::signal(int owner, int channel, int from, const char* routine) const {
  const auto n = static_cast<size_t>(shmem_n_pes());
  const size_t channels = allocation_->pad_bytes / sizeof(uint32_t) / n;
  TORCH_CHECK_VALUE(channel >= 0 && static_cast<size_t>(channel) < channels, routine,
                    ": channel: ", channel, " is not in 0..", static_cast<int64_t>(channels) - 1);
  return reinterpret_cast<uint32_t*>(symmetric(owner, allocation_->pad() - allocation_->data)) +
         n * static_cast<size_t>(channel) + static_cast<size_t>(pes_[from]);
}

void CpuMemory::put(int dst_rank, int channel, size_t timeout_ms, const char* routine) {
  TORCH_CHECK_VALUE(dst_rank >= 0 && dst_rank < get_world_size(), routine, ": dst_rank: ", dst_rank,
                    " is not in 0..", get_world_size() - 1);
  uint32_t* const word = signal(dst_rank, channel, rank_, routine);
  // The signal before has to be taken.
  TORCH_CHECK(
      poll(timeout_ms,
           [&] { return shmem_uint32_atomic_compare_swap(word, 0, 1, pes_[dst_rank]) == 0; }),
      routine, ": rank ", dst_rank, " did not take the signal before on channel ", channel,
      " within ", timeout_ms, " ms");
}

void CpuMemory::wait(int src_rank, int channel, size_t timeout_ms, const char* routine) {
  TORCH_CHECK_VALUE(src_rank >= 0 && src_rank < get_world_size(), routine, ": src_rank: ", src_rank,
                    " is not in 0..", get_world_size() - 1);
  uint32_t* const word = signal(rank_, channel, src_rank, routine);
  if (!timeout_ms)
    shmem_uint32_wait_until(word, SHMEM_CMP_NE, 0);
  else
    TORCH_CHECK(poll(timeout_ms, [&] { return shmem_uint32_test(word, SHMEM_CMP_NE, 0) != 0; }),
                routine, ": no signal of rank ", src_rank, " on channel ", channel, " within ",
                timeout_ms, " ms");
  // The store is before the next put, whose compare-and-swap reads it.
  std::atomic_ref(*word).store(0, std::memory_order_seq_cst);
}

void CpuMemory::put_signal(int dst_rank, int channel, size_t timeout_ms) {
  const WithoutGil others_run;
  shmem_quiet();
  put(dst_rank, channel, timeout_ms, "put_signal");
}

void CpuMemory::wait_signal(int src_rank, int channel, size_t timeout_ms) {
  const WithoutGil others_run;
  wait(src_rank, channel, timeout_ms, "wait_signal");
}

void CpuMemory::barrier(int channel, size_t timeout_ms) {
  const WithoutGil others_run;
  shmem_quiet();
  for (int step = 1; step < get_world_size(); ++step)
    put((rank_ + step) % get_world_size(), channel, timeout_ms, "barrier");
  for (int step = 1; step < get_world_size(); ++step)
    wait((rank_ + step) % get_world_size(), channel, timeout_ms, "barrier");
}

Operand operand(const at::Tensor& tensor, const std::string& group, const char* name,
                bool may_have_gaps) {
  TORCH_CHECK_VALUE(tensor.device().is_cpu(), name, ": it is on ", tensor.device(), ", not a CPU");
  TORCH_CHECK_VALUE(may_have_gaps || tensor.is_contiguous(), name, ": it is not contiguous");
  // Not data_ptr(), which is null for an empty tensor.
  const auto* const data = static_cast<const char*>(tensor.storage().data()) +
                           tensor.storage_offset() * tensor.element_size();
  const size_t bytes =
      at::detail::computeStorageNbytes(tensor.sizes(), tensor.strides(), tensor.element_size());
  const auto allocation = allocator().find(data, bytes);
  TORCH_CHECK_VALUE(allocation, name, ": it is not symmetric memory, as symm_mem.empty makes it");
  auto memory = allocator().rendezvous(allocation->data, group);
  return {c10::static_intrusive_pointer_cast<CpuMemory>(memory),
          static_cast<size_t>(data - allocation->data)};
}

void register_cpu() {
  c10d::symmetric_memory::register_allocator(
      c10::kCPU, c10::intrusive_ptr<Allocator>::reclaim_copy(&allocator()));
}

}  // namespace meshmem::pytorch::symm_mem
