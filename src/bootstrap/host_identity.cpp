// SPDX-License-Identifier: Apache-2.0
//
// The machine's name, and the number that its kernel has drawn at its start.
#include "bootstrap/host_identity.hpp"

#include <fmt/core.h>
#include <sys/utsname.h>

#include <fstream>

namespace meshmem {

std::string identity_of_host() {
  utsname name{};
  uname(&name);
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  return fmt::format("{} {}", name.nodename, boot);
}

}  // namespace meshmem
