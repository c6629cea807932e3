// SPDX-License-Identifier: Apache-2.0
//
// Expert parallelism inside kernels: the steps that shmemx_moe_plan_on_stream and its relatives
// (shmemx.h) consist of, for programs that put them into kernels of their own. A row is a token on
// its way to one of its experts.
// Invariant: only exchange() waits for other PEs. All threads of a block call a step.
// count(), dispatch() and combine() are shared by any number of blocks; each block does its Part.
#ifndef MESHMEM_MESHMEM_MOE_HPP
#define MESHMEM_MESHMEM_MOE_HPP

#include <shmemx.h>

#include <cstddef>
#include <cstdint>

#ifndef MESHMEM_COMPILES_KERNELS
#error "meshmem/moe.hpp is for kernels: compile it by oshhip"
#endif

// A round, in a kernel of one block:
//
//   moe::plan(view, indices, tokens);                     // count, exchange, place
//   moe::dispatch(view, x, nullptr, moe::alone());
//   shmemx_team_sync_block(view.team);                    // all rows have arrived
//   ...                                                   // the experts: rows -> results
//   shmemx_team_sync_block(view.team);                    // all results are there
//   moe::combine<float>(view, view.results, weights, sums, moe::alone());
//
// Several blocks use moe::of_grid() and shmemx_team_sync_grid instead. For the plan all blocks call
// count() and meet; then one block calls exchange() and place(), and all blocks meet again. They
// also meet before the count() of a next round, since blocks may still combine. Blocks that meet
// without shmemx_team_sync_grid call shmemx_quiet_block before, so that their rows have arrived.
//
// Why a PE that is ahead overwrites nothing that another still reads:
//   all_counts  A PE's dest of an fcollect is written after that PE has entered the call.
//   rows        A PE's rows of round r + 1 leave after its combine of round r, or its plan of round
//               r + 1. Both wait until every PE has come, which a PE does after its experts have
//               read their rows.
//   results     A PE's experts of round r + 1 run after the meeting behind its dispatch of that
//               round. A PE comes to this meeting after its combine of round r.
// So two dispatches need a plan or a combine between them, and results that are combined stay as
// they are until the next plan or dispatch.

namespace meshmem {
namespace moe {

using View = shmemx_moe_view_t;

// The work of block number `block` of `blocks`.
struct Part {
  int block, blocks;
};
MESHMEM_DEVICE Part alone() { return {0, 1}; }
MESHMEM_DEVICE Part of_grid() {
  const device::CooperativeGrid grid;
  return {grid.block(), grid.blocks()};
}

// The waves of all blocks, which are numbered one after the other.
struct Waves {
  int mine, all;
  MESHMEM_DEVICE_MEMBER explicit Waves(Part part) {
    const int of_block =
        (device::threads_of_block() + device::wave_size() - 1) / device::wave_size();
    mine = part.block * of_block + device::thread_in_block() / device::wave_size();
    all = part.blocks * of_block;
  }
};

// ---- The plan

MESHMEM_DEVICE void refuse_index(const View& moe, int choice, int index) {
  if (device::kChecks) {
    using namespace device;  // the macro names what is there
    MESHMEM_PRINT_MISTAKE("token %d chooses expert %d, which is neither -1 nor in 0..%d",
                          choice / moe.shape.top_k, index, moe.shape.experts - 1);
    device::trap();
  }
  *moe.status = SHMEMX_MOE_BAD_INDEX;
}

// With checks: ends a kernel whose round has more tokens than there is room for.
MESHMEM_DEVICE void check_tokens(const View& moe, int tokens) {
  if (!device::kChecks || (tokens >= 0 && tokens <= moe.shape.max_tokens)) return;
  using namespace device;
  MESHMEM_PRINT_MISTAKE("a round of %d tokens, and max_tokens of the shape is %d", tokens,
                        moe.shape.max_tokens);
  device::trap();
}

// Counts this PE's rows for each expert and numbers them, in the order of tokens and choices. A
// wave looks for the rows of one expert. `indices`: [tokens][top_k].
MESHMEM_DEVICE void count(const View& moe, const int* indices, int tokens, Part part) {
  constexpr int kTogether = 4;  // loads that overlap
  check_tokens(moe, tokens);
  __syncthreads();  // waves may still read the previous plan, in a dispatch or combine
  const device::Wave wave;
  const int lane = wave.rank(), lanes = wave.size();
  const Waves waves(part);
  const int choices = tokens * moe.shape.top_k;
  const std::uint64_t before = (std::uint64_t{1} << lane) - 1;
  for (int expert = waves.mine; expert < moe.shape.experts; expert += waves.all) {
    int rows = 0;
    for (int first = lane; first - lane < choices; first += kTogether * lanes) {
      int index[kTogether];
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        const int at = first + k * lanes;
        index[k] = at < choices ? indices[at] : -1;
      }
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        const int at = first + k * lanes;
        const bool is_mine = index[k] == expert;
        const std::uint64_t all = __ballot(is_mine);
        if (is_mine) moe.choices[at] = {expert, rows + static_cast<int>(__popcll(all & before))};
        rows += static_cast<int>(__popcll(all));
        if (expert == 0 && at < choices && (index[k] < 0 || index[k] >= moe.shape.experts)) {
          moe.choices[at] = {-1, 0};
          if (index[k] != -1) refuse_index(moe, at, index[k]);
        }
      }
    }
    if (lane == 0) moe.my_counts[expert] = rows;
  }
  if (part.block == 0 && device::thread_in_block() == 0) *moe.tokens = tokens;
}

