// SPDX-License-Identifier: Apache-2.0
//
// Makes programs for the kernel's classic packet filter. A TCP socket's filter sees the TCP header
// first; the IP header is at SKF_NET_OFF.
// Invariant: a program admits all given addresses. It compares IPv4 addresses with ranges, since
// those of a cluster are mostly consecutive, and IPv6 addresses with prefixes.
#include "transport/ucx/address_filter.hpp"

#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace meshmem {
namespace {

using Program = std::vector<sock_filter>;

constexpr auto kIpHeader = static_cast<std::uint32_t>(SKF_NET_OFF);
constexpr std::uint32_t kIpv4Source = kIpHeader + 12, kIpv6Source = kIpHeader + 8;
constexpr std::size_t kIpv4Bytes = 4, kIpv6Bytes = 16;
constexpr sock_filter kPass = BPF_STMT(BPF_RET | BPF_K, 0xffffffff);
constexpr sock_filter kDrop = BPF_STMT(BPF_RET | BPF_K, 0);

sock_filter load(std::uint32_t place) { return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, place); }
// A comparison, and how many instructions to skip if it is true or false.
sock_filter compare(unsigned how, std::uint32_t value, unsigned char if_so, unsigned char if_not) {
  return BPF_JUMP(BPF_JMP | how | BPF_K, value, if_so, if_not);
}

bool attach(int listening, Program program) {
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return program.size() <= BPF_MAXINSNS &&
         ::setsockopt(listening, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) == 0;
}

std::uint32_t word_of(const std::string& address, std::size_t index) {
  std::uint32_t word = 0;
  for (std::size_t place = 4 * index; place < 4 * index + 4; ++place)
    word = word << 8 | static_cast<unsigned char>(address[place]);
  return word;
}

// ---- IPv4

struct Range {
  std::uint32_t first, last;
};

// The fewest ranges that contain all addresses. If there are more than `most`, closes the smallest
// gaps.
std::vector<Range> ranges_of(const std::vector<std::string>& addresses, std::size_t most) {
  std::vector<std::uint32_t> gaps;
  for (std::size_t i = 1; i < addresses.size(); ++i)
    gaps.push_back(word_of(addresses[i], 0) - word_of(addresses[i - 1], 0));
  std::sort(gaps.begin(), gaps.end());
  const std::uint32_t closed = std::max(1u, gaps.size() < most ? 1u : gaps[gaps.size() - most]);
  std::vector<Range> ranges;
  for (const std::string& address : addresses) {
    const std::uint32_t word = word_of(address, 0);
    if (!ranges.empty() && word - ranges.back().last <= closed)
      ranges.back().last = word;
    else
      ranges.push_back({word, word});
  }
  return ranges;
}

Program program_for(const std::vector<Range>& ranges) {
  Program program{load(kIpv4Source)};
  for (const Range& range : ranges) {
    program.push_back(compare(BPF_JGE, range.first, 0, 2));
    program.push_back(compare(BPF_JGT, range.last, 1, 0));
    program.push_back(kPass);
  }
  program.push_back(kDrop);
  return program;
}

// ---- IPv6

// Compares only the first `words` of an address's four words.
Program program_for(const std::vector<std::string>& addresses, std::size_t words) {
  Program program{load(kIpHeader), BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 28),
                  compare(BPF_JEQ, 6, 1, 0), kDrop};  // the version
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (i > 0 && addresses[i].compare(0, 4 * words, addresses[i - 1], 0, 4 * words) == 0) continue;
    for (std::size_t word = 0; word < words; ++word) {
      const std::size_t to_next = 2 * (words - word - 1) + 1;
      program.push_back(load(kIpv6Source + 4 * static_cast<std::uint32_t>(word)));
      program.push_back(
          compare(BPF_JEQ, word_of(addresses[i], word), 0, static_cast<unsigned char>(to_next)));
    }
    program.push_back(kPass);
  }
  program.push_back(kDrop);
  return program;
}

bool is_ipv6(int socket) {
  sockaddr_storage name{};
  socklen_t bytes = sizeof name;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&name), &bytes);
  return name.ss_family == AF_INET6;
}

}  // namespace

bool admit_nobody(int listening) { return attach(listening, {kDrop}); }

void admit_only(int listening, const std::vector<std::string>& addresses) {
  const bool wants_ipv6 = is_ipv6(listening);
  std::vector<std::string> own;
  for (const std::string& address : addresses)
    if (address.size() == (wants_ipv6 ? kIpv6Bytes : kIpv4Bytes)) own.push_back(address);
  if (own.empty()) return;
  if (wants_ipv6) {
    for (std::size_t words = 4; words > 0 && !attach(listening, program_for(own, words));)
      words /= 2;
  } else {
    for (std::size_t most = 1024;
         most > 0 && !attach(listening, program_for(ranges_of(own, most)));)
      most /= 4;
  }
}

}  // namespace meshmem
