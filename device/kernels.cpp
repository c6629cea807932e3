// SPDX-License-Identifier: Apache-2.0
//
// The library's own kernels and the functions that launch them: the only file of the library that
// is compiled as device code.
// Invariant: a kernel is one call of a routine that users' kernels have too. Collectives run in one
// block; copies in a number of blocks that follows from their size.
#include <hip/hip_runtime.h>

#include "device/launch.hpp"
#include "device/routines.hpp"

namespace meshmem {
namespace device {
namespace {

constexpr unsigned kThreads = 512;
constexpr unsigned kCopyThreads = 512;
constexpr unsigned kThreadsForPes = 64;  // each for some of the PEs, whatever a wave's size is
constexpr unsigned kMostCopyBlocks = 64;
constexpr std::size_t kBytesPerCopyBlock = 32 * 1024;
constexpr std::size_t kOneBlockBytes = 64 * 1024;  // beyond, data moves in kernels of its own

// All the blocks of a launch as one group that never waits.
struct Grid {
  MESHMEM_DEVICE_MEMBER int rank() const {
    return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  }
  MESHMEM_DEVICE_MEMBER int size() const { return static_cast<int>(gridDim.x * blockDim.x); }
};

unsigned copy_blocks_for(std::size_t bytes) {
  const std::size_t wanted = (bytes + kBytesPerCopyBlock - 1) / kBytesPerCopyBlock;
  return static_cast<unsigned>(wanted < 1                 ? 1
                               : wanted > kMostCopyBlocks ? kMostCopyBlocks
                                                          : wanted);
}

// ---- One PE with another

// The end of a kernel releases to its own device only, and neither another block nor a later kernel
// can write back what this one has stored: each thread does it, for the signal, the quiet or the
// meeting that follows on the stream.
MESHMEM_DEVICE void release_at_end() { release_all(Thread()); }

__global__ void copy_kernel(void* to, const void* from, std::size_t bytes) {
  before_get();
  copy<OthersSource>(Grid(), to, from, bytes);
  release_at_end();
}

template <typename E>
__global__ void strided_copy_kernel(StridedCopy job) {
  before_get();
  const std::size_t bsize = job.block_bytes / sizeof(E);
  copy_blocks<OthersSource, E>(Grid(), job.to, job.to_stride / std::ptrdiff_t{sizeof(E)}, job.from,
                               job.from_stride / std::ptrdiff_t{sizeof(E)}, bsize, job.n_blocks);
  release_at_end();
}

template <typename B>
__global__ void store_kernel(B* there, B value) {
  store_relaxed(there, value);
}
__global__ void store_pair_kernel(std::uint64_t* there, Scalar value) {
  there[0] = value.word[0];
  there[1] = value.word[1];
  release_at_end();
}
template <typename B>
__global__ void load_kernel(B* to, const B* there) {
  before_get();
  *to = load_relaxed(there);
}

template <typename B>
__global__ void atomic_kernel(AtomicOp op, B* there, B operand, B condition, B* fetched) {
  const B old = apply_atomic(op, there, operand, condition);
  if (fetched) *fetched = old;
}

__global__ void signal_kernel(std::uint64_t* there, std::uint64_t value, int sig_op) {
  complete_all(Thread());
  update_signal(there, value, sig_op);
}
__global__ void put_signal_kernel(void* there, const void* source, std::size_t bytes,
                                  std::uint64_t* signal_there, std::uint64_t value, int sig_op) {
  push_with_signal(Block(), there, source, bytes, signal_there, value, sig_op);
}

template <typename E>
__global__ void wait_kernel(const E* ivar, int cmp, E wanted) {
  wait_until(Thread(), const_cast<E*>(ivar), cmp, wanted);
}

__global__ void quiet_kernel() { complete_all(Thread()); }

// ---- Collectives of a team

__global__ void sync_kernel(int slot) { barrier(Block(), TeamSync(slot)); }
__global__ void broadcast_kernel(int slot, void* dest, const void* source, std::size_t bytes,
                                 int root) {
  broadcast(Block(), TeamSync(slot), dest, source, bytes, root);
}
__global__ void fcollect_kernel(int slot, void* dest, const void* source, std::size_t bytes) {
  fcollect(Block(), TeamSync(slot), dest, source, bytes);
}
__global__ void collect_kernel(int slot, void* dest, const void* source, std::size_t bytes) {
  collect(Block(), TeamSync(slot), dest, source, bytes);
}
__global__ void alltoall_kernel(int slot, void* dest, const void* source, std::size_t bytes) {
  alltoall(Block(), TeamSync(slot), dest, source, bytes);
}
template <typename E>
__global__ void alltoalls_kernel(int slot, void* dest, const void* source, std::ptrdiff_t dst,
                                 std::ptrdiff_t sst, std::size_t nelems) {
  alltoalls<E>(Block(), TeamSync(slot), dest, source, dst, sst, nelems);
}
template <ReduceOp op, typename E>
__global__ void reduce_kernel(int slot, E* dest, const E* source, std::size_t count) {
  reduce<op>(Block(), TeamSync(slot), dest, source, count);
}
template <typename E>
__global__ void scan_kernel(int slot, E* dest, const E* source, std::size_t count, bool inclusive) {
  scan(Block(), TeamSync(slot), dest, source, count, inclusive);
}

// The data of a large broadcast, fcollect or alltoall, between two meetings; y counts the PEs.
enum class Pushed { root_to_all, mine_to_all, block_to_each };
__global__ void push_kernel(Pushed what, int slot, void* dest, const void* source,
                            std::size_t bytes, int root) {
  const TeamView& team = team_in(slot);
  if (what == Pushed::root_to_all && team.me != root) return;
  const int pe = (team.me + static_cast<int>(blockIdx.y)) % team.n;
  auto* to = static_cast<std::byte*>(dest);
  const auto* from = static_cast<const std::byte*>(source);
  if (what != Pushed::root_to_all) to += static_cast<std::size_t>(team.me) * bytes;
  if (what == Pushed::block_to_each) from += static_cast<std::size_t>(pe) * bytes;
  if (pe == team.me && to == from) return;
  copy<OwnSource>(Grid(), translate(to, world_pe_of(team, pe)), from, bytes);
  release_at_end();
}

// ---- For start-up

__global__ void write_word_kernel(std::uint64_t* word, std::uint64_t value) {
  store_relaxed(word, value);
  complete_all(Thread());
}
__global__ void read_words_kernel(std::uint64_t* const* words, std::uint64_t* found, int n) {
  acquire_fence();
  for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x))
    found[i] = words[i] ? load_relaxed(words[i]) : 0;
}

#if defined(MESHMEM_TARGET_IS_CPU)
// A kernel is launched by its typed address: nothing else knows the parameters.
template <typename Kernel>
Kernel* handle_of(Kernel* kernel) {
  return kernel;
}
hipError_t load_one(const void*) { return hipSuccess; }
#else
template <typename Kernel>
const void* handle_of(Kernel* kernel) {
  return reinterpret_cast<const void*>(kernel);
}
hipError_t load_one(const void* kernel) {
  hipFuncAttributes attributes;
  return hipFuncGetAttributes(&attributes, kernel);
}
#endif

// The first failure, if any.
template <typename... Kernels>
hipError_t load(Kernels*... kernels) {
  for (const void* kernel : {reinterpret_cast<const void*>(kernels)...})
    if (const hipError_t error = load_one(kernel)) return error;
  return hipSuccess;
}

// A type that is given, not deduced from an argument; and as an argument, a type by itself.
template <typename T>
struct Given {
  using Type = T;
};

// f(Given<E>()) for the type that kernels have of that name.
template <typename F>
hipError_t with_type(ElemType type, const F& f) {
  switch (type) {
    case ElemType::i8:
      return f(Given<std::int8_t>());
    case ElemType::u8:
      return f(Given<std::uint8_t>());
    case ElemType::i16:
      return f(Given<std::int16_t>());
    case ElemType::u16:
      return f(Given<std::uint16_t>());
    case ElemType::i32:
      return f(Given<std::int32_t>());
    case ElemType::u32:
      return f(Given<std::uint32_t>());
    case ElemType::i64:
      return f(Given<std::int64_t>());
    case ElemType::u64:
      return f(Given<std::uint64_t>());
    case ElemType::f32:
      return f(Given<float>());
    case ElemType::f64:
      return f(Given<double>());
    default:
      return hipErrorNotSupported;
  }
}

// f(Given<B>()) for the unsigned integer of so many bytes.
template <typename F>
hipError_t with_bits(std::size_t bytes, const F& f) {
  switch (bytes) {
    case 1:
      return f(Given<std::uint8_t>());
    case 2:
      return f(Given<std::uint16_t>());
    case 4:
      return f(Given<std::uint32_t>());
    case 8:
      return f(Given<std::uint64_t>());
    default:
      return hipErrorInvalidValue;
  }
}

// What this launch itself comes to. HIP's launch as a statement would leave that to hipGetLastError,
// which may speak of a failure that the program has had before, and takes it away.
template <typename... Parameters>
hipError_t launch(void (*kernel)(Parameters...), dim3 blocks, unsigned threads, hipStream_t stream,
                  typename Given<Parameters>::Type... arguments) {
  void* addresses[] = {static_cast<void*>(&arguments)..., nullptr};
  return hipLaunchKernel(handle_of(kernel), blocks, dim3(threads), addresses, 0, stream);
}

template <typename B>
B bits_of(Scalar value) {
  return static_cast<B>(value.word[0]);
}

template <typename B>
hipError_t launch_store_of(void* there, Scalar value, hipStream_t stream) {
  return launch(store_kernel<B>, dim3(1), 1, stream, static_cast<B*>(there), bits_of<B>(value));
}
template <typename B>
hipError_t launch_load_of(void* to, const void* there, hipStream_t stream) {
  return launch(load_kernel<B>, dim3(1), 1, stream, static_cast<B*>(to),
                static_cast<const B*>(there));
}
template <typename B>
hipError_t launch_atomic_of(AtomicOp op, void* there, Scalar operand, Scalar condition,
                            void* fetched, hipStream_t stream) {
  return launch(atomic_kernel<B>, dim3(1), 1, stream, op, static_cast<B*>(there),
                bits_of<B>(operand), bits_of<B>(condition), static_cast<B*>(fetched));
}
template <typename E>
hipError_t launch_wait_of(const void* ivar, int cmp, Scalar value, hipStream_t stream) {
  return launch(wait_kernel<E>, dim3(1), 1, stream, static_cast<const E*>(ivar), cmp,
                static_cast<E>(bits_of<Bits<sizeof(E)>>(value)));
}
template <typename E>
hipError_t launch_strided_of(const StridedCopy& copy, hipStream_t stream) {
  return launch(strided_copy_kernel<E>, dim3(copy_blocks_for(copy.block_bytes * copy.n_blocks)),
                kCopyThreads, stream, copy);
}

// The type of the size, where the sign does not matter.
template <typename E>
using Signless = std::conditional_t<std::is_integral<E>::value, Bits<sizeof(E)>, E>;

template <typename E>
constexpr bool kHasAtomics = sizeof(E) >= 4;
template <typename E>
constexpr bool kHasWaits = std::is_integral<E>::value && sizeof(E) >= 4;

// f(kernel) for the reduction by `op`.
template <typename E, typename F>
hipError_t with_reduction(ReduceOp op, const F& f) {
  using U = Signless<E>;
  switch (op) {
    case ReduceOp::sum:
      return f(reduce_kernel<ReduceOp::sum, U>);
    case ReduceOp::prod:
      return f(reduce_kernel<ReduceOp::prod, U>);
    case ReduceOp::min:
      return f(reduce_kernel<ReduceOp::min, E>);
    case ReduceOp::max:
      return f(reduce_kernel<ReduceOp::max, E>);
    default:
      break;
  }
  if constexpr (std::is_integral<E>::value) {
    if (op == ReduceOp::bit_and) return f(reduce_kernel<ReduceOp::bit_and, U>);
    if (op == ReduceOp::bit_or) return f(reduce_kernel<ReduceOp::bit_or, U>);
    if (op == ReduceOp::bit_xor) return f(reduce_kernel<ReduceOp::bit_xor, U>);
  }
  return hipErrorNotSupported;
}
template <typename E>
hipError_t launch_reduction(void (*kernel)(int, E*, const E*, std::size_t), int slot, void* dest,
                            const void* source, std::size_t count, hipStream_t stream) {
  return launch(kernel, dim3(1), kThreads, stream, slot, static_cast<E*>(dest),
                static_cast<const E*>(source), count);
}

template <typename E>
hipError_t launch_scan_of(int slot, void* dest, const void* source, std::size_t count,
                          bool inclusive, hipStream_t stream) {
  return launch(scan_kernel<E>, dim3(1), kThreads, stream, slot, static_cast<E*>(dest),
                static_cast<const E*>(source), count, inclusive);
}

template <typename E>
hipError_t launch_alltoalls_of(int slot, void* dest, const void* source, std::ptrdiff_t dest_stride,
                               std::ptrdiff_t source_stride, std::size_t nelems,
                               hipStream_t stream) {
  return launch(alltoalls_kernel<E>, dim3(1), kThreads, stream, slot, dest, source, dest_stride,
                source_stride, nelems);
}

template <typename E>
hipError_t load_kernels_of() {
  hipError_t error = load(scan_kernel<Signless<E>>);
  if constexpr (kHasAtomics<E>)
    if (error == hipSuccess) error = load(atomic_kernel<Bits<sizeof(E)>>);
  if constexpr (kHasWaits<E>)
    if (error == hipSuccess) error = load(wait_kernel<E>);
  constexpr ReduceOp last = std::is_integral<E>::value ? ReduceOp::bit_xor : ReduceOp::max;
  for (int op = 0; op <= static_cast<int>(last); ++op)
    if (error == hipSuccess)
      error =
          with_reduction<E>(static_cast<ReduceOp>(op), [](auto* kernel) { return load(kernel); });
  return error;
}

// Meet, move, meet.
hipError_t launch_push(Pushed what, int slot, int n, void* dest, const void* source,
                       std::size_t bytes, int root, hipStream_t stream) {
  if (const hipError_t error = launch_sync(slot, stream)) return error;
  const dim3 blocks(copy_blocks_for(bytes), static_cast<unsigned>(n));
  if (const hipError_t error =
          launch(push_kernel, blocks, kCopyThreads, stream, what, slot, dest, source, bytes, root))
    return error;
  return launch_sync(slot, stream);
}

}  // namespace

