// SPDX-License-Identifier: Apache-2.0
//
// The functions that an interpreter calls for each load and store that it executes. Such an access
// has no address of code, so a text names its place, as in "kernel at prog.py:12".
// Invariant: the caller keeps the text where it is, and unchanged. Called by the Python package
// while Triton interprets kernels.
#include "tools/accesses/hooks.hpp"

using meshmem::AccessHooks;
using meshmem::AccessKind;

// Before an access. kind: one of AccessKind.
VISIBLE void meshmem_note_access(const void* address, std::size_t bytes, int kind,
                                 const char* place) {
  meshmem::accesses::call_hook(&AccessHooks::name_caller, static_cast<const void*>(place), place);
  meshmem::accesses::note(address, bytes, static_cast<AccessKind>(kind), place);
}

// After an atomic load, and after an atomic that loads and stores.
VISIBLE void meshmem_note_seen(const void* address, std::size_t bytes) {
  meshmem::accesses::saw(address, bytes);
}
