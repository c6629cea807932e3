// SPDX-License-Identifier: Apache-2.0
//
// Descriptors 0, 1 and 2 of a process whose caller has closed some. The next file that is opened
// would get such a number, and the program's output would go there: into shared memory, or to a
// launcher. Called by programs and by start-up of the library, before they open anything.
#ifndef MESHMEM_BASE_MACHINE_STANDARD_DESCRIPTORS_HPP_
#define MESHMEM_BASE_MACHINE_STANDARD_DESCRIPTORS_HPP_

#include <fcntl.h>
#include <unistd.h>

namespace meshmem {

// Those that are closed lead to /dev/null.
inline void open_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // The lowest number that is free is this one.
    if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) < 0) return;
  }
}

}  // namespace meshmem

#endif  // MESHMEM_BASE_MACHINE_STANDARD_DESCRIPTORS_HPP_