hipError_t launch_copy(void* to, const void* from, std::size_t bytes, hipStream_t stream) {
  if (bytes == 0) return hipSuccess;
  return launch(copy_kernel, dim3(copy_blocks_for(bytes)), kCopyThreads, stream, to, from, bytes);
}

hipError_t launch_strided_copy(const StridedCopy& copy, hipStream_t stream) {
  if (copy.block_bytes == 0 || copy.n_blocks == 0) return hipSuccess;
  const auto all = reinterpret_cast<std::uintptr_t>(copy.to) |
                   reinterpret_cast<std::uintptr_t>(copy.from) |
                   static_cast<std::uintptr_t>(copy.to_stride) |
                   static_cast<std::uintptr_t>(copy.from_stride) | copy.block_bytes;
  if (all % 8 == 0) return launch_strided_of<std::uint64_t>(copy, stream);
  if (all % 4 == 0) return launch_strided_of<std::uint32_t>(copy, stream);
  if (all % 2 == 0) return launch_strided_of<std::uint16_t>(copy, stream);
  return launch_strided_of<std::uint8_t>(copy, stream);
}

hipError_t launch_store(void* there, Scalar value, std::size_t bytes, hipStream_t stream) {
  if (bytes == 16)
    return launch(store_pair_kernel, dim3(1), 1, stream, static_cast<std::uint64_t*>(there), value);
  return with_bits(bytes, [&](auto given) {
    return launch_store_of<typename decltype(given)::Type>(there, value, stream);
  });
}

