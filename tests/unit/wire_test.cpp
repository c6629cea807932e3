// SPDX-License-Identifier: Apache-2.0
//
// A wire: order, contents, introductions, sleep, and what it leaves as it was.
#include <fcntl.h>

#include <cstdlib>
#include <deque>

#include "wire_ends.hpp"

namespace meshmem {
namespace {

std::size_t drawn_size(std::mt19937_64& random) {
  static constexpr std::size_t kSizes[] = {0, 1, 8, 64, 1000, 8192, 9000, 65536, 300000, 1 << 20};
  return kSizes[random() % std::size(kSizes)];
}

void exchange_many(End& end, int peer, std::uint64_t count, const std::vector<End*>& all) {
  std::mt19937_64 random(11);
  for (std::uint64_t number = 0; number < count; ++number) {
    end.send(peer, drawn_size(random), number == 0);
    ASSERT_TRUE(progress_until(all, [&] { return end.in_flight() < 16; }));
  }
}

TEST(WireTest, KeepsOrderAndContentsBothWays) {
  constexpr std::uint64_t kMessages = 3000;
  const auto side = [](int fd) {
    End end;
    tell(fd, end.wire().address());
    const int peer = end.wire().connect(hear(fd));
    exchange_many(end, peer, kMessages, {&end});
    ASSERT_TRUE(
        progress_until({&end}, [&] { return end.taken() == kMessages && end.in_flight() == 0; }));
    EXPECT_EQ(end.wrong(), 0);
    tell(fd, "done");
    EXPECT_TRUE(sleep_until(end, [&] {  // the peer's last message may still need this end
      pollfd told{fd, POLLIN, 0};
      return poll(&told, 1, 0) == 1;
    }));
    EXPECT_TRUE(end.lost().empty() || hear(fd) == "done");
  };
  in_two_processes([&](int fd, pid_t) { side(fd); }, side);
}

TEST(WireTest, TwoInOneProcessMeetInTheMiddle) {
  in_child([] {
    End a, b;
    const int to_b = a.wire().connect(b.wire().address());
    const int to_a = b.wire().connect(a.wire().address());
    std::mt19937_64 random(3);
    for (int number = 0; number < 300; ++number) {
      a.send(to_b, drawn_size(random), true);
      b.send(to_a, drawn_size(random), true);
      ASSERT_TRUE(progress_until({&a, &b}, [&] { return a.in_flight() + b.in_flight() < 8; }));
    }
    ASSERT_TRUE(progress_until({&a, &b}, [&] { return a.taken() == 300 && b.taken() == 300; }));
    EXPECT_EQ(a.wrong() + b.wrong(), 0);
    EXPECT_EQ(a.last_sender(), to_b);
    EXPECT_EQ(b.last_sender(), to_a);
  });
}

TEST(WireTest, AnswersWhoIntroducedItself) {
  in_child([] {
    End a, b;
    b.answer_introductions();
    const int to_b = a.wire().connect(b.wire().address());
    a.send(to_b, 100, true);
    ASSERT_TRUE(progress_until({&a, &b}, [&] { return a.taken() == 1; }));
    EXPECT_EQ(b.last_sender(), 0);
    EXPECT_EQ(a.last_sender(), -1) << "an answer does not introduce";
    EXPECT_EQ(b.wire().connect(a.wire().address()), 0) << "an address is one peer";
    a.send(to_b, 0, false);
    ASSERT_TRUE(progress_until({&a, &b}, [&] { return b.taken() == 2 && b.in_flight() == 0; }));
    EXPECT_EQ(b.last_sender(), -1);
    EXPECT_EQ(a.wrong() + b.wrong(), 0);
  });
}

TEST(WireTest, WakesWhoSleepsOnItsDescriptor) {
  in_two_processes(
      [](int fd, pid_t) {
        End end;
        tell(fd, end.wire().address());
        for (std::uint64_t count = 1; count <= 20; ++count) {
          ASSERT_TRUE(sleep_until(end, [&] { return end.taken() == count; }));
          tell(fd, "next");
        }
        EXPECT_EQ(end.wrong(), 0);
      },
      [](int fd) {
        End end;
        const int peer = end.wire().connect(hear(fd));
        for (int count = 0; count < 20; ++count) {
          usleep(5000);
          end.send(peer, count % 2 == 0 ? 8 : 500000, false);
          EXPECT_TRUE(sleep_until(end, [&] { return end.in_flight() == 0; }));
          EXPECT_EQ(hear(fd), "next");
        }
      });
}

TEST(WireTest, ReachesManyPeers) {
  in_child([] {
    constexpr int kPeers = 40;
    End hub;
    std::deque<End> others(kPeers);
    std::vector<End*> all = {&hub};
    for (End& other : others) {
      other.answer_introductions();
      all.push_back(&other);
      hub.send(hub.wire().connect(other.wire().address()), 3000, true);
    }
    // Each answer has its sender's number 0, so only the first is the one that hub expects.
    ASSERT_TRUE(progress_until(all, [&] { return hub.taken() == kPeers; }));
    for (const End& other : others) {
      EXPECT_EQ(other.taken(), 1u);
      EXPECT_EQ(other.wrong(), 0);
    }
  });
}

// The descriptors that a program that this process starts would inherit.
std::vector<int> inherited() {
  std::vector<int> all;
  for (int descriptor = 0; descriptor < 1000; ++descriptor) {
    const int flags = fcntl(descriptor, F_GETFD);
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) all.push_back(descriptor);
  }
  return all;
}

TEST(WireTest, KeepsItsDescriptorsFromProgramsThatAreStarted) {
  in_child([] {
    const std::vector<int> before = inherited();
    End a, b;
    a.send(a.wire().connect(b.wire().address()), 100, true);
    ASSERT_TRUE(progress_until({&a, &b}, [&] { return b.taken() == 1; }));
    EXPECT_EQ(inherited(), before);
  });
}

TEST(WireTest, KeepsNoAddressOfWhoIsNotAdmitted) {
  in_child([] {
    End stranger, other, end;
    end.admit_nobody();
    stranger.send(stranger.wire().connect(end.wire().address()), 100, true);
    ASSERT_TRUE(progress_until({&stranger, &end}, [&] { return end.taken() == 1; }));
    EXPECT_EQ(end.last_sender(), -1);
    EXPECT_EQ(end.wire().connect(other.wire().address()), 0) << "the first that it knows";
  });
}

TEST(WireTest, SaysWhichNetworksThereAre) {
  in_child([] {
    std::string error;
    End listener;
    const auto none = try_make_wire(tested_wire(), {0, &listener, "no_such0", 10, false}, &error);
    EXPECT_EQ(none, nullptr);
    EXPECT_NE(error.find("no network device \"no_such0\"; it finds "), std::string::npos) << error;
    EXPECT_NE(error.find("tcp over "), std::string::npos) << error;
    const std::string over_loopback =
        tested_wire() == WireKind::ucx ? "tcp over lo, UCX " : "tcp over lo";
    End on_loopback("lo");
    EXPECT_EQ(on_loopback.wire().description().rfind(over_loopback, 0), 0u)
        << on_loopback.wire().description();
    End peer("lo");
    on_loopback.send(on_loopback.wire().connect(peer.wire().address()), 8, true);
    ASSERT_TRUE(progress_until({&on_loopback, &peer}, [&] { return peer.taken() == 1; }));
    EXPECT_EQ(on_loopback.wire().description().rfind(over_loopback, 0), 0u)
        << on_loopback.wire().description();
  });
}

TEST(WireTest, RefusesAnotherVersion) {
  if (tested_wire() == WireKind::tcp) GTEST_SKIP() << "it is no library";
  in_child([] {
    std::string error;
    void* library = open_network_library("ucx", false, &error);
    ASSERT_NE(library, nullptr) << error;
    const auto make = reinterpret_cast<MakeWire>(network_symbol(library, kMakeWireSymbol, &error));
    ASSERT_NE(make, nullptr) << error;
    End listener;
    EXPECT_EQ(make(WireRequest{kWireVersion + 1, &listener, "", 10, false}, &error), nullptr);
    EXPECT_NE(error.find("another version"), std::string::npos) << error;
    EXPECT_EQ(network_symbol(library, "meshmem_no_such", &error), nullptr);
  });
}

TEST(WireTest, SaysWhatIsMissing) {
  in_child([] {
    std::string error;
    EXPECT_EQ(open_network_library("no_such", false, &error), nullptr);
    EXPECT_EQ(
        error.rfind("there is no libmeshmem_no_such.so in the folder of loaded libraries: ", 0), 0u)
        << error;
  });
}

TEST(WireTest, LeavesTheProcessAsItWas) {
  in_child([] {
    std::vector<struct sigaction> before(32), after(32);
    for (int signal = 1; signal < 32; ++signal) sigaction(signal, nullptr, &before[signal]);
    End end;
    for (int signal = 1; signal < 32; ++signal) {
      sigaction(signal, nullptr, &after[signal]);
      EXPECT_EQ(before[signal].sa_handler, after[signal].sa_handler) << signal;
    }
    EXPECT_EQ(std::getenv("UCX_HANDLE_ERRORS"), nullptr);
    EXPECT_EQ(std::getenv("UCX_LOG_LEVEL"), nullptr);
  });
}

}  // namespace
}  // namespace meshmem

int main(int argc, char** argv) { return meshmem::run_wire_tests(argc, argv); }
