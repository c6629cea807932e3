// SPDX-License-Identifier: Apache-2.0
//
// The networks of the wire that a job would take: interfaces for TCP, or those that UCX finds. A
// child process asks UCX and writes the rows into a pipe.
// Invariant: chooses as start-up does: by MESHMEM_NETWORK and MESHMEM_NETWORK_DEVICE, else by UCX's
// own variables, else as the wire does.
#include "info/networks.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string_view>

#include "base/machine/interfaces.hpp"
#include "base/machine/loaded_libraries.hpp"
#include "base/settings/environment.hpp"
#include "transport/wire.hpp"

namespace meshmem {
namespace {

using Rows = std::vector<NetworkRow>;

constexpr unsigned kPatienceSeconds = 10;  // an answer takes 30 ms

Rows no_networks(std::string why) { return {{"none", std::move(why)}}; }

Rows list_interfaces(const Environment& environment) {
  Rows rows;
  const bool is_refused = environment.network == NetworkKind::none;
  if (is_refused) rows.push_back({"not used", "MESHMEM_NETWORK is none"});
  std::string error;
  const std::vector<Interface> all = interfaces_up();
  const auto chosen = choose_interface(all, environment.network_device, &error);
  if (!chosen) return no_networks(error);
  for (const Interface& one : all) {
    const char* use = is_refused || one.name != chosen->name ? "not used"
                      : one.is_loopback ? "used between PEs of this machine alone"
                                        : "used where it reaches a peer";
    rows.push_back({"tcp over " + one.name, fmt::format("{}, {}", one.text(), use)});
  }
  return rows;
}

// Whether a job would take UCX.
bool is_for_ucx(const Environment& environment) {
  return environment.network == NetworkKind::ucx ||
         (environment.network == NetworkKind::automatic && has_rdma());
}

// Unless MESHMEM_NETWORK names UCX, meshmem does not use UCX over TCP.
Rows ask_ucx(const Environment& environment) {
  Rows rows;
  const bool is_named = environment.network == NetworkKind::ucx;
  const auto add = [&](std::string_view name, std::string_view about) {
    const bool is_used = is_named || !name.starts_with("tcp over ");
    const std::size_t use = is_used ? about.npos : about.find("used ");
    rows.push_back({std::string(name), std::string(about.substr(0, use))});
    if (use != about.npos) rows.back().about += "not used";
  };
  std::string error;
  void* library = open_network_library("ucx", false, &error);
  void* symbol =
      library == nullptr ? nullptr : network_symbol(library, kListNetworksSymbol, &error);
  if (symbol == nullptr) return no_networks(error);
  const auto list = reinterpret_cast<ListNetworks>(symbol);
  if (!list(environment.network_device.c_str(), add, &error)) rows.push_back({"none", error});
  for (const char* name : {"UCX_NET_DEVICES", "UCX_TLS"})
    if (const char* value = std::getenv(name)) rows.push_back({name, fmt::format("\"{}\"", value)});
  return rows;
}

// The child's work. In the pipe each text ends with a NUL.
[[noreturn]] void answer(const Environment& environment, int pipe) {
  ::alarm(kPatienceSeconds);
  int status = 1;
  try {
    std::string text;  // less than a pipe holds
    for (const NetworkRow& row : ask_ucx(environment)) text += row.name + '\0' + row.about + '\0';
    status = ::write(pipe, text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1;
  } catch (...) {
  }
  ::_exit(status);
}

Rows read_rows(int pipe) {
  std::string text;
  char buffer[4096];
  for (ssize_t bytes = 0; (bytes = ::read(pipe, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(bytes));
  std::istringstream words(text);
  Rows rows;
  for (NetworkRow row; std::getline(words, row.name, '\0') && std::getline(words, row.about, '\0');)
    rows.push_back(row);
  return rows;
}

Rows ask_ucx_in_a_child(const Environment& environment) {
  int ends[2];
  if (::pipe(ends) != 0)
    return no_networks(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  const pid_t child = ::fork();
  if (child == 0) answer(environment, ends[1]);
  const int error = errno;
  ::close(ends[1]);
  Rows rows;
  if (child > 0) rows = read_rows(ends[0]);
  ::close(ends[0]);
  if (child < 0)
    return no_networks(fmt::format("cannot start a process: {}", std::strerror(error)));
  int status = 1;
  if (::waitpid(child, &status, 0) < 0 || status == 0) return rows;
  if (!WIFSIGNALED(status)) return no_networks("UCX could not be asked");
  if (WTERMSIG(status) == SIGALRM)
    return no_networks(fmt::format("UCX gave no answer within {} s", kPatienceSeconds));
  return no_networks(
      fmt::format("UCX ended the process that asked it: {}", strsignal(WTERMSIG(status))));
}

}  // namespace

Rows ask_networks() {
  Environment environment;
  (void)parse_environment(environment, std::getenv);  // a bad value is reported elsewhere
  if (is_for_ucx(environment)) return ask_ucx_in_a_child(environment);
  return list_interfaces(environment);
}

}  // namespace meshmem
