// SPDX-License-Identifier: Apache-2.0
//
// Agreements, through the library that is measured: its host calls, on static variables.
#include "bench/job.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace meshmem::bench {
namespace {

double mine, of_first;
long part, of_all;

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
  part = value;
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &of_all, &part, 1);
  return of_all;
}

void fail(const std::string& message) {
  if (shmem_my_pe() != 0) std::this_thread::sleep_for(std::chrono::seconds(1));
  fmt::print(stderr, "meshmem-bench: {}\n", message);
  shmem_global_exit(1);
  std::abort();
}

std::string device_name() { return properties().name; }

std::string architecture() {
  const std::string name = properties().gcnArchName;
  return name.empty() ? "cpu" : name.substr(0, name.find_first_of(": \t"));
}

}  // namespace meshmem::bench
