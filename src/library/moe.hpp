// SPDX-License-Identifier: Apache-2.0
//
// Expert parallelism on streams (shmemx_moe_create and its relatives in include/shmemx.h): the
// symmetric memory of a team's experts, and the kernels and collectives of each call.
// Invariant: kernels of this file do not wait. Whatever has to wait for other PEs is a collective
// of the team on the stream. Called by api/moe.cpp.
#ifndef MESHMEM_LIBRARY_MOE_HPP_
#define MESHMEM_LIBRARY_MOE_HPP_

#include <hip/hip_runtime_api.h>

#include <cstddef>

#include "core/team.hpp"
#include "gpu/stream_mark.hpp"
#include "shmemx.h"

namespace meshmem {

class Moe {
 public:
  // A collective of the world. `team`: null for a PE that is in none. Returns null on all PEs if
  // one cannot have it, with the reason in a line of debug().
  static Moe* try_make(const char* routine, Team* team, const shmemx_moe_shape_t& shape);
  // A collective of the world; deletes it.
  void destroy(const char* routine);

  const shmemx_moe_view_t& view() const { return view_; }

  void plan(Team& team, const int* indices, int tokens, hipStream_t stream);
  void dispatch(Team& team, const void* tokens, const float* scales, hipStream_t stream);
  void combine(Team& team, const void* results, const float* weights, void* out,
               hipStream_t stream);

 private:
  enum class Step { none, plan, dispatch, combine };

  std::size_t choices_of(int tokens) const;
  void require_plan(const Team& team) const;
  void note(Step step, hipStream_t stream);

  shmemx_moe_view_t view_{};
  std::byte* block_ = nullptr;
  StreamMark* newest_ = nullptr;  // behind the newest call on a stream
  Step last_ = Step::none;
  int tokens_ = 0;  // of the last plan that the program called, or captured
};

}  // namespace meshmem

#endif  // MESHMEM_LIBRARY_MOE_HPP_
