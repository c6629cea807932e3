// SPDX-License-Identifier: Apache-2.0
//
// The PMIx client. Uses only the keys that every launcher sets alike (job size, local peers).
// Invariant: PMIx fences occur in start-up only. An own thread of PMIx calls on_lost_connection().
#include "bootstrap/job.hpp"

#include <pmix.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>

#include "base/error.hpp"
#include "base/own_status.hpp"
#include "bootstrap/launcher_variables.hpp"

namespace meshmem {
namespace {

Job this_job;
pmix_proc_t this_process;

void check_pmix(pmix_status_t status, const char* what) {
  if (status != PMIX_SUCCESS) fatal("cannot {}: PMIx says {}", what, PMIx_Error_string(status));
}

pmix_proc_t process_of(pmix_rank_t rank) {
  pmix_proc_t process;
  PMIX_LOAD_PROCID(&process, this_process.nspace, rank);
  return process;
}

// Owns what PMIx_Get hands out.
struct Fetched {
  pmix_value_t* value = nullptr;
  Fetched() = default;
  Fetched(const Fetched&) = delete;
  Fetched& operator=(const Fetched&) = delete;
  ~Fetched() {
    if (value) PMIX_VALUE_RELEASE(value);
  }
};

// Servers differ in the integer type that they give a key.
std::optional<long> as_integer(const pmix_value_t& value) {
  switch (value.type) {
    case PMIX_SIZE:
      return static_cast<long>(value.data.size);
    case PMIX_INT:
      return value.data.integer;
    case PMIX_INT32:
      return value.data.int32;
    case PMIX_INT64:
      return static_cast<long>(value.data.int64);
    case PMIX_UINT:
      return value.data.uint;
    case PMIX_UINT32:
      return value.data.uint32;
    case PMIX_UINT64:
      return static_cast<long>(value.data.uint64);
    case PMIX_UINT16:
      return value.data.uint16;
    case PMIX_PROC_RANK:
      return value.data.rank;
    default:
      return std::nullopt;
  }
}

long job_integer(const char* key) {
  const pmix_proc_t job = process_of(PMIX_RANK_WILDCARD);
  Fetched fetched;
  check_pmix(PMIx_Get(&job, key, nullptr, 0, &fetched.value),
             "ask the launcher for the size of the job");
  const std::optional<long> number = as_integer(*fetched.value);
  if (!number || *number < 1) fatal("the launcher gives no usable number for {}", key);
  return *number;
}

// LOCAL_PEERS is "0,2,1" in any order; absent where the launcher leaves out what is trivial.
std::vector<int> local_peers() {
  const pmix_proc_t job = process_of(PMIX_RANK_WILDCARD);
  Fetched fetched;
  const pmix_status_t status = PMIx_Get(&job, PMIX_LOCAL_PEERS, nullptr, 0, &fetched.value);
  std::vector<int> pes;
  if (status == PMIX_SUCCESS && fetched.value->type == PMIX_STRING && fetched.value->data.string) {
    std::istringstream list(fetched.value->data.string);
    for (std::string number; std::getline(list, number, ',');) pes.push_back(std::stoi(number));
  }
  if (pes.empty()) pes.push_back(this_job.pe);
  std::sort(pes.begin(), pes.end());
  return pes;
}

// No launcher tells its PEs that one of them has died: it kills them. What PMIx does tell is that
// the launcher is gone.
void on_lost_connection(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t*, size_t,
                        pmix_info_t*, size_t, pmix_event_notification_cbfunc_fn_t done,
                        void* done_data) {
  if (done) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, done_data);
  print_line("the launcher is gone; this PE ends too");
  _exit(1);
}

void watch_launcher() {
  pmix_status_t lost = PMIX_ERR_LOST_CONNECTION;
  PMIx_Register_event_handler(&lost, 1, nullptr, 0, on_lost_connection, nullptr, nullptr);
}

const char* get_env(const char* name) { return std::getenv(name); }

// Two libraries of a program, or two launchers, that count different PEs would give wrong results.
void compare_with_oshrun() {
  const std::optional<std::string> objection = contradiction_of_oshrun(this_job.n_pes, get_env);
  if (!objection) return;
  if (this_job.pe != 0) std::this_thread::sleep_for(std::chrono::seconds(1));  // PE 0 says it
  fatal_message(*objection);
}

// What a nonblocking fence reports to, from PMIx's thread.
struct FenceEnd {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<pmix_status_t> status;
};

void on_fence_end(pmix_status_t status, void* data) {
  FenceEnd& end = *static_cast<FenceEnd*>(data);
  const std::lock_guard lock(end.mutex);
  end.status = status;
  end.changed.notify_all();
}

}  // namespace

