// SPDX-License-Identifier: Apache-2.0
//
// Each question is asked by trying: to open files, to list interfaces, to make a file.
// Invariant: nothing that was opened or made for a question stays.
// Called by start-up of the library and of oshrun.
#include "base/start_obstacles.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <vector>

#include "base/error.hpp"

namespace meshmem {
namespace {

// Opens `files` files to see whether it can. Returns 0, or errno's value.
int try_to_open(int files) {
  std::vector<int> opened;
  int error = 0;
  while (error == 0 && static_cast<int>(opened.size()) < files) {
    const int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (file < 0) error = errno;
    if (file >= 0) opened.push_back(file);
  }
  for (const int file : opened) close(file);
  return error;
}

}  // namespace

std::optional<std::string> find_lack_of_files(int files) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const int first = open("/dev/null", O_RDONLY | O_CLOEXEC);  // the lowest that is free
  if (first >= 0) close(first);
  if (first >= 0 && static_cast<rlim_t>(first + files) <= limit.rlim_cur) return std::nullopt;
  const int error = try_to_open(files);
  if (error == ENFILE) return "the machine has too many open files (sysctl fs.file-max)";
  if (error != EMFILE) return std::nullopt;
  return fmt::format("{} open files are too few for this process; raise the limit (ulimit -n)",
                     limit.rlim_cur);
}

std::optional<std::string> find_lack_of_network() {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return std::nullopt;
  bool found = false;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    const int family = one->ifa_addr == nullptr ? AF_UNSPEC : one->ifa_addr->sa_family;
    found |= (one->ifa_flags & IFF_UP) != 0 && (family == AF_INET || family == AF_INET6);
  }
  freeifaddrs(all);
  if (found) return std::nullopt;
  return "no network interface is up, and PMIx needs one, if only the loopback interface "
         "(ip link set lo up)";
}

std::optional<std::string> find_lack_of_room(const std::string& folder, std::size_t bytes,
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

std::optional<std::string> find_refused_file(const std::string& folder, std::size_t bytes,
                                             const char* setting) {
  std::string path = folder + "/room-XXXXXX";
  const int file = mkostemp(path.data(), O_CLOEXEC);
  int error = file < 0 ? errno : posix_fallocate(file, 0, static_cast<off_t>(bytes));
  if (file >= 0) close(file);
  if (file >= 0) unlink(path.c_str());
  if (error == 0 || error == EOPNOTSUPP || error == EINTR) return std::nullopt;
  return fmt::format("no file of {} KiB can be made in '{}' ({}): {}", bytes >> 10, folder, setting,
                     errno_text(error));
}

std::size_t largest_file_bytes() {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return std::numeric_limits<std::size_t>::max();
  return limit.rlim_cur;
}

}  // namespace meshmem
