// SPDX-License-Identifier: Apache-2.0
//
// How long TCP waits for a machine that is silent. By itself it sends again for a quarter of an
// hour, and asks nothing of a connection on which nothing is sent.
// Invariant: only what is given is changed. Included by the wires, and stands alone for them.
#ifndef MESHMEM_TRANSPORT_SOCKET_PATIENCE_HPP_
#define MESHMEM_TRANSPORT_SOCKET_PATIENCE_HPP_

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cmath>

namespace meshmem {

inline void set_option(int descriptor, int level, int option, int value) {
  ::setsockopt(descriptor, level, option, &value, sizeof value);
}

// Before it gives up; seconds.
inline double limit_of(double patience) { return patience - std::min(1.0, patience / 4); }
inline double first_probe_of(double patience) {
  return std::clamp(std::floor(patience / 2), 1.0, 32767.0);
}

// Sent data that stays without an answer, or probes of a connection on which nothing is sent. TCP
// counts those in whole seconds and gives up with the first probe behind its limit, so the limit is
// up to a second before the end of patience.
inline void be_patient(int descriptor, double seconds) {
  set_option(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT,
             static_cast<int>(std::clamp(limit_of(seconds) * 1000, 1.0, 2e9)));
  set_option(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, static_cast<int>(first_probe_of(seconds)));
  set_option(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, 1);
}

}  // namespace meshmem

#endif  // MESHMEM_TRANSPORT_SOCKET_PATIENCE_HPP_
