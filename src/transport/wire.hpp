// SPDX-License-Identifier: Apache-2.0
//
// The interface of a wire, which carries messages between processes of different machines.
// network_transport uses it. UCX's wire is in a library of its own, loaded when a job needs it.
// Invariant: messages of one sender to one peer arrive whole, once, and in the order in which they
// were sent. One thread at a time calls a Wire (network_transport holds a lock). A Wire calls its
// listener only in progress(), and no other function of libmeshmem.
#ifndef MESHMEM_TRANSPORT_WIRE_HPP_
#define MESHMEM_TRANSPORT_WIRE_HPP_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace meshmem {

class WireListener {
 public:
  virtual ~WireListener() = default;

  // True if the wire may keep the address of the sender of this head, as a new peer. The wire calls
  // handle_message() in any case.
  virtual bool accepts_introduction(const std::byte* head_at, std::size_t head_bytes) = 0;
  // Called for each message. Head and body have any alignment, and are valid until it returns. If
  // the message introduces an accepted sender, `sender` is the number that connect() gives for its
  // address; else it is -1. Of the Wire's functions it may call send() only.
  virtual void handle_message(int sender, const std::byte* head_at, std::size_t head_bytes,
                              const std::byte* body, std::size_t body_bytes) = 0;
  // The connection to this peer is lost in both directions. `why`: one line, without the peer's
  // name. `was_silent`: the other process did not answer for too long, but may not have ended.
  virtual void handle_loss(int peer, const std::string& why, bool was_silent) = 0;
};

// The job's key: a process that knows it may connect.
using WireKey = std::array<unsigned char, 32>;

class Wire {
 public:
  virtual ~Wire() = default;

  struct Message {
    const void* head;  // at most kMaxHeadBytes bytes
    std::size_t head_bytes;
    const void* body;
    std::size_t body_bytes;
    bool introduces;  // the wire also carries this process's address()
    // Called in send() or in a later progress(). Until then head and body must not change. Called
    // for each message, also if its peer is lost.
    void (*sent)(void* argument);
    void* argument;
  };
  static constexpr std::size_t kMaxHeadBytes = 64;
  static constexpr std::size_t kMaxBodyBytes = 1 << 20;

  // Bytes by which other processes reach this one (connect()); at most a few hundred.
  virtual std::string address() const = 0;
  // From now on a process that proves that it knows the key may connect. A wire without such proofs
  // ignores it. Called before the first send().
  virtual void accept_connections(const WireKey& key) { (void)key; }
  // Returns the number of the peer at this address; numbers count from 0. Does not connect yet: the
  // first message to the peer does.
  virtual int connect(std::string_view address) = 0;
  // `addresses`: of the machines of all peers, 4 or 16 bytes each. A wire without proofs accepts
  // connections from these machines only, and none before this call. It returns true. Then a
  // process must not connect to a peer before the peer has made this call.
  virtual bool admit_only(const std::vector<std::string>& /*addresses*/) { return false; }
  virtual void send(int peer, const Message& message) = 0;
  // Sends and receives what it can without waiting. True if it did something.
  virtual bool progress() = 0;

  // A descriptor that becomes readable when progress() has something to do. This holds from an
  // arm() that returns true to the next progress() that receives something. If arm() returns false,
  // call progress() first.
  virtual int event_fd() const = 0;
  virtual bool arm() = 0;

  // "tcp over eth0, UCX 1.13.1": for debug output and meshmem-info.
  virtual std::string description() const = 0;
};

// The arguments of MakeWire. `device`: the network, as MESHMEM_NETWORK_DEVICE names it; empty: the
// wire chooses. The listener lives as long as the wire. If MakeWire fails, it returns nullptr and
// stores a line in *error.
struct WireRequest {
  int version;  // kWireVersion of the caller
  WireListener* listener;
  const char* device;
  double keepalive_seconds;                     // a silent peer is lost after this; 0: never
  bool debug;                                   // UCX prints its own messages
  bool rdma_only = false;                       // use no TCP, which strangers can reach
  std::uint16_t first_port = 0, last_port = 0;  // TCP ports to listen on; 0: any
};
inline constexpr int kWireVersion = 5;
using MakeWire = Wire* (*)(const WireRequest& request, std::string* error);
inline constexpr const char* kMakeWireSymbol = "meshmem_make_wire";

// For meshmem-info: calls visit(name, about) for each network of this machine. `about` also says
// whether a wire for `device` would use it. False, and a line in *error: no wire is possible.
using NetworkVisitor = std::function<void(const std::string& name, const std::string& about)>;
using ListNetworks = bool (*)(const char* device, const NetworkVisitor& visit, std::string* error);
inline constexpr const char* kListNetworksSymbol = "meshmem_list_networks";

}  // namespace meshmem

#endif  // MESHMEM_TRANSPORT_WIRE_HPP_
