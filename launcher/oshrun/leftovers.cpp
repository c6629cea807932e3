// SPDX-License-Identifier: Apache-2.0
// Makes, locks and removes oshrun's temporary folder, and finds those that were left behind. The
// guard process ends PEs' groups, for which PR_SET_PDEATHSIG is not enough: PEs have children.
// Invariant: no folder is removed that another user owns or may enter, or that is locked. The guard
// holds no descriptor of the user's, so nobody who reads oshrun's output waits for it.
#include "leftovers.hpp"

#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>

namespace meshmem {
namespace {

namespace fs = std::filesystem;

constexpr int kAttempts = 20;

std::string parent_folder() {
  const char* chosen = std::getenv("TMPDIR");
  return chosen != nullptr && *chosen != '\0' ? chosen : "/tmp";
}

std::string name_prefix() { return fmt::format("oshrun-{}-", ::geteuid()); }

// In a folder that everybody may write, without a sticky bit, anybody could replace our folder, or
// give one of the user's own folders the name of a stale one.
void refuse_if_others_may_rename(const std::string& parent) {
  struct stat about;
  if (::stat(parent.c_str(), &about) != 0) return;  // mkdtemp will fail too, and says why
  if ((about.st_mode & S_IWOTH) == 0 || (about.st_mode & S_ISVTX) != 0) return;
  give_up(
      "everybody may rename files in '{}' (TMPDIR); set its sticky bit (`chmod +t {}`) or set "
      "TMPDIR to another folder",
      parent, parent);
}

// The folder's descriptor with the lock on it, or none if it is in use, foreign or gone.
UniqueFd try_lock(const std::string& path) {
  UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat about;
  if (!folder.is_open() || ::fstat(folder.get(), &about) != 0) return UniqueFd();
  if (about.st_uid != ::geteuid()) return UniqueFd();
  if (::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) return UniqueFd();
  // Another oshrun may have held the lock until just now, and removed the folder.
  if (::access(path.c_str(), F_OK) != 0) return UniqueFd();
  return folder;
}

bool is_private(const UniqueFd& folder) {
  struct stat about;
  return ::fstat(folder.get(), &about) == 0 && (about.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

[[noreturn]] void fail(const char* doing, const std::string& parent) {
  give_up("cannot {} a folder in '{}' (TMPDIR): {}", doing, parent, std::strerror(errno));
}

void remove_stale_folders(const std::string& parent) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(parent, error)) {
    if (!entry.path().filename().string().starts_with(name_prefix())) continue;
    UniqueFd lock = try_lock(entry.path());
    if (lock.is_open() && is_private(lock)) fs::remove_all(entry.path(), error);
  }
}

}  // namespace

ScratchFolder::ScratchFolder() {
  std::string parent = parent_folder();
  refuse_if_others_may_rename(parent);
  remove_stale_folders(parent);
  // Another oshrun that cleans up may remove a new folder before it is locked: then make another.
  for (int attempt = 1; !lock_.is_open(); ++attempt) {
    path_ = fmt::format("{}/{}{}-XXXXXX", parent, name_prefix(), ::getpid());
    if (::mkdtemp(path_.data()) == nullptr) fail("make", parent);
    lock_ = try_lock(path_);
    if (lock_.is_open()) break;
    const int error = errno;
    ::rmdir(path_.c_str());
    errno = error;
    if (attempt == kAttempts) fail("lock", parent);
  }
  if (!is_private(lock_)) {
    ::rmdir(path_.c_str());
    give_up(
        "a new folder in '{}' is open to other users; set TMPDIR to a file system that keeps a "
        "folder's mode",
        parent);
  }
}

ScratchFolder::~ScratchFolder() {
  std::error_code error;
  fs::remove_all(path_, error);
}

Guard::Guard(int pes, const std::string& scratch_path) : pes_(pes), pipe_(make_pipe()) {
  std::size_t bytes = sizeof(*groups_) * static_cast<std::size_t>(pes);
  void* shared = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) give_up("cannot get memory for the guard process");
  groups_ = static_cast<std::atomic<pid_t>*>(shared);
  process_ = check(::fork(), "start the guard process");
  if (process_ == 0) keep_watch(scratch_path);
  pipe_.read_end.reset();
}

Guard::~Guard() {
  for (int pe = 0; pe < pes_; ++pe) forget(pe);
  pipe_.write_end.reset();
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Guard::keep_watch(const std::string& scratch_path) {
  ::prctl(PR_SET_NAME, "oshrun-guard");
  ::setsid();  // out of reach of signals to oshrun's own group
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(fd);
  pipe_.write_end.reset();
  char byte;
  while (::read(pipe_.read_end.get(), &byte, 1) < 0 && errno == EINTR) {
  }
  for (int pe = 0; pe < pes_; ++pe) {
    if (pid_t group = groups_[pe].load(std::memory_order_relaxed); group > 0) {
      ::kill(-group, SIGKILL);
    }
  }
  std::error_code error;
  fs::remove_all(scratch_path, error);
  ::_exit(0);
}

}  // namespace meshmem
