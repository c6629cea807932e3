// SPDX-License-Identifier: Apache-2.0
//
// The module: start and end (OpenSHMEM 1.6, 9.1), and what PEs ask about the job (9.2).
// Invariant: queries never communicate.
#include "job.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <pthread.h>

#include <cstdlib>
#include <cstring>
#include <optional>

#include "context.hpp"
#include "stream.hpp"

namespace meshmem::python {
namespace {

void finalize() {
  quiet(default_context);  // nonblocking calls hold arrays until then
  if (job.n_exports) PyGC_Collect();
  if (job.n_exports) {
    fail(PyExc_BufferError, "meshmem.finalize: " + std::to_string(job.n_exports) +
                                " NumPy arrays or memoryviews of arrays are still in use");
  }
  {
    const Unlocked unlocked;
    shmem_finalize();
  }
  job.is_active = false;
}

// Registered by on_exit, since Python's atexit does not tell the status. A PE that exits with a
// nonzero status has probably failed, and finalize would wait for PEs that wait for it. The
// launcher sees the failure.
void finalize_at_exit(int status, void*) {
  if (status == 0 && job.is_active && !job.is_child) shmem_finalize();
  job.is_active = false;
}

nb::bytes unique_id() {
  static bool is_made = false;
  if (is_made) {
    fail(PyExc_RuntimeError,
         "meshmem.unique_id: it was called before; a process makes the id of one job, so make "
         "another job's in another process");
  }
  shmemx_uniqueid_t id;
  int status;
  {
    const Unlocked unlocked;
    status = shmemx_get_uniqueid(&id);
  }
  if (status) fail(PyExc_RuntimeError, "meshmem.unique_id: shmemx_get_uniqueid failed");
  is_made = true;
  return nb::bytes(id.bytes, sizeof id.bytes);
}

// Without a unique id the launcher knows the rank and the number of PEs.
void init(int rank, int n_pes, const std::optional<nb::bytes>& given) {
  shmemx_uniqueid_t id;
  if (given && given->size() != sizeof id.bytes)
    fail(PyExc_ValueError, "unique_id: needs the bytes that meshmem.unique_id() returns");
  if (given) std::memcpy(id.bytes, given->data(), sizeof id.bytes);
  if (job.is_child) require_active();
  if (job.is_active) fail(PyExc_RuntimeError, "meshmem.init: it was called before");
  int status;
  int provided;
  {
    const Unlocked unlocked;
    status = given ? shmemx_init_attr(SHMEMX_INIT_WITH_UNIQUEID, rank, n_pes, &id)
                   : shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
  }
  if (status) fail(PyExc_RuntimeError, "meshmem.init: the library could not start");
  job.is_active = true;
  ++job.n_inits;
  job.my_pe = shmem_my_pe();
  job.n_pes = shmem_n_pes();
  job.is_near.clear();
  is_main_thread = true;
  static const bool once = [] {
    on_exit(finalize_at_exit, nullptr);
    return pthread_atfork(nullptr, nullptr, [] { job.is_child = true; }) == 0;
  }();
  (void)once;
}

}  // namespace

void bind_job(nb::module_& module) {
  module.attr("OSHRUN") = MESHMEM_OSHRUN;
  module.attr("MALLOC_ATOMICS_REMOTE") = SHMEM_MALLOC_ATOMICS_REMOTE;
  module.attr("MALLOC_SIGNAL_REMOTE") = SHMEM_MALLOC_SIGNAL_REMOTE;
  module.def(
      "unique_id", &unique_id,
      "128 bytes by which processes without a launcher become a job (init). Its maker has to live "
      "as long as the job. Any process that has the bytes can join.\n\nRaises RuntimeError the "
      "second time, since a process makes the id of one job.");
  module.def("init", &init, nb::arg("rank"), nb::arg("n_pes"), nb::arg("unique_id").none());
  module.def(
      "finalize", &finalize,
      "Ends the use of the library (9.1, shmem_finalize). Collective. It waits for "
      "outstanding operations of all PEs. The end of a program with status 0 calls it.\n\nRaises "
      "BufferError while a NumPy array or a memoryview of an array exists.");
  module.def(
      "n_inits", [] { return job.n_inits; }, "How often this process has called init.");
  module.def(
      "is_initialized", [] { return job.is_active && !job.is_child; },
      "Whether this process is a PE between init and finalize.");
  module.def(
      "my_pe",
      [] {
        require_active();
        return job.my_pe;
      },
      "This PE's number (9.2).");
  module.def(
      "n_pes",
      [] {
        require_active();
        return job.n_pes;
      },
      "The number of PEs (9.2).");
  module.def(
      "is_accessible",
      [](int pe) {
        require_active();
        return shmem_pe_accessible(pe) != 0;
      },
      nb::arg("pe"), "Whether PE pe can be reached (9.2, shmem_pe_accessible).");
  module.def(
      "version",
      [] {
        int major, minor;
        shmem_info_get_version(&major, &minor);
        return nb::make_tuple(major, minor);
      },
      nb::sig("def version() -> tuple[int, int]"), "The standard's version, as (1, 6) (9.2).");
  module.def(
      "name",
      [] {
        char name[SHMEM_MAX_NAME_LEN];
        shmem_info_get_name(name);
        return std::string(name);
      },
      "The library's name and version (9.2).");
  module.def(
      "query_thread",
      [] {
        int provided;
        require_active();
        shmem_query_thread(&provided);
        return provided;
      },
      "The thread level: 3, all threads may call (9.1).");
  module.def(
      "pcontrol", [](int level) { shmem_pcontrol(level); }, nb::arg("level"),
      "Sets the level of a profiling tool, if one is there (10).");
  module.def(
      "global_exit",
      [](int status) {
        require_active();
        const Unlocked unlocked;
        shmem_global_exit(status);
      },
      nb::arg("status"));
  module.def("call_of_main_thread", [] { return call_of_main_thread.load(); });
  module.def(
      "barrier_all",
      [](nb::handle stream_object) {
        require_active();
        if (const Stream stream = stream_of(stream_object))
          return shmemx_barrier_all_on_stream(*stream);
        const auto done = default_context.pending.take();
        const Unlocked unlocked;
        shmem_barrier_all();
      },
      nb::kw_only(), nb::arg("stream") = nb::none(),
      "Waits for all PEs, and for the updates of all by the default context (9.10).");
  module.def(
      "sync_all",
      [](nb::handle stream_object) {
        require_active();
        const Stream stream = stream_of(stream_object);
        const Unlocked unlocked;
        stream ? shmemx_sync_all_on_stream(*stream) : shmem_sync_all();
      },
      nb::kw_only(), nb::arg("stream") = nb::none(),
      "Waits for all PEs, not for outstanding updates (9.10).");
}

}  // namespace meshmem::python

NB_MODULE(_core, module) {
  using namespace meshmem::python;
  nb::set_leak_warnings(false);
  module.doc() = "The compiled part of meshmem. Programs import meshmem.";
  bind_job(module);
  bind_contexts(module);
  bind_arrays(module);
  bind_teams(module);
  bind_locks(module);
}
