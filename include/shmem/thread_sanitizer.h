/* SPDX-License-Identifier: Apache-2.0
 *
 * In a program compiled with -fsanitize=thread, tells ThreadSanitizer that meshmem's libraries are
 * not, so that it cannot see how they order memory. Each file that includes shmem.h brings these
 * two functions, and the runtime of GCC calls them before the program starts; that of clang calls
 * its own (docs/debugging.md). A program that has functions of these names defines
 * MESHMEM_NO_TSAN_DEFAULTS and says the same in them.
 */
#ifndef MESHMEM_SHMEM_THREAD_SANITIZER_H
#define MESHMEM_SHMEM_THREAD_SANITIZER_H

#if defined(__SANITIZE_THREAD__) && !defined(MESHMEM_NO_TSAN_DEFAULTS)
#ifdef __cplusplus
extern "C" {
#endif

const char* __tsan_default_suppressions(void);
const char* __tsan_default_options(void);

/* The lines of tsan.supp. */
__attribute__((weak, visibility("default"))) const char* __tsan_default_suppressions(void) {
  return "race:libmeshmem.so\n"
         "mutex:libmeshmem.so\n"
         "race:libmeshmem_hip_cpu.so\n"
         "mutex:libmeshmem_hip_cpu.so\n"
         "race:libpmix.so\n"
         "mutex:libpmix.so\n"
         "race:libevent\n";
}

/* When a PE ends, it does not list the suppressed reports. */
__attribute__((weak, visibility("default"))) const char* __tsan_default_options(void) {
  return "print_suppressions=0";
}

#ifdef __cplusplus
}
#endif
#endif

#endif
