// SPDX-License-Identifier: Apache-2.0
//
// The filter of UCX's listening sockets, with connections of this machine from its many loopback
// addresses.
#include "transport/ucx/address_filter.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <random>

namespace meshmem {
namespace {

std::string ip(const std::string& text) {
  char bytes[16];
  const bool is_ipv6 = text.find(':') != text.npos;
  EXPECT_EQ(inet_pton(is_ipv6 ? AF_INET6 : AF_INET, text.c_str(), bytes), 1) << text;
  return {bytes, is_ipv6 ? 16u : 4u};
}

std::vector<std::string> sorted(std::vector<std::string> texts) {
  for (std::string& text : texts) text = ip(text);
  std::sort(texts.begin(), texts.end());
  return texts;
}

class Listening {
 public:
  explicit Listening(const char* address = "127.0.0.1") {
    sockaddr_storage at{};
    fill(at, address, 0);
    socket_ = ::socket(at.ss_family, SOCK_STREAM, 0);
    has_address_ = ::bind(socket_, reinterpret_cast<sockaddr*>(&at), bytes_of(at)) == 0 &&
                   ::listen(socket_, 8) == 0;
    socklen_t bytes = sizeof name_;
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&name_), &bytes);
  }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;
  ~Listening() { ::close(socket_); }

  int get() const { return socket_; }
  bool has_address() const { return has_address_; }
  // Whether a connection from this address is there within a tenth of a second, and carries data.
  bool lets_in(const char* source) const {
    sockaddr_storage from{};
    fill(from, source, 0);
    const int client = ::socket(from.ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
    EXPECT_EQ(::bind(client, reinterpret_cast<sockaddr*>(&from), bytes_of(from)), 0) << source;
    (void)::connect(client, reinterpret_cast<const sockaddr*>(&name_), bytes_of(name_));
    pollfd comes{socket_, POLLIN, 0};
    const bool is_in = ::poll(&comes, 1, 100) == 1 && carries_data(client);
    ::close(client);
    return is_in;
  }

 private:
  bool carries_data(int client) const {
    const int accepted = ::accept(socket_, nullptr, nullptr);
    const std::string said(100'000, 'x');
    const bool is_said = ::send(client, said.data(), said.size(), MSG_NOSIGNAL) > 0;
    char heard[16];
    const bool is_heard = ::recv(accepted, heard, sizeof heard, 0) == sizeof heard;
    ::close(accepted);
    return is_said && is_heard;
  }
  static void fill(sockaddr_storage& at, const char* address, in_port_t port) {
    const std::string bytes = ip(address);
    if (bytes.size() == 4) {
      at.ss_family = AF_INET;
      reinterpret_cast<sockaddr_in&>(at).sin_port = port;
      bytes.copy(reinterpret_cast<char*>(&reinterpret_cast<sockaddr_in&>(at).sin_addr), 4);
    } else {
      at.ss_family = AF_INET6;
      reinterpret_cast<sockaddr_in6&>(at).sin6_port = port;
      bytes.copy(reinterpret_cast<char*>(&reinterpret_cast<sockaddr_in6&>(at).sin6_addr), 16);
    }
  }
  static socklen_t bytes_of(const sockaddr_storage& at) {
    return at.ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  }

  int socket_ = -1;
  bool has_address_ = false;
  sockaddr_storage name_{};
};

TEST(AddressFilter, LetsNobodyInUntilItIsToldWhom) {
  const Listening listening;
  ASSERT_TRUE(listening.lets_in("127.0.0.1"));
  ASSERT_TRUE(admit_nobody(listening.get()));
  EXPECT_FALSE(listening.lets_in("127.0.0.1"));
  admit_only(listening.get(), {});
  EXPECT_FALSE(listening.lets_in("127.0.0.1"));
  admit_only(listening.get(), sorted({"127.0.0.9", "::1"}));
  EXPECT_FALSE(listening.lets_in("127.0.0.1"));
  EXPECT_TRUE(listening.lets_in("127.0.0.9"));
}

TEST(AddressFilter, KnowsTheEndsOfRangesAndTheTopBit) {
  const Listening listening;
  ASSERT_TRUE(admit_nobody(listening.get()));
  admit_only(listening.get(), sorted({"1.2.3.4", "127.0.0.3", "127.0.0.4", "127.0.0.5", "127.0.1.0",
                                      "127.128.0.1", "255.255.255.255"}));
  for (const char* in : {"127.0.0.3", "127.0.0.4", "127.0.0.5", "127.0.1.0", "127.128.0.1"})
    EXPECT_TRUE(listening.lets_in(in)) << in;
  for (const char* out : {"127.0.0.2", "127.0.0.6", "127.0.0.255", "127.0.1.1", "127.128.0.2"})
    EXPECT_FALSE(listening.lets_in(out)) << out;
}

// More addresses than a filter has room for: it lets in all of them, and keeps out those far from
// them.
TEST(AddressFilter, TakesAnyNumberOfAddresses) {
  std::mt19937 random(1);
  std::vector<std::string> many{"127.0.0.1", "127.255.255.254"};
  for (int i = 0; i < 10'000; ++i)
    many.push_back(fmt::format("10.{}.{}.{}", random() % 256, random() % 256, random() % 256));
  std::vector<std::string> addresses = sorted(many);
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  const Listening listening;
  ASSERT_TRUE(admit_nobody(listening.get()));
  admit_only(listening.get(), addresses);
  EXPECT_TRUE(listening.lets_in("127.0.0.1"));
  EXPECT_TRUE(listening.lets_in("127.255.255.254"));
  EXPECT_FALSE(listening.lets_in("127.100.0.1"));
}

TEST(AddressFilter, ComparesWholeIpv6Addresses) {
  const Listening listening("::1");
  if (!listening.has_address()) GTEST_SKIP() << "no IPv6 here";
  ASSERT_TRUE(admit_nobody(listening.get()));
  EXPECT_FALSE(listening.lets_in("::1"));
  admit_only(listening.get(), sorted({"::2", "::1:0:0:1", "fe80::1", "1::1", "127.0.0.1"}));
  EXPECT_FALSE(listening.lets_in("::1"));
  admit_only(listening.get(), sorted({"1::1", "::1", "fe80::1"}));
  EXPECT_TRUE(listening.lets_in("::1"));
}

TEST(AddressFilter, TakesAnyNumberOfIpv6Addresses) {
  const Listening listening("::1");
  if (!listening.has_address()) GTEST_SKIP() << "no IPv6 here";
  std::vector<std::string> many{"::1"};
  for (int i = 0; i < 5000; ++i) many.push_back(fmt::format("fd00::{:x}:{:x}", i % 7, i));
  ASSERT_TRUE(admit_nobody(listening.get()));
  admit_only(listening.get(), sorted(many));
  EXPECT_TRUE(listening.lets_in("::1"));
}

}  // namespace
}  // namespace meshmem
