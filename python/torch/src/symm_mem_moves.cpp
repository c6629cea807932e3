// SPDX-License-Identifier: Apache-2.0
//
// Operators that move CPU tensors as they are: puts and gets, signals with them, broadcasts and
// all-to-alls of equal parts. torch names them after the libraries that it calls on GPUs.
// Invariant: the one-sided operators are between ranks of the default group, and pass no barrier.
#include "symm_mem_ops.hpp"

namespace meshmem::pytorch::symm_mem {
namespace {

void put(at::Tensor tensor, int64_t peer) {
  const auto to = operand(tensor, kWorld, "tensor");
  const int rank = checked_rank(*to.memory, peer, "peer");
  shmem_putmem(to.symmetric(rank), tensor.const_data_ptr(), tensor.nbytes(), to.pe(rank));
  shmem_quiet();
}

void get(at::Tensor tensor, int64_t peer) {
  const auto from = operand(tensor, kWorld, "tensor");
  const int rank = checked_rank(*from.memory, peer, "peer");
  shmem_getmem(tensor.mutable_data_ptr(), from.symmetric(rank), tensor.nbytes(), from.pe(rank));
}

uint64_t* signal_word(const at::Tensor& pad) {
  TORCH_CHECK_VALUE(pad.element_size() == 8 && pad.numel() >= 1, "sigpad: its dtype is ",
                    pad.scalar_type(), ", not of 8 bytes");
  return static_cast<uint64_t*>(pad.mutable_data_ptr());
}

void put_with_signal(at::Tensor tensor, at::Tensor pad, int64_t signal, int64_t peer) {
  signal_word(pad);
  const auto to = operand(tensor, kWorld, "tensor"), word = operand(pad, kWorld, "sigpad");
  const int rank = checked_rank(*to.memory, peer, "peer");
  shmem_putmem_signal(to.symmetric(rank), tensor.const_data_ptr(), tensor.nbytes(),
                      reinterpret_cast<uint64_t*>(word.symmetric(rank)), signal, SHMEM_SIGNAL_SET,
                      to.pe(rank));
}

void wait_for_signal(at::Tensor pad, int64_t signal, int64_t /*peer*/) {
  uint64_t* const word = signal_word(pad);
  operand(pad, kWorld, "sigpad");
  shmem_signal_wait_until(word, SHMEM_CMP_EQ, signal);
}

// `memory` is the handle of the peer's tensor that takes src.
void put_signal(const at::Tensor& src, const c10::intrusive_ptr<SymmetricMemory>& memory,
                int64_t peer) {
  auto* const to = dynamic_cast<CpuMemory*>(memory.get());
  TORCH_CHECK_VALUE(to, "hdl: it is not of a CPU tensor of meshmem");
  const int rank = checked_rank(*to, peer, "peer");
  TORCH_CHECK_VALUE(src.is_contiguous(), "src: it is not contiguous");
  TORCH_CHECK_VALUE(to->get_offset() + src.nbytes() <= to->get_buffer_size(), "src: it has ",
                    src.nbytes(), " bytes, but the tensor of hdl only ", to->get_buffer_size());
  shmem_putmem(to->symmetric(rank, to->get_offset()), src.const_data_ptr(), src.nbytes(),
               to->pe(rank));
  to->put_signal(rank, kChannel, 0);
}

// ---- Moving data

at::Tensor broadcast(at::Tensor input, int64_t root, const std::string& group) {
  const auto from = operand(input, group, "input");
  const int rank = checked_rank(*from.memory, root, "root");
  between_barriers(*from.memory, [&] {
    if (rank == from.memory->get_rank()) return;
    shmem_getmem(input.mutable_data_ptr(), from.symmetric(rank), input.nbytes(), from.pe(rank));
  });
  return input;
}

at::Tensor all_to_all_equal(const at::Tensor& input, at::Tensor out, const std::string& group) {
  check_like(out, input, "out");
  check_apart(out, "out", input, "input");
  const auto from = operand(input, group, "input");
  const int n = from.memory->get_world_size();
  TORCH_CHECK_VALUE(input.numel() % n == 0, "input: its ", input.numel(),
                    " elements are not a multiple of the group's ", n);
  TORCH_CHECK_VALUE(out.numel() == input.numel(), "out: it has ", out.numel(),
                    " elements, but input has ", input.numel());
  const size_t bytes = input.nbytes() / n;
  between_barriers(*from.memory, [&] {
    for (int rank = 0; rank < n; ++rank)
      shmem_getmem(static_cast<char*>(out.mutable_data_ptr()) + rank * bytes,
                   from.symmetric(rank) + from.memory->get_rank() * bytes, bytes, from.pe(rank));
  });
  return out;
}

// ---- Words of signal pads

at::Tensor memset32_(at::Tensor input, int64_t offset, int64_t value, int64_t count) {
  TORCH_CHECK_VALUE(input.dim() == 1 && input.is_contiguous() && input.scalar_type() == at::kUInt32,
                    "input: it is not a flat, contiguous tensor of uint32");
  TORCH_CHECK_VALUE(
      offset >= 0 && count > 0 && offset <= input.numel() && count <= input.numel() - offset,
      "offset: ", offset, " and count ", count, " are not in the tensor of ", input.numel());
  TORCH_CHECK_VALUE(value >= 0 && value <= UINT32_MAX, "val: ", value, " is not of 32 bits");
  auto* const words = static_cast<uint32_t*>(input.mutable_data_ptr()) + offset;
  for (int64_t i = 0; i < count; ++i)
    std::atomic_ref(words[i]).store(static_cast<uint32_t>(value), std::memory_order_release);
  return input;
}

at::Tensor write_value32_(at::Tensor input, int64_t offset, int64_t value) {
  return memset32_(std::move(input), offset, value, 1);
}

}  // namespace

TORCH_LIBRARY_IMPL(symm_mem, CPU, m) {
  m.impl("nvshmem_put", kernel<&put>());
  m.impl("nvshmem_get", kernel<&get>());
  m.impl("nvshmem_put_with_signal", kernel<&put_with_signal>());
  m.impl("nvshmem_wait_for_signal", kernel<&wait_for_signal>());
  m.impl("nvshmem_broadcast", kernel<&broadcast>());
  m.impl("nvshmem_all_to_all", kernel<&all_to_all_equal>());
  m.impl("nccl_put", kernel<&put>());
  m.impl("nccl_get", kernel<&get>());
  m.impl("nccl_put_signal", kernel<&put_signal>());
  m.impl("memset32_", kernel<&memset32_>());
  m.impl("stream_write_value32_", kernel<&write_value32_>());
}

}  // namespace meshmem::pytorch::symm_mem
