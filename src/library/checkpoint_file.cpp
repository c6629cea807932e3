// SPDX-License-Identifier: Apache-2.0
//
// Writes, checks and loads the files of a checkpoint. Invariant: memory changes in load_save()
// alone, after check_save() has read the whole file.
#include "library/checkpoint_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <numeric>

#include "base/error.hpp"
#include "base/machine/start_obstacles.hpp"
#include "gpu/device_transfer.hpp"

namespace meshmem {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;  // small enough for caches
constexpr const char* kOtherFolder = "remove it or take another folder";

bool is_on_device(const SavedRange& range) { return range.where >= SavedRange::device_heap; }

std::string text_of(const std::vector<SavedRange>& ranges, std::size_t number) {
  if (number >= ranges.size()) return "missing";
  const auto& [where, offset, bytes] = ranges[number];
  switch (where) {
    case SavedRange::statics:
      return fmt::format("{} bytes of SHMEMX_SAVED variables", bytes);
    case SavedRange::heap:
      return fmt::format("{} bytes at offset {} of the symmetric heap", bytes, offset);
    case SavedRange::device_heap:
      return fmt::format("{} bytes at offset {} of the device heap", bytes, offset);
    case SavedRange::buffer:
      return fmt::format("{} bytes of registered buffer {}", bytes, offset);
  }
  return "unknown";
}

// The objection to a whole file that is of another PE, save or program. The commit has the number
// of PEs.
Objection difference(const SaveHead& head, const SaveHead& wanted, const std::string& path) {
  if (head.save != wanted.save || head.pe != wanted.pe)
    return fmt::format(
        "{} is not the file of PE {} of this save, but of PE {} of save {:x}; put the right file "
        "there",
        path, wanted.pe, head.pe, head.save);
  if (std::memcmp(head.program, wanted.program, sizeof head.program) != 0)
    return fmt::format("{} was saved by the program '{}', and this one is '{}'; restore with '{}'",
                       path, head.program, wanted.program, head.program);
  return std::nullopt;
}

Objection torn(const std::string& path, const std::string& how) {
  return fmt::format("{} is damaged: {}; restore another save", path, how);
}

Objection unreadable(const std::string& path, const SummedFile& file) {
  if (errno == 0) return torn(path, fmt::format("it ends after {} bytes", file.size()));
  return fmt::format("cannot read {}: {}; restore another save", path, errno_text());
}

Objection read_head(SummedFile& file, const std::string& path, SaveHead* head) {
  if (!file.read(head, offsetof(SaveHead, sum))) return unreadable(path, file);
  const std::uint64_t sum = file.sum();
  if (head->magic != SaveHead::kMagic)
    return fmt::format("{} is not a file of shmemx_heap_save; {}", path, kOtherFolder);
  if (head->version != SaveHead::kVersion)
    return fmt::format("{} has format {}, and this library has format {}; {}", path, head->version,
                       SaveHead::kVersion, kOtherFolder);
  if (!file.read(&head->sum, sizeof head->sum)) return unreadable(path, file);
  if (head->sum != sum || head->program[sizeof head->program - 1] != 0)
    return torn(path, "the sum of its head is wrong");
  return std::nullopt;
}

bool write_head(SummedFile& file, SaveHead head) {
  if (!file.write(&head, offsetof(SaveHead, sum))) return false;
  head.sum = file.sum();
  return file.write(&head.sum, sizeof head.sum);
}

// Writes one range. Reads device memory through pinned pieces.
bool write_range(SummedFile& file, const SavedRange& range, const std::byte* from,
                 const char* routine) {
  if (!is_on_device(range)) return file.write(from, range.bytes);
  bool good = true;
  int error = 0;
  device_transfer().copy_out(
      from, range.bytes,
      [&](std::byte* piece, std::size_t, std::size_t bytes) {
        if (!good) return;
        good = file.write(piece, bytes);
        error = errno;
      },
      routine);
  errno = error;
  return good;
}

bool load_range(SummedFile& file, const SavedRange& range, std::byte* to, const char* routine) {
  if (!is_on_device(range)) return file.read(to, range.bytes);
  bool good = true;
  device_transfer().copy_in(
      to, range.bytes,
      [&](std::byte* piece, std::size_t, std::size_t bytes) {
        good = good && file.read(piece, bytes);
      },
      routine);
  return good;
}

}  // namespace

