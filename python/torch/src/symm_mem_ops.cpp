// SPDX-License-Identifier: Apache-2.0
//
// torch.ops.symm_mem for CPU tensors. torch declares these operators; its own code for them is for
// GPUs. All are collectives of the group, except puts, gets, and those that only write signals.
// Invariant: sums are formed in the order of ranks, so they have the same bits on all ranks.
#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <torch/library.h>

#include <algorithm>
#include <cstring>

#include "symm_mem_cpu.hpp"

namespace meshmem::pytorch::symm_mem {
namespace {

// A barrier at the beginning and the end of an operator: all inputs are complete, and no rank
// changes an input while another reads it. Errors that only some ranks see wait for the end.
constexpr int kChannel = 0;
template <class Work>
void between_barriers(CpuMemory& memory, Work work) {
  memory.barrier(kChannel, 0);
  work();
  memory.barrier(kChannel, 0);
}

// The bytes of a rank, here or copied from another machine to `copies`.
const char* bytes_of(const Operand& input, int rank, size_t offset, size_t bytes,
                     std::vector<std::vector<char>>& copies) {
  if (const void* near = input.memory->get_buffer_ptrs()[rank])
    return static_cast<const char*>(near) + input.offset + offset;
  auto& copy = copies.emplace_back(bytes);
  shmem_getmem(copy.data(), input.symmetric(rank) + offset, bytes, input.pe(rank));
  return copy.data();
}

// The loops need vectors, which GCC 12 makes from -O3 on.
template <class T>
#if defined(__GNUC__) && !defined(__clang__)
[[gnu::optimize("O3")]]
#endif
void add(T* out, const std::vector<const char*>& parts, size_t n) {
  using Sum = at::opmath_type<T>;
  constexpr size_t kStrip = 1024;
  Sum sums[kStrip];
  for (size_t begin = 0; begin < n; begin += kStrip) {
    const size_t count = std::min(kStrip, n - begin);
    const auto* const first = reinterpret_cast<const T*>(parts[0]) + begin;
    for (size_t i = 0; i < count; ++i) sums[i] = static_cast<Sum>(first[i]);
    for (size_t part = 1; part < parts.size(); ++part) {
      const auto* const values = reinterpret_cast<const T*>(parts[part]) + begin;
      for (size_t i = 0; i < count; ++i) sums[i] += static_cast<Sum>(values[i]);
    }
    for (size_t i = 0; i < count; ++i) out[begin + i] = static_cast<T>(sums[i]);
  }
}

// out[i] becomes the sum of the ranks' element begin + i, for n elements.
void reduce(const Operand& input, at::ScalarType type, size_t begin, size_t n, void* out) {
  const size_t size = c10::elementSize(type);
  std::vector<std::vector<char>> copies;
  std::vector<const char*> parts;
  for (int rank = 0; rank < input.memory->get_world_size(); ++rank)
    parts.push_back(bytes_of(input, rank, begin * size, n * size, copies));
  AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND2(at::kHalf, at::kBFloat16, type, "symm_mem",
                                         [&] { add(static_cast<scalar_t*>(out), parts, n); });
}

void check_sum(const at::Tensor& input, const std::string& reduce_op) {
  TORCH_CHECK_VALUE(reduce_op == "sum", "reduce_op: \"", reduce_op,
                    "\" is not supported; only sum");
  const auto type = input.scalar_type();
  TORCH_CHECK_TYPE(at::isIntegralType(type, false) || at::isComplexType(type) ||
                       type == at::kFloat || type == at::kDouble || type == at::kHalf ||
                       type == at::kBFloat16,
                   "input: ", type, " has no sum");
}

void check_like(const at::Tensor& tensor, const at::Tensor& input, const char* name) {
  TORCH_CHECK_VALUE(tensor.device().is_cpu(), name, ": it is on ", tensor.device(), ", not a CPU");
  TORCH_CHECK_TYPE(tensor.scalar_type() == input.scalar_type(), name, ": it has dtype ",
                   tensor.scalar_type(), ", but input has ", input.scalar_type());
  TORCH_CHECK_VALUE(tensor.is_contiguous(), name, ": it is not contiguous");
}

void check_apart(const at::Tensor& out, const at::Tensor& input) {
  const auto* const a = static_cast<const char*>(out.const_data_ptr());
  const auto* const b = static_cast<const char*>(input.const_data_ptr());
  TORCH_CHECK_VALUE(a + out.nbytes() <= b || b + input.nbytes() <= a,
                    "out: it overlaps input, which other ranks read");
}

void check_shape(const at::Tensor& tensor, at::IntArrayRef sizes, const char* name) {
  TORCH_CHECK_VALUE(tensor.sizes() == sizes, name, ": it has shape ", tensor.sizes(), ", not ",
                    sizes);
}

// ---- All-reduce

at::Tensor one_shot_out(const at::Tensor& input, const std::string& reduce_op,
                        const std::string& group, at::Tensor out) {
  check_sum(input, reduce_op);
  check_like(out, input, "out");
  check_shape(out, input.sizes(), "out");
  check_apart(out, input);
  const auto from = operand(input, group, "input");
  between_barriers(*from.memory, [&] {
    reduce(from, input.scalar_type(), 0, input.numel(), out.mutable_data_ptr());
  });
  return out;
}

at::Tensor one_shot(const at::Tensor& input, const std::string& reduce_op,
                    const std::string& group) {
  return one_shot_out(input, reduce_op, group, at::empty_like(input));
}

at::Tensor one_shot_copy_out(const at::Tensor& buffer, const at::Tensor& local,
                             const std::string& reduce_op, const std::string& group,
                             at::Tensor out) {
  check_like(local, buffer, "local_input");
  TORCH_CHECK_VALUE(local.numel() <= buffer.numel(), "local_input: it has ", local.numel(),
                    " elements, but symm_buffer only ", buffer.numel());
  operand(buffer, group, "symm_buffer");
  const auto part = buffer.view({-1}).narrow(0, 0, local.numel()).view(local.sizes());
  part.copy_(local);
  return one_shot_out(part, reduce_op, group, std::move(out));
}

at::Tensor one_shot_copy(const at::Tensor& buffer, const at::Tensor& local,
                         const std::string& reduce_op, const std::string& group) {
  return one_shot_copy_out(buffer, local, reduce_op, group, at::empty_like(local));
}

// Each rank sums a share of the elements, in place.
struct Shares {
  Shares(const at::Tensor& tensor, int n)
      : all(tensor.numel()), each((all + n - 1) / n), bytes(tensor.element_size()) {}
  size_t begin(int rank) const { return std::min(all, each * rank); }
  size_t count(int rank) const { return begin(rank + 1) - begin(rank); }

