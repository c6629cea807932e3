// SPDX-License-Identifier: Apache-2.0
//
// The networks of the wire that a job takes: interfaces, or what the library of UCX shows, asked by
// a child process, which writes the rows into a pipe.
// Invariant: says the same as start-up does: MESHMEM_NETWORK and MESHMEM_NETWORK_DEVICE, else UCX's
// own variables, else the choice of the wire.
#include "info/networks.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <string_view>

#include "base/machine/interfaces.hpp"
#include "base/machine/loaded_libraries.hpp"
#include "base/settings/environment.hpp"
#include "transport/wire.hpp"

namespace meshmem {
namespace {

using Clock = std::chrono::steady_clock;
using Rows = std::vector<NetworkRow>;

constexpr std::chrono::seconds kPatience(10);  // an answer takes 30 ms

Rows none(std::string why) { return {{"none", std::move(why)}}; }

// "192.0.2.2, used where ..." -> "192.0.2.2, not used"
std::string without_use(std::string_view about) {
  return std::string(about.substr(0, about.find("used "))) + "not used";
}

using Add = std::function<void(std::string_view name, std::string_view about)>;

void list_interfaces(const std::string& device, const Add& add) {
  std::string error;
  const std::vector<Interface> all = interfaces_up();
  const auto chosen = choose_interface(all, device, &error);
  if (!chosen) return add("none", error);
  for (const Interface& one : all) {
    const char* use = one.name != chosen->name ? "not used"
                      : one.is_loopback        ? "used between PEs of this machine alone"
                                               : "used where it reaches a peer";
    add("tcp over " + one.name, fmt::format("{}, {}", one.text(), use));
  }
}

// Where meshmem chooses, UCX carries nothing over TCP.
bool is_for_ucx(const Environment& environment) {
  return environment.network == NetworkKind::ucx ||
         (environment.network == NetworkKind::automatic && has_rdma());
}

Rows ask_library() {
  Environment environment;
  (void)parse_environment(environment, std::getenv);  // a bad value is reported elsewhere
  Rows rows;
  const bool is_refused = environment.network == NetworkKind::none;
  const bool is_named = environment.network == NetworkKind::ucx;
  if (is_refused) rows.push_back({"not used", "MESHMEM_NETWORK is none"});
  const Add add = [&](std::string_view name, std::string_view about) {
    const bool is_slow_way = is_for_ucx(environment) && !is_named && name.starts_with("tcp over ");
    const bool is_used = (is_refused || is_slow_way) && about.find("used ") != about.npos;
    rows.push_back({std::string(name), is_used ? without_use(about) : std::string(about)});
  };
  if (!is_for_ucx(environment)) {
    list_interfaces(environment.network_device, add);
    return rows;
  }
  std::string error;
  void* library = open_network_library("ucx", false, &error);
  void* symbol =
      library == nullptr ? nullptr : network_symbol(library, kListNetworksSymbol, &error);
  if (symbol == nullptr) {
    add("none", error);
    return rows;
  }
  const auto list = reinterpret_cast<ListNetworks>(symbol);
  if (!list(environment.network_device.c_str(), add, &error)) add("none", error);
  for (const char* name : {"UCX_NET_DEVICES", "UCX_TLS"})
    if (const char* value = std::getenv(name)) add(name, fmt::format("\"{}\"", value));
  return rows;
}

// In the pipe each text ends with a NUL.
std::string packed(const Rows& rows) {
  std::string text;
  for (const NetworkRow& row : rows) text += row.name + '\0' + row.about + '\0';
  return text;
}

Rows unpacked(std::string_view text) {
  const auto take = [&text] {
    const std::string_view word = text.substr(0, text.find('\0'));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    return std::string(word);
  };
  Rows rows;
  while (!text.empty()) {
    std::string name = take();
    rows.push_back({std::move(name), take()});
  }
  return rows;
}

[[noreturn]] void answer(int pipe) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  int status = 1;
  try {
    const std::string text = packed(ask_library());  // less than a pipe holds
    status = ::write(pipe, text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1;
  } catch (...) {
  }
  ::_exit(status);
}

// All that comes until the pipe is closed; nullopt if that takes too long or fails.
std::optional<std::string> read_in_time(int pipe) {
  const auto end = Clock::now() + kPatience;
  std::string text;
  for (char buffer[4096];;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd news{pipe, POLLIN, 0};
    const int ready = left > 0 ? ::poll(&news, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return std::nullopt;
    const ssize_t bytes = ::read(pipe, buffer, sizeof buffer);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return std::nullopt;
    if (bytes == 0) return text;
    text.append(buffer, static_cast<std::size_t>(bytes));
  }
}

Rows answer_of(pid_t child, int pipe) {
  const std::optional<std::string> text = read_in_time(pipe);
  if (!text) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!text) return none(fmt::format("UCX gave no answer within {} s", kPatience.count()));
  if (WIFSIGNALED(status))
    return none(
        fmt::format("UCX ended the process that asked it: {}", strsignal(WTERMSIG(status))));
  return WEXITSTATUS(status) == 0 ? unpacked(*text) : none("UCX could not be asked");
}

}  // namespace

Rows ask_networks() {
  int ends[2];
  if (::pipe(ends) != 0) return none(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    answer(ends[1]);
  }
  const int error = errno;
  ::close(ends[1]);
  Rows rows = child < 0 ? none(fmt::format("cannot start a process: {}", std::strerror(error)))
                        : answer_of(child, ends[0]);
  ::close(ends[0]);
  return rows;
}

}  // namespace meshmem
