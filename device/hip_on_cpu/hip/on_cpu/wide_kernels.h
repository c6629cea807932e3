// SPDX-License-Identifier: Apache-2.0
// How the library's own kernels are shaped. Invariant: the same for all of them. Called by
// device/kernels/.
#pragma once

#pragma GCC visibility push(default)

namespace hip_on_cpu {

// Whether they have the blocks and threads of a GPU, as MESHMEM_CPU_WIDE_KERNELS says, and not one
// thread, which is the fastest.
bool has_wide_kernels();

}  // namespace hip_on_cpu

#pragma GCC visibility pop
