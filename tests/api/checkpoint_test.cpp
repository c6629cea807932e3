// SPDX-License-Identifier: Apache-2.0
//
// shmemx_heap_save and shmemx_heap_restore: what comes back, what stays, and what is refused.
// Invariant: a refused call returns nonzero on all PEs, says one line, and changes no memory. The
// tests damage files by the system's calls. tests/launch/test_checkpoints.py restores in other
// jobs.
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "placed_array.hpp"
#include "team_lists.hpp"

namespace meshmem {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<uint64_t>;

SHMEMX_SAVED uint64_t saved[100] = {1, 2, 3};
SHMEMX_SAVED unsigned char saved_byte = 7;
uint64_t not_saved = 1;

// Returns the sum of all PEs' numbers, and meets.
uint64_t sum_of_all(uint64_t mine) {
  static uint64_t word, sum;
  word = mine;
  shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, &sum, &word, 1);
  return sum;
}

// A folder that all PEs know, which does not exist at first.
class Folder {
 public:
  Folder()
      : path_(fs::temp_directory_path() /
              ("meshmem-checkpoint-" + std::to_string(agreed(std::random_device{}())))) {}
  ~Folder() {
    shmem_barrier_all();
    if (my_pe() == 0) fs::remove_all(path_);
    shmem_barrier_all();
  }
  const char* name() const { return path_.c_str(); }
  fs::path commit() const { return path_ / "commit"; }
  // The file of a PE; empty if there is not one.
  fs::path file_of(int pe) const {
    fs::path found;
    for (const fs::path& file : files())
      if (file.extension() == ".pe" + std::to_string(pe)) found = found.empty() ? file : fs::path();
    return found;
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> all;
    for (const auto& entry : fs::directory_iterator(path_)) all.push_back(entry.path());
    return all;
  }

 private:
  fs::path path_;
};

template <typename Array>
using ElementOf = std::remove_pointer_t<decltype(std::declval<Array>().data())>;

// All memory that a checkpoint has, and how to fill and compare it.
struct Memory {
  PlacedArray<uint64_t> host{Place::host, 1000}, gap{Place::host, 50};
  PlacedArray<unsigned char> odd{Place::host, (1 << 20) + 13};
  PlacedArray<uint64_t> device{Place::device, 40001}, registered{Place::registered, 33};
  PlacedArray<unsigned char> odd_device{Place::device, 3};

  // Calls use(array, round of its values) for each array.
  template <typename Use>
  void each(int round, const Use& use) {
    use(host, round);
    use(gap, round + 1);
    use(odd, round + 2);
    use(device, round + 3);
    use(registered, round + 4);
    use(odd_device, round + 5);
  }
  void fill(int round) {
    each(round, [](auto& array, int its_round) {
      array.write(samples<ElementOf<decltype(array)>>(array.size(), my_pe(), its_round));
    });
    const Words words = samples<uint64_t>(100, my_pe(), round + 6);
    std::copy(words.begin(), words.end(), saved);
    saved_byte = static_cast<unsigned char>(round + my_pe());
  }
  void expect(int round) {
    each(round, [](auto& array, int its_round) {
      const auto wanted = samples<ElementOf<decltype(array)>>(array.size(), my_pe(), its_round);
      EXPECT_TRUE(array.read() == wanted) << name_of(array.place()) << ", " << array.size();
    });
    EXPECT_TRUE(Words(saved, saved + 100) == samples<uint64_t>(100, my_pe(), round + 6));
    EXPECT_EQ(saved_byte, static_cast<unsigned char>(round + my_pe()));
  }
};

// Calls and expects that it is refused: nonzero, and one line of all PEs together that has `words`.
template <typename Call>
void expect_refused(const std::string& words, const Call& call) {
  SCOPED_TRACE(words);
  shmem_barrier_all();
  testing::internal::CaptureStderr();
  EXPECT_NE(call(), 0);
  const std::string said = testing::internal::GetCapturedStderr();
  const auto lines = static_cast<uint64_t>(std::count(said.begin(), said.end(), '\n'));
  EXPECT_EQ(sum_of_all(lines), 1u) << said;
  if (lines > 0) {
    EXPECT_NE(said.find(words), std::string::npos) << said;
  }
}

