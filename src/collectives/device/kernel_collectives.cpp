// SPDX-License-Identifier: Apache-2.0
//
// The threads, and the way from a command to the algorithms between nodes.
// Invariant: the members of a team number these collectives apart from those of the program
// (Team::of_kernels), so both may be under way at once.
#include "collectives/device/kernel_collectives.hpp"

#include <array>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/machine/thread.hpp"
#include "base/waiting/relax.hpp"
#include "base/waiting/wait.hpp"
#include "collectives/alltoallv.hpp"
#include "collectives/between_nodes.hpp"
#include "collectives/combine.hpp"
#include "collectives/device/short_floats.hpp"
#include "core/runtime.hpp"
#include "device/collectives/alltoallv_call.hpp"
#include "gpu/device_target.hpp"

namespace meshmem {
namespace {

using device::ElemType;
using device::HostRoutine;
using device::ProxyCommand;
using device::ReduceOp;

// ---- Reductions by the names that kernels have for them

template <typename Op, typename Short>
void combine_short(void* dest, const void* a, const void* b, std::size_t count) {
  auto* to = static_cast<Short*>(dest);
  const auto *left = static_cast<const Short*>(a), *right = static_cast<const Short*>(b);
  for (std::size_t i = 0; i < count; ++i)
    to[i] = Short::of(Op::apply(static_cast<float>(left[i]), static_cast<float>(right[i])));
}
template <typename Short>
void divide_short(void* elems, std::size_t count, int n) {
  auto* to = static_cast<Short*>(elems);
  for (std::size_t i = 0; i < count; ++i)
    to[i] = Short::of(static_cast<float>(to[i]) / static_cast<float>(n));
}

template <typename Short>
void widen_short(void* wide, const void* elems, std::size_t count) {
  auto* to = static_cast<float*>(wide);
  const auto* from = static_cast<const Short*>(elems);
  for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
}
// Front to back, so that elems may be wide.
template <typename Short>
void narrow_short(void* elems, const void* wide, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    float value;
    std::memcpy(&value, static_cast<const std::byte*>(wide) + i * sizeof value, sizeof value);
    const Short rounded = Short::of(value);
    std::memcpy(static_cast<std::byte*>(elems) + i * sizeof rounded, &rounded, sizeof rounded);
  }
}
template <typename Short>
const Carrier* carrier_of(const Reduction& as_float) {
  static const Carrier sum{reduction<Sum, float>().combine, sizeof(float), &widen_short<Short>,
                           &narrow_short<Short>};
  static const Carrier product{reduction<Product, float>().combine, sizeof(float),
                               &widen_short<Short>, &narrow_short<Short>};
  static const Carrier mean{average<float>().combine, sizeof(float), &widen_short<Short>,
                            &narrow_short<Short>, average<float>().finish};
  return as_float.finish ? &mean : as_float.combine == product.combine ? &product : &sum;
}

// Sums and products are formed in float, and rounded once, as kernels do it.
template <typename Short>
Reduction short_reduction(ReduceOp op) {
  constexpr auto kType = std::is_same_v<Short, Half> ? ElemType::f16 : ElemType::bf16;
  const auto with = [op](Combine combine) { return Reduction{combine, sizeof(Short), op, kType}; };
  const auto carried = [&](Combine combine, const Reduction& as_float) {
    Reduction reduction = with(combine);
    reduction.carrier = carrier_of<Short>(as_float);
    return reduction;
  };
  switch (op) {
    case ReduceOp::prod:
      return carried(&combine_short<Product, Short>, reduction<Product, float>());
    case ReduceOp::min:
      return with(&combine_short<Min, Short>);
    case ReduceOp::max:
      return with(&combine_short<Max, Short>);
    case ReduceOp::avg: {
      Reduction average_of_short = carried(&combine_short<Sum, Short>, average<float>());
      average_of_short.finish = &divide_short<Short>;
      return average_of_short;
    }
    default:
      return carried(&combine_short<Sum, Short>, reduction<Sum, float>());
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

// ---- Collectives

struct HostCollective {
  HostRoutine routine;
  ReduceOp op;
  std::size_t type;
  void* dest;
  const void* source;
  std::size_t count, elem_bytes;
  std::ptrdiff_t first, second;  // root, or strides

  explicit HostCollective(const ProxyCommand& command)
      : routine(static_cast<HostRoutine>(command.detail & ((1 << device::kReduceOpBits) - 1))),
        op(static_cast<ReduceOp>(command.detail >> device::kReduceOpBits)),
        type(command.length),
        dest(reinterpret_cast<void*>(command.word[0])),
        source(reinterpret_cast<const void*>(command.word[1])),
        count(command.word[2]),
        elem_bytes(command.word[5]),
        first(static_cast<std::ptrdiff_t>(command.word[3])),
        second(static_cast<std::ptrdiff_t>(command.word[4])) {}
  std::size_t bytes() const { return count * elem_bytes; }
};

void reduce(Team& team, const HostCollective& call) {
  if (call.type >= kReductionsOfType.size())
    fatal("{}: a reduction of a type that kernels do not have", team.call_text());
  const Reduction op = kReductionsOfType[call.type](call.op);
  if (call.routine == HostRoutine::reduce)
    return between_nodes::reduce(team, op, call.dest, call.source, call.count);
  if (call.routine == HostRoutine::reduce_scatter)
    return between_nodes::reduce_scatter(team, op, call.dest, call.source, call.count);
  between_nodes::scan(team, op, call.dest, call.source, call.count,
                      call.routine == HostRoutine::inscan);
}

void run_collective(Team& team, const HostCollective& call) {
  switch (call.routine) {
    case HostRoutine::sync:
      return between_nodes::sync(team);
    case HostRoutine::broadcast:
      return between_nodes::broadcast(team, call.dest, call.source, call.bytes(),
                                      static_cast<int>(call.first));
    case HostRoutine::collect:
      return between_nodes::collect(team, call.dest, call.source, call.bytes());
    case HostRoutine::fcollect:
      return between_nodes::fcollect(team, call.dest, call.source, call.bytes());
    case HostRoutine::alltoall:
    case HostRoutine::alltoalls:
      return between_nodes::alltoall(team, call.dest, call.source,
                                     {.elem_bytes = call.elem_bytes,
                                      .count = call.count,
                                      .dest_stride = call.first,
                                      .source_stride = call.second});
    default:
      return reduce(team, call);
  }
}

void alltoallv(Team& team, const ProxyCommand& command) {
  const auto array = [&](int word) {
    return reinterpret_cast<const std::size_t*>(command.word[word]);
  };
  meshmem::alltoallv(team, command.length, reinterpret_cast<void*>(command.word[0]),
                     blocks_of(team, array(2), array(3), true),
                     reinterpret_cast<const void*>(command.word[1]),
                     blocks_of(team, array(4), array(5), true));
}

void execute(const ProxyCommand& command) {
  const auto slot = static_cast<int>(command.pe & ~device::kOfStream);
  Team* const team = runtime().teams().find(handle_of(slot));
  if (!team || !team->of_kernels)
    fatal("a kernel calls a collective of team {}, which has no PEs on other machines", slot);
  team->of_kernels->kernel_waits = (command.pe & device::kOfStream) == 0;
  team->of_kernels->begin_call("a collective in a kernel");
  const HostCollective call(command);
  if (call.routine == device::kHostAlltoallv) return alltoallv(*team->of_kernels, command);
  run_collective(*team->of_kernels, call);
}

}  // namespace

KernelCollectives& kernel_collectives() {
  static KernelCollectives& instance = *new KernelCollectives;
  return instance;
}

void KernelCollectives::begin(const ProxyCommand& command) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(command);
  n_waiting_.store(waiting_.size(), std::memory_order_release);
  if (waiting_.size() > n_idle_)
    threads_.push_back(start_thread("that runs a collective of a kernel", [this] { run(); }));
  if (!one_looks_ || waiting_.size() > 1) changed_.notify_one();
}

// Kernels call one collective after the other, and a thread that sleeps takes as long to wake up as
// a small one takes. One thread at a time looks.
void KernelCollectives::look_for_a_while(std::unique_lock<std::mutex>& lock) {
  constexpr std::chrono::milliseconds kLooks{2};
  if (one_looks_ || wait_policy.polls <= 1 || kDevicesAreProcessors) return;
  one_looks_ = true;
  lock.unlock();
  const auto end = std::chrono::steady_clock::now() + kLooks;
  while (n_waiting_.load(std::memory_order_acquire) == 0 &&
         !stops_.load(std::memory_order_relaxed) && std::chrono::steady_clock::now() < end)
    relax();
  lock.lock();
  one_looks_ = false;
}

void KernelCollectives::run() {
  std::unique_lock lock(mutex_);
  for (bool has_worked = false;; has_worked = true) {
    ++n_idle_;
    if (has_worked) look_for_a_while(lock);
    changed_.wait(lock, [this] { return stops_ || !waiting_.empty(); });
    --n_idle_;
    if (waiting_.empty()) return;
    const ProxyCommand command = waiting_.front();
    waiting_.pop_front();
    n_waiting_.store(waiting_.size(), std::memory_order_release);
    lock.unlock();
    execute(command);
    answer_(command.word[device::kResultOfCollective]);
    lock.lock();
  }
}

void KernelCollectives::stop() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  stops_ = false;
}

}  // namespace meshmem
