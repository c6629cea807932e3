// SPDX-License-Identifier: Apache-2.0
//
// How long TCP waits for a machine that is silent: UCX has settings for idle connections only, and
// on others TCP sends again for a quarter of an hour.
// Invariant: only sockets of UCX's are changed, those that are new after a call of it. What a
// listening socket is told holds for those that it accepts. Used by ucx_wire.cpp.
#ifndef MESHMEM_TRANSPORT_UCX_SOCKETS_HPP_
#define MESHMEM_TRANSPORT_UCX_SOCKETS_HPP_

#include <vector>

namespace meshmem {

// Made before a call of UCX that may open sockets; tells them at its end. 0 seconds: nothing.
class NewSockets {
 public:
  explicit NewSockets(double patience_seconds);
  NewSockets(const NewSockets&) = delete;
  NewSockets& operator=(const NewSockets&) = delete;
  ~NewSockets();

 private:
  double patience_seconds_;
  std::vector<int> before_;  // descriptors, ascending
};

}  // namespace meshmem

#endif  // MESHMEM_TRANSPORT_UCX_SOCKETS_HPP_
