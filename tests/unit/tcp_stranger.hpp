// SPDX-License-Identifier: Apache-2.0
//
// A TCP client that does not belong to the job, and checks that ends still work after its visit.
// Included by the tests of the TCP wire.
#ifndef MESHMEM_TESTS_UNIT_TCP_STRANGER_HPP_
#define MESHMEM_TESTS_UNIT_TCP_STRANGER_HPP_

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>

#include "transport/tcp/handshake.hpp"
#include "wire_ends.hpp"

namespace meshmem {

inline tcp::Address address_of(End& end) {
  tcp::Address address{};
  const std::string text = end.wire().address();
  EXPECT_EQ(text.size(), address.size());
  std::copy_n(text.begin(), address.size(), address.begin());
  return address;
}

// A socket that connects to the port where `end` listens.
class Stranger {
 public:
  explicit Stranger(End& end) {
    sockaddr_storage at{};
    const socklen_t bytes = tcp::read_address(end.wire().address(), &at);
    socket_ = ::socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&at), bytes), 0);
  }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;
  ~Stranger() { ::close(socket_); }

  template <typename Thing>
  bool say(const Thing& thing) const {
    return ::send(socket_, &thing, sizeof thing, MSG_NOSIGNAL) == ssize_t{sizeof thing};
  }
  bool say(const std::string& text) const {
    return ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
  }
  // False if the end has closed the connection before all of `thing` came.
  template <typename Thing>
  bool hear(End& end, Thing& thing) const {
    auto* to = reinterpret_cast<char*>(&thing);
    const auto end_of_patience = steady_clock::now() + seconds(60);
    for (std::size_t have = 0; have < sizeof thing;) {
      if (steady_clock::now() > end_of_patience) {
        ADD_FAILURE() << "nothing comes";
        return false;
      }
      end.progress();
      const ssize_t got = ::recv(socket_, to + have, sizeof thing - have, MSG_DONTWAIT);
      if (got == 0 || (got < 0 && errno != EAGAIN)) return false;
      if (got > 0) have += static_cast<std::size_t>(got);
    }
    return true;
  }
  bool is_sent_away(End& end) const {
    char byte;
    return !hear(end, byte);
  }

 private:
  int socket_ = -1;
};

inline void expect_to_go_on(End& a, End& b) {
  const std::uint64_t before = b.taken();
  a.send(a.wire().connect(b.wire().address()), 1000, before == 0);
  ASSERT_TRUE(progress_until({&a, &b}, [&] { return b.taken() == before + 1; }));
  EXPECT_EQ(b.wrong(), 0);
  EXPECT_TRUE(a.lost().empty() && b.lost().empty());
}

inline int count_descriptors() {
  int n = 0;
  for (int descriptor = 0; descriptor < 4096; ++descriptor) n += fcntl(descriptor, F_GETFD) >= 0;
  return n;
}

}  // namespace meshmem

#endif  // MESHMEM_TESTS_UNIT_TCP_STRANGER_HPP_
