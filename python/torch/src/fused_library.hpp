// SPDX-License-Identifier: Apache-2.0
//
// The interface of libmeshmem_fused.so, which has meshmem/all_reduce_norm.hpp and quantized.hpp,
// compiled with the library for its target. So meshmem.torch needs no compiler for GPUs.
// Invariant: a call checks all arguments except those that a comment names. Implemented by
// ../kernels/fused.cpp.
#pragma once
#include <meshmem/allreduce.hpp>

namespace meshmem::pytorch {

// Made and deleted by all PEs of the job together.
class FusedCollective {
 public:
  FusedCollective() = default;
  virtual ~FusedCollective() = default;
  FusedCollective(const FusedCollective&) = delete;
  FusedCollective& operator=(const FusedCollective&) = delete;
  virtual const Status& status() const = 0;
};

constexpr std::size_t kMostHidden = 16384;

struct NormArrays {
  const void *x, *residual, *weight;
  void *y, *new_residual;
  std::size_t rows, hidden;
  float epsilon;
};
class NormLayer : public FusedCollective {
 public:
  virtual Status execute(const NormArrays& arrays, DataType type, shmemx_stream_t stream) = 0;
};

constexpr const char* kWires[] = {"e4m3", "e5m2", "int8"};

enum class Move { all_reduce, reduce_scatter, all_gather };
struct MoveArrays {
  const void* send;
  void* recv;
  std::size_t count;
};
class QuantizedMoves : public FusedCollective {
 public:
  // wire: an index of kWires, not checked.
  virtual Status execute(Move move, const MoveArrays& arrays, DataType type, std::size_t wire,
                         shmemx_stream_t stream) = 0;
};

// Functions of the library. A PE outside the team passes SHMEM_TEAM_INVALID.
using MakeFused = FusedCollective*(shmem_team_t team, std::size_t stage_bytes);
constexpr char kMakeNormLayer[] = "meshmem_make_norm_layer";
constexpr char kMakeQuantizedMoves[] = "meshmem_make_quantized_moves";

}  // namespace meshmem::pytorch