// By one block: hands the counts to all PEs.
MESHMEM_DEVICE void exchange(const View& moe) {
  shmemx_int_fcollect_block(moe.team, moe.all_counts, moe.my_counts,
                            static_cast<std::size_t>(moe.shape.experts));
}

// By one block: from the counts of all PEs finds where this PE's rows go, and which rows come.
MESHMEM_DEVICE void place(const View& moe) {
  const int rank = device::thread_in_block(), threads = device::threads_of_block();
  const int experts = moe.shape.experts, capacity = moe.shape.capacity;
  for (int e = rank; e < experts; e += threads) {
    shmemx_moe_expert_t& expert = moe.placed[e];
    int rows = 0, mine_after = 0;
    for (int pe = 0; pe < moe.n_pes; ++pe) {
      if (pe == moe.me) mine_after = rows;
      rows += moe.all_counts[static_cast<std::size_t>(pe) * experts + e];
    }
    expert.rows = rows;
    expert.begin = mine_after;
    expert.room = capacity == 0 ? rows : capacity - mine_after;
  }
  if (rank == 0) {
    *moe.dropped = 0;
    moe.offsets[0] = 0;
  }
  __syncthreads();
  for (int e = rank; e < experts; e += threads) {
    shmemx_moe_expert_t& expert = moe.placed[e];
    int offset = (e - expert.first_of_pe) * capacity;
    if (capacity == 0)
      for (int other = expert.first_of_pe; other < e; ++other) offset += moe.placed[other].rows;
    expert.begin += offset;
    const int lost = moe.my_counts[e] - (expert.room > 0 ? expert.room : 0);
    if (lost > 0) atomicAdd(moe.dropped, lost);
    const int local = e - moe.first_expert;
    if (local < 0 || local >= moe.local_experts) continue;
    const bool is_full = capacity > 0 && expert.rows > capacity;
    moe.counts[local] = is_full ? capacity : expert.rows;
    moe.offsets[local + 1] = offset + (capacity > 0 ? capacity : expert.rows);
  }
  __syncthreads();
}

// The whole plan, by one block.
MESHMEM_DEVICE void plan(const View& moe, const int* indices, int tokens) {
  count(moe, indices, tokens, alone());
  exchange(moe);
  place(moe);
}

// Where a choice of this PE's tokens goes: PE of the world, and row there. row -1: nowhere. Choice
// k of token t has the number t * top_k + k.
struct Place {
  int pe, row;
};
MESHMEM_DEVICE Place place_of(const View& moe, int choice) {
  const shmemx_moe_choice_t chosen = moe.choices[choice];
  if (chosen.expert < 0) return {-1, -1};
  const shmemx_moe_expert_t& expert = moe.placed[chosen.expert];
  if (chosen.rank >= expert.room) return {-1, -1};
  return {expert.pe, expert.begin + chosen.rank};
}