std::uint64_t MemoryToSave::bytes() const {
  return std::accumulate(
      ranges.begin(), ranges.end(), std::uint64_t{0},
      [](std::uint64_t sum, const SavedRange& range) { return sum + range.bytes; });
}

// ---- SummedFile

bool SummedFile::create(const std::string& path) {
  constexpr int kNew = O_CREAT | O_EXCL | O_NOFOLLOW;  // in a folder that others may write to
  file_ = UniqueFd(::open(path.c_str(), O_WRONLY | kNew | O_CLOEXEC, 0600));
  return file_.is_open();
}

bool SummedFile::open(const std::string& path) {
  file_ = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return file_.is_open();
}

// Each step can be undone, so a single word that changes always changes the sum. All pieces of a
// range but the last one are whole words, so their lengths do not matter.
void SummedFile::add(const std::byte* data, std::size_t bytes) {
  std::uint64_t sum = sum_;
  for (std::size_t at = 0; at < bytes; at += sizeof sum) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + at, std::min(sizeof word, bytes - at));
    sum = (sum ^ word) * 0x9e3779b97f4a7c15;
    sum ^= sum >> 32;
  }
  sum_ = sum;
}

bool SummedFile::write(const void* data, std::size_t bytes) {
  const auto* at = static_cast<const std::byte*>(data);
  for (std::size_t left = bytes; left > 0;) {
    const std::size_t piece = std::min(left, kPieceBytes);
    add(at, piece);
    left -= piece;
    for (const std::byte* end = at + piece; at != end;) {
      const ssize_t written = ::write(file_.get(), at, static_cast<std::size_t>(end - at));
      if (written < 0 && errno != EINTR) return false;
      at += std::max<ssize_t>(written, 0);
    }
  }
  return true;
}

bool SummedFile::read(void* data, std::size_t bytes) {
  auto* at = static_cast<std::byte*>(data);
  for (std::size_t left = bytes; left > 0;) {
    std::byte* const begin = at;
    const std::size_t piece = std::min(left, kPieceBytes);
    while (at != begin + piece) {
      const ssize_t got = ::read(file_.get(), at, static_cast<std::size_t>(begin + piece - at));
      if (got < 0 && errno == EINTR) continue;
      if (got == 0) errno = 0;
      if (got <= 0) return false;
      at += got;
    }
    add(begin, piece);
    left -= piece;
  }
  return true;
}

bool SummedFile::sync() { return fsync(file_.get()) == 0; }

