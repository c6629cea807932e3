// SPDX-License-Identifier: Apache-2.0
//
// The descriptors, and what fork does with them. Invariant: none is closed while a fork is under
// way, since its child would close another's of that number.
#include "bootstrap/unforked_descriptors.hpp"

#include <pthread.h>
#include <unistd.h>

#include <mutex>
#include <set>

namespace meshmem {
namespace {

struct Descriptors {
  std::mutex mutex;
  std::set<int> open;
};

Descriptors& descriptors() {  // for children that are made while the process ends
  static Descriptors& all = *new Descriptors;
  return all;
}

void before_fork() { descriptors().mutex.lock(); }
void after_fork() { descriptors().mutex.unlock(); }
void in_child() {
  for (const int fd : descriptors().open) close(fd);
  descriptors().open.clear();
  descriptors().mutex.unlock();
}

}  // namespace

void keep_from_children(int fd) {
  [[maybe_unused]] static const int once = pthread_atfork(before_fork, after_fork, in_child);
  const std::lock_guard lock(descriptors().mutex);
  descriptors().open.insert(fd);
}

void close_kept_from_children(int fd) {
  const std::lock_guard lock(descriptors().mutex);
  descriptors().open.erase(fd);
  close(fd);
}

}  // namespace meshmem
