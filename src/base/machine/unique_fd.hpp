// SPDX-License-Identifier: Apache-2.0
//
// A file descriptor that its owner closes when it is destroyed.
// Invariant: at most one UniqueFd holds a descriptor; -1 means none. Used by the wire of TCP and by
// oshrun.
#ifndef MESHMEM_BASE_MACHINE_UNIQUE_FD_HPP_
#define MESHMEM_BASE_MACHINE_UNIQUE_FD_HPP_

#include <unistd.h>

#include <utility>

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

}  // namespace meshmem

#endif  // MESHMEM_BASE_MACHINE_UNIQUE_FD_HPP_
