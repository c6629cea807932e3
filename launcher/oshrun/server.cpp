// SPDX-License-Identifier: Apache-2.0
// Starts PMIx's server, describes the job to it, and turns its upcalls into events.
// Invariant: every upcall except on_abort() answers at once, without waiting for the main loop. The
// keys given are those that every PMIx launcher gives (job size, peers of the node, host name) and
// those that Open MPI programs ask for besides.
#include "server.hpp"

#include <fmt/format.h>
#include <pmix.h>
#include <pmix_server.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "base/machine/machine.hpp"
#include "base/machine/standard_descriptors.hpp"
#include "base/machine/start_obstacles.hpp"
#include "environment.hpp"

namespace meshmem {
namespace {

// PMIx's server makes two files of 4 MiB in its folder when the first PE connects, and does not ask
// for room in advance.
constexpr std::size_t kRoomOfServer = 9 << 20;

bool is_debugging() {
  return std::getenv("SHMEM_DEBUG") != nullptr || std::getenv("SMA_DEBUG") != nullptr;
}

// PMIx's threads also complain while the job runs, for example of a PE that was killed while it
// connected. oshrun itself reports that PE's end.
void send_complaints_nowhere() {
  if (is_debugging()) return;
  static const UniqueFd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  ::setenv("PMIX_OUTPUT_STDERR_FD", fmt::format("{}", nowhere.get()).c_str(), 1);
}

// Holds back PMIx's own messages, which fill pages, unless SHMEM_DEBUG is set.
class QuietPmix {
 public:
  QuietPmix() {
    if (is_debugging()) return;
    out_.emplace(STDOUT_FILENO);
    err_.emplace(STDERR_FILENO);
  }
  ~QuietPmix() { std::fflush(nullptr); }  // while the two still capture

 private:
  std::optional<CapturedOutput> out_, err_;
};

// --- Upcalls, on PMIx's thread ---------------------------------------------------------------

void post(void* events, ServerEvent::Kind kind, const pmix_proc_t* who, int status = 0) {
  // A client that was not registered as a PE, such as a tool, has no pipe.
  if (events == nullptr) return;
  static_cast<EventPipe*>(events)->post({kind, static_cast<int>(who->rank), status});
}

template <ServerEvent::Kind kind>
pmix_status_t on_event(const pmix_proc_t* who, void* events, auto...) {
  post(events, kind, who);
  return PMIX_OPERATION_SUCCEEDED;
}

// Not answered: the caller stays in PMIx_Abort until the job's end takes it too. Otherwise it would
// be gone before the others, and these would report that a PE left them.
// The library gives a reason when it was an error and not shmem_global_exit that ended the job.
pmix_status_t on_abort(const pmix_proc_t* who, void* events, int status, const char* reason,
                       pmix_proc_t*, size_t, pmix_op_cbfunc_t, void*) {
  const bool failed = reason != nullptr && *reason != '\0';
  post(events, failed ? ServerEvent::kFailed : ServerEvent::kAborted, who, status);
  return PMIX_SUCCESS;
}

// PMIx does not call this as long as all PEs are PEs of this server. The data of this node is all
// data.
pmix_status_t on_fence(const pmix_proc_t*, size_t, const pmix_info_t*, size_t, char* data,
                       size_t bytes, pmix_modex_cbfunc_t answer, void* context) {
  if (answer != nullptr) answer(PMIX_SUCCESS, data, bytes, context, nullptr, nullptr);
  return PMIX_SUCCESS;
}

pmix_server_module_t make_module() {
  pmix_server_module_t module{};
  module.client_connected2 = on_event<ServerEvent::kConnected>;
  module.client_finalized = on_event<ServerEvent::kFinalized>;
  module.abort = on_abort;
  module.fence_nb = on_fence;
  module.register_events = [](auto...) -> pmix_status_t { return PMIX_OPERATION_SUCCEEDED; };
  module.deregister_events = [](auto...) -> pmix_status_t { return PMIX_OPERATION_SUCCEEDED; };
  module.notify_event = [](auto...) -> pmix_status_t { return PMIX_OPERATION_SUCCEEDED; };
  return module;
}

// --- The job ---------------------------------------------------------------------------------

// A list of PMIx's (key, value) pairs. Owns what its values point to, as PMIX_INFO_LOAD copies.
class PmixInfoList {
 public:
  PmixInfoList() = default;
  PmixInfoList(const PmixInfoList&) = delete;
  ~PmixInfoList() {
    for (pmix_info_t& info : list_) PMIX_INFO_DESTRUCT(&info);
  }

