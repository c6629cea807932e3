// SPDX-License-Identifier: Apache-2.0
//
// Tells the kernel what UCX does not tell it of its descriptors: who may connect, and that programs
// which this process starts do not inherit them. It also tells how long TCP waits for a silent
// machine, since UCX has settings for idle connections only.
// Invariant: only descriptors of UCX's are changed: those that are new after a call of it, and
// connections that its listening sockets have accepted. Used by ucx_wire.cpp.
#ifndef MESHMEM_TRANSPORT_UCX_SOCKETS_HPP_
#define MESHMEM_TRANSPORT_UCX_SOCKETS_HPP_

#include <cstdint>
#include <string>
#include <vector>

namespace meshmem {

class UcxSockets {
 public:
  // With a silent peer; 0: for ever.
  explicit UcxSockets(double patience_seconds) : patience_seconds_(patience_seconds) {}

  double patience_seconds() const { return patience_seconds_; }

  // Made before a call of UCX that may open descriptors, which it takes care of at its end.
  class Opening {
   public:
    explicit Opening(UcxSockets& sockets);
    Opening(const Opening&) = delete;
    Opening& operator=(const Opening&) = delete;
    ~Opening();

   private:
    UcxSockets& sockets_;
    const std::vector<int> before_;  // ascending
  };

  // From these IP addresses only peers may connect from now on; before it, from nowhere.
  void admit_only(const std::vector<std::string>& addresses) const;
  // False: this kernel cannot keep strangers from UCX's ports.
  bool are_guarded() const { return are_guarded_; }

  // Whether TCP has just ended a connection since nothing came from the other machine for so long.
  // UCX gives the same reason where the other process has ended.
  bool have_given_up() const;

  // Accepted connections have their listening socket's other settings from the start.
  void keep_from_children() const;

 private:
  void take_care_of(int descriptor);
  void guard(int listening);
  void turn_away_accepted() const;

  const double patience_seconds_;
  bool are_guarded_ = true;
  std::vector<int> listening_;
  std::vector<std::uint16_t> ports_;  // of listening sockets
};

}  // namespace meshmem

#endif  // MESHMEM_TRANSPORT_UCX_SOCKETS_HPP_
