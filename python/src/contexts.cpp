// SPDX-License-Identifier: Apache-2.0
//
// Contexts (OpenSHMEM 1.6, 9.5), their ordering and completion (9.12), and sessions (9.9).
// Invariant: a context ends with its team, or with the library.
#include <nanobind/stl/vector.h>

#include "context.hpp"
#include "stream.hpp"
#include "team.hpp"

namespace meshmem::python {
namespace {

void pe_quiet(Context& context, const std::vector<int>& pes) {
  context.require_usable();
  for (const int pe : pes)
    require_pe(pe, context.handle == SHMEM_CTX_DEFAULT ? job.n_pes : context.n_pes, "pes");
  const Unlocked unlocked;
  shmem_ctx_pe_quiet(context.handle, pes.data(), pes.size());
}

void fence(Context& context) {
  context.require_usable();
  const Unlocked unlocked;
  shmem_ctx_fence(context.handle);
}

Context* make_context(Team* given, bool is_serialized, bool is_private, bool has_no_stores) {
  require_active();
  const Team team = given ? *given : team_of(SHMEM_TEAM_WORLD);
  team.require_usable();
  const long options = (is_serialized ? SHMEM_CTX_SERIALIZED : 0) |
                       (is_private ? SHMEM_CTX_PRIVATE : 0) |
                       (has_no_stores ? SHMEM_CTX_NOSTORE : 0);
  auto made = std::make_unique<Context>();
  if (shmem_team_create_ctx(team.handle(), options, &made->handle))
    fail(PyExc_RuntimeError, "Context: the library has no more contexts");
  made->team = team.shared;
  made->n_pes = team.n_pes();
  return made.release();
}

void destroy_context(Context& context) {
  quiet(context);
  const auto handle = std::exchange(context.handle, SHMEM_CTX_INVALID);
  const Unlocked unlocked;
  shmem_ctx_destroy(handle);
}

}  // namespace

Context& checked_context(Context* context, int pe) {
  if (!context) {
    require_pe(pe, job.n_pes);
    return default_context;
  }
  context->require_usable();
  require_pe(pe, context->n_pes);
  return *context;
}

bool Context::is_there() const {
  return !team || (handle != SHMEM_CTX_INVALID && made_in_init == job.n_inits &&
                   *team != SHMEM_TEAM_INVALID);
}
void Context::require_usable() const {
  require_active();
  if (!is_there()) fail(PyExc_ValueError, "ctx: it was destroyed");
}
// A context that was dropped, and not destroyed, may still read and write what it has. In this
// library every quiet completes the operations of all contexts.
Context::~Context() {
  for (auto& buffer : pending.take()) default_context.pending.add(std::move(buffer));
}
void quiet(Context& context) {
  context.require_usable();
  const auto done = context.pending.take();
  const Unlocked unlocked;
  shmem_ctx_quiet(context.handle);
}

void bind_contexts(nb::module_& module) {
  nb::class_<Context> context(
      module, "Context",
      "A stream of puts, gets and atomics that are ordered and completed on their own (9.5). PE "
      "numbers count in its team. with Context() as ctx destroys it at the end.");
  context.def(nb::new_(&make_context), nb::arg("team").none() = nb::none(), nb::kw_only(),
              nb::arg("serialized") = false, nb::arg("private") = false, nb::arg("nostore") = false,
              "serialized: one thread at a time uses it; private: only the calling thread; "
              "nostore: no puts and no atomics that store.");
  bind_with(context, [](Context& self, bool) {
    if (self.is_there()) destroy_context(self);
  });
  context.def("destroy", &destroy_context,
              "Completes its operations and gives it back (9.5). Not collective.");
  context.def("fence", &fence, "Orders its puts to each PE (9.12).");
  context.def("quiet", &quiet, "Waits until all its operations are done (9.12).");
  context.def("pe_quiet", &pe_quiet, nb::arg("pes"),
              "Waits until its operations on these PEs are done (9.12).");
  context.def(
      "team",
      [](Context& self) {
        self.require_usable();
        return Team{self.team};
      },
      "The team that its PE numbers count in (9.5, shmem_ctx_get_team).");
  context.def(
      "session_start",
      [](Context& self, std::size_t total_ops, bool is_batch) {
        self.require_usable();
        shmem_ctx_session_config_t config{total_ops};
        shmem_ctx_session_start(self.handle, is_batch ? SHMEM_CTX_SESSION_BATCH : 0, &config,
                                total_ops ? SHMEM_CTX_SESSION_TOTAL_OPS : 0);
      },
      nb::arg("total_ops") = 0, nb::arg("batch") = false,
      "Begins a session: a hint that up to total_ops operations follow (9.9).");
  context.def(
      "session_stop",
      [](Context& self) {
        self.require_usable();
        shmem_ctx_session_stop(self.handle);
      },
      "Ends the session (9.9).");
  module.def(
      "quiet",
      [](nb::handle stream_object) {
        require_active();
        const Stream stream = stream_of(stream_object);
        stream ? shmemx_quiet_on_stream(*stream) : quiet(default_context);
      },
      nb::kw_only(), nb::arg("stream") = nb::none(),
      "Waits until all operations of the default context are done (9.12).");
  module.def(
      "fence", [] { fence(default_context); },
      "Orders the puts of the default context to each PE (9.12).");
  module.def(
      "pe_quiet", [](const std::vector<int>& pes) { pe_quiet(default_context, pes); },
      nb::arg("pes"), "Waits until the default context's operations on these PEs are done (9.12).");
}

}  // namespace meshmem::python