// A save of round 1 in memory of round 50: a restore that is refused leaves round 50.
class CheckpointRefused : public testing::Test {
 protected:
  void SetUp() override {
    memory.fill(1);
    ASSERT_EQ(shmemx_heap_save(SHMEM_TEAM_WORLD, folder.name()), 0);
    memory.fill(50);
    own = folder.file_of(my_pe());
    ASSERT_FALSE(own.empty());
    shmem_barrier_all();
  }
  void refuse(const std::string& words) {
    expect_refused(words, [&] { return shmemx_heap_restore(SHMEM_TEAM_WORLD, folder.name()); });
    memory.expect(50);
  }
  void refuse_save(const std::string& words) {
    expect_refused(words, [&] { return shmemx_heap_save(SHMEM_TEAM_WORLD, folder.name()); });
    memory.expect(50);
  }
  // Ends a test, in which the files are good again.
  void expect_restored() {
    shmem_barrier_all();
    EXPECT_EQ(shmemx_heap_restore(SHMEM_TEAM_WORLD, folder.name()), 0);
    memory.expect(1);
    memory.fill(50);
    shmem_barrier_all();
  }

  Folder folder;
  Memory memory;
  fs::path own;  // this PE's file
};

void flip(const fs::path& path, uintmax_t byte, int bit) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(byte));
  const auto flipped = static_cast<char>(file.get() ^ (1 << bit));
  file.seekp(static_cast<std::streamoff>(byte));
  file.put(flipped);
  ASSERT_TRUE(file.flush());
}

TEST(Checkpoint, BringsBackEveryBit) {
  Folder folder;
  Memory memory;
  for (const int round : {1, 20}) {  // the second save takes the place of the first
    memory.fill(round);
    EXPECT_EQ(shmemx_heap_save(SHMEM_TEAM_WORLD, folder.name()), 0);
    memory.expect(round);
    memory.fill(50);
    EXPECT_EQ(shmemx_heap_restore(SHMEM_TEAM_WORLD, folder.name()), 0);
    memory.expect(round);
    shmem_barrier_all();
    EXPECT_EQ(folder.files().size(),
              static_cast<size_t>(n_pes()) + 2);  // and the commit and the lock
    shmem_barrier_all();
  }
}

TEST(Checkpoint, LeavesOtherVariables) {
  Folder folder;
  not_saved = 1;
  EXPECT_EQ(shmemx_heap_save(SHMEM_TEAM_WORLD, folder.name()), 0);
  not_saved = 2;
  EXPECT_EQ(shmemx_heap_restore(SHMEM_TEAM_WORLD, folder.name()), 0);
  EXPECT_EQ(not_saved, 2u);
}

TEST(Checkpoint, HasTransfersFromBeforeTheSave) {
  Folder folder;
  PlacedArray<uint64_t> host(Place::host, 5000), device(Place::device, 5000);
  host.write(Words(5000));
  device.write(Words(5000));
  shmem_barrier_all();
  const Words values = samples<uint64_t>(5000, my_pe());
  shmem_uint64_put_nbi(host, values.data(), 5000, next_pe());
  shmem_uint64_put_nbi(device, values.data(), 5000, next_pe());
  EXPECT_EQ(shmemx_heap_save(SHMEM_TEAM_WORLD, folder.name()), 0);
  host.write(Words(5000));
  device.write(Words(5000));
  shmem_barrier_all();
  EXPECT_EQ(shmemx_heap_restore(SHMEM_TEAM_WORLD, folder.name()), 0);
  EXPECT_TRUE(host.read() == samples<uint64_t>(5000, previous_pe()));
  EXPECT_TRUE(device.read() == samples<uint64_t>(5000, previous_pe()));
}

