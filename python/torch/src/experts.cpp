// SPDX-License-Identifier: Apache-2.0
//
// The calls of expert parallelism, with checks of their tensors and of their order.
#include "experts.hpp"

#include <utility>

#include "symm_mem.hpp"

namespace meshmem::pytorch {
namespace {

struct MoeType {
  int type;
  c10::ScalarType dtype;
};
constexpr MoeType kMoeTypes[] = {{SHMEMX_MOE_FLOAT, at::kFloat},
                                 {SHMEMX_MOE_HALF, at::kHalf},
                                 {SHMEMX_MOE_BFLOAT16, at::kBFloat16},
                                 {SHMEMX_MOE_FP8, at::kFloat8_e4m3fn}};

constexpr int kNone = -1;  // a type of no shape

int moe_type_of(c10::ScalarType dtype) {
  for (const MoeType& row : kMoeTypes)
    if (row.dtype == dtype) return row.type;
  return kNone;
}

c10::ScalarType dtype_of_moe(int type) {
  for (const MoeType& row : kMoeTypes)
    if (row.type == type) return row.dtype;
  return at::kFloat;
}

void require_apart(const at::Tensor& tensor, const char* name, const at::Tensor& other,
                   const char* other_name) {
  const auto* const begin = static_cast<const char*>(tensor.const_data_ptr());
  const auto* const other_begin = static_cast<const char*>(other.const_data_ptr());
  TORCH_CHECK_VALUE(begin + tensor.nbytes() <= other_begin || other_begin + other.nbytes() <= begin,
                    name, ": it overlaps ", other_name, ", which other PEs use meanwhile");
}

}  // namespace

Experts::Experts(const std::vector<int>& pes, Types types, shmemx_moe_shape_t shape,
                 const DeviceOf& device_of)
    : TeamObject("Experts", pes) {
  shape.type = moe_type_of(types.dtype);
  if (types.result_dtype) shape.result_type = moe_type_of(*types.result_dtype);
  // All PEs refuse the shape if one has no team.
  if (!has_team()) shape.type = kNone;
  const bool is_made =
      shmemx_moe_create(has_team() ? team() : SHMEM_TEAM_WORLD, &shape, &moe_) == 0;
  if (!is_made) {
    close();
    TORCH_CHECK(has_team(), "Experts: the library has no more teams");
    TORCH_CHECK_TYPE(shape.type != kNone, "dtype: ", types.dtype,
                     " is not float32, float16, bfloat16 or float8_e4m3fn");
    TORCH_CHECK_TYPE(shape.result_type != kNone && shape.result_type != SHMEMX_MOE_FP8,
                     "result_dtype: ", *types.result_dtype, " is not float32, float16 or bfloat16");
    TORCH_CHECK(false,
                "Experts: numbers are out of their limits, PEs of a team give different ones, "
                "there are no more teams, or MESHMEM_DEVICE_HEAP_SIZE is too small; SHMEM_DEBUG=1 "
                "says which");
  }
  if (pes.empty()) return;
  shmemx_moe_view(moe_, &view_);
  set_device(device_of(view_.rows));
  dtype_ = types.dtype;
  result_dtype_ = dtype_of_moe(view_.shape.result_type);
  results_ = tensor(view_.results, max_rows({hidden()}), result_dtype_);
}

void Experts::destroy() {
  if (const auto moe = std::exchange(moe_, nullptr)) shmemx_moe_destroy(moe);
}

void Experts::require_plan() const {
  require_member();
  TORCH_CHECK(n_tokens_ >= 0, "Experts: call plan first");
}

// ---- Calls

at::Tensor Experts::tensor(void* data, const Sizes& sizes, c10::ScalarType dtype) const {
  require_member();
  return at::from_blob(data, sizes, at::TensorOptions().dtype(dtype).device(device()));
}

template <typename Call>
void Experts::run(const Call& call, const char* objection) {
  objection_to_dispatch_ = is_capturing() ? nullptr : objection;
  put_on_stream(call);
}

void Experts::plan(const at::Tensor& indices) {
  require_member();
  // torch.topk makes them of int64.
  const bool is_long = indices.defined() && indices.scalar_type() == at::kLong;
  const std::int64_t tokens = indices.defined() && indices.dim() > 0 ? indices.size(0) : 0;
  require(indices, "indices", is_long ? at::kLong : at::kInt, {tokens, view_.shape.top_k});
  TORCH_CHECK_VALUE(tokens <= view_.shape.max_tokens, "indices: ", tokens,
                    " tokens, but max_tokens is ", view_.shape.max_tokens);
  // An index of more than 32 bits must not become an expert.
  const at::Tensor used = is_long ? indices.clamp(-2, view_.shape.experts).to(at::kInt) : indices;
  run([&](shmemx_stream_t stream) {
    shmemx_moe_plan_on_stream(moe_, used.const_data_ptr<int>(), static_cast<int>(tokens), stream);
  });
  n_tokens_ = tokens;
}

void Experts::dispatch(const at::Tensor& tokens, const std::optional<at::Tensor>& scales) {
  require_plan();
  TORCH_CHECK(!objection_to_dispatch_ || is_capturing(), "dispatch: ", objection_to_dispatch_);
  require(tokens, "tokens", dtype_, {n_tokens_, hidden()});
  require_apart(tokens, "tokens", rows(), "rows");
  const bool needs_scales = view_.scales_of_row > 0;
  TORCH_CHECK_VALUE(scales.has_value() == needs_scales, "scales: tokens of ", dtype_,
                    needs_scales ? " need them" : " have none");
  if (scales) require(*scales, "scales", at::kFloat, {n_tokens_, view_.scales_of_row});
  run(
      [&](shmemx_stream_t stream) {
        shmemx_moe_dispatch_on_stream(moe_, tokens.const_data_ptr(),
                                      scales ? scales->const_data_ptr<float>() : nullptr, stream);
      },
      "the call before was a dispatch; call plan or combine first");
}

at::Tensor Experts::combine(const at::Tensor& weights, const std::optional<at::Tensor>& out,
                            const std::optional<at::Tensor>& results) {
  require_plan();
  require(weights, "weights", at::kFloat, {n_tokens_, view_.shape.top_k});
  if (out) require(*out, "out", result_dtype_, {n_tokens_, hidden()});
  const at::Tensor made = results.value_or(results_);
  require(made, "results", result_dtype_, max_rows({hidden()}));
  TORCH_CHECK_VALUE(shmemx_reached_on_stream(made.const_data_ptr(), made.nbytes()),
                    "results: not in symmetric memory of the device");
  TORCH_CHECK_VALUE(!symm_mem::is_in_pool(made.const_data_ptr()),
                    "results: memory of symm_mem.empty has another place on each PE");
  if (out) require_apart(*out, "out", made, "results");
  const at::Tensor sums = out ? *out : empty({n_tokens_, hidden()}, result_dtype_);
  run(
      [&](shmemx_stream_t stream) {
        shmemx_moe_combine_on_stream(moe_, made.const_data_ptr(), weights.const_data_ptr<float>(),
                                     sums.mutable_data_ptr(), stream);
      },
      made.const_data_ptr() == view_.rows ? "the last combine read rows; call plan first"
                                          : nullptr);
  return sums;
}

}  // namespace meshmem::pytorch
