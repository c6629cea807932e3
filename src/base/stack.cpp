// SPDX-License-Identifier: Apache-2.0
//
// Stacks by libbacktrace, which comes with GCC; where it is not, by the C library, which knows only
// the names that a program exports.
// Invariant: one write for all lines, so that those of different PEs do not mix.
#include "base/stack.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#if MESHMEM_HAS_BACKTRACE
#include <backtrace.h>
#include <cxxabi.h>
#else
#include <execinfo.h>
#endif

#include "base/error.hpp"

namespace meshmem {
namespace {

// The names are looked up with locks and memory that this thread may have been in the middle of.
constexpr unsigned kSecondsAtMost = 10;

constexpr const char* kHead = "the stack, innermost call first:\n";

#if MESHMEM_HAS_BACKTRACE

constexpr std::size_t kLongestName = 120;  // of templates whose arguments are what others see

struct Frames {
  backtrace_state* state;
  std::string text;
  int number = 0;
};

std::string readable(const char* name) {
  int status = 0;
  char* const demangled = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string text = demangled ? demangled : name;
  std::free(demangled);
  if (text.size() > kLongestName) text.replace(kLongestName, std::string::npos, "...");
  return text;
}

void add_symbol(void* data, std::uintptr_t, const char* name, std::uintptr_t, std::uintptr_t) {
  if (name) static_cast<Frames*>(data)->text += readable(name);
}

void ignore_error(void*, const char*, int) {}

int add_frame(void* data, std::uintptr_t pc, const char* file, int line, const char* function) {
  Frames& frames = *static_cast<Frames*>(data);
  if (pc == UINTPTR_MAX) return 0;  // the end
  frames.text += fmt::format("  #{:<2} {:#014x} ", frames.number++, pc);
  if (function)
    frames.text += readable(function);
  else
    backtrace_syminfo(frames.state, pc, add_symbol, ignore_error, data);
  frames.text += file ? fmt::format(" at {}:{}\n", file, line) : "\n";
  return 0;
}

void print_frames() {
  Frames frames{backtrace_create_state(nullptr, 1, ignore_error, nullptr), kHead};
  constexpr int kThisFunction = 2;  // and who called it
  backtrace_full(frames.state, kThisFunction, add_frame, ignore_error, &frames);
  frames.text.pop_back();  // print_line ends the last line
  print_line(frames.text);
}

#else

void print_frames() {
  print_line(kHead);
  void* frames[64];
  backtrace_symbols_fd(frames, backtrace(frames, 64), STDERR_FILENO);
}

#endif

}  // namespace

void print_stack() {
  sigset_t end;  // which the program may have blocked
  sigemptyset(&end);
  sigaddset(&end, SIGALRM);
  pthread_sigmask(SIG_UNBLOCK, &end, nullptr);
  signal(SIGALRM, SIG_DFL);
  alarm(kSecondsAtMost);
  print_frames();
  alarm(0);
}

}  // namespace meshmem
