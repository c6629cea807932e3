// SPDX-License-Identifier: Apache-2.0
//
// The steps of a collective: copies between tensors and this PE's stage, meetings of all members,
// and gets from the others' stages. On the host a step is done when its call returns; on a stream
// it takes its place there. The stage has two buffers, which pieces of tensors use in turns.
// Invariant: between two uses of a buffer all members meet, so no PE overwrites what another reads.
#pragma once
#include <cstddef>

#include "group.hpp"
#include "reduction.hpp"

namespace meshmem::pytorch {

class Lane {
 public:
  explicit Lane(Group& group) : group(group) {}
  virtual ~Lane() = default;

  virtual std::size_t buffer_bytes() const = 0;
  virtual char* next_buffer() = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  virtual void meet() = 0;
  // Also returns the greatest `value` of all members.
  virtual std::size_t meet_and_compare(std::size_t value) = 0;
  // Whether the memory is symmetric and at the same place on all members, so that no copies are
  // needed. They may meet.
  virtual bool is_same_on_all(const void* data, std::size_t bytes) = 0;
  // From the address in the stage of another member. Complete after finish_gets().
  virtual void get(void* to, const void* there, std::size_t bytes, int rank) = 0;
  virtual void finish_gets() = 0;
  // In place. The second leaves the combination of the blocks `me` in block `me`.
  virtual void reduce(const Reduction& reduction, void* buffer, std::size_t n) = 0;
  virtual void reduce_scatter(const Reduction& reduction, void* buffer, std::size_t n) = 0;

  Group& group;
};

class HostLane final : public Lane {
 public:
  using Lane::Lane;
  std::size_t buffer_bytes() const override { return Group::kBufferBytes; }
  char* next_buffer() override { return group.host_buffer(n_buffers_++ % 2); }
  void copy(void* to, const void* from, std::size_t bytes) override;
  void meet() override;
  std::size_t meet_and_compare(std::size_t value) override;
  bool is_same_on_all(const void* data, std::size_t bytes) override;
  void get(void* to, const void* there, std::size_t bytes, int rank) override;
  void finish_gets() override;
  void reduce(const Reduction& reduction, void* buffer, std::size_t n) override;
  void reduce_scatter(const Reduction& reduction, void* buffer, std::size_t n) override;

 private:
  struct Range {
    std::int64_t highest, lowest;
  };
  Range meet_and_find_range(std::int64_t value);

  std::size_t n_buffers_ = 0;
  std::size_t n_comparisons_ = 0;
};

}  // namespace meshmem::pytorch
