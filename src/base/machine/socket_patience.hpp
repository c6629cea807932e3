// SPDX-License-Identifier: Apache-2.0
//
// Sets how long TCP waits for a silent machine. By default it retransmits for a quarter of an hour,
// and never probes an idle connection.
// Invariant: it depends on no other file of libmeshmem, since libmeshmem_ucx.so includes it too.
#ifndef MESHMEM_BASE_MACHINE_SOCKET_PATIENCE_HPP_
#define MESHMEM_BASE_MACHINE_SOCKET_PATIENCE_HPP_

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cmath>

namespace meshmem {

inline void set_option(int descriptor, int level, int option, int value) {
  ::setsockopt(descriptor, level, option, &value, sizeof value);
}

// These compute, from the patience in seconds, TCP's limit for unanswered data and probes, and the
// idle time before the first probe.
inline double limit_of(double patience) { return patience - std::min(1.0, patience / 4); }
inline double first_probe_of(double patience) {
  return std::clamp(std::floor(patience / 2), 1.0, 32767.0);
}

// Ends the connection if sent data, or probes while it is idle, get no answer for about `seconds`.
// TCP sends a probe a second and gives up at the first one after its limit. So the limit is up to a
// second shorter. Connections that a listening socket accepts inherit this.
inline void be_patient(int descriptor, double seconds) {
  set_option(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT,
             static_cast<int>(std::clamp(limit_of(seconds) * 1000, 1.0, 2e9)));
  set_option(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, static_cast<int>(first_probe_of(seconds)));
  set_option(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, 1);
}

}  // namespace meshmem

#endif  // MESHMEM_BASE_MACHINE_SOCKET_PATIENCE_HPP_
