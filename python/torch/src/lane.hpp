// SPDX-License-Identifier: Apache-2.0
//
// The steps of a collective: copies between tensors and this PE's stage, meetings of all members,
// and gets from the others' stages. On the host a step is done when its call returns; on a stream
// it takes its place there. The stage has two buffers, which pieces of tensors use in turns.
// Invariant: between two uses of a buffer all members meet, so no PE overwrites what another reads.
#pragma once
#include <cstddef>
#include <vector>

#include "group.hpp"
#include "reduction.hpp"

namespace meshmem::pytorch {

struct Span {
  char* data = nullptr;
  std::size_t bytes = 0;
};

// All members know this of an exchange. Except with `any`, all blocks have the same length on all
// members.
enum class Pattern { any, broadcast, all_gather, all_to_all };

// Each member publishes a block for each member, or one block for all, and gets those for it.
struct Exchange {
  Pattern pattern = Pattern::any;
  int root = 0;  // of a broadcast
  bool is_same_for_all = false;
  std::vector<Span> sources;     // by member, or one for all. Empty: this PE publishes nothing
  std::vector<Span> dests;       // by member; empty spans: this PE gets nothing from there
  std::size_t longest = 0;       // published block of any member, or of this one if not all know
  bool is_longest_known = true;  // the same on all members
};

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
  // After the last piece of an exchange.
  virtual void finish_exchange() = 0;
  // In place. The second leaves the combination of the blocks `me` in block `me`.
  virtual void reduce(const Reduction& reduction, void* buffer, std::size_t n) = 0;
  virtual void reduce_scatter(const Reduction& reduction, void* buffer, std::size_t n) = 0;

  // The whole collective, of tensors where they are. False, alike on all members: it has to go
  // through the stage.
  virtual bool exchange_directly(const Exchange&) { return false; }
  // Without `to` this member needs no result.
  virtual bool reduce_directly(const Reduction&, void* /*to*/, const void* /*from*/,
                               std::size_t /*n*/) {
    return false;
  }
  // from[i] is what this PE has for member i.
  virtual bool reduce_scatter_directly(const Reduction&, const at::Tensor& /*to*/,
                                       const std::vector<at::Tensor>& /*from*/) {
    return false;
  }

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
  void finish_exchange() override {}  // the next one uses the other buffer
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
