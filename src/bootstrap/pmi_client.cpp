// SPDX-License-Identifier: Apache-2.0
//
// The PMI-1 client, for launchers without PMIx: MPICH's and Intel MPI's mpiexec.hydra, Slurm's
// srun --mpi=pmi2. PMI-1 has one barrier, of all PEs, and values that are short lines.
// Invariant: all PEs call the same barriers. Made by connect_by_pmi(), once a process.
#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/error.hpp"
#include "bootstrap/host_identity.hpp"
#include "bootstrap/launcher_client.hpp"
#include "bootstrap/pmi_connection.hpp"
#include "bootstrap/pmi_text.hpp"

namespace meshmem {
namespace {

// Some launchers cut a line that is longer, whatever they say of values.
constexpr std::size_t kLongestLineToSay = 1000;
constexpr std::size_t kShortestValue = 32;
constexpr std::size_t kLongestKey = 63;

// rc is there in some answers only; other than 0 it is a refusal.
void check_rc(std::string_view line, std::string_view command) {
  const int rc = pmi_number(line, "rc").value_or(0);
  if (rc == 0) return;
  fatal("the launcher refuses PMI's {}: rc={} {}", command, rc,
        pmi_word(line, "msg").value_or("").substr(0, 100));
}

int number_of_variable(const char* name, int least, int most) {
  const char* text = std::getenv(name);
  const std::string_view digits = text != nullptr ? text : "";
  int number = -1;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || stop != digits.data() + digits.size() || number < least ||
      number > most) {
    fatal("{}={} is not what a launcher sets: a number from {} to {}", name, digits, least, most);
  }
  return number;
}

class PmiClient final : public LauncherClient {
 public:
  PmiClient(Job& job, double timeout_seconds);

  void publish(std::string_view key, std::string_view value, Among who) override;
  void exchange_published(Among who, double timeout_seconds) override;
  std::string lookup(int pe, std::string_view key) override;
  void meet_at_end(double timeout_seconds) override;
  void disconnect() override { connection_.say_goodbye(); }
  void abort(int status, const char*) override { connection_.say_abort(status); }

 private:
  std::string ask(std::string_view command, std::string_view words, std::string_view answer);
  void meet(const char* routine, double timeout_seconds, const char* limit);
  std::string get(const std::string& key, const char* what, int pe);
  std::string key_of(int pe, std::string_view key, std::size_t part) const;
  std::vector<int> find_nodes();
  std::vector<int> nodes_by_hosts();

