# SPDX-License-Identifier: Apache-2.0
"""OpenSHMEM for kernels of Triton: puts, gets, atomics, signals, waits and barriers.

A context has the symmetric memory; kernels take its table of addresses, and call the functions of
this module with it. The same kernels run on GPUs, and with TRITON_INTERPRET=1 on any machine.
docs/triton.md is the tutorial. The names and arguments are those of iris (ROCm/iris) as far as
both have a function, so that programs may `import meshmem.triton as iris`.
"""
from __future__ import annotations

import warnings

try:
    import triton as _triton
except ModuleNotFoundError:
    raise ImportError("meshmem.triton needs the package triton: pip install triton") from None

TRIED_VERSIONS = ("3.6", "3.9")
OLDEST_VERSION = (3, 6)

_version = tuple(int(word) for word in _triton.__version__.split(".")[:2])
if _version < OLDEST_VERSION:
    raise ImportError(f"meshmem.triton needs Triton 3.6 or later, and this is "
                      f"{_triton.__version__}")
if ".".join(map(str, _version)) not in TRIED_VERSIONS:
    warnings.warn(f"meshmem.triton was tried with Triton {', '.join(TRIED_VERSIONS)}, and this is "
                  f"{_triton.__version__}", stacklevel=2)

from ._context import Context, context, do_bench, memset_tensor  # noqa: E402
from ._device import (atomic_add, atomic_and, atomic_cas, atomic_max, atomic_min,  # noqa: E402
                      atomic_or, atomic_sub, atomic_xchg, atomic_xor, barrier, get, load, put,
                      put_signal, signal, store, translate, wait)

iris = context

__all__ = ["Context", "atomic_add", "atomic_and", "atomic_cas", "atomic_max", "atomic_min",
           "atomic_or", "atomic_sub", "atomic_xchg", "atomic_xor", "barrier", "context", "do_bench",
           "get", "iris", "load", "memset_tensor", "put", "put_signal", "signal", "store",
           "translate", "wait"]