hipError_t launch_load(void* to, const void* there, std::size_t bytes, hipStream_t stream) {
  if (bytes > 8) return launch_copy(to, there, bytes, stream);
  return with_bits(bytes, [&](auto given) {
    return launch_load_of<typename decltype(given)::Type>(to, there, stream);
  });
}

hipError_t launch_atomic(AtomicOp op, ElemType type, void* there, Scalar operand, Scalar condition,
                         void* fetched, hipStream_t stream) {
  return with_type(type, [&](auto given) {
    using E = typename decltype(given)::Type;
    if constexpr (kHasAtomics<E>)
      return launch_atomic_of<Bits<sizeof(E)>>(op, there, operand, condition, fetched, stream);
    else
      return hipErrorNotSupported;
  });
}

hipError_t launch_signal(std::uint64_t* there, std::uint64_t value, int sig_op,
                         hipStream_t stream) {
  return launch(signal_kernel, dim3(1), 1, stream, there, value, sig_op);
}

hipError_t launch_put_signal(void* there, const void* source, std::size_t bytes,
                             std::uint64_t* signal_there, std::uint64_t value, int sig_op,
                             hipStream_t stream) {
  if (bytes > kOneBlockBytes) {
    if (const hipError_t error = launch_copy(there, source, bytes, stream)) return error;
    return launch_signal(signal_there, value, sig_op, stream);
  }
  return launch(put_signal_kernel, dim3(1), kThreads, stream, there, source, bytes, signal_there,
                value, sig_op);
}

