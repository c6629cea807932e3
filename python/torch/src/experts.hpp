// SPDX-License-Identifier: Apache-2.0
//
// Expert parallelism of tensors: the handle of shmemx_moe_create, and its memory as tensors.
// Used by bind_team_objects.cpp.
#pragma once
#include <ATen/ATen.h>
#include <shmemx.h>

#include <optional>
#include <vector>

#include "team_object.hpp"

namespace meshmem::pytorch {

class Experts : public TeamObject {
 public:
  struct Types {
    c10::ScalarType dtype;
    std::optional<c10::ScalarType> result_dtype;
  };
  // A collective of all PEs. `pes`: of the team; none if this PE is in no team. The shape's types
  // are set here. A mistake in one PE's arguments raises on all.
  Experts(const std::vector<int>& pes, Types types, shmemx_moe_shape_t shape,
          const DeviceOf& device_of);

  // Collectives of the team.
  void plan(const at::Tensor& indices);
  void dispatch(const at::Tensor& tokens, const std::optional<at::Tensor>& scales);
  at::Tensor combine(const at::Tensor& weights, const std::optional<at::Tensor>& out,
                     const std::optional<at::Tensor>& results);

  // Memory of the view. No tensor may be used after close().
  int first_expert() const { return view_.first_expert; }
  at::Tensor rows() const { return tensor(view_.rows, max_rows({hidden()}), dtype_); }
  at::Tensor results() const { return results_; }
  at::Tensor row_scales() const {
    return tensor(view_.row_scales, max_rows({view_.scales_of_row}), at::kFloat);
  }
  at::Tensor counts() const { return tensor(view_.counts, {view_.local_experts}, at::kInt); }
  at::Tensor offsets() const { return tensor(view_.offsets, {view_.local_experts + 1}, at::kInt); }
  at::Tensor dropped() const { return tensor(view_.dropped, {1}, at::kInt); }
  at::Tensor status() const { return tensor(view_.status, {1}, at::kInt); }

 private:
  using Sizes = std::vector<std::int64_t>;
  std::int64_t hidden() const { return view_.shape.hidden; }
  Sizes max_rows(Sizes sizes) const {
    sizes.insert(sizes.begin(), view_.max_rows);
    return sizes;
  }
  at::Tensor tensor(void* data, const Sizes& sizes, c10::ScalarType dtype) const;
  void destroy() override;
  void require_plan() const;
  // Puts call on the stream. `objection`: why no dispatch may come next.
  template <typename Call>
  void run(const Call& call, const char* objection = nullptr);

  shmemx_moe_t moe_ = nullptr;
  shmemx_moe_view_t view_{};
  c10::ScalarType dtype_ = at::kFloat, result_dtype_ = at::kFloat;
  at::Tensor results_;          // the program has the same, so its gradient is seen here
  std::int64_t n_tokens_ = -1;  // of the last plan
  // Why a dispatch may not follow the last call. Null after a captured one, which runs later.
  const char* objection_to_dispatch_ = nullptr;
};

}  // namespace meshmem::pytorch
