// SPDX-License-Identifier: Apache-2.0
//
// Finds both ends of a transfer, and puts a kernel or a copy on the stream.
// Invariant: a kernel updates each signal, after all that the stream has done before.
#include "core/stream_transfers.hpp"

#include "base/error.hpp"
#include "base/status/slow_ways.hpp"
#include "core/memory_of_call.hpp"
#include "core/runtime.hpp"
#include "device/comparison.hpp"
#include "device/launch.hpp"
#include "gpu/device_target.hpp"
#include "gpu/launch_on_stream.hpp"
#include "memory/address_map.hpp"
#include "memory/argument_checks.hpp"
#include "one_sided/signal_access.hpp"

namespace meshmem::on_stream {
namespace {

int my_device() { return runtime().device_memory().device(); }

// Returns where kernels find this host memory of PE `pe`, or `on_host` if they do not reach it.
StreamEnd end_in_host_heap(std::byte* on_host, const void* address, int pe) {
  const device::KernelSegment& heap = runtime().device_state().state().host_heap;
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  if (!heap.holds(number)) return {on_host, false};
  if constexpr (kDevicesAreProcessors) return {on_host, true};
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

// The end in this PE, in any memory. Kernels may not reach memory that the library does not know.
StreamEnd end_here(const void* address) {
  auto* here = const_cast<std::byte*>(static_cast<const std::byte*>(address));
  if (is_on_device(address)) return {here, true};
  return end_in_host_heap(here, address, address_map.my_pe);
}

// ---- To PEs of other nodes: by a kernel that hands the proxy a command.

using device::ProxyCommand;
using device::ProxyEnd;
using device::ProxyOp;

bool is_far(const char* routine, int pe) {
  check_pe(address_map, pe, routine);
  return !is_mapped(address_map.heap.copy_of_pe[pe]);
}

std::uint64_t number_of(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

ProxyCommand far_command(const char* routine, ProxyOp op, const void* address, std::size_t bytes,
                         int pe) {
  require_proxy(routine);
  if (bytes > 0) check_block(routine, address, bytes);
  return {op, 0, 0, static_cast<std::uint32_t>(pe), {number_of(address)}};
}

void hand_over(const StreamCall& call, const ProxyCommand& command, ProxyEnd end) {
  launch_on_stream(my_device(), call.routine,
                   [&] { return device::launch_proxy_command(command, end, call.stream); });
}

// A put or a get.
void transfer_far(const StreamCall& call, ProxyOp op, void* dest, const void* source,
                  std::size_t bytes, int pe) {
  const bool is_put = op == ProxyOp::put;
  ProxyCommand command = far_command(call.routine, op, is_put ? dest : source, bytes, pe);
  command.word[0] = number_of(dest);
  command.word[1] = number_of(source);
  command.word[2] = bytes;
  hand_over(call, command, is_put ? ProxyEnd::source_is_free : ProxyEnd::done);
}

ProxyCommand signal_command(const char* routine, ProxyOp op, const Signal& signal, int pe) {
  ProxyCommand command = far_command(routine, op, signal.address, sizeof *signal.address, pe);
  command.detail = static_cast<std::uint8_t>(signal.op);
  command.word[1] = signal.value;
  return command;
}

void put_signal_far(const StreamCall& call, void* dest, const void* source, std::size_t bytes,
                    const Signal& signal, int pe) {
  ProxyCommand command = signal_command(call.routine, ProxyOp::put_signal, signal, pe);
  if (bytes > 0) check_block(call.routine, dest, bytes);
  command.word[2] = number_of(dest);
  command.word[3] = number_of(source);
  command.word[4] = bytes;
  hand_over(call, command, ProxyEnd::source_is_free);
}

// ---- To PEs of this node

// A variable that a kernel updates or waits for.
void* variable_for_kernels(const char* routine, const void* address, std::size_t bytes, int pe) {
  const StreamEnd end = end_at_pe(routine, address, bytes, pe);
  if (!end.for_kernels)
    fatal("{}: kernels do not reach the variable at {} of PE {}", routine, address, pe);
  return end.address;
}
std::uint64_t* word_for_kernels(const char* routine, const std::uint64_t* address, int pe) {
  return static_cast<std::uint64_t*>(variable_for_kernels(routine, address, sizeof *address, pe));
}

void check_signal(const char* routine, const Signal& signal) {
  check_signal_op(routine, signal.op);
  check_alignment(routine, signal.address, sizeof *signal.address);
}

}  // namespace

void require_proxy(const char* routine) {
  if (!runtime().proxy().is_running())
    fatal("{}: streams do not reach PEs of other machines with MESHMEM_PROXY=off", routine);
  runtime().proxy().wake();
}

void require_device(const char* routine) {
  if (!runtime().has_devices()) [[unlikely]]
    fatal("{}: there is no device memory (SHMEM_DEBUG=1 says why)", routine);
}

void require_own_stream(const char* routine, hipStream_t stream) {
  thread_local hipStream_t last = nullptr;
  if (stream == last) return;
  require_device(routine);  // without one my_device() has no number to return
  const int device = device_of_stream(stream, my_device());
  if (device != my_device())
    fatal("{}: the stream is of device {}, but this PE uses device {}", routine, device,
          my_device());
  last = stream;
}

void put(const StreamCall& call, void* dest, const void* source, std::size_t bytes, int pe) {
  if (bytes == 0) return check_pe(address_map, pe, call.routine);
  const MemoryOfCall memory(call.routine, call.stream, {{dest, bytes}, {source, bytes}});
  if (is_far(call.routine, pe)) return transfer_far(call, ProxyOp::put, dest, source, bytes, pe);
  copy_on_stream(call.routine, end_at_pe(call.routine, dest, bytes, pe), end_here(source), bytes,
                 my_device(), call.stream);
}

void get(const StreamCall& call, void* dest, const void* source, std::size_t bytes, int pe) {
  if (bytes == 0) return check_pe(address_map, pe, call.routine);
  const MemoryOfCall memory(call.routine, call.stream, {{dest, bytes}, {source, bytes}});
  if (is_far(call.routine, pe)) return transfer_far(call, ProxyOp::get, dest, source, bytes, pe);
  copy_on_stream(call.routine, end_here(dest), end_at_pe(call.routine, source, bytes, pe), bytes,
                 my_device(), call.stream);
}

void put_signal(const StreamCall& call, void* dest, const void* source, std::size_t bytes,
                const Signal& signal, int pe) {
  check_signal(call.routine, signal);
  const MemoryOfCall memory(
      call.routine, call.stream,
      {{dest, bytes}, {source, bytes}, {signal.address, sizeof *signal.address}});
  if (is_far(call.routine, pe)) return put_signal_far(call, dest, source, bytes, signal, pe);
  const StreamEnd to =
      bytes == 0 ? StreamEnd{dest, true} : end_at_pe(call.routine, dest, bytes, pe);
  const StreamEnd from = end_here(source);
  std::uint64_t* word = word_for_kernels(call.routine, signal.address, pe);
  const bool by_kernel = suits_kernel(to, from, bytes);
  if (bytes > 0 && (!to.for_kernels || !from.for_kernels))
    note_slow_way(SlowWay::signal_behind_copy, call.routine);
  if (!by_kernel) copy_on_stream(call.routine, to, from, bytes, my_device(), call.stream);
  launch_on_stream(my_device(), call.routine, [&] {
    return by_kernel && bytes > 0
               ? device::launch_put_signal(to.address, from.address, bytes, word, signal.value,
                                           signal.op, call.stream)
               : device::launch_signal(word, signal.value, signal.op, call.stream);
  });
}

void update_signal(const StreamCall& call, const Signal& signal, int pe) {
  check_signal(call.routine, signal);
  const MemoryOfCall memory(call.routine, call.stream, {{signal.address, sizeof *signal.address}});
  if (is_far(call.routine, pe))
    return hand_over(call, signal_command(call.routine, ProxyOp::signal, signal, pe),
                     ProxyEnd::issued);
  std::uint64_t* word = word_for_kernels(call.routine, signal.address, pe);
  launch_on_stream(my_device(), call.routine, [&] {
    return device::launch_signal(word, signal.value, signal.op, call.stream);
  });
}

void store(const StreamCall& call, void* dest, device::Scalar value, std::size_t bytes, int pe) {
  const MemoryOfCall memory(call.routine, call.stream, {{dest, bytes}});
  if (is_far(call.routine, pe)) {
    ProxyCommand command = far_command(call.routine, ProxyOp::put_inline, dest, bytes, pe);
    command.length = static_cast<std::uint8_t>(bytes);
    command.word[1] = value.word[0];
    command.word[2] = value.word[1];
    return hand_over(call, command, ProxyEnd::issued);
  }
  void* const there = variable_for_kernels(call.routine, dest, bytes, pe);
  launch_on_stream(my_device(), call.routine,
                   [&] { return device::launch_store(there, value, bytes, call.stream); });
}

void wait_until(const StreamCall& call, const void* variable, device::ElemType type,
                std::size_t bytes, int cmp, device::Scalar value) {
  if (!device::is_comparison(cmp))
    fatal("{}: {} is not a comparison of SHMEM_CMP_*", call.routine, cmp);
  const MemoryOfCall memory(call.routine, call.stream, {{variable, bytes}});
  const void* word = variable_for_kernels(call.routine, variable, bytes, address_map.my_pe);
  launch_on_stream(my_device(), call.routine,
                   [&] { return device::launch_wait_until(word, type, cmp, value, call.stream); });
}

// Commands of earlier work on the stream are before this one in the ring, whichever thread of a
// kernel gave them.
void quiet(const StreamCall& call) {
  launch_on_stream(my_device(), call.routine, [&] { return device::launch_quiet(call.stream); });
  if (!runtime().proxy().is_running()) return;
  require_proxy(call.routine);
  hand_over(call, {ProxyOp::fence, 0, 0, static_cast<std::uint32_t>(address_map.my_pe), {}},
            ProxyEnd::done);
}

void set_mark(StreamMark*& mark, hipStream_t stream) {
  if (is_captured(stream)) return;
  if (!mark) mark = new StreamMark(my_device());
  mark->set(stream);
}

}  // namespace meshmem::on_stream
