// SPDX-License-Identifier: Apache-2.0
//
// Fused and quantized collectives of tensors, by the kernels of libmeshmem_fused.so.
// Used by bind_team_objects.cpp.
#pragma once
#include <ATen/ATen.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fused_library.hpp"
#include "team_object.hpp"

namespace meshmem::pytorch {

class Fused : public TeamObject {
 public:
  struct Options {
    std::vector<int> pes;      // of the team; none if this PE is in no team
    std::int64_t stage_bytes;  // the same on all PEs
    std::string library;       // the path of libmeshmem_fused.so
    DeviceOf device_of;
  };

 protected:
  // A collective of all PEs. If it fails on one, it raises on all.
  Fused(const char* name, const char* maker, const Options& options);
  FusedCollective& collective() const { return *collective_; }

 private:
  void destroy() override;
  FusedCollective* collective_ = nullptr;
};

class AllReduceNorm : public Fused {
 public:
  using Pair = std::pair<at::Tensor, at::Tensor>;
  explicit AllReduceNorm(const Options& options)
      : Fused("AllReduceNorm", kMakeNormLayer, options) {}
  // A collective of the team. Returns y and new_residual, which are `out` if it is given.
  Pair execute(const at::Tensor& x, const at::Tensor& residual, const at::Tensor& weight,
               double eps, const std::optional<Pair>& out);
};

class Quantized : public Fused {
 public:
  explicit Quantized(const Options& options) : Fused("Quantized", kMakeQuantizedMoves, options) {}
  // A collective of the team.
  at::Tensor execute(Move move, const at::Tensor& tensor, const std::string& wire,
                     const std::optional<at::Tensor>& out);

 private:
  std::vector<std::int64_t> result_sizes(Move move, const at::Tensor& tensor) const;
};

}  // namespace meshmem::pytorch
