// SPDX-License-Identifier: Apache-2.0
//
// The defaults were measured to be best over TCP; docs/machines.md says which are worth changing.
// UCX has no call that returns the networks it found, so this file parses the list that UCX prints.
#include "transport/ucx/context.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace meshmem {
namespace {

// True from UCX 1.17 on, where the names of a transport's settings begin with the transport.
bool names_have_transports() {
  unsigned major = 0, minor = 0, release = 0;
  ucp_get_version(&major, &minor, &release);
  return major > 1 || minor >= 17;
}

class Settings {
 public:
  Settings() {
    if (ucp_config_read(nullptr, nullptr, &config_) != UCS_OK) config_ = nullptr;
  }
  Settings(const Settings&) = delete;
  Settings& operator=(const Settings&) = delete;
  ~Settings() {
    if (config_ != nullptr) ucp_config_release(config_);
  }

  // Ignores errors: a version that does not know a setting does not need it.
  void set(const char* name, const std::string& value) {
    if (config_ != nullptr) (void)ucp_config_modify(config_, name, value.c_str());
  }
  void set_default(const std::string& name, const std::string& value) {
    if (std::getenv(("UCX_" + name).c_str()) == nullptr) set(name.c_str(), value);
  }
  void set_tcp_default(const std::string& name, const std::string& value) {
    const std::string full = "TCP_" + name;
    if (std::getenv(("UCX_" + full).c_str()) != nullptr) return;
    set((names_have_transports() ? full : name).c_str(), value);
  }
  const ucp_config_t* get() const { return config_; }

 private:
  ucp_config_t* config_ = nullptr;
};

void set_all(Settings& settings, const std::string& device, bool rdma_only = false) {
  // No transports within a machine, where the arena is used.
  settings.set_default("TLS", rdma_only ? "^shm,cma,self,tcp" : "^shm,cma,self");
  settings.set_default("MAX_EAGER_LANES", "1");  // with more, messages overtake each other
  // A chunk of 60 KB and its head leave in one segment. UCX 1.13 has 8 KB by default.
  settings.set_tcp_default("TX_SEG_SIZE", "68k");
  // UCX reads a stream two chunks at a time, so gets take 7 % less time.
  settings.set_tcp_default("RX_SEG_SIZE", "124k");
  // With zero-copy sends UCX 1.13 may end the process where it should report a lost peer.
  settings.set_default("ZCOPY_THRESH", "inf");
  if (!device.empty()) settings.set("NET_DEVICES", device);
  // sockets.hpp says how silent machines are found.
  settings.set_default("KEEPALIVE_INTERVAL", "inf");
}

UcxContext try_open(const Settings& settings, ucs_status_t* status) {
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  ucp_context_h context = nullptr;
  *status = ucp_init(&params, settings.get(), &context);
  return UcxContext(*status == UCS_OK ? context : nullptr);
}

std::string names_of_all_networks() {
  Settings settings;
  set_all(settings, "all");
  ucs_status_t status = UCS_OK;
  const UcxContext context = try_open(settings, &status);
  if (context == nullptr) return "none";
  return fmt::format("{}", fmt::join(networks_of(context.get()), ", "));
}

// Returns "tcp over eth0" for "tcp/eth0", and for "2:tcp/eth0.3" in the description of an endpoint,
// where the numbers are UCX's own. Empty if the word names no network.
std::string network_in(const std::string& word) {
  const std::size_t slash = word.find('/');
  if (slash == std::string::npos || slash == 0) return {};
  const std::size_t colon = word.rfind(':', slash);
  const bool is_of_endpoint = colon != std::string::npos;
  const std::size_t begin = is_of_endpoint ? colon + 1 : 0;
  const std::size_t end = is_of_endpoint ? word.rfind('.') : word.size();
  return fmt::format("{} over {}", word.substr(begin, slash - begin),
                     word.substr(slash + 1, end - slash - 1));
}

}  // namespace

std::string text_of(const std::function<void(FILE*)>& print) {
  char* text = nullptr;
  std::size_t bytes = 0;
  FILE* file = open_memstream(&text, &bytes);
  if (file == nullptr) return {};
  print(file);
  std::fclose(file);
  std::string copy(text, bytes);
  std::free(text);
  return copy;
}

std::vector<std::string> networks_in(const std::string& printed, const std::string& word) {
  std::vector<std::string> networks;
  std::istringstream lines(printed);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string hash, first;
    words >> hash >> first;
    if (first.rfind(word, 0) != 0) continue;
    for (std::string next; words >> next;) {
      const std::string network = network_in(next);
      if (network.empty()) continue;
      networks.push_back(network);
      break;
    }
  }
  std::sort(networks.begin(), networks.end());
  networks.erase(std::unique(networks.begin(), networks.end()), networks.end());
  return networks;
}

std::vector<std::string> networks_of(ucp_context_h context) {
  return networks_in(text_of([&](FILE* file) { ucp_context_print_info(context, file); }),
                     "resource");
}

std::vector<std::string> networks_to_itself(ucp_context_h context) {
  ucp_worker_params_t worker_params{};
  ucp_worker_h worker = nullptr;
  if (ucp_worker_create(context, &worker_params, &worker) != UCS_OK) return {};
  std::vector<std::string> networks;
  ucp_address_t* address = nullptr;
  std::size_t bytes = 0;
  if (ucp_worker_get_address(worker, &address, &bytes) == UCS_OK) {
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
    params.address = address;
    params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    ucp_ep_h endpoint = nullptr;
    if (ucp_ep_create(worker, &params, &endpoint) == UCS_OK)
      networks =
          networks_in(text_of([&](FILE* file) { ucp_ep_print_info(endpoint, file); }), "lane");
    ucp_worker_release_address(worker, address);
  }
  ucp_worker_destroy(worker);  // and the endpoint
  return networks;
}

UcxContext open_context(const std::string& device, std::string* error, bool rdma_only) {
  Settings settings;
  set_all(settings, device, rdma_only);
  ucs_status_t status = UCS_OK;
  UcxContext context = try_open(settings, &status);
  if (context == nullptr && !device.empty()) {
    *error = fmt::format("UCX finds no network device \"{}\"; it finds {}", device,
                         names_of_all_networks());
  } else if (context == nullptr) {
    *error = fmt::format("UCX finds no network: {}", reason_of(status));
  }
  return context;
}

std::string ucx_version() { return ucp_get_version_string(); }

std::string reason_of(ucs_status_t status) {
  std::string text = ucs_status_string(status);
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(text[0]));
  return text;
}

}  // namespace meshmem
