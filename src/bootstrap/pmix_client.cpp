// SPDX-License-Identifier: Apache-2.0
//
// The PMIx client. It uses only keys that all launchers set in the same way: job size, local peers.
// Invariant: PMIx fences are used only in start-up, and at the end of jobs over several nodes. PMIx
// calls on_lost_connection() and on_fence_end() on a thread of its own.
#include <pmix.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>

#include "base/error.hpp"
#include "base/hooks/memory_checker.hpp"
#include "base/machine/standard_descriptors.hpp"
#include "base/machine/start_obstacles.hpp"
#include "base/machine/thread.hpp"
#include "base/status/own_status.hpp"
#include "bootstrap/launcher_client.hpp"

namespace meshmem {
namespace {

// With fewer free descriptors PMIx_Init fails, or its event library ends the process by exit(1).
constexpr int kFilesOfPmix = 12;

pmix_proc_t this_process;
std::atomic<bool> others_may_be_in_a_fence{false};  // PEs of other nodes; see abort_job()

// A problem with the launcher mostly affects all PEs of a machine. So the first of them prints the
// line, and the others wait before they print theirs.
void let_first_pe_report() {
  const std::vector<int>& pes = joined_job().node_pes;
  if (!pes.empty() && pes.front() != static_cast<int>(this_process.rank))
    wait_for_others_to_report();
}

void check_pmix(pmix_status_t status, const char* what) {
  if (status == PMIX_SUCCESS) return;
  let_first_pe_report();
  fatal("cannot {}: PMIx says {}", what, PMIx_Error_string(status));
}

pmix_proc_t process_of(pmix_rank_t rank) {
  pmix_proc_t process;
  PMIX_LOAD_PROCID(&process, this_process.nspace, rank);
  return process;
}

struct ReleaseValue {
  void operator()(pmix_value_t* value) const { PMIX_VALUE_RELEASE(value); }
};
using Value = std::unique_ptr<pmix_value_t, ReleaseValue>;

// Null if the launcher has no value for the key; `status` is then its reason.
Value fetch(const pmix_proc_t& process, const char* key, pmix_status_t& status) {
  pmix_value_t* value = nullptr;
  status = PMIx_Get(&process, key, nullptr, 0, &value);
  return Value(status == PMIX_SUCCESS ? value : nullptr);
}

std::optional<std::string> fetch_text(pmix_rank_t rank, const char* key) {
  pmix_status_t status = PMIX_SUCCESS;
  const Value value = fetch(process_of(rank), key, status);
  if (!value || value->type != PMIX_STRING || value->data.string == nullptr) return std::nullopt;
  return value->data.string;
}

// Servers differ in the integer type that they give a key.
std::optional<long> as_integer(const pmix_value_t& value) {
  switch (value.type) {
    case PMIX_SIZE:
    case PMIX_INT64:
    case PMIX_UINT64:
      return value.data.int64;
    case PMIX_INT:
    case PMIX_INT32:
      return value.data.int32;
    case PMIX_UINT:
    case PMIX_UINT32:
    case PMIX_PROC_RANK:
      return value.data.uint32;
    case PMIX_UINT16:
      return value.data.uint16;
    default:
      return std::nullopt;
  }
}

// 0: the launcher says no usable number.
pmix_status_t fetch_size(int& n_pes) {
  pmix_status_t status = PMIX_SUCCESS;
  const Value value = fetch(process_of(PMIX_RANK_WILDCARD), PMIX_JOB_SIZE, status);
  if (value) n_pes = static_cast<int>(std::max(as_integer(*value).value_or(0), 0L));
  return status;
}

// The PEs on the same machine as PE `me`, ascending; empty if the launcher gives no machine names.
std::vector<int> pes_with_host_of(int me, int n_pes) {
  std::vector<int> pes;
  const auto host_of = [](int pe) {
    return fetch_text(static_cast<pmix_rank_t>(pe), PMIX_HOSTNAME);
  };
  const auto mine = host_of(me);
  for (int pe = 0; mine && pe < n_pes; ++pe)
    if (host_of(pe) == mine) pes.push_back(pe);
  return pes;
}

// The PEs of this node, ascending; empty if the launcher gives no way to know them. LOCAL_PEERS is
// a text such as "0,2,1", in any order; some launchers leave it out for a single PE. With
// PMIX_MCA_gds=hash Open MPI 4.1 gives all machines the list of the last one. A PE that is not in
// its list compares the names of the PEs' machines instead.
std::vector<int> local_peers(int me, int n_pes) {
  std::vector<int> pes;
  std::istringstream list(fetch_text(PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS).value_or(""));
  for (std::string number; std::getline(list, number, ',');)
    pes.push_back(std::atoi(number.c_str()));
  if (pes.empty()) return {me};
  if (std::find(pes.begin(), pes.end(), me) == pes.end()) return pes_with_host_of(me, n_pes);
  std::sort(pes.begin(), pes.end());
  return pes;
}

// PMIx calls this when the launcher is gone. There is no such call when a PE dies: the launcher
// kills the other PEs.
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

// Where the PMIx server listens, without the job's name, which may be a secret.
std::string server_address() {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t address = text.rfind(';');
    if (text.starts_with("PMIX_SERVER_URI") && address != text.npos)
      return std::string(text.substr(address + 1));
  }
  return "unknown";
}

// Exists during the first calls of PMIx. Ends the process if they take too long, since PMIx_Init
// waits for ever for a server that does not answer. Drops the text that PMIx prints meanwhile.
class StartWatch {
 public:
  explicit StartWatch(double seconds) {
    if (seconds > 0)
      thread_ = start_thread("that watches start-up", [this, seconds] { watch(seconds); });
    const std::lock_guard lock(mutex_);
    if (!debug_enabled()) captured_.emplace(STDERR_FILENO);
  }
  ~StartWatch() {
    std::string others;  // text of the program's other threads
    {
      const std::lock_guard lock(mutex_);
      if (captured_) others = without_pmix(captured_->end());
      is_over_ = true;
    }
    over_.notify_one();
    if (thread_.joinable()) thread_.join();
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, others.data(), others.size());
  }

