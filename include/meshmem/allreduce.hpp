// SPDX-License-Identifier: Apache-2.0
//
// All-reduce over GPU buffers in C++17: for programs that know an all-reduce library and not
// OpenSHMEM. A header over shmemx.h; every call here is one that a C program can make.
// Invariant: a call returns the errors that it can see, and then has done nothing. An error that
// breaks the job ends it, as everywhere in OpenSHMEM. Units: bytes in names that say so, else
// elements.
#ifndef MESHMEM_MESHMEM_ALLREDUCE_HPP
#define MESHMEM_MESHMEM_ALLREDUCE_HPP

#include <shmemx.h>
#include <stdarg.h>
#include <stdio.h>

#include <cstddef>
#include <cstdint>

// An average over all PEs:
//
//   shmem_init();
//   {
//     meshmem::AllReduce average;  // of all PEs; made by all
//     meshmem::Status done = average.execute(gradients, gradients, count, meshmem::DataType::f32,
//                                            meshmem::ReduceOp::avg, stream);
//     if (!done) fprintf(stderr, "%s\n", done.text());
//   }
//   shmem_finalize();
//
// Buffers are of the GPU, of three kinds:
//
//   symmetric   from SymmetricMemory::allocate (or shmem_malloc_with_hints): nothing is copied
//   registered  by SymmetricMemory::register_buffer: nothing is copied
//   any other   copied through a buffer of the AllReduce, chunk by chunk, in the stream's order

namespace meshmem {

// f16: IEEE 754 binary16 (half). bf16: bfloat16. Their sums are formed in float and rounded once.
// Large sums that go around a ring are rounded at each PE, and those of a team on several machines
// at each step.
enum class DataType { f32, f64, i32, i64, f16, bf16 };

// Integers wrap. avg: the sum divided by the number of PEs once, at the end; averages of integers
// are cut toward zero.
enum class ReduceOp { sum, prod, min, max, avg };

// The result of a call: true, or false and a line of text that says why.
class [[nodiscard]] Status {
 public:
  Status() = default;
#if defined(__GNUC__)
  __attribute__((format(printf, 1, 2)))
#endif
  static Status
  error(const char* format, ...) {
    Status status;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(status.text_, sizeof status.text_, format, arguments);
    va_end(arguments);
    return status;
  }

  bool ok() const { return text_[0] == '\0'; }
  explicit operator bool() const { return ok(); }
  const char* text() const { return ok() ? "success" : text_; }

 private:
  char text_[256] = "";
};

// Memory of the GPUs whose address stands for each PE's own copy. All PEs make these calls
// together, with the same arguments except for the addresses of their own buffers.
class SymmetricMemory {
 public:
  // Device memory of the symmetric heap, which MESHMEM_DEVICE_HEAP_SIZE bounds. nullptr on all PEs
  // if less than that is left, or if there is no GPU.
  static void* allocate(std::size_t bytes) {
    return bytes == 0 ? nullptr : shmem_malloc_with_hints(bytes, SHMEMX_MALLOC_DEVICE);
  }
  static void free(void* memory) { shmem_free(memory); }

  // Makes `bytes` bytes at `buffer`, from hipMalloc, symmetric; `bytes` is the same on all PEs.
  // Returns the same on all PEs.
  static Status register_buffer(void* buffer, std::size_t bytes) {
    if (shmemx_buffer_register(buffer, bytes) == 0) return Status();
    return Status::error(
        "SymmetricMemory::register_buffer: %zu bytes at %p: not device memory that can be shared, "
        "of the same length on all PEs (SHMEM_DEBUG=1 says more)",
        bytes, buffer);
  }
  // Call it before the buffer is freed.
  static Status deregister(void* buffer) {
    if (shmemx_buffer_unregister(buffer) == 0) return Status();
    return Status::error("SymmetricMemory::deregister: no registered buffer begins at %p", buffer);
  }
};

// The all-reduce of a team. All PEs construct and destroy it together, before shmem_finalize. A PE
// outside the team passes SHMEM_TEAM_INVALID, and cannot execute. The destructor waits for calls
// that copy through the staging memory, but not for graphs that have captured such calls: their
// last replay must have ended before.
class AllReduce {
 public:
  static constexpr std::size_t kStagingBytes = std::size_t{4} << 20;

  // staging_bytes: how much symmetric device memory is allocated for buffers that are neither
  // symmetric nor registered; 0 if there are none. The same on all PEs.
  explicit AllReduce(shmem_team_t team = SHMEM_TEAM_WORLD,
                     std::size_t staging_bytes = kStagingBytes)
      : team_(team), staging_bytes_(staging_bytes) {
    if (staging_bytes_ % kGrain != 0 && staging_bytes_ <= SIZE_MAX - kGrain)
      staging_bytes_ += kGrain - staging_bytes_ % kGrain;
    staging_ = static_cast<char*>(SymmetricMemory::allocate(staging_bytes_));
    if (staging_bytes_ > 0 && !staging_)
      status_ = Status::error("AllReduce: no %zu bytes of symmetric device memory", staging_bytes_);
    else if (staging_ && !shmemx_reached_on_stream(staging_, staging_bytes_))
      status_ = Status::error("AllReduce: the devices of the PEs do not all reach each other");
  }
  ~AllReduce() {
    if (!staging_) return;
    shmemx_stream_mark_wait(&staged_);
    SymmetricMemory::free(staging_);
  }
  AllReduce(const AllReduce&) = delete;
  AllReduce& operator=(const AllReduce&) = delete;

  // Whether it can be used; execute() returns the same if not.
  const Status& status() const { return status_; }

