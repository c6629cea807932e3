// SPDX-License-Identifier: Apache-2.0
//
// Lays out the memory of a Moe, and puts its calls on streams.
// Invariant: all PEs of the world allocate as many bytes, whatever their team and shape, and all
// decide alike whether a shape is good.
#include "library/moe.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <memory>
#include <vector>

#include "base/error.hpp"
#include "collectives/by_messages.hpp"
#include "collectives/device/executor.hpp"
#include "collectives/device/on_stream.hpp"
#include "core/memory_of_call.hpp"
#include "core/runtime.hpp"
#include "core/stream_transfers.hpp"
#include "device/launch.hpp"
#include "gpu/device_transfer.hpp"
#include "gpu/launch_on_stream.hpp"
#include "library/allocation.hpp"

namespace meshmem {
namespace {

constexpr int kMostHidden = 1 << 20;
constexpr int kMostExperts = 1 << 12;
constexpr int kStageBlocks = 32;
constexpr std::size_t kMostStageBytes = 16 * 1024;
constexpr std::size_t kAlignment = 256;

std::size_t elem_bytes(int type) {
  return type == SHMEMX_MOE_FLOAT ? 4 : type == SHMEMX_MOE_FP8 ? 1 : 2;
}

bool is_between(int value, int least, int most) { return least <= value && value <= most; }

bool is_good(const shmemx_moe_shape_t& shape) {
  return is_between(shape.type, SHMEMX_MOE_FLOAT, SHMEMX_MOE_FP8) &&
         is_between(shape.result_type, SHMEMX_MOE_FLOAT, SHMEMX_MOE_BFLOAT16) &&
         is_between(shape.hidden, 1, kMostHidden) &&
         is_between(shape.top_k, 1, SHMEMX_MOE_MOST_CHOICES) &&
         is_between(shape.experts, 1, kMostExperts) &&
         is_between(shape.max_tokens, 1, INT_MAX / shape.top_k) && shape.capacity >= 0 &&
         shape.max_blocks >= 0;
}

// The shape with its default for results.
shmemx_moe_shape_t completed(shmemx_moe_shape_t shape) {
  if (shape.result_type == 0)
    shape.result_type = shape.type == SHMEMX_MOE_FP8 ? SHMEMX_MOE_BFLOAT16 : shape.type;
  return shape;
}

// The first expert of PE `pe` of `n`.
int first_expert_of(int experts, int n, int pe) {
  return pe * (experts / n) + std::min(pe, experts % n);
}

std::size_t number(int value) { return static_cast<std::size_t>(value); }

// The most choices of all PEs together, which kernels add up as int.
constexpr std::size_t kMostChoices = INT_MAX / 2;
std::size_t most_choices(const shmemx_moe_shape_t& shape, int n) {
  return number(n) * number(shape.max_tokens) * number(shape.top_k);
}

// The most rows that a PE can have; it may be more than an int holds.
std::size_t most_rows(const shmemx_moe_shape_t& shape, int n) {
  if (shape.capacity == 0) return most_choices(shape, n);
  return number((shape.experts + n - 1) / n) * number(shape.capacity);
}

// Places arrays one after the other. Without a block it only adds up their bytes.
class Places {
 public:
  explicit Places(std::byte* block) : block_(block) {}
  template <typename T>
  void add(T*& array, std::size_t bytes) {
    if (block_) array = reinterpret_cast<T*>(block_ + bytes_);
    bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* block_;
  std::size_t bytes_ = 0;
};

struct Sizes {
  std::size_t all;
  std::size_t to_clear;  // from the beginning
};

// Sets the pointers of the view. All PEs of a team get the same sizes.
Sizes lay_out(shmemx_moe_view_t& view, std::byte* block) {
  const auto experts = static_cast<std::size_t>(view.shape.experts);
  const auto n = static_cast<std::size_t>(view.n_pes),
             rows = static_cast<std::size_t>(view.max_rows);
  const auto top_k = static_cast<std::size_t>(view.shape.top_k);
  const std::size_t choices = static_cast<std::size_t>(view.shape.max_tokens) * top_k;
  Places places(block);
  places.add(view.status, sizeof(int));
  places.add(view.dropped, sizeof(int));
  places.add(view.tokens, sizeof(int));
  places.add(view.counts, experts * sizeof(int));
  places.add(view.offsets, (experts + 1) * sizeof(int));
  places.add(view.placed, experts * sizeof *view.placed);
  places.add(view.my_counts, experts * sizeof(int));
  places.add(view.all_counts, n * experts * sizeof(int));
  const std::size_t to_clear = places.bytes();
  places.add(view.choices, choices * sizeof *view.choices);
  if (view.stage_blocks > 0)
    places.add(view.stage, static_cast<std::size_t>(view.stage_blocks) * top_k * view.stage_bytes);
  places.add(view.row_scales, rows * static_cast<std::size_t>(view.scales_of_row) * sizeof(float));
  places.add(view.rows, rows * view.row_bytes);
  places.add(view.results, rows * view.result_bytes);
  return {places.bytes(), to_clear};
}

// All but the pointers. The shape is good.
shmemx_moe_view_t view_of(const Team& team, const shmemx_moe_shape_t& shape) {
  shmemx_moe_view_t view{};
  view.shape = shape;
  view.team = handle_of(team.slot);
  view.me = team.me;
  view.n_pes = team.n;
  view.first_expert = first_expert_of(shape.experts, team.n, team.me);
  view.local_experts = first_expert_of(shape.experts, team.n, team.me + 1) - view.first_expert;
  view.max_rows = static_cast<int>(most_rows(shape, team.n));
  const auto hidden = static_cast<std::size_t>(shape.hidden);
  if (shape.type == SHMEMX_MOE_FP8)
    view.scales_of_row = (shape.hidden - 1) / SHMEMX_MOE_SCALED_ELEMENTS + 1;
  view.row_bytes = hidden * elem_bytes(shape.type);
  view.result_bytes = hidden * elem_bytes(shape.result_type);
  if (!team.is_on_one_node()) {
    view.stage_blocks = kStageBlocks;
    view.stage_bytes = std::min((view.result_bytes + 15) / 16 * 16, kMostStageBytes);
  }
  return view;
}

// A PE's message about its team and shape. Members of the same team have the same slot and first
// PE.
struct ShapeOffer {
  int slot, first_pe, members;
  bool is_good, has_devices;
  shmemx_moe_shape_t shape;
  std::size_t bytes;
};

ShapeOffer offer_of(const Team* team, const shmemx_moe_shape_t& shape) {
  ShapeOffer offer;
  std::memset(&offer, 0, sizeof offer);
  offer.slot = -1;
  offer.is_good = true;
  offer.has_devices = runtime().has_devices();
  if (!team) return offer;
  offer.slot = team->slot;
  offer.first_pe = team->world_pe(0);
  offer.members = team->n;
  offer.shape = shape;
  offer.is_good = is_good(shape) && most_choices(shape, team->n) <= kMostChoices &&
                  most_rows(shape, team->n) <= INT_MAX;
  if (!offer.is_good) return offer;
  shmemx_moe_view_t view = view_of(*team, shape);
  offer.bytes = lay_out(view, nullptr).all;
  return offer;
}

// Why one of the PEs cannot have what it asks for; nullptr if all can.
const char* objection_to(const std::vector<ShapeOffer>& offers) {
  for (const ShapeOffer& offer : offers) {
    if (!offer.has_devices) return "there is no device memory";
    if (!offer.is_good) return "a number or type of a shape is out of its limits";
    int members = 0;
    for (const ShapeOffer& other : offers) {
      if (other.slot != offer.slot || other.first_pe != offer.first_pe) continue;
      ++members;
      if (std::memcmp(&other.shape, &offer.shape, sizeof offer.shape) != 0)
        return "two PEs of a team give different shapes";
    }
    if (offer.slot >= 0 && members != offer.members)
      return "only some PEs of a team give that team";
  }
  return nullptr;
}

// The table of experts as it is before the first plan: it says where they are.
std::vector<shmemx_moe_expert_t> experts_of(const Team& team, int experts) {
  std::vector<shmemx_moe_expert_t> all(static_cast<std::size_t>(experts));
  for (int pe = 0; pe < team.n; ++pe) {
    const int first = first_expert_of(experts, team.n, pe);
    for (int e = first; e < first_expert_of(experts, team.n, pe + 1); ++e)
      all[static_cast<std::size_t>(e)] = {team.world_pe(pe), first, 0, 0, 0};
  }
  return all;
}

void require_array(const Team& team, const void* array, const char* name) {
  if (!array) fatal("{}: {} is null", team.routine(), name);
}

template <typename Launch>
void put_on_stream(const Team& team, const Launch& launch) {
  launch_on_stream(runtime().device_memory().device(), team.routine(), launch);
}

}  // namespace

Moe* Moe::try_make(const char* routine, Team* team, const shmemx_moe_shape_t& asked) {
  Team& world = runtime().world();
  const shmemx_moe_shape_t shape = completed(asked);
  const ShapeOffer mine = offer_of(team, shape);
  world.begin_call(routine);
  const auto offers = by_messages::gather(world, mine);
  if (const char* why = objection_to(offers)) {
    debug("{}: {}", routine, why);
    return nullptr;
  }
  std::size_t bytes = 1;
  for (const ShapeOffer& offer : offers) bytes = std::max(bytes, offer.bytes);
  auto moe = std::make_unique<Moe>();
  moe->block_ = static_cast<std::byte*>(allocate(bytes, kAlignment, SHMEMX_MALLOC_DEVICE, routine));
  if (!moe->block_) return nullptr;  // on all PEs
  if (!team) return moe.release();
  moe->view_ = view_of(*team, shape);
  clear_for_kernels(moe->block_, lay_out(moe->view_, moe->block_).to_clear);
  const auto experts = experts_of(*team, shape.experts);
  write_for_kernels(moe->view_.placed, experts.data(), experts.size() * sizeof experts[0]);
  return moe.release();
}

void Moe::destroy(const char* routine) {
  if (newest_) newest_->wait(routine);
  delete newest_;
  release(block_, routine);
  delete this;
}

void Moe::plan(Team& team, const int* indices, int tokens, hipStream_t stream) {
  if (tokens < 0 || tokens > view_.shape.max_tokens)
    fatal("{}: tokens is {}, and max_tokens of the shape is {}", team.routine(), tokens,
          view_.shape.max_tokens);
  if (tokens > 0) require_array(team, indices, "indices");
  const MemoryOfCall memory(team.routine(), stream,
                            {{block_, 1}, {indices, choices_of(tokens) * sizeof *indices}});
  put_on_stream(team, [&] { return device::launch_moe_count(view_, indices, tokens, stream); });
  on_stream::run(team,
                 moving(CollectiveKind::fcollect, view_.all_counts, view_.my_counts,
                        static_cast<std::size_t>(view_.shape.experts) * sizeof(int)),
                 stream);
  put_on_stream(team, [&] { return device::launch_moe_place(view_, stream); });
  on_stream::set_mark(newest_, stream);
  note(Step::plan, stream);
  tokens_ = tokens;
}

void Moe::dispatch(Team& team, const void* tokens, const float* scales, hipStream_t stream) {
  require_plan(team);
  if (last_ == Step::dispatch && !is_captured(stream))
    fatal("{}: the call before was a dispatch; call a plan or a combine between them",
          team.routine());
  if (tokens_ > 0) {
    require_array(team, tokens, "tokens");
    if ((scales != nullptr) != (view_.scales_of_row > 0))
      fatal("{}: scales {}", team.routine(),
            scales ? "are for FP8 alone" : "is null, and FP8 needs scales");
  }
  const auto n = static_cast<std::size_t>(tokens_);
  const std::size_t scales_bytes =
      n * static_cast<std::size_t>(view_.scales_of_row) * sizeof *scales;
  const MemoryOfCall memory(team.routine(), stream,
                            {{block_, 1}, {tokens, n * view_.row_bytes}, {scales, scales_bytes}});
  put_on_stream(
      team, [&] { return device::launch_moe_dispatch(view_, tokens, scales, tokens_, stream); });
  on_stream::run(team, {.kind = CollectiveKind::sync}, stream);
  on_stream::set_mark(newest_, stream);
  note(Step::dispatch, stream);
}

void Moe::combine(Team& team, const void* results, const float* weights, void* out,
                  hipStream_t stream) {
  require_plan(team);
  on_device::check_reach(team.routine(), results,
                         static_cast<std::size_t>(view_.max_rows) * view_.result_bytes);
  if (tokens_ > 0) {
    require_array(team, weights, "weights");
    require_array(team, out, "out");
  }
  const MemoryOfCall memory(team.routine(), stream,
                            {{block_, 1},
                             {results, 1},
                             {weights, choices_of(tokens_) * sizeof *weights},
                             {out, static_cast<std::size_t>(tokens_) * view_.result_bytes}});
  on_stream::run(team, {.kind = CollectiveKind::sync}, stream);
  put_on_stream(team, [&] {
    return device::launch_moe_combine(view_, results, weights, out, tokens_, stream);
  });
  on_stream::set_mark(newest_, stream);
  note(Step::combine, stream);
}

// A captured step runs later. All that is known then is that there is a plan.
void Moe::note(Step step, hipStream_t stream) { last_ = is_captured(stream) ? Step::plan : step; }

std::size_t Moe::choices_of(int tokens) const {
  return static_cast<std::size_t>(tokens) * static_cast<std::size_t>(view_.shape.top_k);
}

void Moe::require_plan(const Team& team) const {
  if (last_ == Step::none) fatal("{}: called before a plan", team.routine());
}

}  // namespace meshmem
