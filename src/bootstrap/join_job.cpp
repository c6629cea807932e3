// SPDX-License-Identifier: Apache-2.0
//
// Chooses how this process joins its job: by a unique id if the program has given one. Otherwise by
// PMIx if the launcher has named a server, by PMI-1 if it has handed over a connection, or alone.
// Invariant: the environment and the id choose the protocol, so all PEs of a job choose the same.
// If PMIx reaches no server, a PE stands alone only if no launcher's variable contradicts.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>

#include "base/error.hpp"
#include "base/hooks/memory_checker.hpp"
#include "base/machine/standard_descriptors.hpp"
#include "base/machine/start_obstacles.hpp"
#include "base/settings/foreign_variables.hpp"
#include "base/status/job_record.hpp"
#include "bootstrap/job.hpp"
#include "bootstrap/launcher_client.hpp"

namespace meshmem {
namespace {

Job this_job;
LauncherClient* launcher = nullptr;  // nullptr: this process is the whole job
std::optional<PlaceById> place;      // if the program starts by a unique id
std::atomic<bool> is_connected{false};
std::atomic<pid_t> connected_process{0};  // 0: not yet

std::mutex id_mutex;
std::optional<UniqueId> made_id;
pid_t maker_pid = 0;  // a child of fork has a copy of made_id, but has not made it

bool has_made_an_id() { return made_id && maker_pid == getpid(); }

const char* get_env(const char* name) { return std::getenv(name); }

// Ends the job if oshrun started another number of PEs than the job has (two libraries in one
// program, or two launchers), since results would be wrong.
void compare_with_oshrun() {
  const std::optional<std::string> objection = contradiction_of_oshrun(this_job.n_pes, get_env);
  if (!objection) return;
  if (this_job.pe != 0) std::this_thread::sleep_for(std::chrono::seconds(1));  // PE 0 prints it
  fatal_message(*objection);
}

// Called if no launcher answers. Returns if this process was started without one; otherwise ends it
// with a line. `refusal`: the reason of PMIx, if it was asked.
void check_stands_alone(bool may_stand_alone, const std::string& refusal) {
  const auto variables = launcher_without_server(get_env);
  if (!variables && may_stand_alone) return;
  if (const auto obstacle = why_no_network())
    fatal("cannot connect to the launcher's PMIx server: {}", *obstacle);
  if (variables) {
    fatal(
        "{}, but there is neither a PMIx server to reach{} nor a connection for PMI-1 (PMI_FD): "
        "launch with oshrun, mpirun, prun, srun --mpi=pmix or mpiexec.hydra",
        *variables, refusal.empty() ? "" : fmt::format(" (PMIx says {})", refusal));
  }
  fatal("cannot connect to the launcher's PMIx server: {} (SHMEM_DEBUG=1 shows what PMIx says)",
        refusal);
}

bool has_launcher() { return is_started_by_launcher(environ, get_env); }

// This process's id: the first call opens the meeting point. Called under id_mutex.
std::variant<UniqueId, std::string> meeting_point() {
  if (has_made_an_id()) return *made_id;
  open_standard_descriptors();
  const char* interface = get_env("MESHMEM_NETWORK_DEVICE");
  auto opened = open_meeting_point(interface != nullptr ? interface : "");
  if (auto* id = std::get_if<UniqueId>(&opened)) {
    id->launched = static_cast<std::uint32_t>(processes_of_launcher(environ, get_env));
    made_id = *id;
    maker_pid = getpid();
  }
  return opened;
}

// connect() will use this id. Called under id_mutex.
void meet_by(const UniqueId& id, int pe, int n_pes) {
  place = {pe, n_pes, id, has_made_an_id() && made_id->token == id.token};
}

void connect(double timeout_seconds) {
  if (place) {
    launcher = &connect_by_unique_id(this_job, *place, timeout_seconds);
    debug("the PEs meet by a unique id");
    return;
  }
  PmixAnswer answer{.may_stand_alone = true};
  if (names_pmix_server(environ)) {
    answer = connect_by_pmix(this_job, timeout_seconds);
    launcher = answer.client;
    if (launcher != nullptr) {
      debug("the launcher speaks PMIx{}",
            names_pmi_connection(get_env) ? "; its PMI_FD is not used" : "");
    }
  } else if (names_pmi_connection(get_env)) {
    launcher = &connect_by_pmi(this_job, timeout_seconds);
    debug("the launcher speaks PMI-1");
  }
  if (launcher == nullptr) check_stands_alone(answer.may_stand_alone, answer.refusal);
}

}  // namespace

std::variant<UniqueId, std::string> get_unique_id() {
  const std::lock_guard lock(id_mutex);
  if (is_connected) return UniqueId{};
  const int launched = processes_of_launcher(environ, get_env);
  if (has_launcher() && launched == 0) return UniqueId{};
  auto made = meeting_point();
  if (auto* why = std::get_if<std::string>(&made); why != nullptr && launched > 0) {
    *why += fmt::format(
        "; a job of all {} processes of the launcher needs no id: start it by shmem_init",
        launched);
  }
  return made;
}

std::variant<UniqueId, std::string> get_unique_id_of_communicator() {
  const std::lock_guard lock(id_mutex);
  if (is_connected) return UniqueId{};
  return meeting_point();
}

std::optional<std::string> take_place(const UniqueIdBytes& bytes, int pe, int n_pes) {
  const std::lock_guard lock(id_mutex);
  if (is_connected) return std::nullopt;
  const std::optional<UniqueId> id = unpack_unique_id(bytes);
  if (id && id->n_addresses > 0 && id->launched != static_cast<std::uint32_t>(n_pes)) {
    meet_by(*id, pe, n_pes);
    return std::nullopt;
  }
  if (has_launcher() || n_pes == 1) return std::nullopt;
  if (id)
    return "the unique id is of a process that a launcher has started or that is in a job already, "
           "and no launcher has started this one";
  return "the unique id is empty, or of another version of the library: all PEs need the bytes "
         "that "
         "shmemx_get_uniqueid gives to one process";
}

std::optional<std::string> take_place_in_communicator(const UniqueId& id, int pe, int n_pes) {
  const std::lock_guard lock(id_mutex);
  if (is_connected) return std::nullopt;
  if (id.n_addresses == 0)
    return "rank 0 of the communicator is in a job already, and this process is in none";
  meet_by(id, pe, n_pes);
  return std::nullopt;
}

const Job& connect_to_launcher(double timeout_seconds) {
  if (is_connected.exchange(true)) return this_job;
  connected_process = getpid();
  open_standard_descriptors();
  const IgnoreLeaks while_connecting;
  connect(timeout_seconds);
  if (launcher == nullptr) {
    this_job.node_pes = {0};
    set_identity(0);
    return this_job;
  }
  set_abort_job([](int status) { abort_job(status, "error"); });
  if (place) return this_job;  // which may have only some of oshrun's processes
  compare_with_oshrun();
  this_job.has_fake_nodes = get_env("MESHMEM_OSHRUN_FAKE_NODES") != nullptr;
  return this_job;
}

const Job& joined_job() { return this_job; }

bool is_child_of_pe() {
  const pid_t connected = connected_process;
  return connected != 0 && connected != getpid();
}

void publish(std::string_view key, std::string_view value, Among who) {
  if (launcher != nullptr) launcher->publish(key, value, who);
}

void exchange_published(Among who, double timeout_seconds) {
  if (launcher != nullptr) launcher->meet({who, true, "shmem_init", timeout_seconds, kStartLimit});
}

std::string lookup(int pe, std::string_view key) {
  if (launcher == nullptr) fatal("cannot get '{}' of PE {}: there is no launcher", key, pe);
  return launcher->lookup(pe, key);
}

void meet_at_start(double timeout_seconds) {
  if (launcher != nullptr)
    launcher->meet({Among::job, false, "shmem_init", timeout_seconds, kStartLimit});
}

void meet_at_end(double timeout_seconds) {
  if (launcher != nullptr) launcher->meet(last_meeting(timeout_seconds));
}

void begin_use() {
  if (launcher != nullptr) launcher->begin_use();
  if (this_job.pe == 0) note_for_oshrun(JobNote::begun);
}

void end_use(double timeout_seconds) {
  if (launcher != nullptr) launcher->end_use(timeout_seconds);
  if (this_job.pe == 0) note_for_oshrun(JobNote::ended_well);
}

void abort_job(int status, const char* reason) {
  if (is_child_of_pe()) _exit(status);
  if (status == 0) note_for_oshrun(JobNote::ended_well);
  if (launcher != nullptr) launcher->abort(status, reason);
  _exit(status);
}

void disconnect_from_launcher() {
  if (launcher != nullptr) launcher->disconnect();
}

}  // namespace meshmem
