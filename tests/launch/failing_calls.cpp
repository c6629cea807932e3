// SPDX-License-Identifier: Apache-2.0
// A library to preload that makes one call fail: the FAILING_NUMBER-th call of FAILING_CALL, with
// errno FAILING_ERRNO. FAILING_IN names the process (PMIX_RANK of a PE, or a program's name).
// Invariant: nothing else changes; a call that was made to fail is appended to FAILING_LOG, with
// the library that made it. Run by test_faults.py.
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

struct Plan {
  const char* call = nullptr;
  const char* log = nullptr;
  long number = 0;
  int error = 0;
};
Plan plan;
std::atomic<long> calls{0};

const char* base_name(const char* path) {
  const char* slash = path ? std::strrchr(path, '/') : nullptr;
  return slash ? slash + 1 : path ? path : "?";
}

void read_plan() {
  const char* where = std::getenv("FAILING_IN");
  const char* call = std::getenv("FAILING_CALL");
  if (!where || !call) return;
  const char* rank = std::getenv("PMIX_RANK");
  if (std::strcmp(where, rank ? rank : program_invocation_short_name) != 0) return;
  plan.log = std::getenv("FAILING_LOG");
  plan.number = std::atol(std::getenv("FAILING_NUMBER"));
  plan.error = std::atoi(std::getenv("FAILING_ERRNO"));
  plan.call = call;
}

const char* library_of(const void* caller) {
  Dl_info about{};
  dladdr(caller, &about);
  return base_name(about.dli_fname);
}

// libevent wakes its own thread by a write to a descriptor of its own, which cannot fail, and does
// not look.
bool cannot_fail(const char* name, const char* library) {
  return std::strcmp(name, "write") == 0 && std::strncmp(library, "libevent", 8) == 0;
}

void log_failure(const char* name, const char* library) {
  char line[256];
  const int size = std::snprintf(line, sizeof line, "%s in %s\n", name, library);
  const long file = syscall(SYS_openat, AT_FDCWD, plan.log, O_WRONLY | O_CREAT | O_APPEND, 0600);
  syscall(SYS_write, file, line, size);
  syscall(SYS_close, file);
}

bool fails(const char* name, const void* caller) {
  if (!plan.call || std::strcmp(plan.call, name) != 0) return false;
  const char* const library = library_of(caller);
  if (cannot_fail(name, library) || calls.fetch_add(1) + 1 != plan.number) return false;
  log_failure(name, library);
  errno = plan.error;
  return true;
}

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

// Calls before main() are left alone.
using Main = int(int, char**, char**);
static Main* main_of_program;
static int read_plan_and_go_on(int argc, char** argv, char** environment) {
  read_plan();
  return main_of_program(argc, argv, environment);
}
extern "C" int __libc_start_main(Main* program, int argc, char** argv, void (*init)(),
                                 void (*fini)(), void (*rtld_fini)(), void* stack_end) {
  main_of_program = program;
  return next<int(Main*, int, char**, void (*)(), void (*)(), void (*)(), void*)>(
      "__libc_start_main")(read_plan_and_go_on, argc, argv, init, fini, rtld_fini, stack_end);
}

