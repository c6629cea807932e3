// SPDX-License-Identifier: Apache-2.0
// The board lies in an anonymous file of oshrun's, which PEs and `oshrun --status` open through
// /proc/<pid>/fd: the system lets only the same user do so.
// Invariant: the file cannot change its size, which would kill processes that map it.
#include "status.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/machine/shared_file.hpp"
#include "base/status/status_table.hpp"

namespace meshmem {
namespace {

constexpr const char* kFileName = "meshmem-status";

void* map_file(int file, std::size_t bytes) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) give_up("cannot map the status of the PEs: {}", std::strerror(errno));
  return memory;
}

struct stat look_at(const UniqueFd& file) {
  struct stat about {};
  check(::fstat(file.get(), &about), "look at the status of the PEs");
  return about;
}

[[noreturn]] void refuse_job(pid_t pid, const char* why) {
  give_up("--status {}: {}; give the process id of a running oshrun of yours (pgrep -x oshrun)",
          pid, why);
}

void require_own(pid_t pid, const std::filesystem::path& process) {
  struct stat about {};
  if (::stat(process.c_str(), &about) != 0) refuse_job(pid, "there is no such process");
  if (about.st_uid != ::geteuid()) refuse_job(pid, "it is a process of another user");
}

// The board's file, which only an oshrun keeps open.
UniqueFd open_board_of(pid_t pid) {
  const std::filesystem::path process = fmt::format("/proc/{}", pid);
  require_own(pid, process);
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(process / "fd", error)) {
    const std::string target = std::filesystem::read_symlink(entry.path(), error).string();
    if (!target.starts_with(fmt::format("/memfd:{} ", kFileName))) continue;
    UniqueFd file(::open(entry.path().c_str(), O_RDWR | O_CLOEXEC));
    if (file.is_open()) return file;
  }
  if (error) refuse_job(pid, "it cannot be looked at");
  std::string program;
  std::getline(std::ifstream(process / "comm"), program);
  refuse_job(pid, program == "oshrun"
                      ? "it has no table: another launcher runs its job, or it is just starting"
                      : "it is not an oshrun");
}

}  // namespace

StatusFile::StatusFile(int pes, const std::string& program, const std::string& pmix_job)
    : file_(check(try_make_shared_file(kFileName, StatusBoard::bytes_for(pes)),
                  "make memory for the status of the PEs")) {
  const std::size_t bytes = StatusBoard::bytes_for(pes);
  board_ = StatusBoard::make(map_file(file_.get(), bytes), pes, program, pmix_job);
}

std::string StatusFile::variable() const {
  return fmt::format("MESHMEM_OSHRUN_STATUS={}:{}:{}", ::getpid(), file_.get(),
                     look_at(file_).st_ino);
}

void StatusFile::note_end(int pe, const ChildEnd& end) {
  const int wait_status = end.signal != 0 ? end.signal : end.status << 8;
  board_.pe(pe).ended.store(static_cast<std::uint32_t>(wait_status) + 1);
}

std::string StatusFile::table() const { return status_table_with_callers(board_); }

void show_status_of(pid_t oshrun) {
  const UniqueFd file = open_board_of(oshrun);
  const auto bytes = static_cast<std::size_t>(look_at(file).st_size);
  const StatusBoard board(map_file(file.get(), bytes), bytes);
  if (!board.is_valid()) refuse_job(oshrun, "it is of another version of meshmem");
  const std::string table =
      fmt::format("oshrun {}: {}\n", oshrun, status_table_with_callers(board));
  if (std::fwrite(table.data(), 1, table.size(), stdout) != table.size() ||
      std::fflush(stdout) != 0) {
    give_up("cannot write the table: {}", std::strerror(errno));
  }
}

}  // namespace meshmem