// The values that a restore has brought are there for other PEs too, as soon as it returns.
TEST(Checkpoint, IsSeenByOtherPesAtOnce) {
  Folder folder;
  PlacedArray<uint64_t> device(Place::device, 1000);
  device.write(samples<uint64_t>(1000, my_pe(), 1));
  std::fill(saved, saved + 100, 100 + my_pe());
  EXPECT_EQ(shmemx_heap_save(SHMEM_TEAM_WORLD, folder.name()), 0);
  for (int round = 0; round < 10; ++round) {
    device.write(Words(1000));
    std::fill(saved, saved + 100, 0);
    shmem_barrier_all();
    EXPECT_EQ(shmemx_heap_restore(SHMEM_TEAM_WORLD, folder.name()), 0);
    Words got(1000);
    shmem_uint64_get(got.data(), device, 1000, next_pe());
    EXPECT_TRUE(got == samples<uint64_t>(1000, next_pe(), 1));
    EXPECT_EQ(shmem_uint64_g(&saved[99], next_pe()), static_cast<uint64_t>(100 + next_pe()));
    shmem_barrier_all();
  }
}

// A thread of PE 0 forks as soon as the lock's file is open, so the child has it open too.
TEST(Checkpoint, LeavesTheFolderThoughAChildOfForkLives) {
  Folder folder;
  pid_t child = -1;
  std::thread forking([&] {
    if (my_pe() != 0) return;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!fs::exists(fs::path(folder.name()) / "lock") && std::chrono::steady_clock::now() < end)
      std::this_thread::yield();
    child = fork();
    while (child == 0) pause();
  });
  EXPECT_EQ(shmemx_heap_save(SHMEM_TEAM_WORLD, folder.name()), 0);
  forking.join();
  EXPECT_EQ(shmemx_heap_save(SHMEM_TEAM_WORLD, folder.name()), 0);
  EXPECT_EQ(shmemx_heap_restore(SHMEM_TEAM_WORLD, folder.name()), 0);
  if (my_pe() != 0) return;
  ASSERT_GT(child, 0);
  kill(child, SIGKILL);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
}

// Each team has its own PEs' memory alone, in its own order.
TEST(Checkpoint, IsOfATeam) {
  Folder folder, other;
  Memory memory;
  Pes even, odd;
  for (int pe = n_pes(); pe-- > 0;) (pe % 2 == 0 ? even : odd).push_back(pe);
  const Pes& mine = my_pe() % 2 == 0 ? even : odd;
  shmem_team_t team = SHMEM_TEAM_INVALID;
  ASSERT_EQ(shmemx_team_of_pes(mine.data(), static_cast<int>(mine.size()), &team), 0);
  memory.fill(1);
  EXPECT_EQ(shmemx_heap_save(team, my_pe() % 2 == 0 ? folder.name() : other.name()), 0);
  memory.fill(50);
  if (my_pe() % 2 == 0) {
    EXPECT_EQ(shmemx_heap_restore(team, folder.name()), 0);
  }
  memory.expect(my_pe() % 2 == 0 ? 1 : 50);
  shmem_team_destroy(team);
  EXPECT_NE(shmemx_heap_save(SHMEM_TEAM_INVALID, folder.name()), 0);
  EXPECT_NE(shmemx_heap_restore(SHMEM_TEAM_INVALID, folder.name()), 0);
}

TEST_F(CheckpointRefused, IfAFileIsShortened) {
  for (const int pe : {0, n_pes() - 1}) {
    for (const uintmax_t left : {0, 50, 119, 120, 2000, -1}) {
      const uintmax_t size = fs::file_size(own);
      const fs::path copy = own.string() + ".copy";
      if (my_pe() == pe) {
        fs::copy_file(own, copy);
        fs::resize_file(own, left == uintmax_t(-1) ? size - 1 : left);
      }
      refuse("is damaged");
      if (my_pe() == pe) fs::rename(copy, own);
    }
  }
  expect_restored();
}

TEST_F(CheckpointRefused, IfAFileHasMore) {
  if (my_pe() == n_pes() - 1) std::ofstream(own, std::ios::app) << 'x';
  refuse("is damaged");
}

