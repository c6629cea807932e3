// SPDX-License-Identifier: Apache-2.0
//
// Whose process holds the other end of a connection: by netlink and by /proc, over IPv4 and IPv6.
// The client is a child of the test, as another user where the test may become one.
#include "peer_user.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace meshmem {
namespace {

constexpr uid_t kStranger = 65532;

// A listening socket of the family on the loopback device; -1 where the machine has none.
int listen_on_loopback(int family) {
  const int listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in6 address{};  // also large enough for the other family
  address.sin6_family = static_cast<sa_family_t>(family);
  if (family == AF_INET6) {
    address.sin6_addr = in6addr_loopback;
  } else {
    reinterpret_cast<sockaddr_in&>(address).sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  }
  const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof address;
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), size) == 0 && listen(listener, 1) == 0)
    return listener;
  close(listener);
  return -1;
}

[[noreturn]] void be_client(int listener, uid_t user, bool leave) {
  if (user != geteuid() && (setgid(user) != 0 || setuid(user) != 0)) _exit(1);
  sockaddr_storage address;
  socklen_t size = sizeof address;
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  const int client = socket(address.ss_family, SOCK_STREAM, 0);
  if (connect(client, reinterpret_cast<sockaddr*>(&address), size) != 0) _exit(2);
  if (!leave) pause();
  _exit(0);
}

struct Client {
  Client(int listener, uid_t user, bool leave) : process(fork()) {
    if (process == 0) be_client(listener, user, leave);
    connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (leave) wait();
  }
  ~Client() {
    close(connection);
    if (process == 0) return;
    kill(process, SIGKILL);
    wait();
  }
  void wait() {
    waitpid(process, nullptr, 0);
    process = 0;
  }
  Client(const Client&) = delete;
  pid_t process;
  int connection = -1;
};

struct Way {
  const char* name;
  PeerUser (*user)(int);
  int family;
};

class PeerUserTest : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    listener_ = listen_on_loopback(GetParam().family);
    if (listener_ < 0) GTEST_SKIP() << "the machine lacks this family";
    const Client own(listener_, geteuid(), false);
    if (!GetParam().user(own.connection).can_be_known) GTEST_SKIP() << "the kernel lacks this way";
  }
  void TearDown() override { close(listener_); }
  int listener_ = -1;
};

TEST_P(PeerUserTest, NamesTheUserOfTheProcessAtTheOtherEnd) {
  const Client own(listener_, geteuid(), false);
  EXPECT_EQ(GetParam().user(own.connection).user, geteuid());
  if (geteuid() != 0) return;
  const Client stranger(listener_, kStranger, false);
  EXPECT_EQ(GetParam().user(stranger.connection).user, kStranger);
}

// The kernel shows a socket that nobody holds any more as root's.
TEST_P(PeerUserTest, NamesNobodyForAProcessThatHasGone) {
  const Client gone(listener_, geteuid(), true);
  EXPECT_EQ(GetParam().user(gone.connection).user, std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(Ways, PeerUserTest,
                         testing::Values(Way{"netlink", user_by_netlink, AF_INET},
                                         Way{"netlink6", user_by_netlink, AF_INET6},
                                         Way{"proc", user_by_proc, AF_INET},
                                         Way{"proc6", user_by_proc, AF_INET6}),
                         [](const auto& info) { return info.param.name; });

TEST(PeerUser, IsKnownToNobodyWhereThereIsNoConnection) {
  EXPECT_EQ(user_of_peer(-1).user, std::nullopt);
}

}  // namespace
}  // namespace meshmem
