// SPDX-License-Identifier: Apache-2.0
//
// The order of a save and of a restore, and what the PEs agree on in between.
// Invariant: until all have checked their files, no PE changes its memory; until all have written
// theirs, the save before is the one that counts. PE 0 of the team alone writes the commit and
// removes files. It holds a lock on the folder, which the system takes from a process that ends.
#include <fcntl.h>
#include <fmt/format.h>
#include <shmemx.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "collectives/by_messages.hpp"
#include "collectives/same_call.hpp"
#include "collectives/sync.hpp"
#include "core/runtime.hpp"
#include "library/allocation.hpp"
#include "library/checkpoint_file.hpp"
#include "memory/static_data.hpp"
#include "one_sided/completion.hpp"

namespace meshmem {
namespace {

// All transfers of all PEs of the team are complete.
void begin(Team& team) {
  expect_same_call(team, "");
  complete_transfers(team.routine());
  sync(team);
}

// That the files of all PEs are in PE 0's folder.
Objection find_files(const Team& team, const std::string& folder, std::uint64_t save) {
  for (int pe = 0; pe < team.n; ++pe)
    if (access(path_of_save(folder, save, pe).c_str(), F_OK) != 0)
      return fmt::format(
          "the file of PE {} is not in the folder {} of PE 0; give all PEs one folder, which their "
          "machines share",
          pe, folder);
  return std::nullopt;
}

// True if no PE objects. Otherwise the first PE that does prints why.
bool all_agree(Team& team, const Objection& mine) {
  const auto objects = by_messages::gather(team, mine ? 1 : 0);
  const auto first = std::find(objects.begin(), objects.end(), 1);
  if (first - objects.begin() == team.me) print_line(fmt::format("{}: {}", team.routine(), *mine));
  return first == objects.end();
}

void add_blocks(MemoryToSave& memory, SavedRange::Where where, SymmetricHeap& heap) {
  for (const auto& [address, bytes] : heap.blocks()) {
    memory.ranges.push_back({where, heap.offset_of(address), bytes});
    memory.addresses.push_back(address);
  }
}

Objection find_memory(MemoryToSave& memory) {
  const auto statics = find_saved_variables();
  if (!statics)
    return "SHMEMX_SAVED variables cannot be found in the program's file; give yourself the right "
           "to read it, start it by its own name and keep its section headers";
  memory.ranges.push_back({SavedRange::statics, 0, statics->size()});
  memory.addresses.push_back(statics->data());
  add_blocks(memory, SavedRange::heap, runtime().heap());
  if (!runtime().has_devices()) return std::nullopt;
  add_blocks(memory, SavedRange::device_heap, runtime().device_heap());
  std::uint64_t number = 0;
  for (const DeviceSegment& segment : device_segments().all()) {
    auto* const address = reinterpret_cast<std::byte*>(segment.base);
    if (runtime().device_heap().holds(address)) continue;
    memory.ranges.push_back({SavedRange::buffer, number++, segment.bytes});
    memory.addresses.push_back(address);
  }
  return std::nullopt;
}

SaveHead head_of(const Team& team, std::uint64_t save) {
  SaveHead head;
  head.save = save;
  head.n_pes = static_cast<std::uint64_t>(team.n);
  head.pe = static_cast<std::uint64_t>(team.me);
  const std::string_view name = program_invocation_short_name;
  name.copy(head.program, sizeof head.program - 1);
  head.build = find_static_data().fingerprint;
  return head;
}

// The folder, and the file in it whose lock keeps other teams out. Network file systems pass on
// locks of files, but not of folders.
struct OpenFolder {
  OpenFolder() = default;
  // Closing does not unlock the file if a child of fork has it open too.
  ~OpenFolder() {
    if (lock.is_open()) flock(lock.get(), LOCK_UN);
  }
  UniqueFd folder, lock;
};

// Opens and locks the folder. A restore goes without the lock where there is no such file. Some
// file systems have no locks, and then all go without.
Objection open_folder(const std::string& folder, bool saves, OpenFolder* out) {
  out->folder = UniqueFd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!out->folder.is_open())
    return fmt::format(
        "cannot open the folder {}: {}; take one that shmemx_heap_save has made or can make",
        folder, errno_text());
  const int mode = (saves ? O_RDWR | O_CREAT : O_RDONLY) | O_NOFOLLOW | O_CLOEXEC;
  out->lock = UniqueFd(openat(out->folder.get(), "lock", mode, 0600));
  if (saves && !out->lock.is_open())
    return fmt::format("cannot make {}/lock: {}; take another folder", folder, errno_text());
  if (out->lock.is_open() && flock(out->lock.get(), (saves ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0 &&
      errno == EWOULDBLOCK)
    return fmt::format("another team uses {}; wait for its end or take another folder", folder);
  return std::nullopt;
}

// The first steps of a save, which PE 0 alone takes; then those of a restore.
Objection begin_save(const SaveHead& mine, const std::string& folder, OpenFolder* open,
                     SaveHead* previous) {
  const bool is_new = mkdir(folder.c_str(), 0700) == 0;
  if (!is_new && errno != EEXIST)
    return fmt::format("cannot make the folder {}: {}; take another one", folder, errno_text());
  if (Objection why = open_folder(folder, true, open)) return why;
  if (is_new) {
    const UniqueFd above(openat(open->folder.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    fsync(above.get());
  }
  if (Objection why = read_commit(folder, previous)) return why;
  if (previous->save != 0 &&
      (previous->n_pes != mine.n_pes || std::strcmp(previous->program, mine.program) != 0))
    return fmt::format(
        "{} has a save of '{}' by {} PEs; remove it or take another folder, since this save would "
        "take its place",
        folder, previous->program, previous->n_pes);
  fsync(open->folder.get());                   // the commit that was read stays
  remove_other_saves(folder, previous->save);  // left by processes that have ended
  return std::nullopt;
}

// commit->save: 0 if there is no complete save, kUnread if it could not be read.
constexpr std::uint64_t kUnread = ~std::uint64_t{0};
Objection begin_restore(const Team& team, const std::string& folder, OpenFolder* open,
                        SaveHead* commit) {
  commit->save = access(folder.c_str(), F_OK) != 0 && errno == ENOENT ? 0 : kUnread;
  if (Objection why = open_folder(folder, false, open)) return why;
  SaveHead read;
  if (Objection why = read_commit(folder, &read)) return why;
  *commit = read;
  if (commit->save == 0)
    return fmt::format(
        "{} has no complete save; take the folder of a shmemx_heap_save that "
        "returned 0",
        folder);
  if (commit->n_pes != static_cast<std::uint64_t>(team.n))
    return fmt::format("{} was saved by {} PEs, and this team has {}; restore with a team of {}",
                       folder, commit->n_pes, team.n, commit->n_pes);
  return std::nullopt;
}

std::uint64_t new_number() {
  std::uint64_t number = 0;
  while (number == 0) check(getrandom(&number, sizeof number, 0), "get random bits");
  return number;
}

using Clock = std::chrono::steady_clock;

void debug_end(const Team& team, const MemoryToSave& memory, Clock::time_point start) {
  if (team.me != 0) return;
  debug("{}: {} bytes of each PE in {:.2f} s", team.routine(), memory.bytes(),
        std::chrono::duration<double>(Clock::now() - start).count());
}

}  // namespace

int save_memory(Team& team, const std::string& folder) {
  const Clock::time_point start = Clock::now();
  begin(team);
  const bool is_first = team.me == 0;
  OpenFolder open;  // by PE 0, until all have ended
  SaveHead previous;
  Objection why = is_first ? begin_save(head_of(team, 0), folder, &open, &previous) : std::nullopt;
  const std::uint64_t save = by_messages::gather(team, is_first ? new_number() : 0)[0];
  if (!all_agree(team, why)) return 1;

  MemoryToSave memory;
  why = find_memory(memory);
  const SaveHead head = head_of(team, save);
  if (!why) why = write_save(path_of_save(folder, save, team.me), head, memory, team.routine());
  if (!all_agree(team, why)) {
    if (is_first) remove_other_saves(folder, previous.save);
    return 1;
  }
  if (is_first) why = find_files(team, folder, save);
  if (is_first && !why) why = write_commit(folder, open.folder, head);
  if (!all_agree(team, why)) return 1;  // either commit may be on disk, so the files of both stay
  if (is_first) remove_other_saves(folder, save);
  debug_end(team, memory, start);
  return 0;
}

int restore_memory(Team& team, const std::string& folder) {
  const Clock::time_point start = Clock::now();
  begin(team);
  OpenFolder open;
  SaveHead commit;
  Objection why = team.me == 0 ? begin_restore(team, folder, &open, &commit) : std::nullopt;
  const std::uint64_t save = by_messages::gather(team, commit.save)[0];
  if (!all_agree(team, why)) return save == 0 ? SHMEMX_NO_SAVE : 1;

  MemoryToSave memory;
  SummedFile file;
  const std::string path = path_of_save(folder, save, team.me);
  why = find_memory(memory);
  if (!why) why = check_save(file, path, head_of(team, save), memory);
  if (!all_agree(team, why)) return 1;
  if (!load_save(file, memory, team.routine()))
    fatal("{}: {} has changed while it was read", team.routine(), path);
  complete_stores();
  sync(team);
  debug_end(team, memory, start);
  return 0;
}

}  // namespace meshmem