  size_t all, each, bytes;
};

void sum_share(const at::Tensor& input, const Operand& from, const Shares& shares) {
  const int me = from.memory->get_rank();
  reduce(from, input.scalar_type(), shares.begin(me), shares.count(me),
         static_cast<char*>(input.mutable_data_ptr()) + shares.begin(me) * shares.bytes);
}

at::Tensor two_shot_(at::Tensor input, const std::string& reduce_op, const std::string& group) {
  check_sum(input, reduce_op);
  const auto from = operand(input, group, "input");
  const int n = from.memory->get_world_size(), me = from.memory->get_rank();
  const Shares shares(input, n);
  between_barriers(*from.memory, [&] {
    sum_share(input, from, shares);
    const size_t offset = shares.begin(me) * shares.bytes;
    for (int step = 1; step < n; ++step) {
      const int rank = (me + step) % n;
      shmem_putmem(from.symmetric(rank) + offset,
                   static_cast<const char*>(input.const_data_ptr()) + offset,
                   shares.count(me) * shares.bytes, from.pe(rank));
    }
  });
  return input;
}

at::Tensor two_shot_out(at::Tensor input, const std::string& reduce_op, const std::string& group,
                        at::Tensor out) {
  check_sum(input, reduce_op);
  check_like(out, input, "output");
  check_shape(out, input.sizes(), "output");
  check_apart(out, input);
  const auto from = operand(input, group, "input");
  const Shares shares(input, from.memory->get_world_size());
  between_barriers(*from.memory, [&] { sum_share(input, from, shares); });
  for (int rank = 0; rank < from.memory->get_world_size(); ++rank) {
    const size_t offset = shares.begin(rank) * shares.bytes;
    shmem_getmem(static_cast<char*>(out.mutable_data_ptr()) + offset, from.symmetric(rank) + offset,
                 shares.count(rank) * shares.bytes, from.pe(rank));
  }
  from.memory->barrier(kChannel, 0);
  return out;
}

// ---- Reductions of parts

at::Tensor reduce_scatter_out(at::Tensor input, const std::string& group, bool split_last_dim,
                              at::Tensor out) {
  check_sum(input, "sum");
  check_like(out, input, "output");
  const auto from = operand(input, group, "input");
  const int n = from.memory->get_world_size();
  TORCH_CHECK_VALUE(input.dim() >= 1 && (split_last_dim || input.dim() == 1), "input: it has ",
                    input.dim(), " dimensions, not 1");
  TORCH_CHECK_VALUE(input.size(-1) % n == 0, "input: ranks cannot share its last dimension of ",
                    input.size(-1), "; they are ", n);
  auto sizes = input.sizes().vec();
  sizes.back() /= n;
  check_shape(out, sizes, "output");
  check_apart(out, input);
  const size_t count = sizes.back(), rows = count ? out.numel() / count : 0;
  between_barriers(*from.memory, [&] {
    for (size_t row = 0; row < rows; ++row)
      reduce(from, input.scalar_type(), (row * n + from.memory->get_rank()) * count, count,
             static_cast<char*>(out.mutable_data_ptr()) + row * count * out.element_size());
  });
  return out;
}

// A tile has any strides.
at::Tensor tile_of(const at::Tensor& tile, const Operand& from, int rank) {
  auto copy = at::empty_strided(tile.sizes(), tile.strides(), tile.options());
  const size_t bytes = copy.storage().nbytes();
  shmem_getmem(copy.mutable_data_ptr(), from.symmetric(rank), bytes, from.pe(rank));
  return copy;
}

void multi_root_tile_reduce(const std::vector<at::Tensor>& tiles, at::Tensor out,
                            const std::vector<int64_t>& roots, const std::string& group,
                            const std::string& reduce_op) {
  TORCH_CHECK_VALUE(!tiles.empty() && tiles.size() == roots.size(), "roots: there are ",
                    roots.size(), " for ", tiles.size(), " tiles");
  std::vector<Operand> from;
  for (size_t i = 0; i < tiles.size(); ++i) {
    check_sum(tiles[i], reduce_op);
    check_shape(out, tiles[i].sizes(), "out_tile");
    TORCH_CHECK_TYPE(out.scalar_type() == tiles[i].scalar_type(), "out_tile: its dtype is ",
                     out.scalar_type(), ", but in_tile has ", tiles[i].scalar_type());
    const auto span = at::empty({0}, tiles[i].options())
                          .set_(tiles[i].storage(), tiles[i].storage_offset(), {1}, {1});
    from.push_back(operand(span, group, "in_tile"));
    TORCH_CHECK_VALUE(roots[i] >= 0 && roots[i] < from[0].memory->get_world_size(),
                      "root: ", roots[i], " is not in 0..", from[0].memory->get_world_size() - 1);
  }
  auto& memory = *from[0].memory;
  between_barriers(memory, [&] {
    for (size_t i = 0; i < tiles.size(); ++i) {
      if (roots[i] != memory.get_rank()) continue;
      auto sum = tile_of(tiles[i], from[i], 0);
      for (int rank = 1; rank < memory.get_world_size(); ++rank)
        sum.add_(tile_of(tiles[i], from[i], rank));
      out.copy_(sum);
    }
  });
}

void tile_reduce(const at::Tensor& tile, at::Tensor out, int64_t root, const std::string& group,
                 const std::string& reduce_op) {
  multi_root_tile_reduce({tile}, std::move(out), {root}, group, reduce_op);
}

// ---- All-to-all of rows, with counts that the ranks have in tensors

// in_splits has a count for each chunk of this rank's input, and, after them, the chunks' first
// rows if has_offsets. A table of chunks is by rank and then expert, or the other way round; the
// output has it as the input does not. Rows of one major index of the output begin at a multiple of
// `align`, if that is not 0.
struct Chunks {
  int n_experts;
  bool is_rank_major_in;
  bool has_offsets;
  int64_t align;
};

void all_to_all(const at::Tensor& input, at::Tensor& out, const at::Tensor& splits,
                at::Tensor& result, const std::string& group, const char* splits_name,
                Chunks chunks) {
  check_like(out, input, "out");
  check_like(result, splits, "out_splits_offsets");
  TORCH_CHECK_TYPE(splits.scalar_type() == at::kLong, splits_name, ": its dtype is ",
                   splits.scalar_type(), ", not int64");
  const auto from = operand(input, group, "input");
  const auto counts = operand(splits, group, splits_name);
  auto& memory = *from.memory;
  const int n = memory.get_world_size(), me = memory.get_rank();
  const int64_t n_chunks = splits.size(-1);
  TORCH_CHECK_VALUE(splits.dim() == (chunks.has_offsets ? 2 : 1) &&
                        splits.numel() == n_chunks * (chunks.has_offsets ? 2 : 1) && n_chunks > 0 &&
                        n_chunks % n == 0 &&
                        (chunks.n_experts == 0 || n_chunks == n * chunks.n_experts),
                    splits_name, ": it has shape ", splits.sizes(), " in a group of ", n);
  check_shape(result, {2, n_chunks}, "out_splits_offsets");
  TORCH_CHECK_VALUE(
      input.dim() > 0 && out.dim() == input.dim() && input.sizes().slice(1) == out.sizes().slice(1),
      "out: it has shape ", out.sizes(), ", but input has ", input.sizes());
  const int n_experts = static_cast<int>(n_chunks / n);
  const size_t row = input.size(0) ? input.nbytes() / input.size(0) : 0;
  auto* const out_counts = result.mutable_data_ptr<int64_t>();
  auto* const out_offsets = out_counts + n_chunks;
  std::string mistake;

  between_barriers(memory, [&] {
    std::vector<std::vector<char>> copies;
    std::vector<const int64_t*> tables;
    for (int rank = 0; rank < n; ++rank)
      tables.push_back(
          reinterpret_cast<const int64_t*>(bytes_of(counts, rank, 0, splits.nbytes(), copies)));
    int64_t place = 0;
    const int n_major = chunks.is_rank_major_in ? n_experts : n;
    for (int major = 0; major < n_major; ++major) {
      const int64_t begin = place;
      for (int minor = 0; minor < n_chunks / n_major; ++minor) {
        const int rank = chunks.is_rank_major_in ? minor : major;
        const int expert = chunks.is_rank_major_in ? major : minor;
        const int64_t* const table = tables[rank];
        const int64_t at = chunks.is_rank_major_in ? me * n_experts + expert : expert * n + me;
        const int64_t count = table[at];
        int64_t source = chunks.has_offsets ? table[n_chunks + at] : 0;
        for (int64_t i = 0; !chunks.has_offsets && i < at; ++i) source += table[i];
        if (count < 0 || source < 0 || source + count > input.size(0))
          mistake = std::string(splits_name) + ": a chunk of rank " + std::to_string(rank) +
                    " is not in its input";
        else if (place + count > out.size(0))
          mistake = "out: its " + std::to_string(out.size(0)) + " rows are too few";
        if (!mistake.empty()) return;
        shmem_getmem(static_cast<char*>(out.mutable_data_ptr()) + place * row,
                     from.symmetric(rank) + source * row, count * row, from.pe(rank));
        const int64_t index = major * (n_chunks / n_major) + minor;
        out_counts[index] = count;
        out_offsets[index] = place;
        place += count;
      }
      // As torch does, an empty part takes `align` rows, which grouped matrix products need.
      if (chunks.align)
        place = begin + std::max<int64_t>((place - begin + chunks.align - 1) / chunks.align, 1) *
                            chunks.align;
    }
  });
  TORCH_CHECK_VALUE(mistake.empty(), mistake);
}

void all_to_all_vdev(const at::Tensor& input, at::Tensor out, const at::Tensor& in_splits,
                     at::Tensor result, const std::string& group) {
  all_to_all(input, out, in_splits, result, group, "in_splits", {1, true, false, 0});
}

void all_to_all_vdev_2d(const at::Tensor& input, at::Tensor out, const at::Tensor& in_splits,
                        at::Tensor result, const std::string& group, std::optional<int64_t> align) {
  TORCH_CHECK_VALUE(align.value_or(1) > 0, "major_align: ", *align, " is not positive");
  all_to_all(input, out, in_splits, result, group, "in_splits",
             {0, true, false, align.value_or(1)});
}

void all_to_all_vdev_2d_offset(const at::Tensor& input, at::Tensor out, const at::Tensor& in_splits,
                               at::Tensor result, const std::string& group) {
  all_to_all(input, out, in_splits, result, group, "in_splits_offsets", {0, false, true, 0});
}

// ---- One-sided, between ranks of the default group; torch names them after the libraries that it
// calls on GPUs

const std::string kWorld = "0";

int checked_rank(const Operand& operand, int64_t rank, const char* name = "peer") {
  TORCH_CHECK_VALUE(rank >= 0 && rank < operand.memory->get_world_size(), name, ": ", rank,
                    " is not in 0..", operand.memory->get_world_size() - 1);
  return static_cast<int>(rank);
}

void put(at::Tensor tensor, int64_t peer) {
  const auto to = operand(tensor, kWorld, "tensor");
  const int rank = checked_rank(to, peer);
  shmem_putmem(to.symmetric(rank), tensor.const_data_ptr(), tensor.nbytes(), to.pe(rank));
  shmem_quiet();
}

void get(at::Tensor tensor, int64_t peer) {
  const auto from = operand(tensor, kWorld, "tensor");
  const int rank = checked_rank(from, peer);
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
  const int rank = checked_rank(to, peer);
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
  TORCH_CHECK_VALUE(peer >= 0 && peer < to->get_world_size(), "peer: ", peer, " is not in 0..",
                    to->get_world_size() - 1);
  TORCH_CHECK_VALUE(src.is_contiguous(), "src: it is not contiguous");
  TORCH_CHECK_VALUE(to->get_offset() + src.nbytes() <= to->get_buffer_size(), "src: it has ",
                    src.nbytes(), " bytes, but the tensor of hdl only ", to->get_buffer_size());
  const int rank = static_cast<int>(peer);
  shmem_putmem(to->symmetric(rank, to->get_offset()), src.const_data_ptr(), src.nbytes(),
               to->pe(rank));
  to->put_signal(rank, kChannel, 0);
}

// ---- Moving data

at::Tensor broadcast(at::Tensor input, int64_t root, const std::string& group) {
  const auto from = operand(input, group, "input");
  const int rank = checked_rank(from, root, "root");
  between_barriers(*from.memory, [&] {
    if (rank == from.memory->get_rank()) return;
    shmem_getmem(input.mutable_data_ptr(), from.symmetric(rank), input.nbytes(), from.pe(rank));
  });
  return input;
}

at::Tensor all_to_all_equal(const at::Tensor& input, at::Tensor out, const std::string& group) {
  check_like(out, input, "out");
  check_apart(out, input);
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
  TORCH_CHECK_VALUE(offset >= 0 && count > 0 && offset + count <= input.numel(), "offset: ", offset,
                    " and count ", count, " are not in the tensor of ", input.numel());
  TORCH_CHECK_VALUE(value >= 0 && value <= UINT32_MAX, "val: ", value, " is not of 32 bits");
  auto* const words = static_cast<uint32_t*>(input.mutable_data_ptr()) + offset;
  for (int64_t i = 0; i < count; ++i)
    std::atomic_ref(words[i]).store(static_cast<uint32_t>(value), std::memory_order_release);
  return input;
}

at::Tensor write_value32_(at::Tensor input, int64_t offset, int64_t value) {
  return memset32_(std::move(input), offset, value, 1);
}

void refuse(const c10::OperatorHandle& op, torch::jit::Stack*) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, op.schema().name(),
                              ": processors have no multicast; one_shot_all_reduce and "
                              "two_shot_all_reduce_ work without it");
}

