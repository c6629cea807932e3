// SPDX-License-Identifier: Apache-2.0
//
// The State of a translation unit of device code, which the library fills when it starts. It is a
// small constant object of the unit's own, so that no device link step is needed. Also the
// arithmetic that every put, get and atomic in a kernel does first.
// Invariant: all zero until shmem_init, so no address is symmetric before. An address outside of
// the device heap, the host heap and registered buffers ends the kernel. Included by device code
// only.
#ifndef MESHMEM_DEVICE_MODULE_HPP_
#define MESHMEM_DEVICE_MODULE_HPP_

#include <cstdio>

#include "device/entry.hpp"
#include "device/memory.hpp"
#include "device/state.hpp"
#include "shmem/constants.h"
#include "shmem/module.h"

#if defined(MESHMEM_TARGET_IS_CPU)
#include <hip/on_cpu/for_meshmem.h>
#endif

namespace meshmem {
namespace device {

#if defined(MESHMEM_TARGET_IS_CPU)
static State module_state;  // kernels and the host share this memory
// If not null, kernels of this thread use this state instead: for tests whose PEs are threads of
// one process.
inline thread_local const State* state_of_thread = nullptr;
#elif defined(__CUDACC__) && !defined(__CUDACC_RDC__)
// Each unit has its own here, too. It is not static, since nvcc writes a number of the unit into
// the names of static objects. If the program loads a module by hand, the library finds the state
// by its name.
__constant__ State module_state;
#else
static __constant__ State module_state;
#endif

namespace {

// Where the library writes the state, on the current device. Null if HIP does not know it yet: with
// AMD's compiler, a library that is loaded later registers its module here before it registers its
// constants with HIP.
void* place_of_module_state() {
#if defined(MESHMEM_TARGET_IS_CPU)
  return &module_state;
#else
  void* place = nullptr;
  if (hipGetSymbolAddress(&place, HIP_SYMBOL(module_state)) == hipSuccess) return place;
  (void)hipGetLastError();
  return nullptr;
#endif
}

const struct ModuleRegistration {
  ModuleRegistration() { shmemx_register_module(sizeof(State), &place_of_module_state); }
  ~ModuleRegistration() { shmemx_unregister_module(&place_of_module_state); }
} module_registration;

}  // namespace

MESHMEM_DEVICE const State& state() {
#if defined(MESHMEM_TARGET_IS_CPU)
  if (state_of_thread) return *state_of_thread;
#endif
  return module_state;
}

// Whether kernels look for mistakes of their callers.
constexpr bool kChecks = MESHMEM_KERNEL_CHECKS != 0;

// Prints one line about a mistake: the call that makes it and, on GPUs, the thread. On processors
// the line about the kernel's end names the thread.
#define MESHMEM_PRINT_MISTAKE(format, ...) \
  MESHMEM_PRINT_LINE("PE %d, ", state().me, format, __VA_ARGS__)
#if !MESHMEM_KERNEL_CHECKS  // compiled, but never called
#define MESHMEM_PRINT_LINE(who, pe, format, ...) printf(who format, pe, __VA_ARGS__)
#else
#define MESHMEM_PRINT_LINE(who, pe, format, ...)                                                \
  [](auto me, auto... values) MESHMEM_NOT_INLINED {                                             \
    const Entry* const entry = current_entry();                                                 \
    if (entry && entry->line())                                                                 \
      printf("meshmem: " who "in a kernel: %s: " format "; called at %s:%d" MESHMEM_THREAD, me, \
             entry->routine(), values..., entry->file(), entry->line() MESHMEM_THREAD_INDICES); \
    else                                                                                        \
      printf("meshmem: " who "in a kernel: " format MESHMEM_THREAD, me,                         \
             values... MESHMEM_THREAD_INDICES);                                                 \
  }(pe, __VA_ARGS__)
#endif
#if defined(MESHMEM_TARGET_IS_CPU)
#define MESHMEM_THREAD "\n"
#define MESHMEM_THREAD_INDICES
#else
#define MESHMEM_THREAD "; block (%u, %u, %u), thread (%u, %u, %u)\n"
#define MESHMEM_THREAD_INDICES                                                               \
  , unsigned(blockIdx.x), unsigned(blockIdx.y), unsigned(blockIdx.z), unsigned(threadIdx.x), \
      unsigned(threadIdx.y), unsigned(threadIdx.z)
#endif

// Without the state every call looks like a mistake: this says the real reason. For checks.
MESHMEM_DEVICE void check_job() {
  if (!kChecks || state().n_pes > 0) return;
  MESHMEM_PRINT_LINE(
      "%s", "", "%s",
      "this module has no job with device memory: kernels call the library between shmem_init and "
      "shmem_finalize, after shmemx_module_init where the module was loaded later, on PEs with a "
      "device heap");
  trap();
}

// Ends the kernel; with checks it says why.
[[noreturn]] MESHMEM_DEVICE void refuse_address(const void* address) {
  constexpr std::uintptr_t kNearNull = 1 << 16;  // no system has memory below it
  check_job();
  if (kChecks && reinterpret_cast<std::uintptr_t>(address) < kNearNull)
    MESHMEM_PRINT_MISTAKE(
        "%p is in no symmetric heap; it is NULL or near it, as where an allocation has failed",
        address);
  else if (kChecks)
    MESHMEM_PRINT_MISTAKE(
        "%p is in no symmetric heap; kernels reach what shmem_malloc and shmemx_buffer_register "
        "made symmetric, not static variables or the stack",
        address);
#if defined(MESHMEM_TARGET_IS_CPU)
  hip_on_cpu::show_bad_address(address);
#endif
  trap();
}
[[noreturn]] MESHMEM_DEVICE void refuse_pe(int pe) {
  check_job();
  if (kChecks && static_cast<unsigned>(pe) >= static_cast<unsigned>(state().n_pes))
    MESHMEM_PRINT_MISTAKE("PE %d is not in 0..%d", pe, state().n_pes - 1);
  else if (kChecks)
    MESHMEM_PRINT_MISTAKE("the memory of PE %d is not mapped here", pe);
  trap();
}
[[noreturn]] MESHMEM_DEVICE void refuse_team(int slot) {
  check_job();
  if (kChecks)
    MESHMEM_PRINT_MISTAKE("a handle names no team or context (it would be of team %d)", slot);
  trap();
}
[[noreturn]] MESHMEM_DEVICE void refuse_comparison(int cmp) {
  if (kChecks) MESHMEM_PRINT_MISTAKE("%d is not a comparison of SHMEM_CMP_*", cmp);
  trap();
}

// ---- With checks these end a kernel whose caller makes the mistake that is named here. Without
// checks they do nothing.

// A collective would wait for PEs whose memory the kernels of some PE do not reach.
MESHMEM_DEVICE void check_all_are_reached() {
  if (!kChecks || state().sync.base != 0) return;
  check_job();
  MESHMEM_PRINT_MISTAKE("a collective, but not all devices of the %d PEs reach each other",
                        state().n_pes);
  trap();
}
// A signal would be set where it was meant to be added to, or the other way round.
MESHMEM_DEVICE void check_signal_op(int sig_op) {
  if (!kChecks || sig_op == SHMEM_SIGNAL_SET || sig_op == SHMEM_SIGNAL_ADD) return;
  MESHMEM_PRINT_MISTAKE("sig_op %d is neither SHMEM_SIGNAL_SET nor SHMEM_SIGNAL_ADD", sig_op);
  trap();
}
// A broadcast would wait for a PE that is not in the team.
MESHMEM_DEVICE void check_root(int root, int n_pes) {
  if (!kChecks || static_cast<unsigned>(root) < static_cast<unsigned>(n_pes)) return;
  MESHMEM_PRINT_MISTAKE("PE_root %d is not in 0..%d of the team", root, n_pes - 1);
  trap();
}
// A word would be loaded or stored at once at an address that is not aligned for that. GPUs fault
// then, or lose other threads' updates.
MESHMEM_DEVICE void check_aligned(const void* address, std::size_t bytes) {
  if (!kChecks || reinterpret_cast<std::uintptr_t>(address) % bytes == 0) return;
  MESHMEM_PRINT_MISTAKE(
      "%p is not aligned to %d bytes, as atomics, p, g, signals and the variables of waits must be",
      address, static_cast<int>(bytes));
  trap();
}
// Elements would all lie at one place, or there would be none.
MESHMEM_DEVICE void check_strides(std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t bsize) {
  if (!kChecks || (dst > 0 && sst > 0 && bsize > 0)) return;
  MESHMEM_PRINT_MISTAKE("dst %lld, sst %lld, blocks of %lld: strides and blocks are of at least 1",
                        static_cast<long long>(dst), static_cast<long long>(sst),
                        static_cast<long long>(bsize));
  trap();
}
// A count would be negative, or count more bytes than a signed number can hold.
MESHMEM_DEVICE void check_count(std::size_t elem_bytes, std::size_t nelems, std::size_t times = 1) {
  constexpr std::size_t kMostBytes = ~std::size_t{0} >> 1;
  if (!kChecks || times == 0 || nelems <= kMostBytes / elem_bytes / times) return;
  MESHMEM_PRINT_MISTAKE(
      "%lld times %lld elements of %d bytes: a number below zero, or more than any memory holds",
      static_cast<long long>(times), static_cast<long long>(nelems), static_cast<int>(elem_bytes));
  trap();
}
// A collective would overwrite elements that are yet to be read.
MESHMEM_DEVICE void check_no_overlap(const void* dest, std::size_t dest_bytes, const void* source,
                                     std::size_t source_bytes) {
  const auto to = reinterpret_cast<std::uintptr_t>(dest),
             from = reinterpret_cast<std::uintptr_t>(source);
  if (!kChecks || (to - from >= source_bytes && from - to >= dest_bytes)) return;
  MESHMEM_PRINT_MISTAKE("dest, %lld bytes at %p, overlaps source, %lld bytes at %p",
                        static_cast<long long>(dest_bytes), dest,
                        static_cast<long long>(source_bytes), source);
  trap();
}

}  // namespace device
}  // namespace meshmem

