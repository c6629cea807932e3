// SPDX-License-Identifier: Apache-2.0
//
// A program's hints about itself: sessions of a context (OpenSHMEM 1.6, section 9.9) for the
// library, shmem_pcontrol (section 10) for a tool that stands in front of it.
// Invariant: neither changes a result, and here neither changes a speed. A batch allows the library
// to delay and to gather what crosses a network. Transfers here are stores of the calling thread or
// entries of a stream, and gain nothing by a delay.
#include "api/entry.hpp"

namespace meshmem {
namespace {

void require_context(shmem_ctx_t ctx, const char* routine) {
  if (ctx == SHMEM_CTX_INVALID) return;
  require_active(routine);
  if (!runtime().teams().find(team_handle_of(ctx))) CallInContext{routine, ctx}.refuse_context();
}

}  // namespace

MESHMEM_ENTRY(void, ctx_session_start,
              (shmem_ctx_t ctx, long, const shmem_ctx_session_config_t*, long)) {
  require_context(ctx, "shmem_ctx_session_start");
}
MESHMEM_ENTRY(void, ctx_session_stop, (shmem_ctx_t ctx)) {
  require_context(ctx, "shmem_ctx_session_stop");
}

MESHMEM_ENTRY(void, pcontrol, (int, ...)) {}

}  // namespace meshmem