  void add(const char* key, const void* value, pmix_data_type_t type) {
    pmix_info_t info;
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_INFO_LOAD(&info, key, value, type);
    list_.push_back(info);
  }
  void add(const char* key, const std::string& text) { add(key, text.c_str(), PMIX_STRING); }
  void add(const char* key, std::uint32_t value) { add(key, &value, PMIX_UINT32); }
  void add(const char* key, PmixInfoList& nested) {
    pmix_data_array_t array{PMIX_INFO, nested.size(), nested.data()};
    add(key, &array, PMIX_DATA_ARRAY);
  }

  pmix_info_t* data() { return list_.data(); }
  std::size_t size() const { return list_.size(); }

 private:
  std::vector<pmix_info_t> list_;
};

// PMIx's compressed form of a list, freed by its owner as C memory.
struct Encoded {
  char* text = nullptr;
  ~Encoded() { std::free(text); }
};

// Consecutive PEs share a node; the first nodes have one more if the PEs do not divide evenly.
std::vector<std::vector<int>> divide(int pes, int nodes) {
  std::vector<std::vector<int>> members(nodes);
  int pe = 0;
  for (int node = 0; node < nodes; ++node) {
    int size = pes / nodes + (node < pes % nodes ? 1 : 0);
    for (int i = 0; i < size; ++i) members[node].push_back(pe++);
  }
  return members;
}

template <typename Items>
std::string join(const Items& items, const char* separator) {
  return fmt::format("{}", fmt::join(items, separator));
}

void check_pmix(int status, const char* doing) {
  if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED) return;
  if (const auto obstacle = why_no_network())
    give_up("cannot start the PMIx server: {}", *obstacle);
  give_up("PMIx cannot {}: {} (SHMEM_DEBUG=1 shows what it says)", doing,
          PMIx_Error_string(status));
}

void start_pmix(const ServerPlan& plan, EventPipe& events) {
  static pmix_server_module_t module = make_module();  // PMIx keeps its address
  PmixInfoList settings;
  settings.add(PMIX_SERVER_TMPDIR, plan.scratch_path);
  settings.add(PMIX_SYSTEM_TMPDIR, plan.scratch_path);
  admit_own_user_only(events);
  check_pmix(PMIx_server_init(&module, settings.data(), settings.size()), "start its server");
}

std::string node_name(const ServerPlan& plan, int node) {
  return plan.fake_nodes == 1 ? host_name() : fmt::format("node{}", node);
}

void describe_pe(pmix_rank_t rank, std::uint16_t local_index, int node, const std::string& host,
                 PmixInfoList& job) {
  PmixInfoList about;
  for (const char* key : {PMIX_RANK, PMIX_GLOBAL_RANK, PMIX_APP_RANK})
    about.add(key, &rank, PMIX_PROC_RANK);
  for (const char* key : {PMIX_LOCAL_RANK, PMIX_NODE_RANK})
    about.add(key, &local_index, PMIX_UINT16);
  about.add(PMIX_APPNUM, 0U);
  about.add(PMIX_NODEID, static_cast<std::uint32_t>(node));
  about.add(PMIX_HOSTNAME, host);
  job.add(PMIX_PROC_DATA, about);
}

void register_job(const ServerPlan& plan, const char* name,
                  const std::vector<std::vector<int>>& nodes) {
  PmixInfoList job;
  for (const char* key : {PMIX_JOB_SIZE, PMIX_UNIV_SIZE, PMIX_MAX_PROCS, PMIX_APP_SIZE}) {
    job.add(key, static_cast<std::uint32_t>(plan.pes));
  }
  job.add(PMIX_JOB_NUM_APPS, 1U);
  job.add(PMIX_NUM_NODES, static_cast<std::uint32_t>(plan.fake_nodes));
  job.add(PMIX_JOBID, std::string(name));
  job.add(PMIX_TMPDIR, plan.scratch_path);  // for the files of Open MPI, which go with ours
  job.add(PMIX_NSDIR, plan.scratch_path);
  std::vector<std::string> hosts, lists;
  for (int node = 0; node < plan.fake_nodes; ++node) {
    hosts.push_back(node_name(plan, node));
    lists.push_back(join(nodes[node], ","));
    std::uint16_t local_index = 0;
    for (int pe : nodes[node])
      describe_pe(static_cast<pmix_rank_t>(pe), local_index++, node, hosts.back(), job);
  }
  if (plan.fake_nodes == 1) {
    job.add(PMIX_LOCAL_SIZE, static_cast<std::uint32_t>(plan.pes));
    job.add(PMIX_LOCAL_PEERS, lists[0]);
  }
  Encoded node_map, pe_map;
  check_pmix(PMIx_generate_regex(join(hosts, ",").c_str(), &node_map.text), "encode the nodes");
  check_pmix(PMIx_generate_ppn(join(lists, ";").c_str(), &pe_map.text), "encode the PEs");
  job.add(PMIX_NODE_MAP, node_map.text, PMIX_REGEX);
  job.add(PMIX_PROC_MAP, pe_map.text, PMIX_REGEX);
  check_pmix(PMIx_server_register_nspace(name, plan.pes, job.data(), job.size(), nullptr, nullptr),
             "register the job");
}

std::vector<std::string> register_pe(const pmix_proc_t& pe, EventPipe& events) {
  check_pmix(PMIx_server_register_client(&pe, ::geteuid(), ::getegid(), &events, nullptr, nullptr),
             "register a PE");
  char** variables = nullptr;
  check_pmix(PMIx_server_setup_fork(&pe, &variables), "prepare a PE's environment");
  std::vector<std::string> result;
  for (char** variable = variables; variable != nullptr && *variable != nullptr; ++variable) {
    result.emplace_back(*variable);
    std::free(*variable);
  }
  std::free(variables);
  return result;
}

}  // namespace

