// SPDX-License-Identifier: Apache-2.0
//
// Lists of tensors as the spans that they are in memory.
#include "plans.hpp"

#include <algorithm>

#include "checks.hpp"

namespace meshmem::pytorch {

void require_root(std::int64_t root, int n) {
  TORCH_CHECK_VALUE(root >= 0 && root < n, "root: ", root, " is not in 0..", n - 1);
}

void require_count(const Tensors& tensors, int n, const char* argument) {
  TORCH_CHECK_VALUE(static_cast<int>(tensors.size()) == n, argument, ": ", tensors.size(),
                    " tensors, but there are ", n, " processes");
}

Tensors all_of(const std::vector<Tensors>& lists) {
  Tensors all;
  for (const Tensors& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

Tensors with(Tensors tensors, const at::Tensor& another) {
  tensors.push_back(another);
  return tensors;
}

std::vector<Span> spans_of(const Tensors& tensors) {
  std::vector<Span> spans;
  for (const at::Tensor& tensor : tensors) spans.push_back(span_of(tensor));
  return spans;
}

std::size_t longest_of(const std::vector<Span>& spans) {
  std::size_t longest = 0;
  for (const Span& span : spans) longest = std::max(longest, span.bytes);
  return longest;
}

std::vector<Span> split_spans(const at::Tensor& tensor, const std::vector<std::int64_t>& splits,
                              int n, const char* argument, const char* splits_argument) {
  const std::int64_t rows = tensor.dim() > 0 ? tensor.size(0) : 1;
  std::vector<std::int64_t> counts = splits;
  if (splits.empty()) {
    TORCH_CHECK_VALUE(rows % n == 0, argument, ": ", rows, " rows are not a multiple of the ", n,
                      " processes");
    counts.assign(static_cast<std::size_t>(n), rows / n);
  }
  std::int64_t sum = 0;
  for (const std::int64_t count : counts) {
    TORCH_CHECK_VALUE(count >= 0, splits_argument, ": ", count, " is negative");
    sum += count;
  }
  TORCH_CHECK_VALUE(static_cast<int>(counts.size()) == n && sum == rows, splits_argument, ": ",
                    counts.size(), " numbers, which add up to ", sum, ", but there are ", n,
                    " processes and ", rows, " rows");
  const std::size_t row = rows > 0 ? tensor.nbytes() / static_cast<std::size_t>(rows) : 0;
  std::vector<Span> spans;
  char* data = static_cast<char*>(tensor.data_ptr());
  for (const std::int64_t count : counts) {
    spans.push_back({data, static_cast<std::size_t>(count) * row});
    data += spans.back().bytes;
  }
  return spans;
}

Tensors blocks_of(const at::Tensor& tensor, int n, const char* argument) {
  TORCH_CHECK_VALUE(tensor.numel() % n == 0, argument, ": ", tensor.numel(),
                    " elements are not a multiple of the ", n, " processes");
  const at::Tensor flat = tensor.detach().view({-1});
  const std::int64_t length = tensor.numel() / n;
  Tensors blocks;
  for (int i = 0; i < n; ++i) blocks.push_back(flat.narrow(0, i * length, length));
  return blocks;
}

Exchange all_gather_plan(int me, const Tensors& outputs, const at::Tensor& input) {
  Exchange plan{.is_same_for_all = true, .sources = {span_of(input)}, .dests = spans_of(outputs)};
  require_elements(input, "tensor", outputs[static_cast<std::size_t>(me)].numel());
  plan.longest = longest_of(plan.dests);
  const bool are_equal = std::all_of(plan.dests.begin(), plan.dests.end(),
                                     [&](const Span& dest) { return dest.bytes == plan.longest; });
  if (are_equal) plan.pattern = Pattern::all_gather;
  return plan;
}

}  // namespace meshmem::pytorch
