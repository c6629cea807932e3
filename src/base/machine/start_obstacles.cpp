// SPDX-License-Identifier: Apache-2.0
//
// Asks the system. Invariant: descriptors that were opened to ask are closed again. Called by
// start-up of the library and of oshrun, and by meshmem-info.
#include "base/machine/start_obstacles.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <vector>

#include "base/machine/interfaces.hpp"

namespace meshmem {

std::optional<std::string> why_too_few_files(int files) {
  std::vector<int> opened;
  do {
    opened.push_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  } while (opened.back() >= 0 && static_cast<int>(opened.size()) < files);
  const int error = opened.back() < 0 ? errno : 0;
  for (const int file : opened) close(file);
  if (error == ENFILE) return "the machine has too many open files (sysctl fs.file-max)";
  if (error != EMFILE) return std::nullopt;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return fmt::format("{} open files are too few for this process; raise the limit (ulimit -n)",
                     limit.rlim_cur);
}

std::optional<std::string> why_no_network() {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return std::nullopt;  // the system does not tell
  freeifaddrs(all);
  if (!interfaces_up().empty()) return std::nullopt;
  return "no network interface is up, and PMIx needs one, if only the loopback interface "
         "(ip link set lo up)";
}

std::optional<std::string> why_no_room(const std::string& folder, std::size_t bytes,
                                       const char* setting) {
  if (largest_file_bytes() < bytes) {
    return fmt::format("files of this process may have {} bytes only; raise the limit (ulimit -f)",
                       largest_file_bytes());
  }
  struct statvfs about {};
  if (statvfs(folder.c_str(), &about) != 0 || about.f_blocks == 0) return std::nullopt;
  const std::size_t left = about.f_bavail * about.f_frsize;
  if (left >= bytes) return std::nullopt;
  return fmt::format("'{}' ({}) is full: {} KiB are left, and {} needed", folder, setting,
                     left >> 10, bytes >> 10);
}

std::size_t largest_file_bytes() {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return std::numeric_limits<std::size_t>::max();
  return limit.rlim_cur;
}

}  // namespace meshmem