const Job& connect_to_launcher() {
  static bool connected = false;
  if (connected) return this_job;
  connected = true;
  const pmix_status_t status =
      names_pmix_server(environ) ? PMIx_Init(&this_process, nullptr, 0) : PMIX_ERR_UNREACH;
  if (status == PMIX_SUCCESS) {
    this_job.launched = true;
    this_job.pe = static_cast<int>(this_process.rank);
    set_identity(this_job.pe);
    set_abort_job([](int status) { abort_job(status, "error"); });
    watch_launcher();
    this_job.n_pes = static_cast<int>(job_integer(PMIX_JOB_SIZE));
    compare_with_oshrun();
    this_job.node_pes = local_peers();
    return this_job;
  }
  if (const std::optional<std::string> launcher = launcher_without_pmix(get_env)) {
    fatal(
        "{}, but no PMIx server can be reached (PMIx says {}): launch with oshrun, mpirun, prun or "
        "srun --mpi=pmix",
        *launcher, PMIx_Error_string(status));
  }
  if (status != PMIX_ERR_UNREACH && status != PMIX_ERR_INVALID_NAMESPACE) {
    fatal("cannot connect to the launcher's PMIx server: {}", PMIx_Error_string(status));
  }
  this_job.node_pes = {0};
  set_identity(0);
  return this_job;
}

void publish(std::string_view key, std::string_view value) {
  if (!this_job.launched) return;
  pmix_value_t packed;
  PMIX_VALUE_CONSTRUCT(&packed);
  packed.type = PMIX_BYTE_OBJECT;
  packed.data.bo.bytes = const_cast<char*>(value.data());
  packed.data.bo.size = value.size();
  check_pmix(PMIx_Put(PMIX_GLOBAL, std::string(key).c_str(), &packed), "publish start-up data");
}

void exchange_published(double timeout_seconds) {
  if (!this_job.launched) return;
  check_pmix(PMIx_Commit(), "publish start-up data");
  pmix_info_t collect;
  bool yes = true;
  PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
  FenceEnd end;
  const pmix_proc_t everyone = process_of(PMIX_RANK_WILDCARD);
  const pmix_status_t status = PMIx_Fence_nb(&everyone, 1, &collect, 1, on_fence_end, &end);
  if (status == PMIX_OPERATION_SUCCEEDED) return;
  check_pmix(status, "exchange start-up data");
  std::unique_lock lock(end.mutex);
  ShownWait shown(monotonic_ns());
  shown.say(fmt::format("waits for all {} PEs to call shmem_init", this_job.n_pes));
  const auto limit = std::chrono::duration<double>(timeout_seconds > 0 ? timeout_seconds : 1e9);
  if (!end.changed.wait_for(lock, limit, [&] { return end.status.has_value(); })) {
    print_line(fmt::format(
        "waited {:g} s for all {} PEs to call shmem_init; the limit is MESHMEM_START_TIMEOUT",
        timeout_seconds, this_job.n_pes));
    print_status_table();
    _exit(1);  // no PMIx_Abort while a fence is pending; a nonzero exit ends the job under every
               // launcher
  }
  if (*end.status != PMIX_SUCCESS) {  // partial success: a PE has died
    print_line(fmt::format("the exchange of start-up data failed: PMIx says {}",
                           PMIx_Error_string(*end.status)));
    _exit(1);
  }
}

std::string lookup(int pe, std::string_view key) {
  const pmix_proc_t owner = process_of(static_cast<pmix_rank_t>(pe));
  Fetched fetched;
  const pmix_status_t status =
      PMIx_Get(&owner, std::string(key).c_str(), nullptr, 0, &fetched.value);
  if (status != PMIX_SUCCESS || fetched.value->type != PMIX_BYTE_OBJECT) {
    fatal("cannot get '{}' of PE {} from the launcher: PMIx says {}", key, pe,
          PMIx_Error_string(status));
  }
  return std::string(fetched.value->data.bo.bytes, fetched.value->data.bo.size);
}

void abort_job(int status, const char* reason) {
  if (this_job.launched) PMIx_Abort(status, reason, nullptr, 0);
  _exit(status);
}

void disconnect_from_launcher() {
  if (this_job.launched) PMIx_Finalize(nullptr, 0);
}

}  // namespace meshmem
