// SPDX-License-Identifier: Apache-2.0
//
// Operators that add the ranks' CPU tensors: all-reduces, reduce-scatters and reductions of tiles.
// Invariant: sums are formed in the order of ranks, so they have the same bits on all ranks.
#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>

#include <algorithm>

#include "symm_mem_ops.hpp"

namespace meshmem::pytorch::symm_mem {
namespace {

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
  static constexpr at::ScalarType kSummed[] = {
      // those of the dispatch in reduce()
      at::kByte,     at::kChar,  at::kShort,  at::kInt,          at::kLong,         at::kHalf,
      at::kBFloat16, at::kFloat, at::kDouble, at::kComplexFloat, at::kComplexDouble};
  const auto type = input.scalar_type();
  TORCH_CHECK_TYPE(std::find(std::begin(kSummed), std::end(kSummed), type) != std::end(kSummed),
                   "input: ", type, " has no sum");
}

// ---- All-reduce

at::Tensor one_shot_out(const at::Tensor& input, const std::string& reduce_op,
                        const std::string& group, at::Tensor out) {
  check_sum(input, reduce_op);
  check_like(out, input, "out");
  check_shape(out, input.sizes(), "out");
  check_apart(out, "out", input, "input");
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
  check_apart(out, "output", input, "input");
  const auto from = operand(input, group, "input");
  const int n = from.memory->get_world_size();
  const Shares shares(input, n);
  const auto gather = [&] {
    for (int rank = 0; rank < n; ++rank) {
      const size_t offset = shares.begin(rank) * shares.bytes;
      shmem_getmem(static_cast<char*>(out.mutable_data_ptr()) + offset,
                   from.symmetric(rank) + offset, shares.count(rank) * shares.bytes, from.pe(rank));
    }
  };
  between_barriers(
      *from.memory, [&] { sum_share(input, from, shares); }, gather);
  return out;
}

// ---- Reduce-scatter

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
  check_apart(out, "output", input, "input");
  const size_t count = sizes.back(), rows = count ? out.numel() / count : 0;
  between_barriers(*from.memory, [&] {
    for (size_t row = 0; row < rows; ++row)
      reduce(from, input.scalar_type(), (row * n + from.memory->get_rank()) * count, count,
             static_cast<char*>(out.mutable_data_ptr()) + row * count * out.element_size());
  });
  return out;
}

// ---- Tiles, which may have any strides

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
    TORCH_CHECK_TYPE(out.scalar_type() == tiles[i].scalar_type(), "out_tile: it has dtype ",
                     out.scalar_type(), ", but in_tile has ", tiles[i].scalar_type());
    from.push_back(operand(tiles[i], group, "in_tile", true));
    checked_rank(*from[0].memory, roots[i], "root");
    TORCH_CHECK_VALUE(std::count(roots.begin(), roots.begin() + i, roots[i]) == 0, "roots: rank ",
                      roots[i], " is the root of two tiles");
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
}

}  // namespace meshmem::pytorch::symm_mem
