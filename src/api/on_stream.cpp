// SPDX-License-Identifier: Apache-2.0
//
// The routines that take their place on a stream (include/shmemx.h): an address or two are
// translated, and a kernel or a copy is put on the stream; of large reductions several.
// Invariant: nothing here waits, allocates or uses a stream of the library, so that a graph can
// capture every call.
#include <memory>
#include <type_traits>

#include "api/entry.hpp"
#include "api/stream_use.hpp"
#include "base/error.hpp"
#include "collectives/combine.hpp"
#include "device/launch.hpp"
#include "gpu/stream_mark.hpp"
#include "memory/room.hpp"
#include "shmemx.h"

namespace meshmem {
namespace {

// Up to here a kernel copies inside a graph, where a copy engine takes longer: 1.0 us against 2 for 8 bytes
// on H200, 6.4 against 7.5 for 2 MiB, but 46.2 against 45.7 for 16 MiB. Put on a stream by the host one by
// one, copies take less than kernels (1.7 us against 3.0 for 8 bytes).
constexpr std::size_t kMostKernelBytes = 4 << 20;

void require_device(const char* routine) {
  require_active(routine);
  if (!runtime().has_devices()) [[unlikely]]
    fatal("{}: there is no device memory (SHMEM_DEBUG=1 says why)", routine);
}

// Where a copy of the stream's finds it, and whether a kernel would too.
struct StreamEnd {
  void* address;
  bool for_kernels;
};

// In the host heap of PE `pe`: where kernels find it, if they do.
StreamEnd end_in_host_heap(std::byte* on_host, const void* address, int pe) {
  const device::Segment& heap = runtime().device_state().state().host_heap;
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  if (!heap.holds(number)) return {on_host, false};
  const bool near = pe < device::kNearPes;  // others are in a table that only kernels read
  return near ? StreamEnd{heap.near_copy[pe] + (number - heap.base), true}
              : StreamEnd{on_host, false};
}

StreamEnd end_at_pe(const char* routine, const void* address, std::size_t bytes, int pe) {
  check_pe(address_map, pe, routine);
  check_block(routine, address, bytes);
  if (std::byte* there = try_translate(address_map, address, bytes, pe))
    return end_in_host_heap(there, address, pe);
  const DevicePlace place = translate_on_device(address_map, address, bytes, pe, routine);
  return {place.address, place.for_kernels};
}

// Any memory of this PE; what is unknown may be out of a kernel's reach.
StreamEnd end_here(const void* address) {
  auto* here = const_cast<std::byte*>(static_cast<const std::byte*>(address));
  if (is_on_device(address)) return {here, true};
  return end_in_host_heap(here, address, address_map.my_pe);
}

void copy(const char* routine, const StreamEnd& to, const StreamEnd& from, std::size_t bytes,
          hipStream_t stream) {
  if (bytes == 0) return;
  const OnDevice current(runtime().device_memory().device());
  const bool by_kernel =
      to.for_kernels && from.for_kernels && bytes <= kMostKernelBytes && is_captured(stream);
  check(by_kernel ? device::launch_copy(to.address, from.address, bytes, stream)
                  : hipMemcpyAsync(to.address, from.address, bytes, hipMemcpyDefault, stream),
        "put the copy of {} on the stream", routine);
}

template <typename Launch>
void launch(const char* routine, const Launch& launch_kernel) {
  const OnDevice current(runtime().device_memory().device());
  check(launch_kernel(), "put the kernel of {} on the stream", routine);
}

// A collective: the end of its team waits for it.
template <typename Launch>
void launch_of(Team& team, shmemx_stream_t stream, const char* routine,
               const Launch& launch_kernel) {
  const OnDevice current(runtime().device_memory().device());
  check(launch_kernel(), "put the kernel of {} on the stream", routine);
  const shmem_team_t handle = handle_of(team.slot);
  const bool stays = handle == SHMEM_TEAM_WORLD || handle == SHMEM_TEAM_SHARED;
  if (stays || is_captured(stream_of(stream))) return;
  if (!team.mark) team.mark = std::make_shared<StreamMark>(runtime().device_memory().device());
  team.mark->set(stream_of(stream));
}

// A word that a kernel updates or waits for.
std::uint64_t* word_for_kernels(const char* routine, std::uint64_t* address, int pe) {
  const StreamEnd end = end_at_pe(routine, address, sizeof *address, pe);
  if (!end.for_kernels)
    fatal("{}: kernels do not reach the signal at {} of PE {}", routine,
          static_cast<const void*>(address), pe);
  return static_cast<std::uint64_t*>(end.address);
}

void check_signal_op(const char* routine, int sig_op) {
  if (sig_op != SHMEM_SIGNAL_SET && sig_op != SHMEM_SIGNAL_ADD)
    fatal("{}: sig_op {} is neither SHMEM_SIGNAL_SET nor SHMEM_SIGNAL_ADD", routine, sig_op);
}

Team& team_for_kernels(const char* routine, shmem_team_t handle) {
  require_device(routine);
  Team& team = collective_team(handle, routine);
  if (runtime().device_state().state().sync.base == 0)
    fatal("{}: the devices of the PEs do not all reach each other", routine);
  return team;
}

// What a row of the tables asks for.
struct Computation {
  enum class Kind { reduce, scatter, inscan, exscan };
  Reduction op;
  Kind kind;
};
using Kind = Computation::Kind;

int compute_on_stream(const char* routine, shmem_team_t handle, const Computation& computation,
                      void* dest, const void* source, std::size_t count, shmemx_stream_t stream) {
  Team& team = team_for_kernels(routine, handle);
  expect_same(team, stream, "nreduce {}", count);
  if (count == 0) return 0;
  const Reduction& op = computation.op;
  const Kind kind = computation.kind;
  const auto blocks = static_cast<std::size_t>(kind == Kind::scatter ? team.n : 1);
  StreamUse use(routine, stream);
  use.by_kernel(dest, count, op.elem_bytes);
  use.by_kernel(source, count, blocks * op.elem_bytes);
  launch_of(team, stream, routine, [&] {
    if (kind == Kind::inscan || kind == Kind::exscan)
      return device::launch_scan(on_device::place_of(team), op.kernel_type, dest, source, count,
                                 kind == Kind::inscan, stream_of(stream));
    return kind == Kind::scatter
               ? on_device::launch_reduce_scatter(team, op, dest, source, count, stream_of(stream))
               : on_device::launch_reduce(team, op, dest, source, count, stream_of(stream));
  });
  return 0;
}

}  // namespace

extern "C" {

MESHMEM_VISIBLE void shmemx_putmem_on_stream(void* dest, const void* source, std::size_t nbytes,
                                             int pe, shmemx_stream_t stream) {
  constexpr const char* kRoutine = "shmemx_putmem_on_stream";
  require_device(kRoutine);
  if (nbytes == 0) return check_pe(address_map, pe, kRoutine);
  StreamUse use(kRoutine, stream);
  use.of(dest, source, nbytes);
  copy(kRoutine, end_at_pe(kRoutine, dest, nbytes, pe), end_here(source), nbytes,
       stream_of(stream));
}

MESHMEM_VISIBLE void shmemx_getmem_on_stream(void* dest, const void* source, std::size_t nbytes,
                                             int pe, shmemx_stream_t stream) {
  constexpr const char* kRoutine = "shmemx_getmem_on_stream";
  require_device(kRoutine);
  if (nbytes == 0) return check_pe(address_map, pe, kRoutine);
  StreamUse use(kRoutine, stream);
  use.of(dest, source, nbytes);
  copy(kRoutine, end_here(dest), end_at_pe(kRoutine, source, nbytes, pe), nbytes,
       stream_of(stream));
}

MESHMEM_VISIBLE void shmemx_putmem_signal_on_stream(void* dest, const void* source,
                                                    std::size_t nbytes, std::uint64_t* sig_addr,
                                                    std::uint64_t signal, int sig_op, int pe,
                                                    shmemx_stream_t stream) {
  constexpr const char* kRoutine = "shmemx_putmem_signal_on_stream";
  require_device(kRoutine);
  check_signal_op(kRoutine, sig_op);
  StreamUse use(kRoutine, stream);
  use.of(dest, source, nbytes);
  use.of(sig_addr, sizeof *sig_addr);
  const StreamEnd to = nbytes == 0 ? StreamEnd{dest, true} : end_at_pe(kRoutine, dest, nbytes, pe);
  const StreamEnd from = end_here(source);
  std::uint64_t* word = word_for_kernels(kRoutine, sig_addr, pe);
  const bool by_kernel = to.for_kernels && from.for_kernels && nbytes <= kMostKernelBytes;
  if (!by_kernel) copy(kRoutine, to, from, nbytes, stream_of(stream));
  launch(kRoutine, [&] {
    return by_kernel && nbytes > 0
               ? device::launch_put_signal(to.address, from.address, nbytes, word, signal, sig_op,
                                           stream_of(stream))
               : device::launch_signal(word, signal, sig_op, stream_of(stream));
  });
}

MESHMEM_VISIBLE void shmemx_signal_op_on_stream(std::uint64_t* sig_addr, std::uint64_t signal,
                                                int sig_op, int pe, shmemx_stream_t stream) {
  constexpr const char* kRoutine = "shmemx_signal_op_on_stream";
  require_device(kRoutine);
  check_signal_op(kRoutine, sig_op);
  StreamUse use(kRoutine, stream);
  use.of(sig_addr, sizeof *sig_addr);
  std::uint64_t* word = word_for_kernels(kRoutine, sig_addr, pe);
  launch(kRoutine, [&] { return device::launch_signal(word, signal, sig_op, stream_of(stream)); });
}

MESHMEM_VISIBLE void shmemx_signal_wait_until_on_stream(std::uint64_t* sig_addr, int cmp,
                                                        std::uint64_t cmp_value,
                                                        shmemx_stream_t stream) {
  constexpr const char* kRoutine = "shmemx_signal_wait_until_on_stream";
  require_device(kRoutine);
  if (cmp < SHMEM_CMP_EQ || cmp > SHMEM_CMP_GE)
    fatal("{}: {} is not a comparison of SHMEM_CMP_*", kRoutine, cmp);
  StreamUse use(kRoutine, stream);
  use.of(sig_addr, sizeof *sig_addr);
  const std::uint64_t* word = word_for_kernels(kRoutine, sig_addr, address_map.my_pe);
  launch(kRoutine, [&] {
    return device::launch_wait_until(word, device::ElemType::u64, cmp, {{cmp_value, 0}},
                                     stream_of(stream));
  });
}

MESHMEM_VISIBLE void shmemx_stream_mark(shmemx_mark_t* mark, shmemx_stream_t stream) {
  require_device("shmemx_stream_mark");
  if (is_captured(stream_of(stream))) return;
  auto* set = reinterpret_cast<StreamMark*>(*mark);
  if (!set) set = new StreamMark(runtime().device_memory().device());
  set->set(stream_of(stream));
  *mark = reinterpret_cast<shmemx_mark_t>(set);
}

MESHMEM_VISIBLE void shmemx_stream_mark_wait(shmemx_mark_t* mark) {
  require_active("shmemx_stream_mark_wait");
  const std::unique_ptr<StreamMark> set(reinterpret_cast<StreamMark*>(*mark));
  *mark = nullptr;
  if (set) set->wait("shmemx_stream_mark_wait");
}

MESHMEM_VISIBLE void shmemx_quiet_on_stream(shmemx_stream_t stream) {
  constexpr const char* kRoutine = "shmemx_quiet_on_stream";
  require_device(kRoutine);
  launch(kRoutine, [&] { return device::launch_quiet(stream_of(stream)); });
}

MESHMEM_VISIBLE void shmemx_barrier_all_on_stream(shmemx_stream_t stream) {
  constexpr const char* kRoutine = "shmemx_barrier_all_on_stream";
  Team& team = team_for_kernels(kRoutine, SHMEM_TEAM_WORLD);
  expect_same(team, stream, "");
  launch_of(team, stream, kRoutine,
            [&] { return device::launch_sync(on_device::place_of(team), stream_of(stream)); });
}

MESHMEM_VISIBLE int shmemx_team_sync_on_stream(shmem_team_t handle, shmemx_stream_t stream) {
  constexpr const char* kRoutine = "shmemx_team_sync_on_stream";
  Team& team = team_for_kernels(kRoutine, handle);
  expect_same(team, stream, "");
  launch_of(team, stream, kRoutine,
            [&] { return device::launch_sync(on_device::place_of(team), stream_of(stream)); });
  return 0;
}

MESHMEM_VISIBLE int shmemx_broadcastmem_on_stream(shmem_team_t handle, void* dest,
                                                  const void* source, std::size_t nbytes,
                                                  int PE_root, shmemx_stream_t stream) {
  constexpr const char* kRoutine = "shmemx_broadcastmem_on_stream";
  Team& team = team_for_kernels(kRoutine, handle);
  if (static_cast<unsigned>(PE_root) >= static_cast<unsigned>(team.n))
    fatal("{}: PE_root {} is not in 0..{} of the team", kRoutine, PE_root, team.n - 1);
  expect_same(team, stream, "nbytes {}, PE_root {}", nbytes, PE_root);
  if (nbytes == 0) return 0;
  StreamUse use(kRoutine, stream);
  use.by_kernel(dest, nbytes, 1);
  use.by_kernel(source, nbytes, 1);
  launch_of(team, stream, kRoutine, [&] {
    return device::launch_broadcast(on_device::place_of(team), dest, source, nbytes, PE_root,
                                    stream_of(stream));
  });
  return 0;
}

MESHMEM_VISIBLE int shmemx_fcollectmem_on_stream(shmem_team_t handle, void* dest,
                                                 const void* source, std::size_t nbytes,
                                                 shmemx_stream_t stream) {
  constexpr const char* kRoutine = "shmemx_fcollectmem_on_stream";
  Team& team = team_for_kernels(kRoutine, handle);
  expect_same(team, stream, "nbytes {}", nbytes);
  if (nbytes == 0) return 0;
  StreamUse use(kRoutine, stream);
  use.by_kernel(dest, static_cast<std::size_t>(team.n), nbytes);
  use.by_kernel(source, nbytes, 1);
  launch_of(team, stream, kRoutine, [&] {
    return device::launch_fcollect(on_device::place_of(team), dest, source, nbytes,
                                   stream_of(stream));
  });
  return 0;
}

MESHMEM_VISIBLE int shmemx_collectmem_on_stream(shmem_team_t handle, void* dest, const void* source,
                                                std::size_t nbytes, shmemx_stream_t stream) {
  constexpr const char* kRoutine = "shmemx_collectmem_on_stream";
  Team& team = team_for_kernels(kRoutine, handle);
  expect_same(team, stream, "");
  // Null is right where nobody brings a byte.
  StreamUse use(kRoutine, stream);
  if (dest) use.by_kernel(dest, nbytes, 1);
  if (nbytes > 0) use.by_kernel(source, nbytes, 1);
  launch_of(team, stream, kRoutine, [&] {
    return device::launch_collect(on_device::place_of(team), dest, source, nbytes,
                                  stream_of(stream));
  });
  return 0;
}

MESHMEM_VISIBLE int shmemx_alltoallmem_on_stream(shmem_team_t handle, void* dest,
                                                 const void* source, std::size_t nbytes,
                                                 shmemx_stream_t stream) {
  constexpr const char* kRoutine = "shmemx_alltoallmem_on_stream";
  Team& team = team_for_kernels(kRoutine, handle);
  expect_same(team, stream, "nbytes {}", nbytes);
  if (nbytes == 0) return 0;
  StreamUse use(kRoutine, stream);
  use.by_kernel(dest, static_cast<std::size_t>(team.n), nbytes);
  use.by_kernel(source, static_cast<std::size_t>(team.n), nbytes);
  launch_of(team, stream, kRoutine, [&] {
    return device::launch_alltoall(on_device::place_of(team), dest, source, nbytes,
                                   stream_of(stream));
  });
  return 0;
}

}  // extern "C"

namespace {

// The element types that hosts do not have.
struct Half {};
struct Bfloat16 {};

template <typename Op, typename E>
constexpr Reduction kernel_reduction() {
  if constexpr (std::is_same_v<E, Half> || std::is_same_v<E, Bfloat16>) {
    return {
        .combine = nullptr,
        .elem_bytes = 2,
        .kernel_op = Op::kKernelOp,
        .kernel_type = std::is_same_v<E, Half> ? device::ElemType::f16 : device::ElemType::bf16};
  } else {
    return reduction<Op, E>();
  }
}
template <typename E>
constexpr Reduction kernel_average() {
  Reduction result = kernel_reduction<Sum, E>();
  result.kernel_op = device::ReduceOp::avg;
  return result;
}

#define COMPUTATION(name, op, what)   \
  template <typename E>               \
  constexpr Computation of_##name() { \
    return {op, Kind::what};          \
  }
#define REDUCTION(name, op) \
  COMPUTATION(name##_reduce, op, reduce) COMPUTATION(name##_reduce_scatter, op, scatter)
REDUCTION(sum, (kernel_reduction<Sum, E>()))
REDUCTION(prod, (kernel_reduction<Product, E>()))
REDUCTION(max, (kernel_reduction<Max, E>()))
REDUCTION(min, (kernel_reduction<Min, E>()))
REDUCTION(and, (kernel_reduction<And, E>()))
REDUCTION(or, (kernel_reduction<Or, E>()))
REDUCTION(xor, (kernel_reduction<Xor, E>()))
REDUCTION(avg, kernel_average<E>())
COMPUTATION(sum_inscan, (kernel_reduction<Sum, E>()), inscan)
COMPUTATION(sum_exscan, (kernel_reduction<Sum, E>()), exscan)
#undef REDUCTION
#undef COMPUTATION

}  // namespace

#define DEFINE_ON_STREAM(name, op, E, result, params, args) \
  DEFINE_COMPUTED(name, op, E, result, params)
#define DEFINE_HALF(name, op, E, result, params, args) \
  DEFINE_COMPUTED(name, op, Half, result, params)
#define DEFINE_BFLOAT16(name, op, E, result, params, args) \
  DEFINE_COMPUTED(name, op, Bfloat16, result, params)
#define DEFINE_COMPUTED(name, op, Elem, result, params)                                         \
  extern "C" MESHMEM_VISIBLE result shmemx_##name##_on_stream MESHMEM_WITH_STREAM params {      \
    return compute_on_stream("shmemx_" #name "_on_stream", team, of_##op<Elem>(), dest, source, \
                             nreduce, stream);                                                  \
  }
MESHMEM_COMPUTED_ON_STREAM(DEFINE_ON_STREAM, MESHMEM_IN)
MESHMEM_SHORT_REDUCTIONS(DEFINE_HALF, half, void)
MESHMEM_SHORT_REDUCTIONS(DEFINE_BFLOAT16, bfloat16, void)
#undef DEFINE_ON_STREAM
#undef DEFINE_HALF
#undef DEFINE_BFLOAT16
#undef DEFINE_COMPUTED

}  // namespace meshmem
