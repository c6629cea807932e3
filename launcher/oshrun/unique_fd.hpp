// SPDX-License-Identifier: Apache-2.0
// A file descriptor that is closed when its owner goes.
// Invariant: at most one UniqueFd holds a descriptor; -1 means none.
// Used by every part of oshrun.
#ifndef MESHMEM_OSHRUN_UNIQUE_FD_HPP_
#define MESHMEM_OSHRUN_UNIQUE_FD_HPP_

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "failure.hpp"

namespace meshmem {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  void reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

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

#endif  // MESHMEM_OSHRUN_UNIQUE_FD_HPP_
