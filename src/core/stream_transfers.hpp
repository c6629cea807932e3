// SPDX-License-Identifier: Apache-2.0
//
// Puts, gets, signals and waits that take their place on a stream (include/shmemx.h): an address or
// two are translated, and a kernel or a copy is put on the stream.
// Invariant: nothing here waits, allocates or uses a stream of the library, so that a graph can
// capture every call. Called by api/on_stream.cpp while the library is active.
#ifndef MESHMEM_CORE_STREAM_TRANSFERS_HPP_
#define MESHMEM_CORE_STREAM_TRANSFERS_HPP_

#include <hip/hip_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "device/launch.hpp"
#include "gpu/stream_mark.hpp"
#include "one_sided/one_sided.hpp"

namespace meshmem::on_stream {

// Every routine calls it first. Ends the job if there is no device.
void require_device(const char* routine);
// Ends the job unless the stream is of the PE's own device. A call with the same stream as the
// thread's last one is not checked again.
void require_own_stream(const char* routine, hipStream_t stream);
// For a routine that concerns PEs of other nodes: ends the job without a proxy, else wakes it.
void require_proxy(const char* routine);

struct StreamCall {
  const char* routine;
  hipStream_t stream;
};
using one_sided::Signal;

void put(const StreamCall& call, void* dest, const void* source, std::size_t bytes, int pe);
void get(const StreamCall& call, void* dest, const void* source, std::size_t bytes, int pe);
// The signal comes after the data.
void put_signal(const StreamCall& call, void* dest, const void* source, std::size_t bytes,
                const Signal& signal, int pe);
void update_signal(const StreamCall& call, const Signal& signal, int pe);
// Stores one element, which the call has by value.
void store(const StreamCall& call, void* dest, device::Scalar value, std::size_t bytes, int pe);
void wait_until(const StreamCall& call, const void* variable, device::ElemType type,
                std::size_t bytes, int cmp, device::Scalar value);
void quiet(const StreamCall& call);

// Sets the mark behind the newest work on the stream; makes it if it is null. Does nothing on a
// captured stream.
void set_mark(StreamMark*& mark, hipStream_t stream);

}  // namespace meshmem::on_stream

#endif  // MESHMEM_CORE_STREAM_TRANSFERS_HPP_
