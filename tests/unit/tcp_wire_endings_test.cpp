// SPDX-License-Identifier: Apache-2.0
//
// The wire of TCP where connections end, cannot be made, or are held by a child of fork.
#include <sys/resource.h>

#include <memory>
#include <vector>

#include "tcp_stranger.hpp"
#include "transport/tcp/tcp_wire.hpp"

namespace meshmem {
namespace {

using namespace std::chrono_literals;

// The child has the socket too, so that it is not closed.
TEST(TcpWireEndings, ForgetsASocketThatAChildHolds) {
  in_child([] {
    End a, b;
    tcp::Greeting greeting{};
    const Stranger stranger(b);
    ASSERT_TRUE(stranger.hear(b, greeting));
    const pid_t child = fork();
    if (child == 0) {
      pause();
      _exit(0);
    }
    stranger.say(std::string(sizeof(tcp::Claim), 'x'));
    for (int turn = 0; turn < 20; ++turn) b.progress();
    stranger.say(std::string("more"));
    pollfd ready{b.wire().event_fd(), POLLIN, 0};
    EXPECT_EQ(poll(&ready, 1, 100), 0) << "it looks at what it has ended";
    EXPECT_TRUE(stranger.is_sent_away(b));
    expect_to_go_on(a, b);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  });
}

}  // namespace
}  // namespace meshmem

int main(int argc, char** argv) { return meshmem::run_wire_tests(argc, argv); }