#include "device/late_waits.hpp"

namespace meshmem {
namespace device {

// Where a symmetric address of this PE is in PE `pe`; null if the address is not symmetric or the
// PE is out of reach.
MESHMEM_DEVICE std::byte* try_translate(const void* address, int pe) {
  const State& job = state();
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (static_cast<unsigned>(pe) >= static_cast<unsigned>(job.n_pes)) return nullptr;
  const auto in_copy = [at](std::byte* copy, std::uintptr_t base) {
    return copy ? copy + (at - base) : nullptr;
  };
  if (job.device_heap.holds(at)) return in_copy(job.device_heap.copy_of(pe), job.device_heap.base);
  if (job.host_heap.holds(at)) return in_copy(job.host_heap.copy_of(pe), job.host_heap.base);
  for (int i = 0; i < job.n_registered; ++i) {
    const RegisteredBuffer& buffer = job.registered[i];
    if (at - buffer.base < buffer.bytes) return in_copy(buffer.copy[pe], buffer.base);
  }
  return nullptr;
}

// Whether the proxy reaches the PE.
MESHMEM_DEVICE bool is_far(int pe) {
  const ProxyRing& ring = state().proxy;
  if (pe < ProxyRing::kFirstPes) return (ring.first_far >> pe & 1) != 0;
  return ring.slots != nullptr && ring.is_far[pe] != 0;
}

// The rarer cases: another segment, a far PE, or a mistake, which ends the kernel. Null: the PE is
// far, so only the proxy reaches it.
MESHMEM_DEVICE_COLD std::byte* find_rare(const void* address, int pe) {
  std::byte* there = try_translate(address, pe);
  if (there) return there;
  if (static_cast<unsigned>(pe) >= static_cast<unsigned>(state().n_pes)) refuse_pe(pe);
  if (!try_translate(address, state().me)) refuse_address(address);
  if (!is_far(pe)) refuse_pe(pe);
  return nullptr;
}

MESHMEM_DEVICE_COLD std::byte* must_find_rare(const void* address, int pe) {
  std::byte* const there = find_rare(address, pe);
  if (!there) refuse_pe(pe);
  return there;
}

// With checks ends a kernel whose argument is in no symmetric heap. For arguments that no one
// translates.
MESHMEM_DEVICE void check_symmetric(const void* address) {
  if (kChecks && !try_translate(address, state().me)) refuse_address(address);
}

// The same for a word that is loaded or stored at once, which must be aligned.
template <typename T>
MESHMEM_DEVICE void check_symmetric_word(const T* address) {
  check_symmetric(address);
  check_aligned(address, sizeof(T));
}

// The usual case: the device heap of a near PE. False: ask find_rare. No branch waits for the
// copy's address, which comes from memory.
template <typename T>
MESHMEM_DEVICE bool find_near(T** there, const T* address, int pe) {
  const State& job = state();
  const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(address) - job.device_heap.base;
  if (offset >= job.device_heap.bytes ||
      static_cast<unsigned>(pe) >= static_cast<unsigned>(job.near_pes))
    return false;
  *there = reinterpret_cast<T*>(job.device_heap.near_copy[pe] + offset);
  return true;
}
MESHMEM_DEVICE bool find_near(void** there, const void* address, int pe) {
  return find_near(reinterpret_cast<std::byte**>(there), static_cast<const std::byte*>(address),
                   pe);
}

// As try_translate, but a wrong address ends the kernel. False: only the proxy reaches it
// (proxy.hpp).
template <typename T>
MESHMEM_DEVICE bool find(T** there, const T* address, int pe) {
  if (find_near(there, address, pe)) return true;
  *there = reinterpret_cast<T*>(find_rare(address, pe));
  return *there != nullptr;
}

// The same where all PEs in question are near.
template <typename T>
MESHMEM_DEVICE T* translate(const T* address, int pe) {
  T* there = nullptr;
  if (find_near(&there, address, pe)) return there;
  return reinterpret_cast<T*>(must_find_rare(address, pe));
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_MODULE_HPP_
