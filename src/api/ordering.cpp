// SPDX-License-Identifier: Apache-2.0
//
// Memory ordering (OpenSHMEM 1.6, section 9.12).
// Invariant: transfers between host memory are accesses of the calling thread, so ordering them is
// a processor fence. It is a release fence for fence (earlier accesses are seen first), and a full
// one for quiet (all see earlier accesses). Both wait for the work of a device.
#include "api/entry.hpp"
#include "one_sided/completion.hpp"

namespace meshmem {
namespace {

void order(const char* routine) {
  require_active(routine);
  order_transfers(routine);
}

void complete(const char* routine) {
  require_active(routine);
  complete_transfers(routine);
}

}  // namespace

MESHMEM_ENTRY(void, fence, (void)) { order("shmem_fence"); }
MESHMEM_ENTRY(void, quiet, (void)) { complete("shmem_quiet"); }
MESHMEM_ENTRY(void, ctx_fence, (shmem_ctx_t ctx)) {
  if (ctx != SHMEM_CTX_INVALID) order("shmem_ctx_fence");
}
MESHMEM_ENTRY(void, ctx_quiet, (shmem_ctx_t ctx)) {
  if (ctx != SHMEM_CTX_INVALID) complete("shmem_ctx_quiet");
}

namespace {

template <typename Where>
void pe_quiet(Where where, const int* target_pes, std::size_t npes) {
  for (std::size_t i = 0; i < npes; ++i)
    check_pe(address_map, where.world_pe(target_pes[i]), where.routine);
  if (npes > 0) complete(where.routine);
}

}  // namespace

MESHMEM_ENTRY(void, pe_quiet, (const int* target_pes, std::size_t npes)) {
  pe_quiet(Call{"shmem_pe_quiet"}, target_pes, npes);
}
MESHMEM_ENTRY(void, ctx_pe_quiet, (shmem_ctx_t ctx, const int* target_pes, std::size_t npes)) {
  if (ctx != SHMEM_CTX_INVALID)
    pe_quiet(CallInContext{"shmem_ctx_pe_quiet", ctx}, target_pes, npes);
}

}  // namespace meshmem