ServedJob start_server(const ServerPlan& plan, EventPipe& events) {
  if (auto obstacle = why_no_room(plan.scratch_path, kRoomOfServer, "TMPDIR"))
    give_up("cannot start the PMIx server: {}", *obstacle);
  send_complaints_nowhere();
  const QuietPmix quiet;
  start_pmix(plan, events);
  ServedJob job{fmt::format("oshrun-{}-{}-{}@1", host_name(), ::getpid(), make_secret()), {}};
  pmix_proc_t pe;
  PMIX_LOAD_PROCID(&pe, job.name.c_str(), 0);
  const auto nodes = divide(plan.pes, plan.fake_nodes);
  register_job(plan, pe.nspace, nodes);
  for (int node = 0; node < plan.fake_nodes; ++node) {
    for (const int number : nodes[node]) {
      pe.rank = static_cast<pmix_rank_t>(number);
      job.variables.push_back(register_pe(pe, events));
      if (plan.fake_nodes == 1) continue;
      // PMIx 5 has set the machine's name.
      std::erase_if(job.variables.back(), [](const std::string& variable) {
        return variable.starts_with("PMIX_HOSTNAME=");
      });
      job.variables.back().push_back("PMIX_HOSTNAME=" + node_name(plan, node));
      job.variables.back().push_back(fmt::format("MESHMEM_OSHRUN_FAKE_NODES={}", plan.fake_nodes));
    }
  }
  job.name = pe.nspace;  // as much of it as PMIx takes
  return job;
}

}  // namespace meshmem
