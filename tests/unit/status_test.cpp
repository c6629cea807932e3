// SPDX-License-Identifier: Apache-2.0
//
// The board on which PEs say what they wait for, and its table. ThreadSanitizer sees whether rows
// may be read while they are written.
// Invariant: a board is memory of this process, which is all zeros before the board is made.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/status/own_status.hpp"
#include "base/status/status_board.hpp"
#include "base/status/status_table.hpp"

namespace meshmem {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

class Board {
 public:
  explicit Board(int n_pes)
      : memory_(std::aligned_alloc(kStatusPage, StatusBoard::bytes_for(n_pes))) {
    std::memset(memory_.get(), 0, StatusBoard::bytes_for(n_pes));
    board_ = StatusBoard::make(memory_.get(), n_pes, "./heat", "job");
  }
  StatusBoard* operator->() { return &board_; }
  const StatusBoard& operator*() const { return board_; }
  void* memory() { return memory_.get(); }
  // The lines of PEs, without the heads.
  std::string rows(std::uint64_t now_ns = 10 * kSecond) const {
    const std::string table = status_table(board_, now_ns);
    const std::size_t first = table.find('\n', table.find('\n') + 1);
    return first == std::string::npos ? "" : table.substr(first + 1);
  }

 private:
  std::unique_ptr<void, Free> memory_;
  StatusBoard board_;
};

TEST(StatusBoard, IsKnownByItsMagicNumberAndSize) {
  Board board(3);
  EXPECT_TRUE(StatusBoard(board.memory(), StatusBoard::bytes_for(3)).is_valid());
  EXPECT_FALSE(StatusBoard(board.memory(), StatusBoard::bytes_for(3) - 1).is_valid());
  EXPECT_FALSE(StatusBoard(board.memory(), 10).is_valid());
  board->job().n_pes = 0xffffffff;
  EXPECT_FALSE(StatusBoard(board.memory(), StatusBoard::bytes_for(3)).is_valid());
  board->job().n_pes = 3;
  board->job().magic = 1;
  EXPECT_FALSE(StatusBoard(board.memory(), StatusBoard::bytes_for(3)).is_valid());
}

TEST(StatusBoard, CutsLongTextsAndShowsNoControlCharacters) {
  Board board(1);
  WaitRow* row = board->pe(0).take_row(false);
  WaitSeen seen;
  row->write(1, std::string(1000, 'x'), "a\nb\x1b[2J\x7f");
  ASSERT_TRUE(read_row(*row, seen));
  EXPECT_EQ(seen.what, std::string(164, 'x').append("..."));
  EXPECT_EQ(seen.caller, "a?b?[2J?");
  row->write(1, std::string(167, 'y'), "");
  ASSERT_TRUE(read_row(*row, seen));
  EXPECT_EQ(seen.what, std::string(167, 'y'));
}

TEST(StatusBoard, GivesEachWaitARowAndCountsThoseThatFindNone) {
  Board board(1);
  PeStatus& pe = board->pe(0);
  std::vector<WaitRow*> rows;
  for (int i = 0; i < kRowsOfPe; ++i) rows.push_back(pe.take_row(false));
  EXPECT_EQ(pe.take_row(false), nullptr);
  EXPECT_EQ(pe.rowless, 1u);
  pe.give_row_back(nullptr);
  EXPECT_EQ(pe.rowless, 0u);
  pe.give_row_back(rows[3]);
  EXPECT_EQ(pe.take_row(true), nullptr);  // a row that is not for kernels
  EXPECT_EQ(pe.take_row(false), rows[3]);
}

// Every text that is seen is one that was written, whole.
TEST(StatusBoard, IsReadWhileItIsWritten) {
  Board board(1);
  std::atomic<bool> is_over{false};
  std::vector<std::thread> writers;
  for (char letter : {'a', 'b', 'c'}) {
    writers.emplace_back([&, letter] {
      for (std::uint64_t i = 1; !is_over; ++i) {
        WaitRow* const row = board->pe(0).take_row(false);
        if (row) row->write(i, std::string(150, letter), std::string(50, letter));
        board->pe(0).give_row_back(row);
      }
    });
  }
  int seen_rows = 0;
  for (int i = 0; i < 20000; ++i) {
    for (const WaitRow& row : board->pe(0).rows) {
      WaitSeen seen;
      if (!read_row(row, seen)) continue;
      ++seen_rows;
      ASSERT_EQ(seen.what, std::string(150, seen.what.at(0)));
      ASSERT_EQ(seen.caller, std::string(50, seen.what[0]));
    }
  }
  is_over = true;
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(board.rows(), "  0                -   has not come to shmem_init");
  RecordProperty("seen", seen_rows);
}

TEST(StatusTable, SaysOfEachPeWhereItIs) {
  Board board(6);
  board->pe(1).phase = PePhase::starting;
  board->pe(2).phase = PePhase::running;
  board->pe(2).waits_done = 7;
  board->pe(3).phase = PePhase::finalized;
  board->pe(4).ended = 1 + (3 << 8);
  board->pe(5).ended = 1 + SIGKILL;
  EXPECT_EQ(board.rows(),
            "  0                -   has not come to shmem_init\n"
            "  1                -   is in shmem_init, and waits for nothing\n"
            "  2                -   waits for nothing in meshmem (long waits so far: 7)\n"
            "  3                -   has called shmem_finalize\n"
            "  4                -   has ended with status 3\n"
            "  5                -   was killed by signal 9 (Killed)");
}

TEST(StatusTable, PutsAlikeWaitsOfSeveralPesInOneLine) {
  Board board(9);
  for (int pe = 0; pe < 9; ++pe) {
    board->pe(pe).phase = PePhase::running;
    if (pe == 4) continue;
    const std::string what = "waits for the variable at 0x" + std::to_string(pe) + "f0 (heap + 0x" +
                             (pe == 8 ? "40" : "20") + "), now 0";
    board->pe(pe).take_row(false)->write((pe == 2 ? 1 : 9) * kSecond, what, "main");
  }
  board->pe(8).take_row(false)->write(10 * kSecond, "waits for PE 1", "");
  EXPECT_EQ(board.rows(),
            "  0..3,5..7    9.0 s   waits for the variable at 0x0f0 (heap + 0x20), now 0; called "
            "in main\n"
            "  4                -   waits for nothing in meshmem (long waits so far: 0)\n"
            "  8            1.0 s   waits for the variable at 0x8f0 (heap + 0x40), now 0; called "
            "in main\n"
            "  8            0.0 s   waits for PE 1");
}

TEST(StatusTable, CountsAlikeWaitsOfThreadsAndBlocks) {
  Board board(2);
  for (int pe = 0; pe < 2; ++pe) {
    for (int block = 0; block < 5; ++block)
      board->pe(pe).take_row(true)->write(
          kSecond,
          "kernel ring, block (" + std::to_string(block) + ",0,0), thread (0,0,0) waits for a flag",
          "");
  }
  EXPECT_EQ(
      board.rows(),
      "  0..1         9.0 s   kernel ring, block (0,0,0), thread (0,0,0) waits for a flag (10 such "
      "waits)");
}

TEST(StatusTable, ShowsPeNumbersAndNotPlacesOnTheBoard) {
  Board board(2);
  board->pe(0).number.store(4 + 1);
  board->pe(1).number.store(7 + 1);
  EXPECT_EQ(board.rows(), "  4,7              -   has not come to shmem_init");
}

TEST(StatusTable, NamesPesByRanges) {
  EXPECT_EQ(pe_list({0}), "0");
  EXPECT_EQ(pe_list({0, 1, 2, 5}), "0..2,5");
  std::vector<int> even;
  for (int i = 0; i < 40; i += 2) even.push_back(i);
  EXPECT_EQ(pe_list(even), "0,2,4,6,8,10,12,14,... (20 PEs)");
}

TEST(OneReport, IsMadeByOneWhileTheOthersWait) {
  using std::chrono::milliseconds;
  static_assert(sizeof(OneReport) == sizeof(std::uint32_t));
  OneReport report{};
  std::atomic<int> makers{0}, made{0};
  EXPECT_FALSE(report.has_begun());
  std::vector<std::thread> pes;
  for (int pe = 0; pe < 5; ++pe) {
    pes.emplace_back([&] {
      if (!report.begin()) {
        report.await_end(milliseconds(100'000));
        EXPECT_EQ(made, 1);
        return;
      }
      ++makers;
      std::this_thread::sleep_for(milliseconds(20));
      ++made;
      report.end();
    });
  }
  for (std::thread& pe : pes) pe.join();
  EXPECT_EQ(makers, 1);
  EXPECT_TRUE(report.has_begun());
}

TEST(OneReport, IsNotAwaitedForEverIfItsMakerDies) {
  OneReport report{};
  EXPECT_TRUE(report.begin());
  report.await_end(std::chrono::milliseconds(20));
  EXPECT_FALSE(report.begin());
}

TEST(OwnStatus, ShowsAWaitAsLongAsItLasts) {
  static Board board(2);  // for the life of the process
  open_board(*board, 1);
  {
    ShownWait wait(5 * kSecond);
    wait.say("waits for PE 0", "main");
    EXPECT_EQ(board.rows(),
              "  0                -   has not come to shmem_init\n"
              "  1            5.0 s   waits for PE 0; called in main");
  }
  set_phase(PePhase::running);
  EXPECT_EQ(board.rows(),
            "  0                -   has not come to shmem_init\n"
            "  1                -   waits for nothing in meshmem (long waits so far: 1); its main "
            "thread runs");
}

TEST(StatusTable, SaysOfAPeThatWaitsForNothingWhetherItIsStopped) {
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  Board board(1);
  board->pe(0).phase = PePhase::starting;
  board->pe(0).pid = child;
  const auto becomes = [&](const std::string& text) {
    const std::string row = "  0                -   is in shmem_init, and waits for nothing" + text;
    for (int tries = 0; tries < 1000 && !board.rows().starts_with(row); ++tries) usleep(10'000);
    EXPECT_EQ(board.rows().substr(0, row.size()), row);
  };
  becomes("; its main thread sleeps");
  kill(child, SIGSTOP);
  becomes("; it is stopped (by a debugger, or until kill -CONT)");
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(board.rows(), "  0                -   is in shmem_init, and waits for nothing");
}

}  // namespace
}  // namespace meshmem
