// SPDX-License-Identifier: Apache-2.0
//
// The files of a checkpoint: one of each PE, and a commit that names the save to which they belong.
//
//   file of a PE   [ head | ranges | their bytes | sum of all before ]
//   commit         [ head ]
//
// Invariant: a file is written once, under a name that no other save uses, and is part of a save
// only if the commit has this save's number. A rename replaces the commit. So a folder always has
// the last whole save, or none. Called by checkpoint.cpp.
#ifndef MESHMEM_LIBRARY_CHECKPOINT_FILE_HPP_
#define MESHMEM_LIBRARY_CHECKPOINT_FILE_HPP_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/machine/unique_fd.hpp"

namespace meshmem {

// Why a file cannot be written or used, and how to fix it; nullopt: it can.
using Objection = std::optional<std::string>;

struct SaveHead {
  static constexpr std::uint64_t kMagic = 0x314d454d4853454d;  // "MESHMEM1"; its order of bytes too
  static constexpr std::uint64_t kVersion = 1;

  std::uint64_t magic = kMagic;
  std::uint64_t version = kVersion;
  std::uint64_t save = 0;  // the save's number, which no other save has
  std::uint64_t n_pes = 0, pe = 0;
  std::uint64_t n_ranges = 0, data_bytes = 0;
  std::uint64_t build = 0;  // of the program: StaticData::fingerprint
  char program[56] = {};    // the name of the program's file
  std::uint64_t sum = 0;    // of all before
};

// A range of symmetric memory, as the file names it.
struct SavedRange {
  enum Where : std::uint64_t { statics, heap, device_heap, buffer };
  Where where;
  std::uint64_t offset;  // in the heap; of buffers, the number
  std::uint64_t bytes;
  bool operator==(const SavedRange&) const = default;
};

// The ranges of this PE, and where they are.
struct MemoryToSave {
  std::vector<SavedRange> ranges;
  std::vector<std::byte*> addresses;
  std::uint64_t bytes() const;
};

// A file that is written or read from its beginning, with the sum of its bytes so far.
class SummedFile {
 public:
  // Each returns false with errno set; 0 in errno: the file has ended.
  bool create(const std::string& path);
  bool open(const std::string& path);
  bool write(const void* data, std::size_t bytes);
  bool read(void* data, std::size_t bytes);
  bool sync();

  std::uint64_t sum() const { return sum_; }
  std::uint64_t size() const;
  void rewind();

 private:
  void add(const std::byte* data, std::size_t bytes);
  UniqueFd file_;
  std::uint64_t sum_ = 0;
};

// A PE's file, in each of these functions.
Objection write_save(const std::string& path, SaveHead head, const MemoryToSave& memory,
                     const char* routine);
// Opens the file and reads all of it. `wanted`: what the head has to say.
Objection check_save(SummedFile& file, const std::string& path, const SaveHead& wanted,
                     const MemoryToSave& memory);
// Copies the contents of a checked file to memory. Returns false if they are no longer what they
// were.
bool load_save(SummedFile& file, const MemoryToSave& memory, const char* routine);

// The commit. No commit is no objection: then the head's save is 0.
Objection read_commit(const std::string& folder, SaveHead* commit);
Objection write_commit(const std::string& folder, const UniqueFd& open_folder,
                       const SaveHead& commit);

std::string path_of_save(const std::string& folder, std::uint64_t save, int pe);
// Removes the files of all saves but one.
void remove_other_saves(const std::string& folder, std::uint64_t kept);

}  // namespace meshmem

#endif  // MESHMEM_LIBRARY_CHECKPOINT_FILE_HPP_