 private:
  void watch(double seconds) {
    std::unique_lock lock(mutex_);
    const auto limit = std::chrono::duration<double>(seconds);
    if (over_.wait_for(lock, limit, [this] { return is_over_; })) return;
    if (captured_) captured_->end();
    print_line(
        fmt::format("waited {:g} s for the launcher's PMIx server at {} to answer; the limit is "
                    "MESHMEM_START_TIMEOUT",
                    seconds, server_address()));
    _exit(1);
  }

  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::optional<CapturedOutput> captured_;
  std::thread thread_;
};

// The status of the first calls of PMIx; of_size is set only if of_init is success.
struct FirstAnswers {
  pmix_status_t of_init;
  pmix_status_t of_size;
};

// Fills the job. Prints nothing itself, since StartWatch captures standard error.
FirstAnswers ask_launcher(Job& job, double timeout_seconds) {
  const StartWatch watch(timeout_seconds);
  FirstAnswers answers{};
  answers.of_init = PMIx_Init(&this_process, nullptr, 0);
  if (answers.of_init != PMIX_SUCCESS) return answers;
  job.pe = static_cast<int>(this_process.rank);
  answers.of_size = fetch_size(job.n_pes);
  job.node_pes = local_peers(job.pe, job.n_pes);
  return answers;
}

// The end of a nonblocking fence, which PMIx's thread reports. It is on the heap: ThreadSanitizer
// does not see the frames of this library, and would take a mutex on the stack for an earlier one
// there.
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

std::vector<pmix_proc_t> processes_of(Among who) {
  if (who == Among::job) return {process_of(PMIX_RANK_WILDCARD)};
  std::vector<pmix_proc_t> processes;
  for (const int pe : joined_job().node_pes)
    processes.push_back(process_of(static_cast<pmix_rank_t>(pe)));
  return processes;
}

