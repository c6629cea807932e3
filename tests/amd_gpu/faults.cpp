// SPDX-License-Identifier: Apache-2.0
// See faults.hpp.
#include "faults.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace amd_gpu {
namespace {

thread_local const Wave* running = nullptr;

void print(const Wave& wave, const char* what) {
  const BlockContext& block = *wave.block;
  char line[640];
  const int length = std::snprintf(
      line, sizeof line, "meshmem: kernel %s ended by: %s; block (%u, %u, %u), wave %u, at %s\n",
      block.kernel_name, what, block.index[0], block.index[1], block.index[2], wave.number,
      wave.current == nullptr ? "its begin" : wave.current->text.c_str());
  const auto size = std::min(sizeof line - 1, static_cast<std::size_t>(length));
  if (write(STDERR_FILENO, line, size) < 0) return;  // nowhere to say it
}

// Waves often fail together: the first says so.
std::mutex& only_one() {
  static std::mutex mutex;
  return mutex;
}

void handle(int number, siginfo_t* about, void*) {
  if (running != nullptr && only_one().try_lock()) {
    char what[64];
    std::snprintf(what, sizeof what, "bad address %p", about->si_addr);
    print(*running, what);
  }
  signal(number, SIG_DFL);
  raise(number);
}

}  // namespace

RunningWave::RunningWave(const Wave& wave) { running = &wave; }
RunningWave::~RunningWave() { running = nullptr; }

void fail(const Wave& wave, const char* what) {
  only_one().lock();  // a second thread waits for the end of the process
  print(wave, what);
  running = nullptr;
  signal(SIGABRT, SIG_DFL);
  std::abort();
}

void catch_faults() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const int number : {SIGSEGV, SIGBUS}) {
      struct sigaction action {};
      if (sigaction(number, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) continue;
      action = {};
      action.sa_sigaction = handle;
      action.sa_flags = static_cast<int>(SA_SIGINFO | SA_ONSTACK | SA_NODEFER);
      sigaction(number, &action, nullptr);
    }
  });
}

}  // namespace amd_gpu
