// SPDX-License-Identifier: Apache-2.0
//
// Makes teams, and checks tensors.
#include "team_object.hpp"

#include <utility>

#include "checks.hpp"

namespace meshmem::pytorch {
namespace {

bool is_started() {
  int answer = 0;
  shmem_query_initialized(&answer);
  return answer;
}

}  // namespace

TeamObject::TeamObject(const char* name, const std::vector<int>& pes)
    : name_(name),
      has_team_(pes.empty() ||
                !shmemx_team_of_pes(pes.data(), static_cast<int>(pes.size()), &team_)) {}

void TeamObject::close(bool is_of_this_job) {
  is_open_ = false;
  const auto team = std::exchange(team_, SHMEM_TEAM_INVALID);
  if (!is_of_this_job || !is_started()) return;  // meshmem.finalize() has freed all
  destroy();
  if (team != SHMEM_TEAM_INVALID) shmem_team_destroy(team);
}

void TeamObject::require_member() const {
  TORCH_CHECK(is_started(), "meshmem: call meshmem.init() first");
  TORCH_CHECK_VALUE(is_open_, name_, ": closed");
  TORCH_CHECK_VALUE(team_ != SHMEM_TEAM_INVALID, "team: this PE is not in it");
}

void TeamObject::require(const at::Tensor& tensor, const char* argument, c10::ScalarType dtype,
                         at::IntArrayRef sizes) const {
  require_usable(tensor, argument);
  TORCH_CHECK_TYPE(tensor.scalar_type() == dtype, argument, ": its dtype is ", tensor.scalar_type(),
                   ", but ", dtype, " is needed");
  TORCH_CHECK_TYPE(tensor.device() == device_, argument, ": on ", tensor.device(), ", but ", name_,
                   " is on ", device_);
  TORCH_CHECK_VALUE(tensor.sizes() == sizes, argument, ": its shape is ", tensor.sizes(), ", but ",
                    sizes, " is needed");
  TORCH_CHECK_VALUE(!at::GradMode::is_enabled() || !tensor.requires_grad(), argument,
                    ": it requires a gradient, which ", name_,
                    " does not give; use torch.no_grad()");
  TORCH_CHECK_VALUE(!tensor._fw_grad(0).defined(), argument,
                    ": it has a forward-mode gradient, which ", name_, " does not give");
}

bool TeamObject::is_capturing() const {
  return !device_.is_cpu() && is_captured(guard_of(device_).getStream(device_));
}

}  // namespace meshmem::pytorch
