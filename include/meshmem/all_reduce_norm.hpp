// SPDX-License-Identifier: Apache-2.0
//
// All-reduce, residual addition and RMSNorm of rows in one kernel, as tensor-parallel transformers
// need them after each layer. A header over stage.hpp.
// Invariant: a row's result depends only on the row's data, its length and the number of PEs. So
// all PEs get the same bits, in whatever batch the row travels.
#ifndef MESHMEM_MESHMEM_ALL_REDUCE_NORM_HPP
#define MESHMEM_MESHMEM_ALL_REDUCE_NORM_HPP

#include <meshmem/stage.hpp>
#include <meshmem/units.hpp>

// For each row:
//
//   new_residual = residual + sum of x over the PEs    in float, in the order of PEs, rounded once
//   y = new_residual / sqrt(mean of new_residual^2 + epsilon) * weight
//
// Few bytes take one shot: each PE sends its rows to all, and all do the same work. More take two:
// PE r % n adds up row r, and sends the sum to all; each PE normalizes it.

namespace meshmem {

// Arrays in any memory of the GPU, aligned to 16 bytes. residual and weight are the same on all
// PEs. y may be x, and new_residual may be residual; nothing else that is written may overlap.
struct NormRows {
  const void *x, *residual, *weight;  // [rows][hidden], but weight [hidden]
  void *y, *new_residual;             // [rows][hidden]
  std::size_t rows, hidden;           // hidden: a multiple of 8, up to AllReduceNorm::kMostHidden
  float epsilon;
};

namespace norm {
constexpr int kMostThreads = 512;         // of a block
constexpr int kUnits = 4, kTogether = 4;  // of a row for each thread; from PEs, awaited together

// A block has every kBlocks-th row. A thread has the same units in all steps, so y may be x.
template <typename E>
struct Block {
  using U = Unit<E>;
  const StageView& stage;
  const NormRows& rows;
  const std::size_t first, count;  // rows of this kernel
  const bool two_shot;
  const Mailbox mail{stage};
  const int me = stage.me, n = stage.n;
  const std::size_t units = rows.hidden / U::kElems;                  // of a row
  const std::size_t places = two_shot ? (count + n - 1) / n : count;  // for rows of each PE
  BlockSum add_up_block = {};

  template <typename Act>
  MESHMEM_DEVICE_MEMBER void for_rows(const Act& act) const {
    for (std::size_t row = blockIdx.x; row < count; row += gridDim.x)
      act(row, two_shot ? static_cast<int>(row % n) : me);
  }
  template <typename Act>
  MESHMEM_DEVICE_MEMBER void for_units(const Act& act) const {
#pragma unroll
    for (int k = 0; k < kUnits; ++k)
      if (threadIdx.x + k * blockDim.x < units) act(threadIdx.x + k * blockDim.x, k);
  }
  MESHMEM_DEVICE_MEMBER U load(const void* array, std::size_t row, std::size_t u) const {
    return Mailbox::filled(U::load(array, (first + row) * units + u));
  }
  // Where in the stage is what a PE sends to a sum, and behind it the sum.
  MESHMEM_DEVICE_MEMBER std::size_t slot(int pe, std::size_t row, std::size_t u) const {
    return ((pe * places + (two_shot ? row / n : row)) * units + u) * sizeof(U);
  }
  MESHMEM_DEVICE_MEMBER std::size_t sum_slot(std::size_t row, std::size_t u) const {
    return ((n * places + row) * units + u) * sizeof(U);
  }

  MESHMEM_DEVICE_MEMBER void run() {
    for_rows([&](std::size_t row, int owner) {
      U mine[kUnits] = {};
      for_units([&](std::size_t u, int k) { mine[k] = load(rows.x, row, u); });
      for (int i = 1; i < n; ++i)
        if (const int pe = (me + i) % n; !two_shot || pe == owner)
          for_units([&](std::size_t u, int k) { mail.send(pe, slot(me, row, u), mine[k]); });
    });
    for_rows([&](std::size_t row, int owner) { owner == me ? add_up(row) : void(); });
    for_rows([&](std::size_t row, int owner) {
      if (owner == me) return;
      U sum[kUnits] = {};
      for_units([&](std::size_t u, int k) { sum[k] = mail.take<U>(sum_slot(row, u)); });
      normalize(row, sum);
    });
    mail.leave();
  }

  MESHMEM_DEVICE_MEMBER void add_up(std::size_t row) {
    U sum[kUnits] = {};
    for_units([&](std::size_t u, int k) { sum[k] = load(rows.residual, row, u); });
    for_units([&](std::size_t u, int k) {
      const U mine = load(rows.x, row, u);
      float exact[U::kElems] = {};
      sum[k].add_to(exact);
      for (int pe = 0; pe < n; pe += kTogether) {
        U of_pe[kTogether];
#pragma unroll
        for (int i = 0; i < kTogether; ++i)
          if (pe + i == me) of_pe[i] = mine;
        mail.take_all(of_pe, [&](int i) {
          return pe + i < n && pe + i != me ? slot(pe + i, row, u) : Mailbox::kNowhere;
        });
#pragma unroll
        for (int i = 0; i < kTogether; ++i)
          if (pe + i < n) of_pe[i].add_to(exact);
      }
      sum[k] = Mailbox::filled(U::rounded(exact));
      for (int i = 1; two_shot && i < n; ++i) mail.send((me + i) % n, sum_slot(row, u), sum[k]);
    });
    normalize(row, sum);
  }

