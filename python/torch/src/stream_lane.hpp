// SPDX-License-Identifier: Apache-2.0
//
// The steps of collectives of tensors of a GPU. They take their place on a stream, so that they can
// be captured into a graph.
// Invariant: a step waits for nothing on the host, except meet_and_compare().
#pragma once
#include <functional>
#include <utility>
#include <vector>

#include "collectives.hpp"

namespace meshmem::pytorch {

class StreamLane final : public Lane {
 public:
  // Waits for the processor's operations of the group, and returns the greatest value of all.
  using Compare = std::function<std::size_t(std::size_t)>;
  StreamLane(Group& group, c10::Device device, shmemx_stream_t stream, std::size_t& n_buffers,
             Compare compare)
      : Lane(group),
        device_(device),
        stream_(stream),
        n_buffers_(n_buffers),
        compare_(std::move(compare)) {}

  std::size_t buffer_bytes() const override { return group.device_buffer_bytes(); }
  char* next_buffer() override { return group.device_buffer(n_buffers_++ % 2); }
  void copy(void* to, const void* from, std::size_t bytes) override;
  void meet() override;
  std::size_t meet_and_compare(std::size_t value) override;
  // Nothing on a stream could compare where the tensors of all members are.
  bool is_same_on_all(const void*, std::size_t) override { return false; }
  void get(void* to, const void* there, std::size_t bytes, int rank) override;
  void finish_gets() override {}  // the stream has an order
  // A graph that is replayed uses the same buffer again.
  void finish_exchange() override { meet(); }
  void reduce(const Reduction& reduction, void* buffer, std::size_t n) override;
  void reduce_scatter(const Reduction& reduction, void* buffer, std::size_t n) override;
  bool exchange_directly(const Exchange& plan) override;
  bool reduce_directly(const Reduction& reduction, void* to, const void* from,
                       std::size_t n) override;
  bool reduce_scatter_directly(const Reduction& reduction, const at::Tensor& to,
                               const std::vector<at::Tensor>& from) override;

 private:
  at::Tensor new_bytes(std::size_t bytes) const;
  void all_gather_directly(const Exchange& plan);

  c10::Device device_;
  shmemx_stream_t stream_;
  std::size_t& n_buffers_;
  Compare compare_;
};

}  // namespace meshmem::pytorch
