// SPDX-License-Identifier: Apache-2.0
//
// Kernels for one-sided operations: of one block or, for copies, of as many as their size needs.
// Invariant: each thread that stores to another PE releases its stores at its end.
#include "device/kernels/launch_kernel.hpp"
#include "device/routines.hpp"

namespace meshmem {
namespace device {
namespace {

__global__ void copy_kernel(void* to, const void* from, std::size_t bytes) {
  after_earlier_kernels();
  before_get();
  copy<OthersSource>(Grid(), to, from, bytes);
  release_at_end();
}

template <typename E>
__global__ void strided_copy_kernel(StridedCopy job) {
  after_earlier_kernels();
  before_get();
  const std::size_t bsize = job.block_bytes / sizeof(E);
  copy_blocks<OthersSource, E>(Grid(), job.to, job.to_stride / std::ptrdiff_t{sizeof(E)}, job.from,
                               job.from_stride / std::ptrdiff_t{sizeof(E)}, bsize, job.n_blocks);
  release_at_end();
}

template <typename B>
__global__ void store_kernel(B* there, B value) {
  after_earlier_kernels();
  store_relaxed(there, value);
  release_at_end();
}
__global__ void store_pair_kernel(std::uint64_t* there, Scalar value) {
  after_earlier_kernels();
  there[0] = value.word[0];
  there[1] = value.word[1];
  release_at_end();
}
template <typename B>
__global__ void load_kernel(B* to, const B* there) {
  after_earlier_kernels();
  before_get();
  *to = load_relaxed(there);
}

template <typename B>
__global__ void atomic_kernel(AtomicOp op, B* there, B operand, B condition, B* fetched) {
  after_earlier_kernels();
  const B old = apply_atomic(op, there, operand, condition);
  if (fetched) *fetched = old;
  release_at_end();
}

template <typename B>
MESHMEM_DEVICE void execute(Operation& one) {
  auto* there = static_cast<B*>(one.there);
  const B operand = static_cast<B>(one.operand);
  if constexpr (sizeof(B) < 4) {
    store_relaxed(there, operand);
  } else {
    const B before = apply_atomic(one.op, there, operand, static_cast<B>(one.condition));
    one.before = one.op == AtomicOp::set ? 0 : before;
  }
}
__global__ void operations_kernel(Operation* all, int n) {
  after_earlier_kernels();
  for (int i = 0; i < n; ++i) {
    Operation& one = all[i];
    complete_all(Thread());
    switch (one.bytes) {
      case 1:
        execute<std::uint8_t>(one);
        break;
      case 2:
        execute<std::uint16_t>(one);
        break;
      case 4:
        execute<std::uint32_t>(one);
        break;
      default:
        execute<std::uint64_t>(one);
    }
  }
  release_at_end();
}

__global__ void signal_kernel(std::uint64_t* there, std::uint64_t value, int sig_op) {
  after_earlier_kernels();
  complete_all(Thread());
  update_signal(there, value, sig_op);
  release_at_end();
}
__global__ void put_signal_kernel(void* there, const void* source, std::size_t bytes,
                                  std::uint64_t* signal_there, std::uint64_t value, int sig_op) {
  after_earlier_kernels();
  push_with_signal(Block(), there, source, bytes, signal_there, value, sig_op);
  release_at_end();
}

template <typename E>
__global__ void wait_kernel(const E* ivar, int cmp, E wanted) {
  after_earlier_kernels();
  wait_until(Thread(), const_cast<E*>(ivar), cmp, wanted);
}

__global__ void quiet_kernel() {
  after_earlier_kernels();
  complete_all(Thread());
}

template <typename B>
B bits_of(Scalar value) {
  return static_cast<B>(value.word[0]);
}

template <typename E>
hipError_t launch_strided_of(const StridedCopy& copy, hipStream_t stream) {
  return launch(strided_copy_kernel<E>, dim3(copy_blocks_for(copy.block_bytes * copy.n_blocks)),
                any_threads(kCopyThreads), stream, copy);
}

template <typename E>
constexpr bool kHasAtomics = sizeof(E) >= 4;
template <typename E>
constexpr bool kHasWaits = std::is_integral<E>::value && sizeof(E) >= 4;

template <typename E>
hipError_t load_typed() {
  hipError_t error = hipSuccess;
  if constexpr (kHasAtomics<E>) error = load(atomic_kernel<Bits<sizeof(E)>>);
  if constexpr (kHasWaits<E>)
    if (error == hipSuccess) error = load(wait_kernel<E>);
  return error;
}

}  // namespace

hipError_t launch_copy(void* to, const void* from, std::size_t bytes, hipStream_t stream) {
  if (bytes == 0) return hipSuccess;
  return launch(copy_kernel, dim3(copy_blocks_for(bytes)), any_threads(kCopyThreads), stream, to,
                from, bytes);
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
    using B = typename decltype(given)::Type;
    return launch(store_kernel<B>, dim3(1), 1, stream, static_cast<B*>(there), bits_of<B>(value));
  });
}

hipError_t launch_load(void* to, const void* there, std::size_t bytes, hipStream_t stream) {
  if (bytes > 8) return launch_copy(to, there, bytes, stream);
  return with_bits(bytes, [&](auto given) {
    using B = typename decltype(given)::Type;
    return launch(load_kernel<B>, dim3(1), 1, stream, static_cast<B*>(to),
                  static_cast<const B*>(there));
  });
}

hipError_t launch_atomic(AtomicOp op, ElemType type, void* there, Scalar operand, Scalar condition,
                         void* fetched, hipStream_t stream) {
  return with_type(type, [&](auto given) {
    using E = typename decltype(given)::Type;
    using B = Bits<sizeof(E)>;
    if constexpr (kHasAtomics<E>)
      return launch(atomic_kernel<B>, dim3(1), 1, stream, op, static_cast<B*>(there),
                    bits_of<B>(operand), bits_of<B>(condition), static_cast<B*>(fetched));
    else
      return hipErrorNotSupported;
  });
}

hipError_t launch_operations(Operation* all, int n, hipStream_t stream) {
  return launch(operations_kernel, dim3(1), 1, stream, all, n);
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
  return launch(put_signal_kernel, dim3(1), any_threads(kThreads), stream, there, source, bytes,
                signal_there, value, sig_op);
}

hipError_t launch_wait_until(const void* ivar, ElemType type, int cmp, Scalar value,
                             hipStream_t stream) {
  return with_type(type, [&](auto given) {
    using E = typename decltype(given)::Type;
    if constexpr (kHasWaits<E>)
      return launch(wait_kernel<E>, dim3(1), 1, stream, static_cast<const E*>(ivar), cmp,
                    static_cast<E>(bits_of<Bits<sizeof(E)>>(value)));
    else
      return hipErrorNotSupported;
  });
}

hipError_t launch_quiet(hipStream_t stream) { return launch(quiet_kernel, dim3(1), 1, stream); }

hipError_t load_one_sided_kernels() {
  if (const hipError_t error = load(copy_kernel, store_pair_kernel, operations_kernel,
                                    signal_kernel, put_signal_kernel, quiet_kernel))
    return error;
  const hipError_t error = with_each_bits([](auto given) {
    using B = typename decltype(given)::Type;
    return load(store_kernel<B>, load_kernel<B>, strided_copy_kernel<B>);
  });
  if (error != hipSuccess) return error;
  return with_each_type([](auto given) { return load_typed<typename decltype(given)::Type>(); });
}

}  // namespace device
}  // namespace meshmem