// Any bit of the file of any PE.
TEST_F(CheckpointRefused, IfABitIsFlipped) {
  std::mt19937_64 random(agreed_seed());
  const uintmax_t size = fs::file_size(own);
  for (int i = 0; i < (kSanitized ? 10 : 60); ++i) {
    const int pe = static_cast<int>(random() % static_cast<unsigned>(n_pes()));
    // Half of the places are in the head, the ranges and the sum.
    const uint64_t drawn = random(), near = drawn % 400;
    const uintmax_t byte = i % 2 ? drawn % size : near < 380 ? near : size - (near - 379);
    const int bit = static_cast<int>(random() % 8);
    SCOPED_TRACE(testing::Message() << "bit " << bit << " of byte " << byte << " of PE " << pe);
    if (my_pe() == pe) flip(own, byte, bit);
    refuse("shmemx_heap_restore: ");
    if (my_pe() == pe) flip(own, byte, bit);
  }
  expect_restored();
}

TEST_F(CheckpointRefused, IfTheCommitIsDamaged) {
  for (const uintmax_t byte : {0, 8, 16, 24, 32, 60, 112, 119}) {
    if (my_pe() == 0) flip(folder.commit(), byte, 3);
    const char* const words = byte == 0 ? "is not a file of" : byte == 8 ? "format 9" : "damaged";
    refuse(words);
    refuse_save(words);
    if (my_pe() == 0) flip(folder.commit(), byte, 3);
  }
  expect_restored();
  if (my_pe() == 0) {  // as some file systems leave files when the power fails
    const uintmax_t size = fs::file_size(folder.commit());
    fs::resize_file(folder.commit(), 0);
    fs::resize_file(folder.commit(), size);
  }
  refuse("is not a file of");
  shmem_barrier_all();
  EXPECT_EQ(shmemx_heap_restore(SHMEM_TEAM_WORLD, folder.name()), 1);  // not SHMEMX_NO_SAVE
}

TEST_F(CheckpointRefused, IfAFileIsMissing) {
  const fs::path away = own.string() + ".away";
  if (my_pe() == n_pes() / 2) fs::rename(own, away);
  refuse("cannot open");
  if (my_pe() == n_pes() / 2) fs::rename(away, own);
  expect_restored();
}

TEST_F(CheckpointRefused, IfTwoFilesAreExchanged) {
  if (n_pes() == 1) GTEST_SKIP() << "one PE has one file";
  const fs::path other = folder.file_of(1), away = other.string() + ".away";
  shmem_barrier_all();
  if (my_pe() == 0) {
    fs::rename(own, away);
    fs::rename(other, own);
    fs::rename(away, other);
  }
  refuse("is not the file of PE");
}

TEST_F(CheckpointRefused, IfAFileIsOfAnotherSave) {
  const fs::path old = own.string() + ".old";
  if (my_pe() == n_pes() - 1) fs::copy_file(own, old);
  EXPECT_EQ(shmemx_heap_save(SHMEM_TEAM_WORLD, folder.name()), 0);
  shmem_barrier_all();  // PE 0 has removed the other files
  if (my_pe() == n_pes() - 1) fs::rename(old, folder.file_of(my_pe()));
  refuse("of this save");
}

TEST_F(CheckpointRefused, IfThereIsNoCommit) {
  if (my_pe() == 0) fs::remove(folder.commit());
  refuse("has no complete save");
  if (my_pe() == 0) fs::create_directory(folder.commit());
  refuse("commit");
  if (my_pe() == 0) fs::remove_all(folder.name());
  refuse("cannot open the folder");
  shmem_barrier_all();
  EXPECT_EQ(shmemx_heap_restore(SHMEM_TEAM_WORLD, folder.name()), SHMEMX_NO_SAVE);
}

TEST_F(CheckpointRefused, AsASaveIfAnotherTeamsSaveIsThere) {
  if (n_pes() == 1) GTEST_SKIP() << "there is no smaller team";
  shmem_team_t team = SHMEM_TEAM_INVALID;
  EXPECT_EQ(split(SHMEM_TEAM_WORLD, 0, 1, n_pes() - 1, &team), 0);
  expect_refused("by " + std::to_string(n_pes()) + " PEs; remove it", [&] {
    return team == SHMEM_TEAM_INVALID ? 1 : shmemx_heap_save(team, folder.name());
  });
  shmem_team_destroy(team);
  expect_restored();
}