// Boxed, since a kernel of C++ must have exactly the parameters of torch's kernels for GPUs.
template <auto* function>
void boxed(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  using Pointer =
      c10::CompileTimeFunctionPointer<std::remove_pointer_t<decltype(function)>, function>;
  using Functor = typename c10::impl::WrapFunctionIntoFunctor<Pointer>::type;
  Functor functor;
  c10::impl::make_boxed_from_unboxed_functor<Functor, false>::call(&functor, op, keys, stack);
}

template <auto* function>
torch::CppFunction kernel() {
  return torch::CppFunction::makeFromBoxedFunction<&boxed<function>>();
}

}  // namespace

TORCH_LIBRARY_IMPL(symm_mem, CPU, m) {
  m.impl("one_shot_all_reduce", kernel<&one_shot>());
  m.impl("one_shot_all_reduce_out", kernel<&one_shot_out>());
  m.impl("one_shot_all_reduce_copy", kernel<&one_shot_copy>());
  m.impl("one_shot_all_reduce_copy_out", kernel<&one_shot_copy_out>());
  m.impl("two_shot_all_reduce_", kernel<&two_shot_>());
  m.impl("two_shot_all_reduce_out", kernel<&two_shot_out>());
  m.impl("reduce_scatter_out", kernel<&reduce_scatter_out>());
  m.impl("tile_reduce", kernel<&tile_reduce>());
  m.impl("multi_root_tile_reduce", kernel<&multi_root_tile_reduce>());
  m.impl("all_to_all_vdev", kernel<&all_to_all_vdev>());
  m.impl("all_to_all_vdev_2d", kernel<&all_to_all_vdev_2d>());
  m.impl("all_to_all_vdev_2d_offset", kernel<&all_to_all_vdev_2d_offset>());
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
  for (const char* name :
       {"multimem_all_reduce_", "multimem_one_shot_all_reduce", "multimem_one_shot_all_reduce_out",
        "multimem_one_shot_reduce_out", "multimem_all_gather_out"})
    m.impl(name, torch::CppFunction::makeFromBoxedFunction<&refuse>());
}

}  // namespace meshmem::pytorch::symm_mem
