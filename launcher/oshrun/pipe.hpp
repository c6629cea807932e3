// SPDX-License-Identifier: Apache-2.0
// A pipe that no program inherits. Used by all of oshrun.
#ifndef MESHMEM_OSHRUN_PIPE_HPP_
#define MESHMEM_OSHRUN_PIPE_HPP_

#include <fcntl.h>

#include "base/machine/unique_fd.hpp"
#include "failure.hpp"

namespace meshmem {

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

inline Pipe make_pipe() {
  int ends[2];
  check(::pipe2(ends, O_CLOEXEC), "make a pipe (see ulimit -n)");
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

}  // namespace meshmem

#endif  // MESHMEM_OSHRUN_PIPE_HPP_
