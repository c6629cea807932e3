// SPDX-License-Identifier: Apache-2.0
//
// PEs that are threads of one process, on nodes that reach each other by NetworkTransport over a
// LocalWire, or over TCP, as start-up connects them.
// Invariant: the segments of a PE are separate allocations, so that AddressSanitizer sees an access
// beyond one. Included by the tests of NetworkTransport.
#ifndef MESHMEM_TESTS_UNIT_NETWORK_PES_HPP_
#define MESHMEM_TESTS_UNIT_NETWORK_PES_HPP_

#include <barrier>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "gpu/staged_access.hpp"
#include "local_wire.hpp"
#include "transport/network/network_transport.hpp"
#include "transport/wire_library.hpp"

namespace meshmem {

class NetworkPes {
 public:
  static constexpr std::uint64_t kToken[2] = {0x1122334455667788, 0x99aabbccddeeff00};

  struct Shape {
    int nodes;
    int pes_of_node;
    std::size_t heap_bytes = 1 << 16;
    unsigned slowness = 1;
    bool opens = true;
    bool has_device = false;  // memory that is for the device only: the first device segment
    bool is_over_tcp = false;
  };

  explicit NetworkPes(const Shape& shape) : shape_(shape), barrier_(n()) {
    for (int pe = 0; pe < n(); ++pe) add_pe();
    for (int pe = 0; pe < n() && shape.opens; ++pe) of(pe).open(plan(pe));
  }

  // All threads end before the first wire does.
  ~NetworkPes() {
    for (int pe = 0; pe < n(); ++pe) of(pe).abandon();
  }

  std::size_t heap_bytes() const { return shape_.heap_bytes; }
  int n() const { return shape_.nodes * shape_.pes_of_node; }
  NetworkTransport& of(int pe) { return *pes_[static_cast<std::size_t>(pe)].transport; }
  LocalWire& wire(int pe) { return *pes_[static_cast<std::size_t>(pe)].wire; }
  LocalNetwork& network() { return network_; }
  std::byte* heap(int pe) { return base_of(pe, RemoteSegment::heap); }
  std::byte* base_of(int pe, RemoteSegment segment) {
    if (segment == RemoteSegment::device) return device_memory(pe);
    return reinterpret_cast<std::byte*>(
        pes_[static_cast<std::size_t>(pe)].memory[static_cast<std::size_t>(segment)].get());
  }
  std::byte* device_memory(int pe) {
    return reinterpret_cast<std::byte*>(pes_[static_cast<std::size_t>(pe)].device_memory.get());
  }
  template <typename T>
  T* heap_of(int pe) {
    return reinterpret_cast<T*>(heap(pe));
  }

  // Runs body(pe) on a thread of each PE.
  void run(const std::function<void(int pe)>& body) {
    std::vector<std::thread> threads;
    for (int pe = 0; pe < n(); ++pe) threads.emplace_back(body, pe);
    for (std::thread& thread : threads) thread.join();
  }
  // Of the threads of run(); says nothing to the transports.
  void meet() { barrier_.arrive_and_wait(); }

  NetworkPlan plan(int me) {
    const int per_node = shape_.pes_of_node;
    const int first = me / per_node * per_node, mine = me % per_node;
    NetworkPlan plan{
        .me = me,
        .n_pes = n(),
        .token = {kToken[0], kToken[1]},
        .n_local = per_node,
        .base_of = [this, first](int index, RemoteSegment s) { return base_of(first + index, s); },
        .segment_bytes = {shape_.heap_bytes, kOtherBytes, kOtherBytes},
        .node_of = [per_node](int pe) { return pe / per_node; },
        .local_index_of = [per_node](int pe) { return pe % per_node; },
        .server_of = [per_node, mine](int pe) { return pe / per_node * per_node + mine; },
        .wire_address_of = [this](int pe) { return of(pe).wire_address(); },
        .name_of = [](int pe) { return "PE " + std::to_string(pe) + " on host t"; },
        .loss_report = pes_[static_cast<std::size_t>(first)].loss_report.get()};
    if (!shape_.has_device) return plan;
    plan.device = pes_[static_cast<std::size_t>(me)].access.get();
    plan.device_place = [this, first](int index, std::size_t offset,
                                      std::size_t bytes) -> std::byte* {
      const bool is_there = bytes <= shape_.heap_bytes && offset <= shape_.heap_bytes - bytes;
      return is_there ? device_memory(first + index) + offset : nullptr;
    };
    return plan;
  }
  static constexpr std::size_t kOtherBytes = 4096;

 private:
  struct Pe {
    std::unique_ptr<std::uint64_t[]> memory[3], device_memory;
    std::unique_ptr<StagedAccess> access;
    std::unique_ptr<NetworkTransport> transport;
    LocalWire* wire;
    std::unique_ptr<OneReport> loss_report = std::make_unique<OneReport>();
  };

  void add_pe() {
    Pe& pe = pes_.emplace_back();
    std::size_t bytes = shape_.heap_bytes;
    for (auto& memory : pe.memory) {
      memory = std::make_unique<std::uint64_t[]>(bytes / sizeof(std::uint64_t));
      bytes = kOtherBytes;
    }
    if (shape_.has_device) {
      pe.device_memory =
          std::make_unique<std::uint64_t[]>(shape_.heap_bytes / sizeof(std::uint64_t));
      pe.access = std::make_unique<StagedAccess>();
      pe.access->open(0);
    }
    pe.transport = std::make_unique<NetworkTransport>();
    if (shape_.is_over_tcp) return use_tcp(pe);
    auto wire = std::make_unique<LocalWire>(network_, pe.transport->listener(), shape_.slowness);
    pe.wire = wire.get();
    pe.transport->use_wire(std::move(wire));
  }
  static void use_tcp(Pe& pe) {
    std::string error;
    const WireRequest request{kWireVersion, pe.transport->listener(), "lo", 0, false};
    auto wire = try_make_wire(WireKind::tcp, request, &error);
    if (wire == nullptr) throw std::runtime_error(error);
    pe.wire = nullptr;
    pe.transport->use_wire(std::move(wire));
  }

  const Shape shape_;
  LocalNetwork network_;
  std::vector<Pe> pes_;
  std::barrier<> barrier_;
};

}  // namespace meshmem

#endif  // MESHMEM_TESTS_UNIT_NETWORK_PES_HPP_