hipError_t launch_wait_until(const void* ivar, ElemType type, int cmp, Scalar value,
                             hipStream_t stream) {
  return with_type(type, [&](auto given) {
    using E = typename decltype(given)::Type;
    if constexpr (kHasWaits<E>)
      return launch_wait_of<E>(ivar, cmp, value, stream);
    else
      return hipErrorNotSupported;
  });
}

hipError_t launch_quiet(hipStream_t stream) { return launch(quiet_kernel, dim3(1), 1, stream); }

hipError_t launch_sync(int slot, hipStream_t stream) {
  return launch(sync_kernel, dim3(1), kThreadsForPes, stream, slot);
}

hipError_t launch_broadcast(int slot, int n, void* dest, const void* source, std::size_t bytes,
                            int root, hipStream_t stream) {
  if (bytes > kOneBlockBytes)
    return launch_push(Pushed::root_to_all, slot, n, dest, source, bytes, root, stream);
  return launch(broadcast_kernel, dim3(1), kThreads, stream, slot, dest, source, bytes, root);
}
hipError_t launch_fcollect(int slot, int n, void* dest, const void* source, std::size_t bytes,
                           hipStream_t stream) {
  if (bytes > kOneBlockBytes)
    return launch_push(Pushed::mine_to_all, slot, n, dest, source, bytes, 0, stream);
  return launch(fcollect_kernel, dim3(1), kThreads, stream, slot, dest, source, bytes);
}
hipError_t launch_collect(int slot, void* dest, const void* source, std::size_t bytes,
                          hipStream_t stream) {
  return launch(collect_kernel, dim3(1), kThreads, stream, slot, dest, source, bytes);
}
hipError_t launch_alltoall(int slot, int n, void* dest, const void* source, std::size_t block_bytes,
                           hipStream_t stream) {
  if (block_bytes > kOneBlockBytes)
    return launch_push(Pushed::block_to_each, slot, n, dest, source, block_bytes, 0, stream);
  return launch(alltoall_kernel, dim3(1), kThreads, stream, slot, dest, source, block_bytes);
}
hipError_t launch_alltoalls(int slot, void* dest, const void* source, std::ptrdiff_t dest_stride,
                            std::ptrdiff_t source_stride, std::size_t elem_bytes,
                            std::size_t nelems, hipStream_t stream) {
  const auto launch_of = [&](auto given) {
    return launch_alltoalls_of<typename decltype(given)::Type>(slot, dest, source, dest_stride,
                                                               source_stride, nelems, stream);
  };
  return elem_bytes == 16 ? launch_of(Given<Bits128>()) : with_bits(elem_bytes, launch_of);
}