void run_fence(const Meeting& meeting) {
  const std::vector<pmix_proc_t> who = processes_of(meeting.who);
  const bool collects = meeting.exchanges && meeting.who == Among::job;
  pmix_info_t collect;
  PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &collects, PMIX_BOOL);
  const auto end = std::make_unique<FenceEnd>();
  const pmix_status_t status =
      PMIx_Fence_nb(who.data(), who.size(), &collect, 1, on_fence_end, end.get());
  if (status == PMIX_OPERATION_SUCCEEDED) return;
  check_pmix(status, "meet the other PEs");
  std::unique_lock lock(end->mutex);
  const AwaitedMeeting awaited = awaited_in(meeting);
  ShownWait shown(monotonic_ns());
  shown.say("waits for " + awaited.what);
  const auto limit = std::chrono::duration<double>(meeting.seconds > 0 ? meeting.seconds : 1e9);
  if (!end->changed.wait_for(lock, limit, [&] { return end->status.has_value(); })) {
    // No PMIx_Abort while a fence is pending; a nonzero exit ends the job under every launcher.
    print_end_of_wait(awaited);
    _exit(1);
  }
  if (*end->status == PMIX_SUCCESS) return;
  // Partial success: a PE has died.
  let_first_pe_report();
  print_line(fmt::format("the meeting of the PEs in {} failed: PMIx says {}", meeting.routine,
                         PMIx_Error_string(*end->status)));
  _exit(1);
}

class PmixClient final : public LauncherClient {
 public:
  void publish(std::string_view key, std::string_view value, Among who) override;
  void meet(const Meeting& meeting) override;
  std::string lookup(int pe, std::string_view key) override;
  void disconnect() override { PMIx_Finalize(nullptr, 0); }
  void abort(int status, const char* reason) override {
    if (!others_may_be_in_a_fence) PMIx_Abort(status, reason, nullptr, 0);
  }
};

void PmixClient::publish(std::string_view key, std::string_view value, Among who) {
  pmix_value_t packed;
  PMIX_VALUE_CONSTRUCT(&packed);
  packed.type = PMIX_BYTE_OBJECT;
  packed.data.bo.bytes = const_cast<char*>(value.data());
  packed.data.bo.size = value.size();
  check_pmix(
      PMIx_Put(who == Among::job ? PMIX_GLOBAL : PMIX_LOCAL, std::string(key).c_str(), &packed),
      "publish start-up data");
}

void PmixClient::meet(const Meeting& meeting) {
  if (meeting.exchanges) {
    check_pmix(PMIx_Commit(), "publish start-up data");
    if (meeting.who == Among::node && joined_job().node_pes.size() == 1) return;
  } else {
    others_may_be_in_a_fence = true;
  }
  run_fence(meeting);
  if (meeting.who == Among::job) others_may_be_in_a_fence = false;
}

std::string PmixClient::lookup(int pe, std::string_view key) {
  pmix_status_t status = PMIX_SUCCESS;
  const Value value =
      fetch(process_of(static_cast<pmix_rank_t>(pe)), std::string(key).c_str(), status);
  if (value && value->type == PMIX_BYTE_OBJECT)
    return std::string(value->data.bo.bytes, value->data.bo.size);
  let_first_pe_report();
  fatal("cannot get '{}' of PE {} from the launcher: PMIx says {}", key, pe,
        PMIx_Error_string(status));
}

}  // namespace

PmixAnswer connect_by_pmix(Job& job, double timeout_seconds) {
  if (const auto obstacle = why_too_few_files(kFilesOfPmix))
    fatal("cannot connect to the launcher's PMIx server: {}", *obstacle);
  const FirstAnswers answers = ask_launcher(job, timeout_seconds);
  if (answers.of_init != PMIX_SUCCESS) {
    return {.may_stand_alone = answers.of_init == PMIX_ERR_UNREACH ||
                               answers.of_init == PMIX_ERR_INVALID_NAMESPACE,
            .refusal = PMIx_Error_string(answers.of_init)};
  }
  set_identity(job.pe);
  watch_launcher();
  check_pmix(answers.of_size, "ask the launcher for the size of the job");
  if (job.n_pes < 1) fatal("the launcher gives no usable number for {}", PMIX_JOB_SIZE);
  if (job.node_pes.empty())
    fatal(
        "the launcher's list of the PEs on this machine ({}) lacks this PE; is a PMIX_MCA_gds set "
        "that it does not know?",
        PMIX_LOCAL_PEERS);
  others_may_be_in_a_fence = job.n_pes != static_cast<int>(job.node_pes.size());
  return {.client = new PmixClient};  // never freed: threads may use it while the process exits
}

}  // namespace meshmem
