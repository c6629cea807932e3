// SPDX-License-Identifier: Apache-2.0
//
// Handing a file to another process, and all that must not be handed over: forged files, files of
// another user, files for another user. The taker runs in a child made by fork(); the other user is
// a child too, which only root can make.
#include "base/machine/file_handover.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <iterator>
#include <sstream>
#include <string>

#include "base/machine/shared_file.hpp"
#include "child.hpp"

namespace meshmem {
namespace {

constexpr uid_t kStranger = 65532;  // a user whom no machine has

class FileHandover : public testing::Test {
 protected:
  void SetUp() override {
    file_ = try_make_shared_file("test", 4096);
    ASSERT_GE(file_, 0);
    ASSERT_EQ(pwrite(file_, "first", 5, 0), 5);
    ticket_ = offer_file(file_);
  }
  void TearDown() override {
    end_offer();
    close(file_);
  }

  std::string content() const {
    char text[16] = {};
    EXPECT_GE(pread(file_, text, sizeof text - 1, 0), 0);
    return text;
  }
  // The same offer, of a file with another inode.
  std::string wrong_inode() const {
    std::istringstream words(ticket_);
    unsigned long pid = 0, file = 0, inode = 0;
    std::string name;
    words >> pid >> file >> inode >> name;
    return std::to_string(pid) + " " + std::to_string(file) + " " + std::to_string(inode + 1) +
           " " + name;
  }

  int file_ = -1;
  std::string ticket_;
};

// Writes through the file that `take` gets in another process.
int write_in_other_process(const std::function<int(const std::string&)>& take,
                           const std::string& ticket) {
  return status_of_child([&] {
    const int file = take(ticket);
    if (file < 0) return 10;
    return pwrite(file, "other", 5, 0) == 5 ? 0 : 11;
  });
}
int by_proc(const std::string& ticket) { return take_through_proc(ticket).file; }
int by_socket(const std::string& ticket) { return take_through_socket(ticket).file; }
constexpr TakenFile (*kWays[])(const std::string&) = {take_through_proc, take_through_socket};

TEST_F(FileHandover, ThroughProcGetsTheFile) {
  EXPECT_EQ(write_in_other_process(by_proc, ticket_), 0);
  EXPECT_EQ(content(), "other");
}

TEST_F(FileHandover, ThroughASocketGetsTheFileAsOftenAsAsked) {
  for (int i = 0; i < 5; ++i) EXPECT_EQ(write_in_other_process(by_socket, ticket_), 0);
  EXPECT_EQ(content(), "other");
}

TEST_F(FileHandover, TakesTheSocketWhereProcIsClosed) {
  // No process has this number, as where the two see different process namespaces.
  const std::string ticket = "99999999" + ticket_.substr(ticket_.find(' '));
  EXPECT_EQ(by_proc(ticket), -1);
  EXPECT_EQ(write_in_other_process(take_file, ticket), 0);
  EXPECT_EQ(content(), "other");
}

// A profiler's timer, for instance. With a limit on the wait the system does not go on by itself
// after a handler.
TEST_F(FileHandover, WaitsOnAfterASignal) {
  const auto take_often = [this] {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    sigaction(SIGALRM, &action, nullptr);
    const itimerval often{{0, 100}, {0, 100}};
    setitimer(ITIMER_REAL, &often, nullptr);
    for (int i = 0; i < 500; ++i) {
      const int file = by_socket(ticket_);
      if (file < 0) return 1;
      close(file);
    }
    return 0;
  };
  EXPECT_EQ(status_of_child(take_often), 0);
}

TEST_F(FileHandover, RefusesAnotherInode) {
  for (const auto take : kWays) {
    const TakenFile taken = take(wrong_inode());
    EXPECT_EQ(taken.file, -1);
    EXPECT_EQ(taken.why_not, "refused: it is another file than the one offered");
  }
}

TEST_F(FileHandover, EndsWithTheOffer) {
  end_offer();
  EXPECT_EQ(by_socket(ticket_), -1);
  end_offer();  // once more does nothing
  ticket_ = offer_file(file_);
  EXPECT_EQ(write_in_other_process(by_socket, ticket_), 0);
}

std::ptrdiff_t open_files() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

TEST_F(FileHandover, LeavesNoFileOpen) {
  end_offer();
  const auto before = open_files();
  ticket_ = offer_file(file_);
  for (const auto take : kWays) {
    close(take(ticket_).file);
    take(wrong_inode());
  }
  end_offer();
  EXPECT_EQ(open_files(), before);
}

TEST_F(FileHandover, EndsTheJobIfThereIsNoWay) {
  end_offer();
  const std::string ticket = "99999999" + ticket_.substr(ticket_.find(' '));
  EXPECT_EXIT(take_file(ticket), testing::ExitedWithCode(1), "meshmem: .*must run as one user");
}

// A ticket may name a file that no PE of this user has offered.
class ForgedFile : public testing::Test {
 protected:
  void TearDown() override {
    end_offer();
    close(file_);
  }
  // Why the file is refused; both ways give the same reason.
  std::string refusal(int file) {
    file_ = file;
    EXPECT_GE(file_, 0);
    const std::string ticket = offer_file(file_);
    const TakenFile first = take_through_proc(ticket), second = take_through_socket(ticket);
    EXPECT_EQ(first.file, -1);
    EXPECT_EQ(second.file, -1);
    EXPECT_EQ(first.why_not, second.why_not);
    return first.why_not;
  }
  int file_ = -1;
};

TEST_F(ForgedFile, OfAnotherUserIsRefused) {
  const int file = try_make_shared_file("test", 4096);
  if (fchown(file, kStranger, kStranger) != 0) GTEST_SKIP() << "needs root";
  EXPECT_EQ(refusal(file), "refused: it belongs to user 65532 and not to user 0");
}

TEST_F(ForgedFile, WhoseSizeCanChangeIsRefused) {
  const int file = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  fchmod(file, 0600);
  EXPECT_EQ(refusal(file), "refused: it is not a memory file of a fixed size");
}

TEST_F(ForgedFile, OnADiskOrATmpfsIsRefused) {
  for (const char* folder : {"/tmp", "/dev/shm"}) {
    const int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file < 0) continue;  // not all kinds of file system have such files
    EXPECT_EQ(refusal(file), "refused: it is not a memory file of a fixed size") << folder;
    TearDown();
  }
  file_ = -1;
}

TEST_F(ForgedFile, ThatOthersMayOpenIsRefused) {
  const int file = try_make_shared_file("test", 4096);
  fchmod(file, 0640);
  EXPECT_EQ(refusal(file), "refused: other users may open it");
}

TEST_F(ForgedFile, ThatIsAPipeIsRefusedWithoutWaitingForIt) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  EXPECT_EQ(refusal(ends[0]), "refused: it is not a memory file");
  close(ends[1]);
}