  // Element i of `recv` becomes the combination of element i of all PEs' `send`, in the stream's
  // order: the call returns at once, and a graph can capture it. recv is send or does not overlap
  // it. All PEs of the team call with the same count, type and op, and with buffers of the same
  // kinds. A symmetric or registered buffer is the same one on all PEs: each passes its own copy.
  // Calls on one team are in one order: on one stream, or on streams that wait for each other.
  // count 0 does nothing.
  Status execute(const void* send, void* recv, std::size_t count, DataType type, ReduceOp op,
                 shmemx_stream_t stream) {
    if (!status_) return status_;
    if (const Status wrong = check(send, recv, count, type, op); !wrong) return wrong;
    if (count == 0) return Status();
    const std::size_t bytes = count * size_of(type);
    const bool sends_itself = shmemx_reached_on_stream(send, bytes) != 0;
    const bool receives_itself = shmemx_reached_on_stream(recv, bytes) != 0;
    if (sends_itself && receives_itself) return reduce(recv, send, count, type, op, stream);
    if (staging_bytes_ == 0)
      return Status::error("AllReduce::execute: %p is not symmetric, and staging_bytes is 0",
                           sends_itself ? recv : send);
    const int me = shmem_my_pe();
    for (std::size_t at = 0; at < bytes; at += staging_bytes_) {
      const std::size_t chunk = bytes - at < staging_bytes_ ? bytes - at : staging_bytes_;
      const char* from = static_cast<const char*>(send) + at;
      char* to = static_cast<char*>(recv) + at;
      if (!sends_itself) shmemx_putmem_on_stream(staging_, from, chunk, me, stream);
      if (const Status failed =
              reduce(receives_itself ? to : staging_, sends_itself ? from : staging_,
                     chunk / size_of(type), type, op, stream);
          !failed) {
        shmemx_stream_mark(&staged_, stream);
        return failed;
      }
      if (!receives_itself) shmemx_getmem_on_stream(to, staging_, chunk, me, stream);
    }
    shmemx_stream_mark(&staged_, stream);
    return Status();
  }

 private:
  static constexpr std::size_t kGrain = 16;  // a multiple of every element's size

  static std::size_t size_of(DataType type) {
    switch (type) {
      case DataType::f32:
      case DataType::i32:
        return 4;
      case DataType::f64:
      case DataType::i64:
        return 8;
      case DataType::f16:
      case DataType::bf16:
        return 2;
    }
    return 0;
  }

  Status check(const void* send, const void* recv, std::size_t count, DataType type,
               ReduceOp op) const {
    const std::size_t size = size_of(type);
    if (size == 0)
      return Status::error("AllReduce::execute: %d is no DataType", static_cast<int>(type));
    if (op < ReduceOp::sum || op > ReduceOp::avg)
      return Status::error("AllReduce::execute: %d is no ReduceOp", static_cast<int>(op));
    if (team_ == SHMEM_TEAM_INVALID)
      return Status::error("AllReduce::execute: this PE is not in the team");
    if (count == 0) return Status();
    if (count > SIZE_MAX / size)
      return Status::error("AllReduce::execute: %zu elements are more than memory holds", count);
    if (!send || !recv)
      return Status::error("AllReduce::execute: %s is null", send ? "recv" : "send");
    const auto from = reinterpret_cast<std::uintptr_t>(send);
    const auto to = reinterpret_cast<std::uintptr_t>(recv);
    if (from % size != 0 || to % size != 0)
      return Status::error("AllReduce::execute: %p is not aligned to elements of %zu bytes",
                           from % size != 0 ? send : recv, size);
    if (from != to && from - to < count * size)
      return Status::error("AllReduce::execute: send begins within recv");
    if (from != to && to - from < count * size)
      return Status::error("AllReduce::execute: recv begins within send");
    return Status();
  }

  Status reduce(void* dest, const void* source, std::size_t count, DataType type, ReduceOp op,
                shmemx_stream_t stream) const {
    int failed = 0;
#define MESHMEM_ALLREDUCE(op, name, E)                                               \
  case ReduceOp::op:                                                                 \
    failed = shmemx_##name##_##op##_reduce_on_stream(                                \
        team_, static_cast<E*>(dest), static_cast<const E*>(source), count, stream); \
    break;
#define MESHMEM_ALLREDUCE_OF(type, name, E) \
  case DataType::type:                      \
    switch (op) {                           \
      MESHMEM_ALLREDUCE(sum, name, E)       \
      MESHMEM_ALLREDUCE(prod, name, E)      \
      MESHMEM_ALLREDUCE(min, name, E)       \
      MESHMEM_ALLREDUCE(max, name, E)       \
      MESHMEM_ALLREDUCE(avg, name, E)       \
    }                                       \
    break;
    switch (type) {
      MESHMEM_ALLREDUCE_OF(f32, float, float)
      MESHMEM_ALLREDUCE_OF(f64, double, double)
      MESHMEM_ALLREDUCE_OF(i32, int32, std::int32_t)
      MESHMEM_ALLREDUCE_OF(i64, int64, std::int64_t)
      MESHMEM_ALLREDUCE_OF(f16, half, void)
      MESHMEM_ALLREDUCE_OF(bf16, bfloat16, void)
    }
#undef MESHMEM_ALLREDUCE_OF
#undef MESHMEM_ALLREDUCE
    return failed == 0 ? Status() : Status::error("AllReduce::execute: error %d", failed);
  }

  shmem_team_t team_;
  std::size_t staging_bytes_;
  char* staging_ = nullptr;
  shmemx_mark_t staged_ = nullptr;  // behind the newest call that used staging_
  Status status_;
};

}  // namespace meshmem

#endif
