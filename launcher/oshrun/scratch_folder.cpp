// SPDX-License-Identifier: Apache-2.0
// Makes, locks and removes oshrun's temporary folder, and finds those that were left behind.
// Invariant: nothing is removed that another user owns or may enter, that is not a folder, or that
// is locked.
// Called by main() and, through the destructor's twin remove_all, by the guard.
#include "scratch_folder.hpp"

#include <sys/file.h>
#include <sys/stat.h>

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

// In such a folder whoever likes could put another folder in the place of ours, or give one of the
// user's own the name of a stale one.
void refuse_if_others_may_rename(const std::string& parent) {
  struct stat about;
  if (::stat(parent.c_str(), &about) != 0) return;  // mkdtemp says why
  if ((about.st_mode & S_IWOTH) == 0 || (about.st_mode & S_ISVTX) != 0) return;
  throw Failure(kSystemError,
                fmt::format("everybody may rename files in '{}' (TMPDIR); set its sticky bit "
                            "(`chmod +t {}`) or set TMPDIR to another folder",
                            parent, parent));
}

// The folder's descriptor with the lock on it, or none if it is in use, foreign or gone.
UniqueFd try_lock(const std::string& path) {
  UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat about;
  if (!folder.is_open() || ::fstat(folder.get(), &about) != 0) return UniqueFd();
  if (about.st_uid != ::geteuid()) return UniqueFd();
  if (::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) return UniqueFd();
  // Its remover held the lock until just now.
  if (::access(path.c_str(), F_OK) != 0) return UniqueFd();
  return folder;
}

bool is_private(const UniqueFd& folder) {
  struct stat about;
  return ::fstat(folder.get(), &about) == 0 && (about.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

[[noreturn]] void fail(const char* doing, const std::string& parent) {
  throw Failure(kSystemError, fmt::format("cannot {} a folder in '{}' (TMPDIR): {}", doing, parent,
                                          std::strerror(errno)));
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
  // Another oshrun that cleans up may take a new folder before it is locked: then make another.
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
    throw Failure(kSystemError,
                  fmt::format("a new folder in '{}' is open to other users; set TMPDIR "
                              "to a file system that keeps a folder's mode",
                              parent));
  }
}

ScratchFolder::~ScratchFolder() {
  std::error_code error;
  fs::remove_all(path_, error);
}

}  // namespace meshmem
