// SPDX-License-Identifier: Apache-2.0
//
// Puts, gets, signals and atomics with an end in device memory, or to a far PE by the transport.
// Invariant: small data from host memory is stored by the processor if it can reach the dest. Else
// the kernel that stores it gets it as an argument, so that the call need not wait. Other data is
// copied on the stream, in its order.
#include "one_sided/one_sided.hpp"

#include <bit>

#include "base/machine/copy_bytes.hpp"
#include "base/status/slow_ways.hpp"
#include "gpu/device_transfer.hpp"
#include "gpu/host_stores.hpp"
#include "memory/address_map.hpp"
#include "memory/argument_checks.hpp"
#include "one_sided/far_transfer.hpp"
#include "shmem.h"
#include "transport/transport.hpp"

namespace meshmem {
namespace {

using far::Until;
using one_sided::Blocks;

// One end of a copy.
struct End {
  DevicePlace place;
  bool on_device;
  std::byte* address() const { return place.address; }
};

End remote_end(const char* routine, const void* address, std::size_t bytes, int pe) {
  check_block(routine, address, bytes);
  if (std::byte* there = find_copy(address_map, address, bytes, pe); is_mapped(there))
    return {{there}, false};
  return {translate_on_device(address_map, address, bytes, pe, routine), true};
}

End local_end(const void* address) {
  auto* here = const_cast<std::byte*>(static_cast<const std::byte*>(address));
  return {{here, device_transfer().device(), true}, is_on_device(address)};
}

// True if the bytes are in device memory, and one store or load of a kernel moves them.
bool is_element(const End& end, std::size_t bytes) {
  return end.on_device && bytes <= 8 && std::has_single_bit(bytes) &&
         reinterpret_cast<std::uintptr_t>(end.address()) % bytes == 0;
}

void copy(const char* routine, const End& to, const End& from, std::size_t bytes, Until until) {
  DeviceTransfer& device = device_transfer();
  if (!to.on_device && !from.on_device) {
    copy_bytes(to.address(), from.address(), bytes);
  } else if (!from.on_device && until != Until::done &&
             device.try_store(to.address(), from.address(), bytes)) {
    return;  // a fence or quiet completes it
  } else if (is_element(to, bytes) && !from.on_device && until != Until::done) {
    if (!host_stores().holds(to.address(), bytes)) note_slow_way(SlowWay::store_by_kernel, routine);
    device.issue_store(to.place, from.address(), bytes);
  } else if (is_element(from, bytes) && !to.on_device) {
    std::uint64_t value = 0;
    device.load(&value, from.place, bytes, routine);
    copy_bytes(to.address(), &value, bytes);
  } else if (until == Until::issued) {
    device.issue_copy(to.address(), from.address(), bytes);
  } else {
    device.copy(to.address(), from.address(), bytes, routine);
  }
}

void pack(std::byte* to, const std::byte* from, std::ptrdiff_t stride, std::size_t bytes,
          std::size_t count) {
  for (std::size_t i = 0; i < count; ++i, from += stride) std::memcpy(to + i * bytes, from, bytes);
}
void unpack(std::byte* to, std::ptrdiff_t stride, const std::byte* from, std::size_t bytes,
            std::size_t count) {
  for (std::size_t i = 0; i < count; ++i, to += stride) copy_bytes(to, from + i * bytes, bytes);
}

// Copies blocks between device and host memory. A kernel reaches only device memory and pinned
// memory, so the blocks pass through a pinned page.
void copy_packed(const char* routine, const End& to, const End& from, const Blocks& blocks) {
  DeviceTransfer& device = device_transfer();
  const DeviceTransfer::Lane lane = device.lane();
  auto* page = static_cast<std::byte*>(lane->pinned());
  const auto packed = static_cast<std::ptrdiff_t>(blocks.bytes);
  const std::size_t most = DeviceLane::kPinnedBytes / blocks.bytes;
  for (std::size_t done = 0; done < blocks.count; done += most) {
    const std::size_t count = std::min(most, blocks.count - done);
    const auto first = static_cast<std::ptrdiff_t>(done);
    std::byte* dest = to.address() + first * blocks.dest_stride;
    const std::byte* source = from.address() + first * blocks.source_stride;
    if (to.on_device) {
      pack(page, source, blocks.source_stride, blocks.bytes, count);
      device.copy_strided({dest, blocks.dest_stride, page, packed, blocks.bytes, count}, routine);
    } else {
      device.copy_strided({page, packed, source, blocks.source_stride, blocks.bytes, count},
                          routine);
      unpack(dest, blocks.dest_stride, page, blocks.bytes, count);
    }
  }
}

void copy_blocks(const char* routine, const End& to, const End& from, const Blocks& blocks) {
  constexpr std::size_t kLargeBlock = 4096;  // bytes; from here on each block is a copy of its own
  DeviceTransfer& device = device_transfer();
  const bool all_on_device = to.on_device && from.on_device;
  const bool for_kernels =
      (!to.on_device || to.place.for_kernels) && (!from.on_device || from.place.for_kernels);
  const bool suits_kernel =
      (to.on_device || from.on_device) && (all_on_device || blocks.bytes < kLargeBlock);
  if (suits_kernel && for_kernels) {
    if (!all_on_device) return copy_packed(routine, to, from, blocks);
    return device.copy_strided({to.address(), blocks.dest_stride, from.address(),
                                blocks.source_stride, blocks.bytes, blocks.count},
                               routine);
  }
  if (suits_kernel && blocks.count > 1) note_slow_way(SlowWay::block_by_block, routine);
  for (std::size_t i = 0; i < blocks.count; ++i) {
    const auto index = static_cast<std::ptrdiff_t>(i);
    End block_to = to, block_from = from;
    block_to.place.address += index * blocks.dest_stride;
    block_from.place.address += index * blocks.source_stride;
    copy(routine, block_to, block_from, blocks.bytes, Until::done);
  }
}

device::AtomicOp op_of_signal(int sig_op) {
  return sig_op == SHMEM_SIGNAL_SET ? device::AtomicOp::set : device::AtomicOp::add;
}

}  // namespace

namespace one_sided {

void put(const char* routine, void* dest, const void* source, std::size_t bytes, int pe) {
  if (const auto there = far::find(routine, dest, bytes, pe))
    return far::put(routine, *there, source, bytes, Until::source_is_free);
  copy(routine, remote_end(routine, dest, bytes, pe), local_end(source), bytes,
       Until::source_is_free);
}
void get(const char* routine, void* dest, const void* source, std::size_t bytes, int pe) {
  if (const auto there = far::find(routine, source, bytes, pe))
    return far::get(routine, dest, *there, bytes, Until::done);
  copy(routine, local_end(dest), remote_end(routine, source, bytes, pe), bytes, Until::done);
}
void put_nbi(const char* routine, void* dest, const void* source, std::size_t bytes, int pe) {
  if (const auto there = far::find(routine, dest, bytes, pe))
    return far::put(routine, *there, source, bytes, Until::issued);
  copy(routine, remote_end(routine, dest, bytes, pe), local_end(source), bytes, Until::issued);
}
void get_nbi(const char* routine, void* dest, const void* source, std::size_t bytes, int pe) {
  if (const auto there = far::find(routine, source, bytes, pe))
    return far::get(routine, dest, *there, bytes, Until::issued);
  copy(routine, local_end(dest), remote_end(routine, source, bytes, pe), bytes, Until::issued);
}

void put_blocks(const char* routine, void* dest, const void* source, const Blocks& blocks, int pe) {
  if (const auto there = far::find(routine, dest, blocks.dest_span(), pe))
    return far::put_blocks(routine, *there, source, blocks);
  copy_blocks(routine, remote_end(routine, dest, blocks.dest_span(), pe), local_end(source),
              blocks);
}
void get_blocks(const char* routine, void* dest, const void* source, const Blocks& blocks, int pe) {
  if (const auto there = far::find(routine, source, blocks.source_span(), pe))
    return far::get_blocks(routine, dest, *there, blocks);
  copy_blocks(routine, local_end(dest), remote_end(routine, source, blocks.source_span(), pe),
              blocks);
}

void signal(const char* routine, std::uint64_t* sig_addr, std::uint64_t value, int sig_op, int pe) {
  if (const auto there = far::find(routine, sig_addr, sizeof *sig_addr, pe)) {
    transport()->atomic(*there, {op_of_signal(sig_op), sizeof *sig_addr, value, 0, false});
    return;
  }
  check_block(routine, sig_addr, sizeof *sig_addr);
  const DevicePlace there =
      translate_on_device(address_map, sig_addr, sizeof *sig_addr, pe, routine);
  device_transfer().issue_signal(there, value, sig_op);
}

bool try_put_signal(const char* routine, void* dest, const void* source, std::size_t bytes,
                    const Signal& signal, int pe) {
  const auto far_signal = far::find(routine, signal.address, sizeof *signal.address, pe);
  if (!far_signal) return false;
  RemotePlace to = *far_signal;  // without data any valid place will do
  if (bytes > 0) {
    const auto there = far::find(routine, dest, bytes, pe);
    if (!there) return false;
    to = *there;
  }
  far::put_signal(routine, to, source, bytes,
                  {far_signal->segment, far_signal->offset, op_of_signal(signal.op), signal.value});
  return true;
}

std::uint64_t atomic(const char* routine, const void* address, const AtomicRequest& request,
                     int pe) {
  if (const auto there = far::find(routine, address, request.bytes, pe))
    return transport()->atomic(*there, request);
  check_block(routine, address, request.bytes);
  const DevicePlace there = translate_on_device(address_map, address, request.bytes, pe, routine);
  DeviceTransfer& device = device_transfer();
  if (request.fetches) {
    return device.fetch_atomic(there, request.op, request.bytes, request.operand, request.condition,
                               routine);
  }
  device.issue_atomic(there, request.op, request.bytes, request.operand, request.condition);
  return 0;
}

void fetch_nbi(const char* routine, const void* address, const AtomicRequest& request, int pe,
               std::uint64_t* before) {
  if (const auto there = far::find(routine, address, request.bytes, pe))
    return transport()->fetch_nbi(*there, request, before);
  *before = atomic(routine, address, request, pe);
}

}  // namespace one_sided

// Collectives call this. A kernel that fills the device may be waiting for the collective, so no
// other kernel could run: an element is copied too, instead of loaded by a kernel.
void copy_local(const char* routine, void* dest, const void* source, std::size_t bytes) {
  if (bytes == 0) return;
  const End to = local_end(dest), from = local_end(source);
  if (!is_element(from, bytes) || to.on_device) return copy(routine, to, from, bytes, Until::done);
  const DeviceTransfer::Lane lane = device_transfer().lane();
  device_transfer().copy(lane->pinned(), from.address(), bytes, routine);
  copy_bytes(to.address(), lane->pinned(), bytes);
}
void copy_local_blocks(const char* routine, void* dest, const void* source, const Blocks& blocks) {
  const auto bytes = static_cast<std::ptrdiff_t>(blocks.bytes);
  const bool is_dense = blocks.dest_stride == bytes && blocks.source_stride == bytes;
  if (is_dense || blocks.count == 1)
    copy_local(routine, dest, source, blocks.bytes * blocks.count);
  else if (blocks.bytes > 0 && blocks.count > 0)
    copy_blocks(routine, local_end(dest), local_end(source), blocks);
}

}  // namespace meshmem
