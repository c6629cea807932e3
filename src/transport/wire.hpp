// SPDX-License-Identifier: Apache-2.0
//
// The carrier of messages between processes of different machines: the network as network_transport
// sees it. UCX's is in a library of its own, which is loaded when a job needs it.
// Invariant: messages of one sender to one peer arrive whole, once, and in the order in which they
// were sent. One thread at a time calls a Wire (network_transport holds a lock); take() and lose()
// are called from within progress() only. Nothing of libmeshmem is called from here.
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

  // Whether the sender of this head may introduce itself. Only then does the wire keep the sender's
  // address; it hands over the message in any case.
  virtual bool admits(const std::byte* head_at, std::size_t head_bytes) = 0;
  // A message in two parts at any alignment, which stay until take() returns. If the message
  // introduces an admitted sender, `sender` is the peer to answer, with the number that connect()
  // gives for its address; else it is -1. May call send(), and nothing else of the Wire.
  virtual void take(int sender, const std::byte* head_at, std::size_t head_bytes,
                    const std::byte* body, std::size_t body_bytes) = 0;
  // Nothing more comes from this peer, and nothing reaches it. `why`: one line without a name.
  // `was_silent`: the other process did not answer for too long, but may not have ended.
  virtual void lose(int peer, const std::string& why, bool was_silent) = 0;
};

using WireKey = std::array<unsigned char, 32>;

class Wire {
 public:
  virtual ~Wire() = default;

  struct Message {
    const void* head;  // at most kMostOfHead bytes
    std::size_t head_bytes;
    const void* body;
    std::size_t body_bytes;
    bool introduces;  // the receiver learns whom to answer to
    // Both parts stay as they are until sent(argument) is called, from within send() or a later
    // progress(). Called for every message, for those to a lost peer too.
    void (*sent)(void* argument);
    void* argument;
  };
  static constexpr std::size_t kMostOfHead = 64;
  static constexpr std::size_t kMostOfBody = 1 << 20;

  // Where other processes reach this one: bytes for connect(), at most a few hundred.
  virtual std::string address() const = 0;
  // From now on a process that proves that it knows the key may connect. A wire that asks for no
  // proof lets all connect from the start. Called before the first send().
  virtual void admit(const WireKey& key) { (void)key; }
  // A peer to send to, from 0 on, the same for the same address. Returns at once: the first message
  // makes the connection.
  virtual int connect(std::string_view address) = 0;
  // The machines of all peers have these addresses (of 4 or 16 bytes each). A wire that asks for no
  // proof admits connections only from these, and none before this call, and returns true. Then a
  // peer must not connect before this call.
  virtual bool admit_only(const std::vector<std::string>& /*addresses*/) { return false; }
  virtual void send(int peer, const Message& message) = 0;
  // Sends and takes in what it can without waiting. True if it did something.
  virtual bool progress() = 0;

  // A descriptor that becomes readable when progress() has something to do, if arm() returned true
  // after the last progress(). False: call progress() first. A progress() by another thread that
  // takes in something ends the promise.
  virtual int event_fd() const = 0;
  virtual bool arm() = 0;

  // "tcp over eth0, UCX 1.13.1": for debug output and meshmem-info.
  virtual std::string description() const = 0;
};

// The request for a wire. `device`: which network (as MESHMEM_NETWORK_DEVICE names it), empty for
// the wire's own choice. Where no wire is possible, MakeWire returns nullptr, and a line in *error.
// The listener lives as long as the wire.
struct WireRequest {
  int version;  // kWireVersion of the caller
  WireListener* listener;
  const char* device;
  double keepalive_seconds;                     // a silent peer is lost after this; 0: never
  bool debug;                                   // the network's own messages are shown
  bool rdma_only = false;                       // no network that takes what strangers send
  std::uint16_t first_port = 0, last_port = 0;  // TCP ports to listen on; 0: any
};
inline constexpr int kWireVersion = 5;
using MakeWire = Wire* (*)(const WireRequest& request, std::string* error);
inline constexpr const char* kMakeWireSymbol = "meshmem_make_wire";

// For meshmem-info: lists the networks of this machine, and says which of them a wire for `device`
// would use. False, and a line in *error, if there can be no such wire.
using TellNetwork = std::function<void(const std::string& name, const std::string& about)>;
using ListNetworks = bool (*)(const char* device, const TellNetwork& tell, std::string* error);
inline constexpr const char* kListNetworksSymbol = "meshmem_list_networks";

}  // namespace meshmem

#endif  // MESHMEM_TRANSPORT_WIRE_HPP_