// ---- strangers

class Stranger : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  }
};

// The exit status of a child that is another user.
int status_of_stranger(const std::function<int()>& body) {
  return status_of_child(
      [&] { return setgid(kStranger) == 0 && setuid(kStranger) == 0 ? body() : 100; });
}

TEST_F(Stranger, GetsNoFileThatIsOffered) {
  const int file = try_make_shared_file("test", 4096);
  const std::string ticket = offer_file(file);
  EXPECT_EQ(status_of_stranger([&] { return by_proc(ticket) < 0 ? 0 : 1; }), 0);
  EXPECT_EQ(status_of_stranger([&] { return by_socket(ticket) < 0 ? 0 : 1; }), 0);
  end_offer();
  close(file);
}

// A process of another user that runs `body` until the guard goes; it says by a byte that it is
// ready.
class StrangerThatStays {
 public:
  explicit StrangerThatStays(const std::function<void(int ready)>& body) {
    EXPECT_EQ(pipe(ready_), 0);
    process_ = fork();
    if (process_ != 0) return;
    if (setgid(kStranger) != 0 || setuid(kStranger) != 0) _exit(1);
    body(ready_[1]);
    pause();
    _exit(0);
  }
  ~StrangerThatStays() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    close(ready_[0]);
    close(ready_[1]);
  }
  std::string said() const {
    char text[256] = {};
    EXPECT_GT(read(ready_[0], text, sizeof text - 1), 0);
    return text;
  }

 private:
  int ready_[2];
  pid_t process_;
};

TEST_F(Stranger, CannotOfferAFile) {
  const StrangerThatStays stranger([](int ready) {
    const std::string ticket = offer_file(try_make_shared_file("test", 4096));
    (void)!write(ready, ticket.data(), ticket.size());
  });
  const std::string ticket = stranger.said();
  EXPECT_EQ(take_through_proc(ticket).why_not,
            "refused: it belongs to user 65532 and not to user 0");
  EXPECT_EQ(take_through_socket(ticket).why_not,
            "refused: it is served by user 65532 and not by user 0");
  EXPECT_EXIT(take_file(ticket), testing::ExitedWithCode(1),
              "meshmem: .*refused: it belongs to user 65532 .*refused: it is served by user 65532");
}

TEST_F(Stranger, ThatConnectsOftenAndSaysNothingHoldsNobodyUp) {
  const int file = try_make_shared_file("test", 4096);
  const std::string ticket = offer_file(file);
  const std::string name = ticket.substr(ticket.rfind(' ') + 1);
  const StrangerThatStays stranger([&](int ready) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path + 1, name.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    for (int i = 0; i < 500; ++i)
      (void)!connect(socket(AF_UNIX, SOCK_STREAM, 0), reinterpret_cast<sockaddr*>(&address), size);
    (void)!write(ready, "r", 1);
  });
  EXPECT_EQ(stranger.said(), "r");
  EXPECT_EQ(write_in_other_process(by_socket, ticket), 0);
  end_offer();
  close(file);
}

}  // namespace
}  // namespace meshmem
