// SPDX-License-Identifier: Apache-2.0
//
// See joint_steps.hpp. The PEs of meshmem-bench exchange values by host calls of the library that
// they measure: by collectives, on static variables and blocks of the host heap.
#include "bench/joint_steps.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>
#include <vector>

#include "base/machine/machine.hpp"

namespace meshmem::bench {
namespace {

constexpr std::size_t kPage = 4096;

// Sources and dests of collectives. Static variables are symmetric.
double mine, of_first;
long addend, of_all;

// A PE's machine: the lowest PE there, and the machine's name.
constexpr std::size_t kNameBytes = 64;
struct Node {
  int first;
  char name[kNameBytes];
};

std::vector<Node> nodes_of_all() {
  const auto n = static_cast<std::size_t>(shmem_n_pes());
  auto* const all = static_cast<Node*>(shmem_malloc((n + 1) * sizeof(Node)));
  if (!all) fail("there is no memory for the names of all machines; raise SHMEM_SYMMETRIC_SIZE");
  Node& own = all[n];
  own.first = shmem_team_translate_pe(SHMEM_TEAM_SHARED, 0, SHMEM_TEAM_WORLD);
  own.name[host_name().copy(own.name, kNameBytes - 1)] = 0;
  shmem_fcollectmem(SHMEM_TEAM_WORLD, all, &own, sizeof own);
  const std::vector<Node> found(all, all + n);
  shmem_free(all);
  return found;
}

hipDeviceProp_t properties() {
  int device = 0;
  hipDeviceProp_t found{};
  check(hipGetDevice(&device), "ask for the device");
  check(hipGetDeviceProperties(&found, device), "ask the device");
  return found;
}

}  // namespace

double agree(double value) {
  mine = value;
  shmem_double_broadcast(SHMEM_TEAM_WORLD, &of_first, &mine, 1, 0);
  return of_first;
}

long add_up(long value) {
  addend = value;
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &of_all, &addend, 1);
  return of_all;
}

void fail(const std::string& message) {
  if (shmem_my_pe() != 0) std::this_thread::sleep_for(std::chrono::seconds(1));
  fmt::print(stderr, "meshmem-bench: {}\n", message);
  shmem_global_exit(1);
  std::abort();
}

void* take_buffer(std::size_t bytes, bool on_device) {
  void* const memory = shmem_malloc_with_hints(
      buffer_bytes(bytes), on_device ? SHMEMX_MALLOC_DEVICE : SHMEMX_MALLOC_HOST);
  if (!memory)
    fail(
        fmt::format("there is no {} memory for buffers of {} bytes; lower --max-bytes, or "
                    "raise {}",
                    on_device ? "device" : "host", bytes,
                    on_device ? "MESHMEM_DEVICE_HEAP_SIZE" : "SHMEM_SYMMETRIC_SIZE"));
  return memory;
}

// One kGuardBytes is for the guard behind the data, the other for misaligned data, which begins an
// element later.
std::size_t buffer_bytes(std::size_t bytes) {
  return (bytes + 2 * kGuardBytes + kPage - 1) / kPage * kPage;
}

std::string describe_nodes() {
  std::map<int, std::vector<int>> pes_of;
  const std::vector<Node> nodes = nodes_of_all();
  for (std::size_t pe = 0; pe < nodes.size(); ++pe)
    pes_of[nodes[pe].first].push_back(static_cast<int>(pe));
  std::string text = fmt::format("{} PE{} on {} node{}", nodes.size(), nodes.size() == 1 ? "" : "s",
                                 pes_of.size(), pes_of.size() == 1 ? "" : "s");
  const char* separator = ": ";
  for (const auto& [first, pes] : pes_of) {
    text += fmt::format("{}{} {}", separator, ranges_text(pes),
                        nodes[static_cast<std::size_t>(first)].name);
    separator = "; ";
  }
  return text;
}

int find_peer(bool is_far) {
  const std::vector<Node> nodes = nodes_of_all();
  const auto peer = std::find_if(nodes.begin() + 1, nodes.end(), [&](const Node& node) {
    return (node.first != nodes[0].first) == is_far;
  });
  return peer == nodes.end() ? -1 : static_cast<int>(peer - nodes.begin());
}

void copy(void* to, const void* from, std::size_t bytes, bool on_device) {
  if (on_device) {
    check(hipMemcpy(to, from, bytes, hipMemcpyDefault), "copy the data");
    check(hipDeviceSynchronize(), "copy the data");
  } else {
    std::memcpy(to, from, bytes);
  }
}

std::string device_name() { return properties().name; }

std::string architecture() {
  const std::string name = properties().gcnArchName;
  return name.empty() ? "cpu" : name.substr(0, name.find_first_of(": \t"));
}

unsigned wave_threads() { return static_cast<unsigned>(properties().warpSize); }

}  // namespace meshmem::bench
