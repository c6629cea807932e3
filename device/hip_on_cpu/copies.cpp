// SPDX-License-Identifier: Apache-2.0
// Copies and fills: checked against the table of allocations when they are called, run by the
// stream.
// Invariant: a copy that reaches a stream lies within its allocations and goes the way that its
// kind says.
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "allocations.hpp"
#include "devices.hpp"
#include "errors.hpp"
#include "streams.hpp"

namespace hip_on_cpu {
namespace {

constexpr std::size_t kStagedBytes = 64 * 1024;

// `rows` rows of `width` bytes, each `pitch` after the one before.
struct Shape {
  std::size_t width, rows, dest_pitch, source_pitch;
};
std::size_t extent(std::size_t width, std::size_t rows, std::size_t pitch) {
  return rows == 0 || width == 0 ? 0 : (rows - 1) * pitch + width;
}

enum class Side { kHost, kDevice, kEither, kBeyondItsAllocation };

Side side_of(const void* address, std::size_t size) {
  const auto found = Allocations::get().find(address);
  if (!found) return Side::kHost;
  const std::size_t room = found->base + found->size - reinterpret_cast<std::uintptr_t>(address);
  if (found->is_device()) return size <= room ? Side::kDevice : Side::kBeyondItsAllocation;
  if (found->kind == MemoryKind::kManaged)
    return size <= room ? Side::kEither : Side::kBeyondItsAllocation;
  // Registered memory is the user's, and perhaps only a part of it is registered.
  return size <= room || found->kind == MemoryKind::kRegistered ? Side::kHost
                                                                : Side::kBeyondItsAllocation;
}

bool kind_agrees(hipMemcpyKind kind, Side dest, Side source) {
  const auto are = [&](Side to, Side from) {
    return (dest == to || dest == Side::kEither) && (source == from || source == Side::kEither);
  };
  switch (kind) {
    case hipMemcpyHostToHost:
      return are(Side::kHost, Side::kHost);
    case hipMemcpyHostToDevice:
      return are(Side::kDevice, Side::kHost);
    case hipMemcpyDeviceToHost:
      return are(Side::kHost, Side::kDevice);
    case hipMemcpyDeviceToDevice:
      return are(Side::kDevice, Side::kDevice);
    case hipMemcpyDefault:
      return true;
  }
  return false;
}

hipError_t check(const void* dest, const void* source, const Shape& shape, hipMemcpyKind kind) {
  if (device_count() == 0) return hipErrorNoDevice;
  if (kind < hipMemcpyHostToHost || kind > hipMemcpyDefault) return hipErrorInvalidMemcpyDirection;
  if (shape.width == 0 || shape.rows == 0) return hipSuccess;
  if (dest == nullptr || source == nullptr) return hipErrorInvalidValue;
  if (shape.rows > 1 && (shape.width > shape.dest_pitch || shape.width > shape.source_pitch)) {
    return hipErrorInvalidPitchValue;
  }
  const Side to = side_of(dest, extent(shape.width, shape.rows, shape.dest_pitch));
  const Side from = side_of(source, extent(shape.width, shape.rows, shape.source_pitch));
  if (to == Side::kBeyondItsAllocation || from == Side::kBeyondItsAllocation)
    return hipErrorInvalidValue;
  return kind_agrees(kind, to, from) ? hipSuccess : hipErrorInvalidValue;
}

template <typename Word>
void copy_words(char* dest, const char* source, std::size_t size) {
  for (std::size_t at = 0; at < size; at += sizeof(Word)) {
    const Word word = __atomic_load_n(reinterpret_cast<const Word*>(source + at), __ATOMIC_ACQUIRE);
    __atomic_store_n(reinterpret_cast<Word*>(dest + at), word, __ATOMIC_RELEASE);
  }
}

// A short copy may be of words that kernels store to or poll at this moment (flags, signals). Like
// a GPU's copy engine it moves each aligned word whole, and acquires each word that it reads before
// it goes on.
void copy_bytes(void* dest, const void* source, std::size_t size) {
  constexpr std::size_t kFlagsBytes = 1024;
  if (size > kFlagsBytes) {
    std::memmove(dest, source, size);
    return;
  }
  auto* to = static_cast<char*>(dest);
  const auto* from = static_cast<const char*>(source);
  const std::uintptr_t alignment =
      reinterpret_cast<std::uintptr_t>(dest) | reinterpret_cast<std::uintptr_t>(source) | size;
  if (alignment % 8 == 0) {
    copy_words<std::uint64_t>(to, from, size);
  } else if (alignment % 4 == 0) {
    copy_words<std::uint32_t>(to, from, size);
  } else if (alignment % 2 == 0) {
    copy_words<std::uint16_t>(to, from, size);
  } else {
    std::memmove(to, from, size);
  }
}

Operation copy_of(void* dest, const void* source, const Shape& shape) {
  return [=] {
    for (std::size_t row = 0; row < shape.rows; ++row) {
      copy_bytes(static_cast<char*>(dest) + row * shape.dest_pitch,
                 static_cast<const char*>(source) + row * shape.source_pitch, shape.width);
    }
    return hipSuccess;
  };
}

bool is_capturing(hipStream_t stream) {
  hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
  return hipStreamIsCapturing(stream, &status) == hipSuccess &&
         status != hipStreamCaptureStatusNone;
}

// True for memory that no HIP call has allocated or registered. The host waits for its copies,
// except for a short source.
bool is_pageable(const void* address) { return !Allocations::get().find(address); }

Operation copy_from_stage(void* dest, const void* source, std::size_t size) {
  const auto* bytes = static_cast<const char*>(source);
  auto stage = std::make_shared<const std::vector<char>>(bytes, bytes + size);
  return [=] {
    copy_bytes(dest, stage->data(), stage->size());
    return hipSuccess;
  };
}

hipError_t copy_now(void* dest, const void* source, const Shape& shape, hipMemcpyKind kind) {
  const hipError_t error = check(dest, source, shape, kind);
  return error != hipSuccess ? error : run_in_default_stream(copy_of(dest, source, shape));
}

hipError_t copy_in_stream(void* dest, const void* source, const Shape& shape, hipMemcpyKind kind,
                          hipStream_t stream) {
  const hipError_t error = check(dest, source, shape, kind);
  if (error != hipSuccess) return error;
  if (shape.width == 0 || shape.rows == 0) return submit(stream, [] { return hipSuccess; });
  if (is_capturing(stream)) return submit(stream, copy_of(dest, source, shape));
  std::optional<Ticket> copied;
  // A short source may be reused as soon as the call returns (a stack variable, often).
  const bool is_staged =
      shape.rows == 1 && shape.width <= kStagedBytes && is_pageable(source) && !is_pageable(dest);
  const hipError_t submitted = submit_after(
      copied, stream,
      is_staged ? copy_from_stage(dest, source, shape.width) : copy_of(dest, source, shape));
  if (copied && !is_staged && (is_pageable(source) || is_pageable(dest))) copied->wait();
  return submitted;
}

Shape one_row(std::size_t size) { return {size, 1, size, size}; }

bool is_memory_of(const void* pointer, int device) {
  const auto found = Allocations::get().find(pointer);
  if (!found) return false;
  return found->kind == MemoryKind::kManaged || (found->is_device() && found->device == device);
}

hipError_t check_peers(const void* dest, int dest_device, const void* source, int source_device,
                       std::size_t size) {
  if (device_count() == 0) return hipErrorNoDevice;
  if (!is_device(dest_device) || !is_device(source_device)) return hipErrorInvalidDevice;
  if (size == 0) return hipSuccess;
  return is_memory_of(dest, dest_device) && is_memory_of(source, source_device)
             ? hipSuccess
             : hipErrorInvalidValue;
}

hipError_t check_fill(const void* dest, std::size_t size) {
  if (device_count() == 0) return hipErrorNoDevice;
  if (size == 0) return hipSuccess;
  const auto found =
      Allocations::get().find(dest);  // device memory, or host memory that a device can reach
  return found && side_of(dest, size) != Side::kBeyondItsAllocation ? hipSuccess
                                                                    : hipErrorInvalidValue;
}

Operation fill_of(void* dest, int value, std::size_t size) {
  return [=] {
    if (size > 0) std::memset(dest, value, size);
    return hipSuccess;
  };
}

bool within_symbol(const void* other, std::size_t symbol_size, std::size_t size,
                   std::size_t offset) {
  return other != nullptr && offset <= symbol_size && size <= symbol_size - offset;
}

}  // namespace

hipError_t copy_to_symbol(void* symbol, std::size_t symbol_size, const void* source,
                          std::size_t size, std::size_t offset, hipMemcpyKind kind) {
  host_only("hipMemcpyToSymbol");
  if (!within_symbol(source, symbol_size, size, offset)) return remember(hipErrorInvalidValue);
  const Side from = side_of(source, size);
  if (from != Side::kBeyondItsAllocation && !kind_agrees(kind, Side::kDevice, from))
    return remember(hipErrorInvalidMemcpyDirection);
  return remember(
      copy_now(static_cast<char*>(symbol) + offset, source, one_row(size), hipMemcpyDefault));
}

hipError_t copy_from_symbol(void* dest, const void* symbol, std::size_t symbol_size,
                            std::size_t size, std::size_t offset, hipMemcpyKind kind) {
  host_only("hipMemcpyFromSymbol");
  if (!within_symbol(dest, symbol_size, size, offset)) return remember(hipErrorInvalidValue);
  const Side to = side_of(dest, size);
  if (to != Side::kBeyondItsAllocation && !kind_agrees(kind, to, Side::kDevice))
    return remember(hipErrorInvalidMemcpyDirection);
  return remember(
      copy_now(dest, static_cast<const char*>(symbol) + offset, one_row(size), hipMemcpyDefault));
}

}  // namespace hip_on_cpu