hipError_t launch_reduce(int slot, ReduceOp op, ElemType type, void* dest, const void* source,
                         std::size_t count, hipStream_t stream) {
  return with_type(type, [&](auto given) {
    return with_reduction<typename decltype(given)::Type>(op, [&](auto* kernel) {
      return launch_reduction(kernel, slot, dest, source, count, stream);
    });
  });
}

hipError_t launch_scan(int slot, ElemType type, void* dest, const void* source, std::size_t count,
                       bool inclusive, hipStream_t stream) {
  return with_type(type, [&](auto given) {
    using E = Signless<typename decltype(given)::Type>;
    return launch_scan_of<E>(slot, dest, source, count, inclusive, stream);
  });
}

hipError_t launch_write_word(std::uint64_t* word, std::uint64_t value, hipStream_t stream) {
  return launch(write_word_kernel, dim3(1), 1, stream, word, value);
}
hipError_t launch_read_words(std::uint64_t* const* words, std::uint64_t* found, int n,
                             hipStream_t stream) {
  return launch(read_words_kernel, dim3(1), kThreadsForPes, stream, words, found, n);
}

hipError_t load_kernels() {
  hipError_t error =
      load(copy_kernel, store_pair_kernel, signal_kernel, put_signal_kernel, quiet_kernel,
           sync_kernel, broadcast_kernel, fcollect_kernel, collect_kernel, alltoall_kernel,
           alltoalls_kernel<Bits128>, push_kernel, write_word_kernel, read_words_kernel);
  for (const std::size_t bytes : {1, 2, 4, 8})
    if (error == hipSuccess)
      error = with_bits(bytes, [](auto given) {
        using B = typename decltype(given)::Type;
        return load(store_kernel<B>, load_kernel<B>, strided_copy_kernel<B>, alltoalls_kernel<B>);
      });
  for (int type = 0; type <= static_cast<int>(ElemType::f64); ++type)
    if (error == hipSuccess)
      error = with_type(static_cast<ElemType>(type), [](auto given) {
        return load_kernels_of<typename decltype(given)::Type>();
      });
  return error;
}

}  // namespace device
}  // namespace meshmem
