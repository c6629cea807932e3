// SPDX-License-Identifier: Apache-2.0
//
// Deadlocks of PEs on two machines. This process is PE 0, and an object here answers for PE 1.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/status/far_pes.hpp"
#include "base/status/own_status.hpp"

namespace meshmem {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr int kManyLooks = 30;

// The machine of PE 1.
struct OtherMachine : FarPes {
  int node_of(int pe) const override { return pe; }
  bool ask_for_waits(int pe, std::span<const std::int32_t> pes, std::span<OnlyWait> answers,
                     std::atomic<std::size_t>*) override {
    EXPECT_EQ(pe, 1);
    EXPECT_EQ(pes.size(), answers.size());
    if (!has_room) return false;
    std::fill(answers.begin(), answers.end(), wait);
    return true;
  }
  bool ask_all_processes(std::atomic<std::size_t>* missing) override {
    if (is_slow) (unanswered = missing)->fetch_add(1);
    return true;
  }
  bool has_completed_all() override { return has_completed; }
  void answer() { std::exchange(unanswered, nullptr)->fetch_sub(1); }

  OnlyWait wait;
  bool is_slow = false, has_completed = true, has_room = true;
  std::atomic<std::size_t>* unanswered = nullptr;
};

class Deadlocks : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::size_t bytes = StatusBoard::bytes_for(1);
    void* const memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    board = StatusBoard::make(memory, 1, "program", "job");
    open_board(board, 0);
    set_phase(PePhase::running);
    far_pes = &other;
    ASSERT_TRUE(has_places_of_job(0, 2));
    set_acts_alone(true);
  }
  void SetUp() override {
    board.job().has_told_deadlock = false;
    other = {};
    other.wait = {
        .since_ns = 7, .version = 2, .unused = 0, .awaited = {1}, .what = {"waits for PE 0"}};
  }

  // Returns the first text of many looks of a wait. `advances`: PE 1 looks, too.
  std::string look(ShownWait& wait, bool advances = true) {
    std::string text;
    for (int i = 0; i < kManyLooks && text.empty(); ++i) {
      note_whether_alone();
      text = text_of_deadlock();
      wait.say("waits for PE 1", "", {1});
      if (advances) other.wait.version += 2;
    }
    return text;
  }

  static inline StatusBoard board;
  static inline OtherMachine other;
  static constexpr const char* kCircle =
      "PEs 0..1 wait for each other in a circle; PE 1 waits for PE 0";
};

TEST_F(Deadlocks, OverMachinesAreTold) {
  ShownWait wait(1 * kSecond);
  EXPECT_EQ(look(wait), kCircle);
}

TEST_F(Deadlocks, AreNotToldWhileAMessageIsUnderWay) {
  other.is_slow = true;
  other.has_completed = false;
  ShownWait wait(2 * kSecond);
  ASSERT_EQ(look(wait), "");
  other.answer();
  EXPECT_EQ(look(wait), "");
  other.has_completed = true;
  EXPECT_EQ(look(wait), kCircle);
}

TEST_F(Deadlocks, AreNotToldBeforeTheOtherHasLookedAgain) {
  ShownWait wait(3 * kSecond);
  EXPECT_EQ(look(wait, false), "");
  EXPECT_EQ(look(wait), kCircle);
}

TEST_F(Deadlocks, AreNotToldOfWaitsThatEnd) {
  ShownWait wait(4 * kSecond);
  for (int i = 0; i < kManyLooks; ++i) {
    note_whether_alone();
    EXPECT_EQ(text_of_deadlock(), "");
    wait.say("waits for PE 1", "", {1});
    other.wait.version += 2;
    ++other.wait.since_ns;
  }
}

TEST_F(Deadlocks, WithoutACircleNeedAllPes) {
  other.wait.awaited = {};
  ShownWait wait(5 * kSecond);
  EXPECT_EQ(look(wait),
            "every PE waits, and no PE is left that could end a wait; PE 1 waits for PE 0");
}

TEST_F(Deadlocks, AreToldInPlainLetters) {
  other.wait.what.fill('x');
  other.wait.what.front() = '\x1b';
  ShownWait wait(8 * kSecond);
  EXPECT_EQ(look(wait), "PEs 0..1 wait for each other in a circle; PE 1 ?" +
                            std::string(other.wait.what.size() - 1, 'x'));
}

TEST_F(Deadlocks, AreToldOnceThereIsRoomForAQuestion) {
  other.has_room = false;
  ShownWait wait(9 * kSecond);
  ASSERT_EQ(look(wait), "");
  other.has_room = true;
  EXPECT_EQ(look(wait), kCircle);
}

TEST_F(Deadlocks, AreToldOnce) {
  board.job().has_told_deadlock = true;
  ShownWait wait(6 * kSecond);
  EXPECT_EQ(look(wait), "");
}

// The last test, since this is for ever.
TEST_F(Deadlocks, AreNeverToldOnceSomethingElseMayAct) {
  set_acts_alone(false);
  set_acts_alone(true);
  ShownWait wait(10 * kSecond);
  EXPECT_EQ(look(wait), "");
}

}  // namespace
}  // namespace meshmem