// X(result, name, parameters, arguments, what the call answers when it fails)
#define CALLS(X)                                                                               \
  X(void*, mmap, (void* a, size_t b, int c, int d, int e, off_t f), (a, b, c, d, e, f),        \
    MAP_FAILED)                                                                                \
  X(int, mprotect, (void* a, size_t b, int c), (a, b, c), -1)                                  \
  X(int, memfd_create, (const char* a, unsigned b), (a, b), -1)                                \
  X(int, ftruncate, (int a, off_t b), (a, b), -1)                                              \
  X(int, fchmod, (int a, mode_t b), (a, b), -1)                                                \
  X(int, fstat, (int a, struct stat* b), (a, b), -1)                                           \
  X(int, socket, (int a, int b, int c), (a, b, c), -1)                                         \
  X(int, bind, (int a, const sockaddr* b, socklen_t c), (a, b, c), -1)                         \
  X(int, listen, (int a, int b), (a, b), -1)                                                   \
  X(int, accept, (int a, sockaddr* b, socklen_t* c), (a, b, c), -1)                            \
  X(int, accept4, (int a, sockaddr* b, socklen_t* c, int d), (a, b, c, d), -1)                 \
  X(int, connect, (int a, const sockaddr* b, socklen_t c), (a, b, c), -1)                      \
  X(int, getsockopt, (int a, int b, int c, void* d, socklen_t* e), (a, b, c, d, e), -1)        \
  X(ssize_t, sendmsg, (int a, const msghdr* b, int c), (a, b, c), -1)                          \
  X(ssize_t, recvmsg, (int a, msghdr* b, int c), (a, b, c), -1)                                \
  X(int, eventfd, (unsigned a, int b), (a, b), -1)                                             \
  X(int, epoll_create1, (int a), (a), -1)                                                      \
  X(int, epoll_wait, (int a, epoll_event* b, int c, int d), (a, b, c, d), -1)                  \
  X(int, pipe2, (int* a, int b), (a, b), -1)                                                   \
  X(int, pipe, (int* a), (a), -1)                                                              \
  X(pid_t, fork, (), (), -1)                                                                   \
  X(ssize_t, read, (int a, void* b, size_t c), (a, b, c), -1)                                  \
  X(ssize_t, write, (int a, const void* b, size_t c), (a, b, c), -1)                           \
  X(int, sched_getaffinity, (pid_t a, size_t b, cpu_set_t * c), (a, b, c), -1)                 \
  X(int, sched_setaffinity, (pid_t a, size_t b, const cpu_set_t* c), (a, b, c), -1)            \
  X(ssize_t, getrandom, (void* a, size_t b, unsigned c), (a, b, c), -1)                        \
  X(int, signalfd, (int a, const sigset_t* b, int c), (a, b, c), -1)                           \
  X(int, poll, (pollfd * a, nfds_t b, int c), (a, b, c), -1)                                   \
  X(int, dup2, (int a, int b), (a, b), -1)                                                     \
  X(int, setpgid, (pid_t a, pid_t b), (a, b), -1)                                              \
  X(int, execvpe, (const char* a, char* const* b, char* const* c), (a, b, c), -1)              \
  X(int, flock, (int a, int b), (a, b), -1)                                                    \
  X(int, waitid, (idtype_t a, id_t b, siginfo_t * c, int d), (a, b, c, d), -1)                 \
  X(char*, mkdtemp, (char* a), (a), nullptr)                                                   \
  X(FILE*, fopen, (const char* a, const char* b), (a, b), nullptr)                             \
  X(FILE*, fopen64, (const char* a, const char* b), (a, b), nullptr)                           \
  X(int, pthread_create, (pthread_t * a, const pthread_attr_t* b, void* (*c)(void*), void* d), \
    (a, b, c, d), plan.error)

#define X(result, name, parameters, arguments, failure)            \
  extern "C" result name parameters {                              \
    if (fails(#name, __builtin_return_address(0))) return failure; \
    static auto* const real = next<result parameters>(#name);      \
    return real arguments;                                         \
  }
CALLS(X)
#undef X

// With a mode if there is one.
#define X(name, parameters, arguments)                                            \
  extern "C" int name parameters {                                                \
    va_list more;                                                                 \
    va_start(more, flags);                                                        \
    const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; \
    va_end(more);                                                                 \
    if (fails("open", __builtin_return_address(0))) return -1;                    \
    return static_cast<int>(syscall arguments);                                   \
  }
X(open, (const char* path, int flags, ...), (SYS_openat, AT_FDCWD, path, flags, mode))
X(open64, (const char* path, int flags, ...), (SYS_openat, AT_FDCWD, path, flags, mode))
X(openat, (int folder, const char* path, int flags, ...), (SYS_openat, folder, path, flags, mode))
#undef X

void* operator new(std::size_t bytes) {
  void* memory = fails("new", __builtin_return_address(0)) ? nullptr : std::malloc(bytes);
  if (!memory) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
