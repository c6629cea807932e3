// SPDX-License-Identifier: Apache-2.0
//
// Sets up UCX's descriptors: which addresses may connect, that programs which this process starts
// do not inherit them, and how long TCP waits for a silent machine. UCX has no settings for the
// first two, and sets the third only for idle connections.
// Invariant: only UCX's descriptors are changed. These are new after a call of UCX, or accepted by
// its listening sockets. Used by ucx_wire.cpp.
#ifndef MESHMEM_TRANSPORT_UCX_SOCKETS_HPP_
#define MESHMEM_TRANSPORT_UCX_SOCKETS_HPP_

#include <cstdint>
#include <string>
#include <vector>

namespace meshmem {

class UcxSockets {
 public:
  // How long a peer may be silent; 0: for ever.
  explicit UcxSockets(double patience_seconds) : patience_seconds_(patience_seconds) {}

  double patience_seconds() const { return patience_seconds_; }

  // Exists during a call of UCX that may open descriptors. Its destructor sets up the new ones, and
  // also those that another thread of the program opens meanwhile. `listens`: UCX may begin to
  // listen.
  class Opening {
   public:
    Opening(UcxSockets& sockets, bool listens);
    Opening(const Opening&) = delete;
    Opening& operator=(const Opening&) = delete;
    ~Opening();

   private:
    UcxSockets& sockets_;
    const bool listens_;
    const std::vector<int> before_;  // ascending
  };

  // From now on connections may come from these IP addresses only. Before, none may come.
  void admit_only(const std::vector<std::string>& addresses) const;
  // False: this kernel cannot keep strangers from UCX's ports.
  bool are_guarded() const { return are_guarded_; }

  // True if TCP has just ended a connection because the other machine was silent for too long. UCX
  // reports the same error where the other process has ended, so TCP is asked.
  bool have_timed_out() const;

  // Sets close-on-exec for accepted connections. They inherit the other settings from their
  // listening socket.
  void close_accepted_on_exec() const;

 private:
  void take_care_of(int descriptor, bool listens);
  void guard(int listening);
  void turn_away_accepted() const;

  const double patience_seconds_;
  bool are_guarded_ = true;
  std::vector<int> listening_;
  std::vector<std::uint16_t> ports_;  // of listening sockets
};

}  // namespace meshmem

#endif  // MESHMEM_TRANSPORT_UCX_SOCKETS_HPP_
