// SPDX-License-Identifier: Apache-2.0
//
// libmeshmem_fused.so: the fused and quantized collectives for programs that compile no kernels.
// Invariant: everything about a call is decided by the two headers. Loaded by ../src/fused.cpp.
#include <meshmem/all_reduce_norm.hpp>
#include <meshmem/quantized.hpp>

#include "../src/fused_library.hpp"

namespace meshmem::pytorch {
namespace {

static_assert(kMostHidden == AllReduceNorm::kMostHidden);
static_assert(static_cast<int>(Wire::e4m3) == 0 && static_cast<int>(Wire::e5m2) == 1 &&
              static_cast<int>(Wire::int8) == 2);

template <typename Interface, typename Collective>
class Compiled : public Interface {
 public:
  Compiled(shmem_team_t team, std::size_t stage_bytes) : collective_(team, stage_bytes) {}
  const Status& status() const final { return collective_.status(); }

 protected:
  Collective collective_;
};

class CompiledNorm final : public Compiled<NormLayer, AllReduceNorm> {
 public:
  using Compiled::Compiled;
  Status execute(const NormArrays& a, DataType type, shmemx_stream_t stream) override {
    return collective_.execute(
        {a.x, a.residual, a.weight, a.y, a.new_residual, a.rows, a.hidden, a.epsilon}, type,
        stream);
  }
};

class CompiledMoves final : public Compiled<QuantizedMoves, Quantized> {
 public:
  using Compiled::Compiled;
  Status execute(Move move, const MoveArrays& a, DataType type, std::size_t wire,
                 shmemx_stream_t stream) override {
    const auto call = move == Move::all_reduce       ? &Quantized::all_reduce
                      : move == Move::reduce_scatter ? &Quantized::reduce_scatter
                                                     : &Quantized::all_gather;
    return (collective_.*call)(a.send, a.recv, a.count, {type, static_cast<Wire>(wire)}, stream);
  }
};

}  // namespace

extern "C" __attribute__((visibility("default"))) FusedCollective* meshmem_make_norm_layer(
    shmem_team_t team, std::size_t stage_bytes) {
  return new CompiledNorm(team, stage_bytes);
}
extern "C" __attribute__((visibility("default"))) FusedCollective* meshmem_make_quantized_moves(
    shmem_team_t team, std::size_t stage_bytes) {
  return new CompiledMoves(team, stage_bytes);
}

}  // namespace meshmem::pytorch
