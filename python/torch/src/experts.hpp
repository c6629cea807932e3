// SPDX-License-Identifier: Apache-2.0
//
// Expert parallelism of tensors: the handle of shmemx_moe_create, and its memory as tensors.
// Invariant: a call takes its place on the caller's stream. With CPU tensors it has ended when it
// returns. Used by bind_experts.cpp.
#pragma once
#include <ATen/ATen.h>
#include <shmemx.h>

#include <functional>
#include <optional>
#include <vector>

namespace meshmem::pytorch {

class Experts {
 public:
  struct Types {
    c10::ScalarType dtype;
    std::optional<c10::ScalarType> result_dtype;
  };
  // Returns the device that has an address.
  using DeviceOf = std::function<c10::Device(const void*)>;

  // A collective of all PEs, and so is close(). `pes`: of the team; none if this PE is in no team.
  // The shape's types are set here. A mistake in one PE's arguments raises on all.
  Experts(const std::vector<int>& pes, Types types, shmemx_moe_shape_t shape,
          const DeviceOf& device_of);
  void close();
  bool is_open() const { return moe_ != nullptr; }

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
  void require_member() const;
  void require_plan() const;
  void require(const at::Tensor& tensor, const char* argument, c10::ScalarType dtype,
               const Sizes& sizes) const;
  bool is_capturing() const;
  // Calls call(stream), and waits for it if the device is a CPU. `objection`: why no dispatch may
  // come next.
  template <typename Call>
  void run(const Call& call, const char* objection = nullptr);

  shmem_team_t team_ = SHMEM_TEAM_INVALID;
  shmemx_moe_t moe_ = nullptr;
  shmemx_moe_view_t view_{};
  c10::Device device_ = c10::kCPU;
  c10::ScalarType dtype_ = at::kFloat, result_dtype_ = at::kFloat;
  at::Tensor results_;          // the program has the same, so its gradient is seen here
  std::int64_t n_tokens_ = -1;  // of the last plan
  // Why a dispatch may not follow the last call. Null after a captured one, which runs later.
  const char* objection_to_dispatch_ = nullptr;
};

}  // namespace meshmem::pytorch
