# SPDX-License-Identifier: Apache-2.0
"""Tells PyTorch that there is a backend "meshmem". `import torch` runs register() by the entry
point of this package, so nothing of meshmem is loaded until a program asks for the backend."""
from __future__ import annotations

import importlib
import os
import typing

LAUNCHER = ("PMIX_RANK", "PMI_RANK")  # what oshrun, srun and mpirun set


def _create(options: typing.Any, backend_options: typing.Any) -> typing.Any:
    from meshmem.torch import create_backend
    return create_backend(options, backend_options)


def _wrap_env_rendezvous(handlers: dict[str, typing.Any]) -> None:
    """Under a launcher of meshmem nothing sets RANK and MASTER_ADDR. Where env:// would fail for
    that, the job itself knows the ranks."""
    before = handlers["env"]

    def rendezvous(url: str, *arguments: typing.Any, **options: typing.Any) -> typing.Any:
        is_told = any(name in os.environ for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR"))
        if is_told or "rank=" in url or not any(name in os.environ for name in LAUNCHER):
            return before(url, *arguments, **options)
        from meshmem.torch import rendezvous_of_job
        return rendezvous_of_job(*arguments, **options)

    handlers["env"] = rendezvous


def _load_at_set_backend() -> None:
    """symm_mem.set_backend("MESHMEM") loads the package, which makes the backend known to torch."""
    from torch._C import _distributed_c10d
    memory: typing.Any = getattr(_distributed_c10d, "_SymmetricMemory", None)
    before = getattr(memory, "set_backend", None)
    if before is None:
        return

    def set_backend(name: str) -> None:
        if name == "MESHMEM":
            import meshmem.torch
        before(name)

    memory.set_backend = staticmethod(set_backend)


def register() -> None:
    """Registers the backend for tensors of processors and of CUDA. The second time does nothing."""
    import torch.distributed as dist
    if not dist.is_available() or "MESHMEM" in dist.Backend._plugins:
        return
    dist.Backend.register_backend("meshmem", _create, extended_api=True, devices=["cpu", "cuda"])
    module = importlib.import_module("torch.distributed.rendezvous")
    _wrap_env_rendezvous(module._rendezvous_handlers)
    _load_at_set_backend()
