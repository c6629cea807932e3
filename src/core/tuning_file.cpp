// SPDX-License-Identifier: Apache-2.0
//
// Reading by plain system calls: a stream of the standard library throws where a file's start
// cannot be read, as that of /proc/self/mem.
#include "core/tuning_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"

namespace meshmem {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20;

// Says what is wrong with the opened file, before anything is read: a pipe would be waited for.
std::string fault_of(int file, std::size_t& bytes) {
  struct stat about {};
  if (fstat(file, &about) != 0) return errno_text();
  if (S_ISDIR(about.st_mode)) return "a folder";
  if (!S_ISREG(about.st_mode)) return "not a regular file";
  bytes = static_cast<std::size_t>(about.st_size);
  if (bytes == 0) return "empty";
  return bytes > kMostBytes ? "more than 1 MiB" : "";
}

std::string read_all(int file, std::size_t bytes, std::string& text) {
  text.resize(bytes);
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t got = read(file, text.data() + done, bytes - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_text();
    if (got == 0) return "changed while it was read";
    done += static_cast<std::size_t>(got);
  }
  return "";
}

}  // namespace

std::optional<std::string> read_tuning_file(const std::string& path, std::string& text) {
  // A fifo without a writer would be waited for.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  std::size_t bytes = 0;
  std::string fault = file < 0 ? errno_text() : fault_of(file, bytes);
  if (fault.empty()) fault = read_all(file, bytes, text);
  if (file >= 0) close(file);
  if (fault.empty()) return std::nullopt;
  return fmt::format(
      "MESHMEM_TUNING={}: no table can be read there ({}); give the path of a file that "
      "meshmem-bench --tune has written, or unset the variable",
      path, fault);
}

}  // namespace meshmem
