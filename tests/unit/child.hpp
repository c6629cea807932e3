// SPDX-License-Identifier: Apache-2.0
//
// Runs the second process of a test: a child made by fork() that answers by its exit status.
// Invariant: the child never returns into the test. Used by tests of start-up.
#ifndef MESHMEM_TESTS_UNIT_CHILD_HPP_
#define MESHMEM_TESTS_UNIT_CHILD_HPP_

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace meshmem {

// The exit status of a child that runs `body`; -1 if a signal ended it.
inline int status_of_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace meshmem

#endif  // MESHMEM_TESTS_UNIT_CHILD_HPP_
