# SPDX-License-Identifier: Apache-2.0
"""PyTorch by meshmem: torch.distributed.init_process_group("meshmem"). docs/pytorch.md has more.

The compiled part belongs to one version of PyTorch. `python3 -m meshmem.torch` makes it; an import
never compiles.
"""
from __future__ import annotations

import atexit
import os
import sys
import typing

from . import _compiled

__all__ = ["AllReduceNorm", "Experts", "Quantized", "create_backend", "rendezvous_of_job"]

_torch = _compiled.require_torch()
# `python3 -m meshmem.torch` imports the package before it compiles.
if sys.argv[:1] != ["-m"] or "meshmem.torch" not in sys.orig_argv:
    _c = _compiled.load()
    atexit.register(_c.leave_python)
    os.register_at_fork(after_in_child=lambda: atexit.unregister(_c.leave_python))
    from ._experts import Experts
    from ._fused import AllReduceNorm, Quantized
    from ._process_group import create_backend, rendezvous_of_job
    from . import _symm_mem
    _symm_mem.register()
