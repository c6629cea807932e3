// SPDX-License-Identifier: Apache-2.0
//
// Writes a call into the words of a command, and reads it back (kResultOfCollective in
// device/proxy_ring.hpp lists the words). Finds a reduction by a kernel's names for its type and
// operation.
// Invariant: half and bfloat16 are combined as kernels combine them: sums and products in float,
// rounded once.
#include "collectives/device/command.hpp"

#include <array>
#include <cstring>

#include "base/error.hpp"
#include "collectives/combine.hpp"
#include "collectives/device/short_floats.hpp"

namespace meshmem {
namespace {

using device::ElemType;
using device::ProxyCommand;
using device::ReduceOp;

template <typename Short>
void widen_short(void* wide, const void* elems, std::size_t count) {
  auto* to = static_cast<float*>(wide);
  const auto* from = static_cast<const Short*>(elems);
  for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
}
// Works from front to back, so that `elems` and `wide` may be the same memory.
template <typename Short>
void narrow_short(void* elems, const void* wide, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    float value;
    std::memcpy(&value, static_cast<const std::byte*>(wide) + i * sizeof value, sizeof value);
    const Short rounded(value);
    std::memcpy(static_cast<std::byte*>(elems) + i * sizeof rounded, &rounded, sizeof rounded);
  }
}

template <typename T>
Reduction reduction_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::prod:
      return reduction<Product, T>();
    case ReduceOp::min:
      return reduction<Min, T>();
    case ReduceOp::max:
      return reduction<Max, T>();
    case ReduceOp::avg:
      return average<T>();
    default:
      break;
  }
  if constexpr (std::is_integral_v<T>) {
    if (op == ReduceOp::bit_and) return reduction<And, T>();
    if (op == ReduceOp::bit_or) return reduction<Or, T>();
    if (op == ReduceOp::bit_xor) return reduction<Xor, T>();
  }
  return reduction<Sum, T>();
}

// Returns how floats carry the short type in this operation; nullptr for min and max, which need no
// wider elements.
template <typename Short>
const Carrier* carrier_of(ReduceOp op) {
  const auto by = [](const Reduction& as_float) {
    return Carrier{as_float.combine, sizeof(float), &widen_short<Short>, &narrow_short<Short>,
                   as_float.finish};
  };
  static const Carrier sum = by(reduction<Sum, float>()), mean = by(average<float>()),
                       product = by(reduction<Product, float>());
  switch (op) {
    case ReduceOp::min:
    case ReduceOp::max:
      return nullptr;
    case ReduceOp::prod:
      return &product;
    case ReduceOp::avg:
      return &mean;
    default:
      return &sum;
  }
}

template <typename Short>
Reduction short_reduction(ReduceOp op) {
  Reduction reduction = reduction_of<Short>(op);
  reduction.carrier = carrier_of<Short>(op);
  return reduction;
}

template <typename T>
Reduction located_reduction_of(ReduceOp op) {
  return op == ReduceOp::max ? located_reduction<ReduceOp::max, T>()
                             : located_reduction<ReduceOp::min, T>();
}

// In the order of ElemType.
constexpr std::array kReductionsOfType = {&reduction_of<std::int8_t>,
                                          &reduction_of<std::uint8_t>,
                                          &reduction_of<std::int16_t>,
                                          &reduction_of<std::uint16_t>,
                                          &reduction_of<std::int32_t>,
                                          &reduction_of<std::uint32_t>,
                                          &reduction_of<std::int64_t>,
                                          &reduction_of<std::uint64_t>,
                                          &reduction_of<float>,
                                          &reduction_of<double>,
                                          &short_reduction<Half>,
                                          &short_reduction<Bfloat16>,
                                          &located_reduction_of<std::int32_t>,
                                          &located_reduction_of<std::uint32_t>,
                                          &located_reduction_of<std::int64_t>,
                                          &located_reduction_of<std::uint64_t>,
                                          &located_reduction_of<float>,
                                          &located_reduction_of<double>};
static_assert(kReductionsOfType.size() == static_cast<std::size_t>(ElemType::none));

// True for reductions and scans, which are the last kinds.
bool combines(CollectiveKind kind) { return kind >= CollectiveKind::reduce; }
CollectiveKind kind_in(const ProxyCommand& command) {
  return static_cast<CollectiveKind>(command.detail & ((1 << device::kCollectiveKindBits) - 1));
}

Reduction reduction_in(const ProxyCommand& command) {
  if (command.length >= kReductionsOfType.size())
    fatal("the proxy was asked for a reduction of type {}, which kernels do not have",
          static_cast<int>(command.length));
  return kReductionsOfType[command.length](
      static_cast<ReduceOp>(command.detail >> device::kCollectiveKindBits));
}

template <typename T>
T* pointer_in(std::uint64_t word) {
  return reinterpret_cast<T*>(static_cast<std::uintptr_t>(word));
}
std::uint64_t word_of(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

}  // namespace

ProxyCommand command_of(const Collective& call, std::uint32_t caller) {
  ProxyCommand command{device::ProxyOp::collective,
                       static_cast<std::uint8_t>(ElemType::none),
                       static_cast<std::uint8_t>(call.kind),
                       caller,
                       {word_of(call.dest), word_of(call.source), call.count,
                        static_cast<std::uint64_t>(call.dest_stride),
                        static_cast<std::uint64_t>(call.source_stride), call.elem_bytes}};
  if (call.kind == CollectiveKind::broadcast)
    command.word[3] = static_cast<std::uint64_t>(call.root);
  if (combines(call.kind)) {
    command.length = static_cast<std::uint8_t>(call.op->kernel_type);
    command.detail |= static_cast<std::uint8_t>(static_cast<unsigned>(call.op->kernel_op)
                                                << device::kCollectiveKindBits);
  }
  if (call.kind == CollectiveKind::alltoallv) {
    command.length = static_cast<std::uint8_t>(call.elem_bytes);
    const auto& [dest, to, source, from, elem_bytes] = *call.varying;
    const std::size_t* const arrays[] = {to.nelems, to.displs, from.nelems, from.displs};
    for (int i = 0; i < 4; ++i) command.word[2 + i] = word_of(arrays[i]);
  }
  return command;
}

AskedCall::AskedCall(const ProxyCommand& command)
    : call_{.kind = kind_in(command),
            .dest = pointer_in<void>(command.word[0]),
            .source = pointer_in<const void>(command.word[1])} {
  const auto& word = command.word;
  if (call_.kind > CollectiveKind::exscan)
    fatal("a kernel has written over the commands of the proxy (collective {})",
          static_cast<int>(call_.kind));
  if (call_.kind == CollectiveKind::alltoallv) {
    const auto array = [&](int i) { return pointer_in<const std::size_t>(word[i]); };
    varying_ = {
        call_.dest, {array(2), array(3)}, call_.source, {array(4), array(5)}, command.length};
    call_ = alltoallv_of(varying_);
    return;
  }
  call_.count = word[2];
  call_.elem_bytes = word[5];
  if (combines(call_.kind)) {
    op_ = reduction_in(command);
    call_.op = &op_;
  }
  if (call_.kind == CollectiveKind::broadcast) {
    call_.root = static_cast<int>(word[3]);
  } else {
    call_.dest_stride = static_cast<std::ptrdiff_t>(word[3]);
    call_.source_stride = static_cast<std::ptrdiff_t>(word[4]);
  }
}

}  // namespace meshmem