TEST_F(CheckpointRefused, IfTheTeamHasAnotherSize) {
  if (n_pes() == 1) GTEST_SKIP() << "there is no smaller team";
  shmem_team_t team = SHMEM_TEAM_INVALID;
  EXPECT_EQ(split(SHMEM_TEAM_WORLD, 0, 1, n_pes() - 1, &team), 0);
  expect_refused("restore with a team of " + std::to_string(n_pes()), [&] {
    return team == SHMEM_TEAM_INVALID ? 1 : shmemx_heap_restore(team, folder.name());
  });
  memory.expect(50);
  shmem_team_destroy(team);
}

TEST_F(CheckpointRefused, IfTheAllocationsDiffer) {
  for (const Place place : kPlaces) {
    PlacedArray<char> more(place, 100);
    refuse("same allocations");
  }
  expect_restored();
  const auto host = shmem_malloc(100), device = shmem_malloc_with_hints(100, SHMEMX_MALLOC_DEVICE);
  EXPECT_EQ(shmemx_heap_save(SHMEM_TEAM_WORLD, folder.name()), 0);
  EXPECT_EQ(shmem_realloc(host, 101), host);  // another length at the same place
  refuse("101 bytes");
  EXPECT_EQ(shmem_realloc(host, 100), host);
  EXPECT_EQ(shmem_realloc(device, 99), device);
  refuse("99 bytes");
  shmem_free(device);
  refuse("same allocations");
  shmem_free(host);
  refuse("same allocations");
}

// One PE cannot write its file: the save before stays, and nothing else.
TEST_F(CheckpointRefused, AsASaveIfAFileGetsTooLarge) {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  for (int i = 0; i < 3; ++i) {
    const rlimit small{100000, before.rlim_max};
    if (my_pe() == n_pes() - 1) setrlimit(RLIMIT_FSIZE, &small);
    refuse_save("ulimit -f");
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_EQ(folder.files().size(), static_cast<size_t>(n_pes()) + 2);
  }
  expect_restored();
}

TEST_F(CheckpointRefused, AsASaveIfTheFolderCannotBeMade) {
  const std::string in_file = own.string() + "/folder", nowhere = "/proc/meshmem";
  for (const std::string& name : {folder.file_of(0).string(), in_file, nowhere, std::string()}) {
    expect_refused("; take ", [&] { return shmemx_heap_save(SHMEM_TEAM_WORLD, name.c_str()); });
    expect_refused("; take ", [&] { return shmemx_heap_restore(SHMEM_TEAM_WORLD, name.c_str()); });
  }
  expect_refused("; take ", [&] { return shmemx_heap_save(SHMEM_TEAM_WORLD, nullptr); });
  memory.expect(50);
  expect_restored();
}

TEST_F(CheckpointRefused, WhileAnotherTeamSaves) {
  const int lock = open((std::string(folder.name()) + "/lock").c_str(), O_RDONLY);
  if (my_pe() == 0) {
    EXPECT_EQ(flock(lock, LOCK_EX), 0);
  }
  refuse_save("another team uses");
  refuse("another team uses");
  close(lock);
  shmem_barrier_all();
  expect_restored();
}

// Files that a process has left that ended in a save go with the next save; others stay.
TEST_F(CheckpointRefused, NotIfASaveHasLeftFiles) {
  const fs::path left = fs::path(folder.name()) / "save00000000000000ab.pe7",
                 users = fs::path(folder.name()) / "save_me.pe7";
  if (my_pe() == 0) {
    std::ofstream(left) << "torn";
    std::ofstream(folder.commit().string() + ".new") << "torn";
    std::ofstream(users) << "the user's";
  }
  expect_restored();
  EXPECT_EQ(shmemx_heap_save(SHMEM_TEAM_WORLD, folder.name()), 0);
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(users));
}

}  // namespace
}  // namespace meshmem