// ---- Dispatch

// Puts each token to the rows of its experts. `tokens`: [tokens][hidden]; `scales`:
// [tokens][scales_of_row], or null. Where there are fewer rows than waves, several waves share a
// row; in teams over several machines none does, since each piece would be a command to the proxy.
// After it, PEs meet before they read their rows.
MESHMEM_DEVICE void dispatch(const View& moe, const void* tokens, const float* scales, Part part) {
  constexpr std::size_t kGrain = 16, kLeastPiece = 512;
  const int choices = *moe.tokens * moe.shape.top_k;
  if (choices == 0) return;
  const Waves waves(part);
  const std::size_t most = moe.row_bytes / kLeastPiece;
  const auto share = static_cast<std::size_t>(waves.all / choices);
  const std::size_t wanted = share < most ? share : most;
  const std::size_t pieces = wanted > 1 && moe.stage == nullptr ? wanted : 1;
  const std::size_t piece = (moe.row_bytes / pieces + kGrain) / kGrain * kGrain;
  const std::size_t all = static_cast<std::size_t>(choices) * pieces;
  for (auto i = static_cast<std::size_t>(waves.mine); i < all;
       i += static_cast<std::size_t>(waves.all)) {
    const Place to = place_of(moe, static_cast<int>(i / pieces));
    const std::size_t begin = i % pieces * piece;
    if (to.row < 0 || begin >= moe.row_bytes) continue;
    const std::size_t token = i / pieces / static_cast<std::size_t>(moe.shape.top_k);
    const auto row = static_cast<std::size_t>(to.row);
    const std::size_t left = moe.row_bytes - begin;
    shmemx_putmem_nbi_wave(static_cast<std::byte*>(moe.rows) + row * moe.row_bytes + begin,
                           static_cast<const std::byte*>(tokens) + token * moe.row_bytes + begin,
                           pieces > 1 && piece < left ? piece : left, to.pe);
    if (begin > 0 || scales == nullptr) continue;
    const auto n = static_cast<std::size_t>(moe.scales_of_row);
    shmemx_float_put_nbi_wave(moe.row_scales + row * n, scales + token * n, n, to.pe);
  }
}

// ---- Combine

// A row of a sum, or null where nothing came back.
struct Term {
  const std::byte* row;
  float weight;
};
constexpr int kTermsTogether = 4;  // whose loads overlap
static_assert(SHMEMX_MOE_MOST_CHOICES % kTermsTogether == 0, "whole batches");

// The terms of the token that a block adds up. One array serves all types: on processors it is
// thread-local memory of the library, and a program that loads the library has little of that.
MESHMEM_DEVICE Term* terms_of_block() {
  __shared__ Term terms[SHMEMX_MOE_MOST_CHOICES];
  return terms;
}

// out[i] = the sum of weight * row[i] in the order of the terms, by fused multiply-adds in float,
// rounded once. Elements travel in pieces.
template <typename E, typename Piece>
MESHMEM_DEVICE void add_up(const Term* terms, int n, std::byte* out, std::size_t bytes) {
  constexpr int kElems = sizeof(Piece) / sizeof(E);
  for (auto i = static_cast<std::size_t>(device::thread_in_block()); i < bytes / sizeof(Piece);
       i += static_cast<std::size_t>(device::threads_of_block())) {
    float sum[kElems] = {};
    for (int first = 0; first < n; first += kTermsTogether) {
      Piece piece[kTermsTogether];
#pragma unroll
      for (int k = 0; k < kTermsTogether; ++k)
        if (terms[first + k].row)
          piece[k] = device::load_of_get(reinterpret_cast<const Piece*>(terms[first + k].row) + i);
#pragma unroll
      for (int k = 0; k < kTermsTogether; ++k) {
        if (!terms[first + k].row) continue;
        E elems[kElems];
        memcpy(elems, &piece[k], sizeof elems);
#pragma unroll
        for (int e = 0; e < kElems; ++e)
          sum[e] = fmaf(terms[first + k].weight, static_cast<float>(elems[e]), sum[e]);
      }
    }
    E elems[kElems];
#pragma unroll
    for (int e = 0; e < kElems; ++e) elems[e] = static_cast<E>(sum[e]);
    Piece total;
    memcpy(&total, elems, sizeof total);
    device::store_plain(reinterpret_cast<Piece*>(out) + i, total);
  }
}