std::uint64_t SummedFile::size() const {
  struct stat status {};
  return fstat(file_.get(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

void SummedFile::rewind() {
  lseek(file_.get(), 0, SEEK_SET);
  sum_ = 0;
}

// ---- A PE's file

Objection write_save(const std::string& path, SaveHead head, const MemoryToSave& memory,
                     const char* routine) {
  const std::size_t bytes =
      sizeof head + memory.ranges.size() * sizeof(SavedRange) + memory.bytes() + sizeof head.sum;
  if (bytes > largest_file_bytes())
    return fmt::format(
        "cannot write {} bytes to {}: a file may have {} bytes only; raise the limit "
        "(ulimit -f)",
        bytes, path, largest_file_bytes());
  SummedFile file;
  head.n_ranges = memory.ranges.size();
  head.data_bytes = memory.bytes();
  bool good = file.create(path) && write_head(file, head) &&
              file.write(memory.ranges.data(), memory.ranges.size() * sizeof(SavedRange));
  for (std::size_t i = 0; good && i < memory.ranges.size(); ++i)
    good = write_range(file, memory.ranges[i], memory.addresses[i], routine);
  const std::uint64_t sum = file.sum();
  if (good && file.write(&sum, sizeof sum) && file.sync()) return std::nullopt;
  return fmt::format("cannot write {} bytes to {}: {}; make room or take another folder", bytes,
                     path, errno_text());
}

Objection check_save(SummedFile& file, const std::string& path, const SaveHead& wanted,
                     const MemoryToSave& memory) {
  if (!file.open(path))
    return fmt::format("cannot open {}: {}; all PEs need the whole folder of the save", path,
                       errno_text());
  SaveHead head;
  if (Objection why = read_head(file, path, &head)) return why;
  if (Objection why = difference(head, wanted, path)) return why;
  std::uint64_t bytes =
      sizeof head + head.n_ranges * sizeof(SavedRange) + head.data_bytes + sizeof head.sum;
  if (file.size() != bytes || head.n_ranges > bytes / sizeof(SavedRange))
    return torn(path, fmt::format("it has {} bytes instead of {}", file.size(), bytes));
  std::vector<SavedRange> ranges(head.n_ranges);
  if (!file.read(ranges.data(), ranges.size() * sizeof(SavedRange))) return unreadable(path, file);
  std::vector<std::byte> piece(kPieceBytes);
  for (const SavedRange& range : ranges) {
    for (std::uint64_t left = range.bytes; left > 0;) {
      const std::size_t length = std::min<std::uint64_t>(left, kPieceBytes);
      if (!file.read(piece.data(), length)) return unreadable(path, file);
      left -= length;
    }
  }
  const std::uint64_t sum = file.sum();
  if (!file.read(&bytes, sizeof bytes)) return unreadable(path, file);
  if (bytes != sum) return torn(path, "the sum of its bytes is wrong");
  if (ranges == memory.ranges) {
    // Compilers may give the marked variables other places, without another size in all.
    if (head.build == wanted.build || ranges[0].bytes == 0) return std::nullopt;
    return fmt::format(
        "{} was saved by another build of the program, whose SHMEMX_SAVED variables may lie "
        "elsewhere; restore with the same build",
        path);
  }
  std::size_t at = 0;
  while (at < std::min(ranges.size(), memory.ranges.size()) && ranges[at] == memory.ranges[at])
    ++at;
  return fmt::format(
      "{} has other memory: its range {} is {}, and here it is {}; make the same allocations in "
      "the same order before the restore",
      path, at, text_of(ranges, at), text_of(memory.ranges, at));
}

bool load_save(SummedFile& file, const MemoryToSave& memory, const char* routine) {
  file.rewind();
  SaveHead head;
  std::vector<SavedRange> ranges(memory.ranges.size());
  bool good =
      file.read(&head, sizeof head) && file.read(ranges.data(), ranges.size() * sizeof(SavedRange));
  for (std::size_t i = 0; good && i < ranges.size(); ++i)
    good = load_range(file, ranges[i], memory.addresses[i], routine);
  const std::uint64_t sum = file.sum();
  return good && file.read(&head.sum, sizeof head.sum) && head.sum == sum;
}

// ---- The commit and the folder

std::string path_of_save(const std::string& folder, std::uint64_t save, int pe) {
  return fmt::format("{}/save{:016x}.pe{}", folder, save, pe);
}

Objection read_commit(const std::string& folder, SaveHead* commit) {
  const std::string path = folder + "/commit";
  SummedFile file;
  if (file.open(path)) return read_head(file, path, commit);
  *commit = SaveHead{};
  if (errno == ENOENT) return std::nullopt;
  return fmt::format("cannot open {}: {}; {}", path, errno_text(), kOtherFolder);
}

Objection write_commit(const std::string& folder, const UniqueFd& open_folder,
                       const SaveHead& commit) {
  const std::string path = folder + "/commit", beside = path + ".new";
  SummedFile file;
  unlink(beside.c_str());  // left by a process that was killed
  // The names of the PEs' files are on disk before the commit is.
  if (fsync(open_folder.get()) == 0 && file.create(beside) && write_head(file, commit) &&
      file.sync() && std::rename(beside.c_str(), path.c_str()) == 0 &&
      fsync(open_folder.get()) == 0)
    return std::nullopt;
  return fmt::format("cannot write {}: {}; make room or take another folder", path, errno_text());
}

void remove_other_saves(const std::string& folder, std::uint64_t kept) {
  DIR* const list = opendir(folder.c_str());
  if (!list) return;
  while (const dirent* entry = readdir(list)) {
    const std::string_view name = entry->d_name;
    std::uint64_t save = 0;
    int pe = 0;
    if (std::sscanf(entry->d_name, "save%16" SCNx64 ".pe%d", &save, &pe) == 2 && save != kept &&
        name == path_of_save("", save, pe).substr(1))
      unlinkat(dirfd(list), entry->d_name, 0);
  }
  closedir(list);
}

}  // namespace meshmem
