// SPDX-License-Identifier: Apache-2.0
// Starts PMIx's server, describes the job to it, and turns its upcalls into mail.
// Invariant: every upcall but on_abort() answers at once, without waiting for the main loop.
// The keys given are those that every PMIx launcher gives (job size, peers of the node, host name)
// and those that Open MPI programs ask for besides.
#include "server.hpp"

#include <fmt/format.h>
#include <limits.h>
#include <pmix.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>

#include "base/machine/captured_output.hpp"
#include "base/machine/start_obstacles.hpp"
#include "secret.hpp"
#include "visitors.hpp"

namespace meshmem {
namespace {

// PMIx's server makes two files of 4 MiB in its folder when the first PE connects, and does not ask
// for room in advance.
constexpr std::size_t kRoomOfServer = 9 << 20;

bool is_debugging() {
  return std::getenv("SHMEM_DEBUG") != nullptr || std::getenv("SMA_DEBUG") != nullptr;
}

// PMIx's threads also complain while the job runs, of a PE that was killed while it connected for
// example. That PE's end is told by oshrun.
void send_complaints_nowhere() {
  if (is_debugging()) return;
  static const UniqueFd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  ::setenv("PMIX_OUTPUT_STDERR_FD", fmt::format("{}", nowhere.get()).c_str(), 1);
}

// Keeps back what PMIx prints of its own, which is pages; SHMEM_DEBUG shows it.
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

void post(void* mailbox, ServerEvent::Kind kind, const pmix_proc_t* who, int status = 0) {
  // A tool or a process that registered with no PE has no mailbox.
  if (mailbox == nullptr) return;
  try {
    static_cast<Mailbox*>(mailbox)->post({kind, static_cast<int>(who->rank), status});
  } catch (const std::exception& exception) {  // which must not reach PMIx; the guard ends the PEs
    std::fprintf(stderr, "oshrun: cannot take a message of PE %u: %s\n", who->rank,
                 exception.what());
    ::_exit(kSystemError);
  }
}

pmix_status_t on_connected(const pmix_proc_t* who, void* mailbox, pmix_info_t*, size_t,
                           pmix_op_cbfunc_t, void*) {
  post(mailbox, ServerEvent::kConnected, who);
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_finalized(const pmix_proc_t* who, void* mailbox, pmix_op_cbfunc_t, void*) {
  post(mailbox, ServerEvent::kFinalized, who);
  return PMIX_OPERATION_SUCCEEDED;
}

// Not answered: the caller stays in PMIx_Abort until the job's end takes it too. If it were let go
// it would be gone before the others, and these would report that a PE left them.
// The library gives a reason when it was an error and not shmem_global_exit that ended the job.
pmix_status_t on_abort(const pmix_proc_t* who, void* mailbox, int status, const char* reason,
                       pmix_proc_t*, size_t, pmix_op_cbfunc_t, void*) {
  const bool failed = reason != nullptr && *reason != '\0';
  post(mailbox, failed ? ServerEvent::kFailed : ServerEvent::kAborted, who, status);
  return PMIX_SUCCESS;
}

// Not reached while all PEs are PEs of this server; the data of one node is all there is.
pmix_status_t on_fence(const pmix_proc_t*, size_t, const pmix_info_t*, size_t, char* data,
                       size_t bytes, pmix_modex_cbfunc_t answer, void* context) {
  if (answer != nullptr) answer(PMIX_SUCCESS, data, bytes, context, nullptr, nullptr);
  return PMIX_SUCCESS;
}

pmix_status_t on_register_events(pmix_status_t*, size_t, const pmix_info_t*, size_t,
                                 pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_deregister_events(pmix_status_t*, size_t, pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_notify_event(pmix_status_t, const pmix_proc_t*, pmix_data_range_t, pmix_info_t*,
                              size_t, pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

// A PE's program may have become another user: without a word it would be "unreachable".
void on_stranger(void* mailbox, uid_t user) {
  static_cast<Mailbox*>(mailbox)->post({ServerEvent::kRefused, 0, static_cast<int>(user)});
}

pmix_server_module_t make_module() {
  pmix_server_module_t module{};
  module.client_connected2 = on_connected;
  module.client_finalized = on_finalized;
  module.abort = on_abort;
  module.fence_nb = on_fence;
  module.register_events = on_register_events;
  module.deregister_events = on_deregister_events;
  module.notify_event = on_notify_event;
  return module;
}

// ---------------------------------------------------------------------------------------------

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  ::gethostname(name, HOST_NAME_MAX);
  return name;
}

// PMIx's compressed form of a list, freed by its owner as C memory.
struct Encoded {
  char* text = nullptr;
  ~Encoded() { std::free(text); }
};

// Consecutive PEs share a node; the first nodes have one more when it does not come out even.
std::vector<std::vector<int>> divide(int pes, int nodes) {
  std::vector<std::vector<int>> parts(nodes);
  int pe = 0;
  for (int node = 0; node < nodes; ++node) {
    int size = pes / nodes + (node < pes % nodes ? 1 : 0);
    for (int i = 0; i < size; ++i) parts[node].push_back(pe++);
  }
  return parts;
}

template <typename Items>
std::string join(const Items& items, const char* separator) {
  return fmt::format("{}", fmt::join(items, separator));
}

}  // namespace

void Server::check(int status, const char* doing) const {
  if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED) return;
  if (const auto obstacle = find_lack_of_network())
    throw Failure(kSystemError, "cannot start the PMIx server: " + *obstacle);
  throw Failure(kSystemError, fmt::format("PMIx cannot {}: {} (SHMEM_DEBUG=1 shows what it says)",
                                          doing, PMIx_Error_string(status)));
}

Server::Server(const ServerPlan& plan, Mailbox& mailbox)
    : plan_(plan), mailbox_(mailbox), nodes_(divide(plan.pes, plan.fake_nodes)) {
  if (auto obstacle = find_lack_of_room(plan_.scratch_path, kRoomOfServer, "TMPDIR")) {
    throw Failure(kSystemError, "cannot start the PMIx server: " + *obstacle);
  }
  send_complaints_nowhere();
  const QuietPmix quiet;
  // PMIx keeps the address of the module.
  static pmix_server_module_t module = make_module();
  PmixInfoList settings;
  settings.add(PMIX_SERVER_TMPDIR, plan_.scratch_path);
  settings.add(PMIX_SYSTEM_TMPDIR, plan_.scratch_path);
  tell_of_strangers(on_stranger, &mailbox_);
  check(PMIx_server_init(&module, settings.data(), settings.size()), "start its server");
  std::string name = fmt::format("oshrun-{}-{}-{}@1", host_name(), ::getpid(), make_secret());
  PMIX_LOAD_NSPACE(job_name_, name.c_str());
  register_job();
}

std::string Server::node_name(int node) const {
  return plan_.fake_nodes == 1 ? host_name() : fmt::format("node{}", node);
}

void Server::register_job() {
  std::vector<std::string> names, lists;
  for (int node = 0; node < plan_.fake_nodes; ++node) {
    names.push_back(node_name(node));
    lists.push_back(join(nodes_[node], ","));
  }
  Encoded node_map, pe_map;
  check(PMIx_generate_regex(join(names, ",").c_str(), &node_map.text), "encode the nodes");
  check(PMIx_generate_ppn(join(lists, ";").c_str(), &pe_map.text), "encode the PEs");

  PmixInfoList job;
  job.add_encoded(PMIX_NODE_MAP, node_map.text);
  job.add_encoded(PMIX_PROC_MAP, pe_map.text);
  for (const char* key : {PMIX_JOB_SIZE, PMIX_UNIV_SIZE, PMIX_MAX_PROCS, PMIX_APP_SIZE}) {
    job.add(key, static_cast<std::uint32_t>(plan_.pes));
  }
  job.add(PMIX_JOB_NUM_APPS, 1U);
  job.add(PMIX_NUM_NODES, static_cast<std::uint32_t>(plan_.fake_nodes));
  job.add(PMIX_JOBID, std::string(job_name_));
  job.add(PMIX_TMPDIR, plan_.scratch_path);  // for the files of Open MPI, which go with ours
  job.add(PMIX_NSDIR, plan_.scratch_path);
  if (plan_.fake_nodes == 1) {
    job.add(PMIX_LOCAL_SIZE, static_cast<std::uint32_t>(plan_.pes));
    job.add(PMIX_LOCAL_PEERS, lists[0]);
  }
  for (int node = 0; node < plan_.fake_nodes; ++node) describe_pes_of(node, job);
  check(PMIx_server_register_nspace(job_name_, plan_.pes, job.data(), job.size(), nullptr, nullptr),
        "register the job");
}

void Server::describe_pes_of(int node, PmixInfoList& job) const {
  std::uint16_t local_index = 0;
  for (int pe : nodes_[node]) {
    PmixInfoList about;
    about.add_rank(PMIX_RANK, pe);
    about.add_rank(PMIX_GLOBAL_RANK, pe);
    about.add_rank(PMIX_APP_RANK, pe);
    about.add_small(PMIX_LOCAL_RANK, local_index);
    about.add_small(PMIX_NODE_RANK, local_index);
    about.add(PMIX_APPNUM, 0U);
    about.add(PMIX_NODEID, static_cast<std::uint32_t>(node));
    about.add(PMIX_HOSTNAME, node_name(node));
    job.add(PMIX_PROC_DATA, about);
    ++local_index;
  }
}

std::vector<std::string> Server::register_pe(int pe, int node) {
  pmix_proc_t who;
  PMIX_LOAD_PROCID(&who, job_name_, static_cast<pmix_rank_t>(pe));
  check(PMIx_server_register_client(&who, ::geteuid(), ::getegid(), &mailbox_, nullptr, nullptr),
        "register a PE");
  char** variables = nullptr;
  check(PMIx_server_setup_fork(&who, &variables), "prepare a PE's environment");
  std::vector<std::string> result;
  for (char** variable = variables; variable != nullptr && *variable != nullptr; ++variable) {
    result.emplace_back(*variable);
    std::free(*variable);
  }
  std::free(variables);
  if (plan_.fake_nodes > 1) {
    result.push_back("PMIX_HOSTNAME=" + node_name(node));
    result.push_back(fmt::format("MESHMEM_OSHRUN_FAKE_NODES={}", plan_.fake_nodes));
  }
  return result;
}

std::vector<std::vector<std::string>> Server::register_pes() {
  const QuietPmix quiet;
  std::vector<std::vector<std::string>> variables;
  for (int node = 0; node < plan_.fake_nodes; ++node) {
    for (int pe : nodes_[node]) variables.push_back(register_pe(pe, node));
  }
  return variables;
}

}  // namespace meshmem
