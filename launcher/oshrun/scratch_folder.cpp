// SPDX-License-Identifier: Apache-2.0
// Makes, locks and removes oshrun's temporary folder, and finds those that were left behind.
// Invariant: nothing is removed that another user owns, that is not a folder, or that is locked.
// Called by main() and, through the destructor's twin remove_all, by the guard.
#include "scratch_folder.hpp"

#include <sys/file.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

namespace meshmem {
namespace {

namespace fs = std::filesystem;

std::string parent_folder() {
  const char* chosen = std::getenv("TMPDIR");
  return chosen != nullptr && *chosen != '\0' ? chosen : "/tmp";
}

std::string name_prefix() { return fmt::format("oshrun-{}-", ::geteuid()); }

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

void remove_stale_folders(const std::string& parent) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(parent, error)) {
    if (!entry.path().filename().string().starts_with(name_prefix())) continue;
    if (UniqueFd lock = try_lock(entry.path()); lock.is_open()) fs::remove_all(entry.path(), error);
  }
}

}  // namespace

ScratchFolder::ScratchFolder() {
  std::string parent = parent_folder();
  remove_stale_folders(parent);
  // Another oshrun that cleans up may take a new folder before it is locked: then make another.
  while (!lock_.is_open()) {
    path_ = fmt::format("{}/{}{}-XXXXXX", parent, name_prefix(), ::getpid());
    if (::mkdtemp(path_.data()) == nullptr) {
      throw Failure(kSystemError, fmt::format("cannot make a folder in '{}' (TMPDIR): {}", parent,
                                              std::strerror(errno)));
    }
    lock_ = try_lock(path_);
  }
}

ScratchFolder::~ScratchFolder() {
  std::error_code error;
  fs::remove_all(path_, error);
}

}  // namespace meshmem
