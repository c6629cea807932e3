// SPDX-License-Identifier: Apache-2.0
//
// A wire whose peer ends, or is not there, or that is closed itself: each loss is told once, and
// nothing stays in flight.
#include "wire_ends.hpp"

namespace meshmem {
namespace {

// How long it takes is printed: the kernel closes a killed process's connections at once.
void lose_a_killed_peer(bool introduced) {
  in_two_processes(
      [=](int fd, pid_t other) {
        End end;
        end.answer_introductions();
        tell(fd, end.wire().address());
        const std::string address = hear(fd);
        int peer = -1;
        if (!introduced) {
          peer = end.wire().connect(address);
          end.send(peer, 8, true);
        }
        ASSERT_TRUE(sleep_until(end, [&] { return end.taken() == 1 && end.in_flight() == 0; }));
        if (introduced) peer = end.last_sender();
        kill(other, SIGKILL);
        const auto killed = steady_clock::now();
        ASSERT_TRUE(sleep_until(end, [&] { return !end.lost().empty(); }));
        const std::chrono::duration<double, std::milli> took = steady_clock::now() - killed;
        std::printf("lost after %.1f ms: %s\n", took.count(), end.why().c_str());
        EXPECT_EQ(end.lost(), std::vector<int>{peer});
        for (int count = 0; count < 3; ++count) end.send(peer, 1 << 20, false);
        ASSERT_TRUE(sleep_until(end, [&] { return end.in_flight() == 0; }));
        EXPECT_EQ(end.lost().size(), 1u);
      },
      [=](int fd) {
        End end;
        end.answer_introductions();
        const std::string address = hear(fd);
        tell(fd, end.wire().address());
        if (introduced) end.send(end.wire().connect(address), 8, true);
        progress_until({&end}, [] { return false; });
      });
}

TEST(WireLosses, LosesAKilledPeerThatItConnectedTo) { lose_a_killed_peer(false); }
TEST(WireLosses, LosesAKilledPeerThatIntroducedItself) { lose_a_killed_peer(true); }

TEST(WireLosses, GivesBackWhatIsInFlightToAKilledPeer) {
  in_two_processes(
      [](int fd, pid_t other) {
        End end;
        const int peer = end.wire().connect(hear(fd));
        for (int count = 0; count < 100; ++count) end.send(peer, 1 << 20, true);
        ASSERT_TRUE(progress_until({&end}, [&] { return end.in_flight() < 100; }));
        kill(other, SIGKILL);
        ASSERT_TRUE(sleep_until(end, [&] { return !end.lost().empty() && end.in_flight() == 0; }));
      },
      [](int fd) {
        End end;
        tell(fd, end.wire().address());
        progress_until({&end}, [&] { return end.taken() == 3; });
        sleep(60);
      });
}

TEST(WireLosses, GivesBackWhatIsInFlightWhenItCloses) {
  in_child([] {
    End a, b;
    const int peer = a.wire().connect(b.wire().address());
    for (int count = 0; count < 50; ++count) a.send(peer, 1 << 20, true);
    EXPECT_GT(a.in_flight(), 0);
    a.close();
    EXPECT_EQ(a.in_flight(), 0);
    EXPECT_TRUE(a.lost().empty()) << "a wire that closes loses nobody";
  });
}

TEST(WireLosses, LosesWhoIsNotThere) {
  in_child([] {
    End end;
    std::string address;
    {
      End gone;
      address = gone.wire().address();
    }
    const int peer = end.wire().connect(address);
    end.send(peer, 1000, true);
    end.send(peer, 1 << 20, false);
    ASSERT_TRUE(sleep_until(end, [&] { return !end.lost().empty() && end.in_flight() == 0; }));
    EXPECT_EQ(end.lost(), std::vector<int>{peer});
    std::printf("%s\n", end.why().c_str());
  });
}

}  // namespace
}  // namespace meshmem

int main(int argc, char** argv) { return meshmem::run_wire_tests(argc, argv); }
