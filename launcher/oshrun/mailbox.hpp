// SPDX-License-Identifier: Apache-2.0
// Carries what PEs tell the PMIx server from PMIx's thread to the main loop.
// Invariant: mail that was posted before a PE could go on is in the box before that PE can end. So
// the loop that looks here after it saw the end knows how to judge it. Posted to by server.cpp on
// PMIx's threads; emptied by running_job.cpp on the main thread.
#ifndef MESHMEM_OSHRUN_MAILBOX_HPP_
#define MESHMEM_OSHRUN_MAILBOX_HPP_

#include <sys/eventfd.h>

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "unique_fd.hpp"

namespace meshmem {

struct ServerEvent {
  enum Kind { kConnected, kFinalized, kAborted, kFailed, kRefused };
  Kind kind;
  int pe;
  int status;  // kAborted, kFailed: what the PE wants the job to end with; kRefused: the user's id
};

class Mailbox {
 public:
  Mailbox() : bell_(check(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "make an eventfd")) {}

  void post(const ServerEvent& event) {
    std::lock_guard lock(mutex_);
    events_.push_back(event);
    std::uint64_t one = 1;
    [[maybe_unused]] ssize_t written = ::write(bell_.get(), &one, sizeof(one));
  }

  std::vector<ServerEvent> take_all() {
    std::lock_guard lock(mutex_);
    std::uint64_t count;
    [[maybe_unused]] ssize_t bytes = ::read(bell_.get(), &count, sizeof(count));
    return std::exchange(events_, {});
  }

  int bell_fd() const { return bell_.get(); }

 private:
  std::mutex mutex_;
  std::vector<ServerEvent> events_;
  UniqueFd bell_;
};

}  // namespace meshmem

#endif  // MESHMEM_OSHRUN_MAILBOX_HPP_
