// SPDX-License-Identifier: Apache-2.0
//
// Where the ends of a transfer are for a stream, and what is put there.
// Invariant: a signal is a kernel's, which comes after all that the stream has done before.
#include "core/stream_transfers.hpp"

#include "base/error.hpp"
#include "base/trace.hpp"
#include "core/runtime.hpp"
#include "core/stream_use.hpp"
#include "device/comparison.hpp"
#include "device/launch.hpp"
#include "gpu/stream_work.hpp"
#include "memory/address_map.hpp"
#include "memory/room.hpp"
#include "shmem.h"

namespace meshmem::on_stream {
namespace {

int my_device() { return runtime().device_memory().device(); }

// In the host heap of PE `pe`: where kernels find it, if they do.
StreamEnd end_in_host_heap(std::byte* on_host, const void* address, int pe) {
  const device::KernelSegment& heap = runtime().device_state().state().host_heap;
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  if (!heap.holds(number)) return {on_host, false};
  const bool near = pe < device::kNearPes;  // others are in a table that only kernels read
  return near ? StreamEnd{heap.near_copy[pe] + (number - heap.base), true}
              : StreamEnd{on_host, false};
}

StreamEnd end_at_pe(const char* routine, const void* address, std::size_t bytes, int pe) {
  check_pe(address_map, pe, routine);
  check_block(routine, address, bytes);
  if (std::byte* there = find_copy(address_map, address, bytes, pe); is_mapped(there))
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

}  // namespace

void require_device(const char* routine) {
  if (!runtime().has_devices()) [[unlikely]]
    fatal("{}: there is no device memory (SHMEM_DEBUG=1 says why)", routine);
}

void put(const StreamCall& call, void* dest, const void* source, std::size_t bytes, int pe) {
  if (bytes == 0) return check_pe(address_map, pe, call.routine);
  note_access(AccessKind::put, dest, bytes, pe);
  StreamUse use(call.routine, call.stream);
  use.of(dest, bytes);
  use.of(source, bytes);
  copy_on_stream(call.routine, end_at_pe(call.routine, dest, bytes, pe), end_here(source), bytes,
                 my_device(), call.stream);
}

void get(const StreamCall& call, void* dest, const void* source, std::size_t bytes, int pe) {
  if (bytes == 0) return check_pe(address_map, pe, call.routine);
  note_access(AccessKind::get, source, bytes, pe);
  StreamUse use(call.routine, call.stream);
  use.of(dest, bytes);
  use.of(source, bytes);
  copy_on_stream(call.routine, end_here(dest), end_at_pe(call.routine, source, bytes, pe), bytes,
                 my_device(), call.stream);
}

void put_signal(const StreamCall& call, void* dest, const void* source, std::size_t bytes,
                const Signal& signal, int pe) {
  check_signal_op(call.routine, signal.op);
  note_access(AccessKind::put, dest, bytes, pe);
  note_access(AccessKind::signal, signal.address, sizeof *signal.address, pe);
  StreamUse use(call.routine, call.stream);
  use.of(dest, bytes);
  use.of(source, bytes);
  use.of(signal.address, sizeof *signal.address);
  const StreamEnd to =
      bytes == 0 ? StreamEnd{dest, true} : end_at_pe(call.routine, dest, bytes, pe);
  const StreamEnd from = end_here(source);
  std::uint64_t* word = word_for_kernels(call.routine, signal.address, pe);
  const bool by_kernel = suits_kernel(to, from, bytes);
  if (!by_kernel) copy_on_stream(call.routine, to, from, bytes, my_device(), call.stream);
  launch_on(my_device(), call.routine, [&] {
    return by_kernel && bytes > 0
               ? device::launch_put_signal(to.address, from.address, bytes, word, signal.value,
                                           signal.op, call.stream)
               : device::launch_signal(word, signal.value, signal.op, call.stream);
  });
}

void update_signal(const StreamCall& call, const Signal& signal, int pe) {
  check_signal_op(call.routine, signal.op);
  note_access(AccessKind::signal, signal.address, sizeof *signal.address, pe);
  StreamUse use(call.routine, call.stream);
  use.of(signal.address, sizeof *signal.address);
  std::uint64_t* word = word_for_kernels(call.routine, signal.address, pe);
  launch_on(my_device(), call.routine,
            [&] { return device::launch_signal(word, signal.value, signal.op, call.stream); });
}

void wait_until(const StreamCall& call, std::uint64_t* variable, int cmp, std::uint64_t value) {
  if (!device::is_comparison(cmp))
    fatal("{}: {} is not a comparison of SHMEM_CMP_*", call.routine, cmp);
  StreamUse use(call.routine, call.stream);
  use.of(variable, sizeof *variable);
  const std::uint64_t* word = word_for_kernels(call.routine, variable, address_map.my_pe);
  launch_on(my_device(), call.routine, [&] {
    return device::launch_wait_until(word, device::ElemType::u64, cmp, {{value, 0}}, call.stream);
  });
}

void quiet(const StreamCall& call) {
  launch_on(my_device(), call.routine, [&] { return device::launch_quiet(call.stream); });
}

void set_mark(StreamMark*& mark, hipStream_t stream) {
  if (is_captured(stream)) return;
  if (!mark) mark = new StreamMark(my_device());
  mark->set(stream);
}

}  // namespace meshmem::on_stream