  MESHMEM_DEVICE_MEMBER void normalize(std::size_t row, const U (&sum)[kUnits]) {
    float squares = 0;
    U weight[kUnits] = {};
    for_units([&](std::size_t u, int k) {
      weight[k] = U::load(rows.weight, u);
      sum[k].store(rows.new_residual, (first + row) * units + u);
      U::for_each([&](int e) { squares = fmaf(sum[k][e], sum[k][e], squares); });
    });
    const float mean = add_up_block(squares) / static_cast<float>(rows.hidden);
    const float factor = 1 / sqrtf(mean + rows.epsilon);
    for_units([&](std::size_t u, int k) {
      float y[U::kElems];
      U::for_each([&](int e) { y[e] = sum[k][e] * factor * weight[k][e]; });
      U::rounded(y).store(rows.y, (first + row) * units + u);
    });
  }
};

template <typename E>
__global__ void __launch_bounds__(kMostThreads)
    all_reduce_norm(MESHMEM_GRID_CONSTANT const StageView stage,
                    MESHMEM_GRID_CONSTANT const NormRows rows, std::size_t first, std::size_t count,
                    bool two_shot) {
  Block<E>{stage, rows, first, count, two_shot}.run();
}

}  // namespace norm

// All PEs construct and destroy it together, as a Stage; one outside the team cannot execute.
class AllReduceNorm {
 public:
  static constexpr std::size_t kMostHidden = norm::kUnits * norm::kMostThreads * 8;
  static constexpr std::size_t kStageBytes = std::size_t{16} << 20;  // twice that is allocated

  explicit AllReduceNorm(shmem_team_t team = SHMEM_TEAM_WORLD, std::size_t stage = kStageBytes)
      : stage_(team, stage) {}
  const Status& status() const { return stage_.status(); }

  // On the stream, in one kernel or several; returns at once. All PEs of the team call with the
  // same rows, hidden, epsilon and type, which is bf16 or f16. No rows: does nothing.
  Status execute(const NormRows& rows, DataType type, shmemx_stream_t stream) {
    if (!status()) return status();
    if (const Status wrong = check(rows, type); !wrong || rows.rows == 0) return wrong;
    const auto n = static_cast<std::size_t>(stage_.view().n);
    const std::size_t row = 2 * rows.hidden, room = stage_.view().bytes / row;
    // Two shots send fewer bytes if n > 2, but take another hop: time for 512 KiB on a GPU.
    const bool two_shot = room >= 2 * n && rows.rows * row / n * (n - 1) * (n - 2) > 512 << 10;
    const std::size_t most = two_shot ? room / (2 * n) * n : room / n;
    if (most == 0) return Status::error("AllReduceNorm: the stage has no place for a row");
    const auto kernel = type == DataType::f16 ? norm::all_reduce_norm<meshmem_half>
                                              : norm::all_reduce_norm<meshmem_bfloat16>;
    const std::size_t units = rows.hidden / 8, most_threads = norm::kMostThreads;
    const std::size_t threads = units < most_threads ? (units + 63) / 64 * 64 : most_threads;
    for (std::size_t first = 0; first < rows.rows; first += most) {
      const std::size_t count = rows.rows - first < most ? rows.rows - first : most;
      const Status done = stage_.launch(kernel, threads, stream, rows, first, count, two_shot);
      if (!done) return done;
    }
    return Status();
  }

 private:
  static Status check(const NormRows& rows, DataType type) {
    if (type != DataType::bf16 && type != DataType::f16)
      return Status::error("AllReduceNorm: %d is neither bf16 nor f16", static_cast<int>(type));
    if (rows.hidden == 0 || rows.hidden % 8 != 0 || rows.hidden > kMostHidden)
      return Status::error("AllReduceNorm: %zu is no multiple of 8 up to %zu", rows.hidden,
                           kMostHidden);
    if (rows.rows > SIZE_MAX / 4 / kMostHidden)
      return Status::error("AllReduceNorm: %zu rows are more than memory holds", rows.rows);
    const std::size_t row = 2 * rows.hidden, bytes = rows.rows * row;
    const Array arrays[] = {{"y", rows.y, bytes},
                            {"new_residual", rows.new_residual, bytes},
                            {"x", rows.x, bytes},
                            {"residual", rows.residual, bytes},
                            {"weight", rows.weight, row}};
    return rows.rows == 0 ? Status() : check_arrays("AllReduceNorm", arrays, 2, 16);
  }

  Stage stage_;
};

}  // namespace meshmem

#endif