using namespace hip_on_cpu;

extern "C" {

hipError_t hipMemcpy(void* dest, const void* source, std::size_t size, hipMemcpyKind kind) {
  host_only();
  return remember(copy_now(dest, source, one_row(size), kind));
}
hipError_t hipMemcpyAsync(void* dest, const void* source, std::size_t size, hipMemcpyKind kind,
                          hipStream_t stream) {
  host_only();
  return remember(copy_in_stream(dest, source, one_row(size), kind, stream));
}

hipError_t hipMemcpyPeer(void* dest, int dest_device, const void* source, int source_device,
                         std::size_t size) {
  host_only();
  const hipError_t error = check_peers(dest, dest_device, source, source_device, size);
  return remember(
      error != hipSuccess ? error : copy_now(dest, source, one_row(size), hipMemcpyDeviceToDevice));
}
hipError_t hipMemcpyPeerAsync(void* dest, int dest_device, const void* source, int source_device,
                              std::size_t size, hipStream_t stream) {
  host_only();
  const hipError_t error = check_peers(dest, dest_device, source, source_device, size);
  return remember(error != hipSuccess ? error
                                      : copy_in_stream(dest, source, one_row(size),
                                                       hipMemcpyDeviceToDevice, stream));
}

hipError_t hipMemcpy2D(void* dest, std::size_t dest_pitch, const void* source,
                       std::size_t source_pitch, std::size_t width, std::size_t height,
                       hipMemcpyKind kind) {
  host_only();
  return remember(copy_now(dest, source, {width, height, dest_pitch, source_pitch}, kind));
}
hipError_t hipMemcpy2DAsync(void* dest, std::size_t dest_pitch, const void* source,
                            std::size_t source_pitch, std::size_t width, std::size_t height,
                            hipMemcpyKind kind, hipStream_t stream) {
  host_only();
  return remember(
      copy_in_stream(dest, source, {width, height, dest_pitch, source_pitch}, kind, stream));
}

hipError_t hipMemset(void* dest, int value, std::size_t size) {
  host_only();
  const hipError_t error = check_fill(dest, size);
  return remember(error != hipSuccess ? error : run_in_default_stream(fill_of(dest, value, size)));
}
hipError_t hipMemsetAsync(void* dest, int value, std::size_t size, hipStream_t stream) {
  host_only();
  const hipError_t error = check_fill(dest, size);
  return remember(error != hipSuccess ? error : submit(stream, fill_of(dest, value, size)));
}

}  // extern "C"
