// SPDX-License-Identifier: Apache-2.0
//
// How the library says that something is wrong: one line on standard error, written in one piece,
// with the PE, host and process that it comes from.
// Invariant: the function that decides that something is an error prints it, once. Called by every
// layer.
#ifndef MESHMEM_BASE_ERROR_HPP_
#define MESHMEM_BASE_ERROR_HPP_

#include <fmt/core.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <type_traits>

namespace meshmem {

// Sets the PE that lines name: -1 until the launcher has told it.
void set_identity(int pe);

// Sets the function that ends the whole job and this process. Until start-up has set it, _exit
// does.
using AbortJob = void (*)(int status);
void set_abort_job(AbortJob abort_job);

// Sets a function that is called once, before a job ends on an error. It prints what is left of a
// trace. nullptr removes the function.
void set_before_job_ends(void (*say)());

// "meshmem: PE 3 (host a, pid 77): <message>"
void print_line(std::string_view message);
// Appends "; called in exchange_halos at heat.c:42" if a function of the program has made the call.
// Slow. Flushes stdout first, so that the program's text comes before the line.
void print_line_with_place(std::string_view message);

// Waits three seconds, in which the launcher usually ends this process. Called before a message
// whose cause another PE has most likely printed already.
void wait_for_others_to_report();

// Prints the text as it is, to where messages go.
void print_text(std::string_view text);
// Sets where messages go: standard error, or a copy of that descriptor while it is captured.
void send_messages_to(int fd);

// Flushes the program's streams, before its process ends. Waits at most a second for those other
// than stdout.
void flush_streams();

// Ends the job with status 1. The caller has printed why.
[[noreturn, gnu::cold]] void end_job_on_error();
// Prints the message and the place in the program, and ends the job with status 1.
[[noreturn, gnu::cold]] void fatal_message(std::string_view message);
[[noreturn, gnu::cold]] void fatal_formatted(fmt::string_view format, fmt::format_args args);
template <typename... Args>
[[noreturn, gnu::cold, gnu::noinline]] void fatal(fmt::format_string<Args...> format,
                                                  Args&&... args) {
  fatal_formatted(format, fmt::make_format_args(args...));
}
// For a failed allocation: allocates nothing itself.
[[noreturn, gnu::cold]] void fatal_without_memory();

// Debugging messages, which SHMEM_DEBUG enables.
void enable_debug(bool enabled);
bool debug_enabled();
template <typename... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  if (debug_enabled()) print_line(fmt::format(format, std::forward<Args>(args)...));
}

std::string errno_text(int error = errno);

// For calls that return -1 and set errno: ends the job with "cannot <what>: <reason>", or returns
// the result.
template <typename Result, typename... Args>
requires(!std::is_enum_v<Result>)  // an enumeration has error codes of its own
    Result check(Result result, fmt::format_string<Args...> what, Args&&... args) {
  if (result == (Result)-1L) [[unlikely]] {  // a C cast: MAP_FAILED is -1 as a pointer
    const int error = errno;
    fatal("cannot {}: {}", fmt::format(what, std::forward<Args>(args)...), errno_text(error));
  }
  return result;
}

}  // namespace meshmem

#endif  // MESHMEM_BASE_ERROR_HPP_
