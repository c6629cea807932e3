// SPDX-License-Identifier: Apache-2.0
//
// PE 1 of four on two nodes as it takes messages in, with requests under way, without a network and
// without threads.
// Invariant: a message that would end the job throws instead; then the object is useless. Each
// memory is an allocation of its own, so that AddressSanitizer sees an access beyond one. Included
// by the mutation test and by the fuzzers.
#ifndef MESHMEM_TESTS_UNIT_FED_ARRIVALS_HPP_
#define MESHMEM_TESTS_UNIT_FED_ARRIVALS_HPP_

#include <fcntl.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "transport/network/arrivals.hpp"

namespace meshmem {

// Everything counts as sent at once, and goes to nobody.
class SwallowingWire final : public Wire {
 public:
  std::string address() const override { return {}; }
  int connect(std::string_view) override { return 0; }
  void send(int, const Message& message) override { message.sent(message.argument); }
  bool progress() override { return false; }
  int event_fd() const override { return -1; }
  bool arm() override { return true; }
  std::string description() const override { return {}; }
};

enum class Fate { taken, ignored, ends_job };

class FedArrivals {
 public:
  static constexpr std::uint64_t kToken[2] = {0x1122334455667788, 0x99aabbccddeeff00};
  static constexpr std::size_t kSegmentBytes = 4096, kAnswerBytes = 64;
  static constexpr int kPeer = 2;  // it has introduced itself
  static constexpr MessageKey kExpected{1, 1, 0};

  FedArrivals() {
    [[maybe_unused]] static const bool is_set = throw_where_the_job_ends();
    const auto wire_address = [](int) { return std::string(); };
    state_.wire = std::make_unique<SwallowingWire>();
    state_.outlet.wire = state_.wire.get();
    state_.outlet.me = 1;
    state_.outlet.token[0] = kToken[0];
    state_.outlet.token[1] = kToken[1];
    state_.outlet.wire_address_of = wire_address;
    state_.plan = {
        .me = 1,
        .n_pes = 4,
        .token = {kToken[0], kToken[1]},
        .n_local = 2,
        .base_of = [this](int index, RemoteSegment segment) { return segment_of(index, segment); },
        .segment_bytes = {kSegmentBytes, kSegmentBytes, kSegmentBytes},
        .node_of = [](int pe) { return pe / 2; },
        .local_index_of = [](int pe) { return pe % 2; },
        .server_of = [](int pe) { return pe; },
        .wire_address_of = wire_address,
        .name_of = [](int pe) { return "PE " + std::to_string(pe); },
        .loss_report = nullptr};
    state_.segments.map(2, state_.plan.base_of, state_.plan.segment_bytes);
    state_.opening = 1;
    state_.answer_with = [](const std::byte*, std::size_t, std::byte*, std::size_t) {
      return true;
    };
    network::Head hello = head();
    hello.lone = {.kind = network::RecordKind::hello, .first = kToken[1]};
    take(0, &hello, sizeof hello, {});
    state_.requests.add(kPeer, answer_.get(), kAnswerBytes, nullptr);
    state_.requests.add(kPeer, answer_.get(), kAnswerBytes, nullptr, network::Asks::a_question);
    state_.mailbox.expect(kPeer, kExpected, {answer_.get(), kAnswerBytes});
  }

  static network::Head head() {
    return {.token = kToken[0],
            .source = kPeer,
            .version = network::kFormatVersion,
            .flags = 0,
            .unused = 0,
            .acknowledged = 0,
            .lone = {}};
  }

  // Both parts are where no address is aligned, and the body ends where its memory does.
  Fate take(int sender, const void* head, std::size_t head_bytes,
            const std::vector<std::byte>& body) {
    alignas(std::max_align_t) std::byte room[Wire::kMaxHeadBytes + 1];
    std::byte* const shifted_head = room + 1;
    std::memcpy(shifted_head, head, head_bytes);
    const auto shifted = std::make_unique<std::byte[]>(body.size() + 1);
    std::copy(body.begin(), body.end(), shifted.get() + 1);
    const std::uint64_t ignored = state_.refused;
    try {
      const bool introduces =
          sender >= 0 && arrivals_.accepts_introduction(shifted_head, head_bytes);
      arrivals_.handle_message(introduces ? sender : -1, shifted_head, head_bytes,
                               shifted.get() + 1, body.size());
      state_.outlet.send_open();
      state_.outlet.acknowledge_all();
    } catch (const JobEnds&) {
      return Fate::ends_job;
    }
    return state_.refused == ignored ? Fate::taken : Fate::ignored;
  }

 private:
  struct JobEnds {};

  // From now on errors throw, and print nothing.
  static bool throw_where_the_job_ends() {
    send_messages_to(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    set_abort_job([](int) { throw JobEnds(); });
    return true;
  }
  std::byte* segment_of(int index, RemoteSegment segment) {
    auto& memory = segments_[index][static_cast<std::size_t>(segment)];
    if (!memory) memory = std::make_unique<std::uint64_t[]>(kSegmentBytes / 8);
    return reinterpret_cast<std::byte*>(memory.get());
  }

  std::unique_ptr<std::uint64_t[]> segments_[2][3];
  std::unique_ptr<std::byte[]> answer_ = std::make_unique<std::byte[]>(kAnswerBytes);
  NetworkState state_;
  network::Arrivals arrivals_{state_};
};

}  // namespace meshmem

#endif  // MESHMEM_TESTS_UNIT_FED_ARRIVALS_HPP_
