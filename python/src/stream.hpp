// SPDX-License-Identifier: Apache-2.0
//
// The on-stream forms of routines: the stream argument, and the buffers that streams may use.
// Invariant: a call returns at once, so the caller keeps what the stream still uses.
// Used by the bindings of one-sided operations, waits, teams and of the whole job.
#pragma once
#include <optional>
#include <string>

#include "array.hpp"

namespace meshmem::python {

// Not set: the call itself does the work.
using Stream = std::optional<shmemx_stream_t>;

// Takes None, an address, or a stream of torch or CuPy.
Stream stream_of(nb::handle object);
// Raises an exception unless kernels of all PEs reach the array.
void require_reached(const Array& array, const char* name);

void move_on_stream(const Array& array, Op op, int pe, nb::handle local, shmemx_stream_t stream);
void put_signal_on_stream(const Array& array, int pe, nb::handle values, uint64_t* signal,
                          uint64_t value, int signal_op, shmemx_stream_t stream);

}  // namespace meshmem::python
