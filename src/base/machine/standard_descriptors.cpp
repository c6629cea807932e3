// SPDX-License-Identifier: Apache-2.0
//
// std::cout and stdio share the descriptor; an error of either counts, and one that a pipe's reader
// has caused by leaving is no news. Invariant and callers: see the header.
#include "base/machine/standard_descriptors.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

namespace meshmem {

void open_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // The lowest number that is free is this one.
    if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) < 0) return;
  }
}

int close_standard_output(const char* program, int status) {
  errno = 0;
  const bool stream_is_good = std::cout.flush().good();
  if (std::fflush(stdout) == 0 && stream_is_good && std::ferror(stdout) == 0) return status;
  if (errno != EPIPE) {
    std::fprintf(stderr, "%s: cannot write all to standard output: %s\n", program,
                 errno != 0 ? std::strerror(errno) : "is the disk full?");
  }
  return status != 0 ? status : 1;
}

}  // namespace meshmem