  PmiConnection connection_;
  const Job& job_;
  const double timeout_seconds_;  // of an answer
  std::string store_;             // kvsname
  std::size_t value_letters_ = 0;
  bool has_neighbours_ = false;  // somewhere in the job two PEs share a node
};

PmiClient::PmiClient(Job& job, double timeout_seconds)
    : connection_(std::getenv("PMI_FD")), job_(job), timeout_seconds_(timeout_seconds) {
  check_rc(ask("init", " pmi_version=1 pmi_subversion=1", "response_to_init"), "init");
  const std::string maxes = ask("get_maxes", "", "maxes");
  const std::string store = ask("get_my_kvsname", "", "my_kvsname");
  store_ = pmi_word(store, "kvsname").value_or("");
  const int value_bytes = pmi_number(maxes, "vallen_max").value_or(0);
  const std::size_t head = key_of(job.n_pes, "", 0).size() + kLongestKey;
  if (store_.empty() || head + kShortestValue > kLongestLineToSay ||
      value_bytes <= static_cast<int>(kShortestValue)) {
    fatal("the launcher's PMI is unusable: its store is '{}', with values of {} bytes",
          store_.substr(0, 100), value_bytes);
  }
  value_letters_ = std::min(static_cast<std::size_t>(value_bytes) - 1, kLongestLineToSay - head);
  connection_.watch_launcher();
  const std::vector<int> nodes = find_nodes();
  for (int pe = 0; pe < job.n_pes; ++pe) {
    if (nodes[pe] == nodes[job.pe]) job.node_pes.push_back(pe);
  }
  std::vector<int> sorted = nodes;
  std::sort(sorted.begin(), sorted.end());
  has_neighbours_ = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
}

std::string PmiClient::ask(std::string_view command, std::string_view words,
                           std::string_view answer) {
  return connection_.ask(command, words, answer,
                         {.what = fmt::format("the launcher's answer to PMI's {}", command),
                          .seconds = timeout_seconds_,
                          .limit = kStartLimit});
}

std::string PmiClient::key_of(int pe, std::string_view key, std::size_t part) const {
  return fmt::format(" kvsname={} key={}-{}-{}", store_, key, pe, part);
}

void PmiClient::publish(std::string_view key, std::string_view value, Among) {
  const std::vector<std::string> values = as_pmi_values(value, value_letters_);
  for (std::size_t part = 0; part < values.size(); ++part) {
    const std::string words = fmt::format("{} value={}", key_of(job_.pe, key, part), values[part]);
    check_rc(ask("put", words, "put_result"), "put");
  }
}

void PmiClient::meet(const char* routine, double timeout_seconds, const char* limit) {
  check_rc(connection_.ask("barrier_in", "", "barrier_out",
                           {.what = fmt::format("all {} PEs to call {}", job_.n_pes, routine),
                            .seconds = timeout_seconds,
                            .limit = limit}),
           "barrier_in");
}

void PmiClient::exchange_published(Among who, double timeout_seconds) {
  if (who == Among::node && !has_neighbours_) return;
  meet("shmem_init", timeout_seconds, kStartLimit);
}

void PmiClient::meet_at_end(double timeout_seconds) {
  meet("shmem_finalize", timeout_seconds, "MESHMEM_TIMEOUT");
}

std::string PmiClient::get(const std::string& key, const char* what, int pe) {
  const std::string line = ask("get", key, "get_result");
  const auto value = pmi_word(line, "value");
  if (pmi_number(line, "rc").value_or(0) != 0 || !value)
    fatal("the launcher has no '{}' of PE {}", what, pe);
  return std::string(*value);
}

std::string PmiClient::lookup(int pe, std::string_view key) {
  const std::string name(key);
  std::string letters = get(key_of(pe, key, 0), name.c_str(), pe);
  const std::size_t dot = letters.find('.');
  const int count = pmi_number("n=" + letters.substr(0, dot), "n").value_or(0);
  letters.erase(0, dot == letters.npos ? dot : dot + 1);
  for (int part = 1; part < count; ++part)
    letters += get(key_of(pe, key, static_cast<std::size_t>(part)), name.c_str(), pe);
  std::optional<std::string> value = from_pmi_letters(letters);
  if (count < 1 || !value) fatal("the launcher has changed '{}' of PE {}", key, pe);
  return *std::move(value);
}

std::vector<int> PmiClient::find_nodes() {
  if (job_.n_pes == 1) return {0};
  const std::string line =
      ask("get", fmt::format(" kvsname={} key=PMI_process_mapping", store_), "get_result");
  const std::string_view text = pmi_word(line, "value").value_or("");
  if (auto nodes = nodes_of_mapping(text, job_.n_pes)) return *std::move(nodes);
  debug("the launcher does not say which PEs share a machine; they compare its names");
  return nodes_by_hosts();
}

// Each node is named by the first PE there.
std::vector<int> PmiClient::nodes_by_hosts() {
  publish("host", identity_of_host(), Among::job);
  meet("shmem_init", timeout_seconds_, kStartLimit);
  std::vector<std::string> hosts;
  std::vector<int> nodes;
  for (int pe = 0; pe < job_.n_pes; ++pe) {
    hosts.push_back(lookup(pe, "host"));
    const auto first = std::find(hosts.begin(), hosts.end(), hosts.back());
    nodes.push_back(static_cast<int>(first - hosts.begin()));
  }
  return nodes;
}

}  // namespace

LauncherClient& connect_by_pmi(Job& job, double timeout_seconds) {
  constexpr int kMostPes = 1 << 24;
  const int n_pes = number_of_variable("PMI_SIZE", 1, kMostPes);
  job.pe = number_of_variable("PMI_RANK", 0, n_pes - 1);
  job.n_pes = n_pes;
  set_identity(job.pe);
  return *new PmiClient(job, timeout_seconds);  // for threads that may still ask when all ends
}

}  // namespace meshmem
