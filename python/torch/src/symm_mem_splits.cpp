// SPDX-License-Identifier: Apache-2.0
//
// All-to-alls of rows of CPU tensors, with numbers of rows that each rank has in a tensor.
// Invariant: a rank writes only its own outputs, and reads the others' inputs between the barriers.
#include <algorithm>
#include <limits>

#include "symm_mem_ops.hpp"

namespace meshmem::pytorch::symm_mem {
namespace {

// A split is the rows that a rank has for one expert of one rank. in_splits has their numbers, and
// after these, if has_offsets, their first rows. The order is by rank and then expert, or the other
// way round; the output has the order that the input has not. Rows of one major index of the output
// begin at a multiple of `align`, if that is not 0.
struct Layout {
  int n_experts;
  bool is_rank_major_in;
  bool has_offsets;
  int64_t align;
};

void all_to_all(const at::Tensor& input, at::Tensor& out, const at::Tensor& splits,
                at::Tensor& result, const std::string& group, const char* splits_name,
                Layout layout) {
  check_like(out, input, "out");
  check_apart(out, "out", input, "input");
  check_like(result, splits, "out_splits_offsets");
  check_apart(result, "out_splits_offsets", splits, splits_name);
  TORCH_CHECK_TYPE(splits.scalar_type() == at::kLong, splits_name, ": its dtype is ",
                   splits.scalar_type(), ", not int64");
  const auto from = operand(input, group, "input");
  const auto counts = operand(splits, group, splits_name);
  auto& memory = *from.memory;
  const int n = memory.get_world_size(), me = memory.get_rank();
  const int64_t n_splits = splits.dim() ? splits.size(-1) : 0;
  TORCH_CHECK_VALUE(splits.dim() == (layout.has_offsets ? 2 : 1) &&
                        splits.numel() == n_splits * (layout.has_offsets ? 2 : 1) && n_splits > 0 &&
                        n_splits % n == 0 &&
                        (layout.n_experts == 0 || n_splits == n * layout.n_experts),
                    splits_name, ": it has shape ", splits.sizes(), " in a group of ", n);
  check_shape(result, {2, n_splits}, "out_splits_offsets");
  TORCH_CHECK_VALUE(
      input.dim() > 0 && out.dim() == input.dim() && input.sizes().slice(1) == out.sizes().slice(1),
      "out: it has shape ", out.sizes(), ", but input has ", input.sizes());
  const int n_experts = static_cast<int>(n_splits / n);
  size_t row = input.element_size();
  for (const int64_t size : input.sizes().slice(1)) row *= static_cast<size_t>(size);
  // Ranks may have different numbers of rows, but their allocations have one size.
  const auto most = row ? static_cast<int64_t>((memory.get_buffer_size() - from.offset) / row)
                        : std::numeric_limits<int64_t>::max();
  auto* const out_counts = result.mutable_data_ptr<int64_t>();
  auto* const out_offsets = out_counts + n_splits;

  between_barriers(memory, [&] {
    std::vector<std::vector<char>> copies;
    std::vector<const int64_t*> tables;
    for (int rank = 0; rank < n; ++rank)
      tables.push_back(
          reinterpret_cast<const int64_t*>(bytes_of(counts, rank, 0, splits.nbytes(), copies)));
    int64_t place = 0;
    const int n_major = layout.is_rank_major_in ? n_experts : n;
    for (int major = 0; major < n_major; ++major) {
      const int64_t begin = place;
      for (int minor = 0; minor < n_splits / n_major; ++minor) {
        const int rank = layout.is_rank_major_in ? minor : major;
        const int expert = layout.is_rank_major_in ? major : minor;
        const int64_t* const table = tables[rank];
        const int64_t at = layout.is_rank_major_in ? me * n_experts + expert : expert * n + me;
        const int64_t count = table[at];
        int64_t source = layout.has_offsets ? table[n_splits + at] : 0;
        for (int64_t i = 0; !layout.has_offsets && i < at; ++i) source += table[i];
        if (count != 0) {  // the place of no rows may be behind the end
          TORCH_CHECK_VALUE(count > 0 && source >= 0 && count <= most - source, splits_name,
                            ": a split of rank ", rank, " is not in its memory");
          TORCH_CHECK_VALUE(count <= out.size(0) - place, "out: its ", out.size(0),
                            " rows are too few");
          shmem_getmem(static_cast<char*>(out.mutable_data_ptr()) + place * row,
                       from.symmetric(rank) + source * row, count * row, from.pe(rank));
        }
        const int64_t index = major * (n_splits / n_major) + minor;
        out_counts[index] = count;
        out_offsets[index] = place;
        place += count;
      }
      // As torch does, an empty part takes `align` rows, which grouped matrix products need.
      if (layout.align)
        place = begin + std::max<int64_t>((place - begin + layout.align - 1) / layout.align, 1) *
                            layout.align;
    }
  });
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

}  // namespace

TORCH_LIBRARY_IMPL(symm_mem, CPU, m) {
  m.impl("all_to_all_vdev", kernel<&all_to_all_vdev>());
  m.impl("all_to_all_vdev_2d", kernel<&all_to_all_vdev_2d>());
  m.impl("all_to_all_vdev_2d_offset", kernel<&all_to_all_vdev_2d_offset>());
}

}  // namespace meshmem::pytorch::symm_mem
