// SPDX-License-Identifier: Apache-2.0
// Preloaded into a stranger's process: it claims to be the user that POSE_AS_USER names, as PMIx's
// own security believes it. Invariant: the kernel's own data about the process stays as it is. Used
// by test_security.py.
#include <stdlib.h>
#include <unistd.h>

static unsigned claimed(void) {
  const char* user = getenv("POSE_AS_USER");
  return user != NULL ? (unsigned)atoi(user) : 0;
}

uid_t geteuid(void) { return claimed(); }
gid_t getegid(void) { return claimed(); }