// Returns where `bytes` bytes at `row` of PE `pe` are: there if the PE is near, else in `stage`, as
// a copy. Called by a wave.
MESHMEM_DEVICE const std::byte* reach(const std::byte* row, std::byte* stage, std::size_t bytes,
                                      int pe) {
  if (const void* there = device::ptr(row, pe)) return static_cast<const std::byte*>(there);
  shmemx_getmem_wave(stage, row, bytes, pe);
  return stage;
}

// Adds up the results of each token's experts. `results`: symmetric, [max_rows][hidden] of
// result_type, which is E; `weights` and `out`: [tokens][top_k] and [tokens][hidden] of this PE.
// Before it, all PEs have met after their experts. After it, they meet before one changes results.
template <typename E>
MESHMEM_DEVICE void combine(const View& moe, const void* results, const float* weights, void* out,
                            Part part) {
  constexpr std::size_t kGrain = 16;
  Term* const terms = terms_of_block();
  const int tokens = *moe.tokens, top_k = moe.shape.top_k;
  if (moe.stage && part.blocks > moe.stage_blocks) part.blocks = moe.stage_blocks;
  if (tokens == 0 || part.block >= part.blocks) return;
  device::before_get();
  const std::size_t bytes = moe.result_bytes;
  const bool is_even =
      device::is_equally_aligned(results) &&
      ((reinterpret_cast<std::uintptr_t>(results) | reinterpret_cast<std::uintptr_t>(out) | bytes) &
       (kGrain - 1)) == 0;
  // Blocks share a token where there are more of them than tokens, or a stage holds a part only.
  const std::size_t of_threads = static_cast<std::size_t>(device::threads_of_block()) * kGrain;
  const auto share = static_cast<std::size_t>((part.blocks + tokens - 1) / tokens);
  std::size_t piece = (bytes / share + kGrain) / kGrain * kGrain;
  if (piece < of_threads) piece = of_threads;
  if (moe.stage && piece > moe.stage_bytes) piece = moe.stage_bytes;
  const std::size_t pieces = (bytes + piece - 1) / piece;
  const std::size_t all = static_cast<std::size_t>(tokens) * pieces;
  const Waves waves(alone());
  const bool leads = device::Wave().rank() == 0;
  for (auto i = static_cast<std::size_t>(part.block); i < all;
       i += static_cast<std::size_t>(part.blocks)) {
    const std::size_t token = i / pieces, begin = i % pieces * piece;
    const std::size_t here = bytes - begin < piece ? bytes - begin : piece;
    for (int k = waves.mine; k < (top_k + kTermsTogether - 1) / kTermsTogether * kTermsTogether;
         k += waves.all) {
      const int choice = static_cast<int>(token) * top_k + k;
      const Place from = k < top_k ? place_of(moe, choice) : Place{-1, -1};
      Term term{nullptr, 0};
      if (from.row >= 0) {
        const auto* row = static_cast<const std::byte*>(results) +
                          static_cast<std::size_t>(from.row) * bytes + begin;
        auto* stage = static_cast<std::byte*>(moe.stage) +
                      static_cast<std::size_t>(part.block * top_k + k) * moe.stage_bytes;
        term = {reach(row, stage, here, from.pe), weights[choice]};
      }
      if (leads) terms[k] = term;
    }
    if (moe.stage)
      shmemx_quiet_block();  // what other waves have got is in memory
    else
      __syncthreads();
    std::byte* to = static_cast<std::byte*>(out) + token * bytes + begin;
    if (is_even)
      add_up<E, device::Bits128>(terms, top_k, to, here);
    else
      add_up<E, device::Bits<sizeof(E)>>(terms, top_k, to, here);
    __syncthreads();  // before `terms` and the stage change
  }
}

}  // namespace moe
}  // namespace meshmem

#endif
