# SPDX-License-Identifier: Apache-2.0
"""Symmetric memory of PyTorch: torch.distributed._symmetric_memory.set_backend("MESHMEM").

The compiled part has the memory, and the operators for CPU tensors. Here is what torch has in
Python. docs/pytorch_symmetric_memory.md is for users.
"""
from __future__ import annotations

import importlib.util
import typing

import torch
import torch.distributed as dist
from torch.distributed import _functional_collectives, _symmetric_memory

import meshmem

from . import _c

funcol: typing.Any = _functional_collectives
symm_mem: typing.Any = _symmetric_memory
c10d: typing.Any = dist.distributed_c10d
library: typing.Any = torch.library

_operators = library.Library("symm_mem", "IMPL")


def _start() -> None:
    """Called by the first symm_mem.empty if the library was not started."""
    from ._process_group import _start_job, require_first_job
    if dist.is_initialized():
        _start_job(c10d._get_default_store(), dist.get_rank(), dist.get_world_size())
    else:
        meshmem.init()
    require_first_job()


def _low_contention_all_gather(tensor: torch.Tensor, group_name: str) -> typing.Any:
    size = c10d._get_group_size_by_name(group_name)
    return funcol.wait_tensor(torch.ops._c10d_functional.all_gather_into_tensor(
        tensor.contiguous(), size, group_name))


def _low_contention_reduce_scatter(tensor: torch.Tensor, reduce_op: str,
                                   group_name: str) -> typing.Any:
    if reduce_op not in ("sum", "avg"):
        raise ValueError(f'reduce_op: "{reduce_op}" is not supported; only sum and avg')
    size = c10d._get_group_size_by_name(group_name)
    return funcol.wait_tensor(torch.ops._c10d_functional.reduce_scatter_tensor(
        tensor.contiguous(), reduce_op, size, group_name))


def _wrap_signals() -> None:
    """torch's put_signal and wait_signal know the backend NCCL alone."""
    put_before, wait_before = symm_mem.put_signal, symm_mem.wait_signal

    def put_signal(src: torch.Tensor, hdl: typing.Any, peer: int) -> None:
        if symm_mem.get_backend(src.device) != "MESHMEM":
            put_before(src, hdl, peer)
        elif src.is_cpu:
            torch.ops.symm_mem.nccl_put_signal(src, hdl.boxed(), peer)
        else:
            hdl.get_remote_tensor(peer, src.shape, src.dtype).copy_(src)
            hdl.put_signal(peer)

    def wait_signal(hdl: typing.Any, peer: int) -> None:
        if symm_mem.get_backend(hdl.device) != "MESHMEM":
            wait_before(hdl, peer)
        else:
            hdl.wait_signal(peer)

    put_signal.__doc__, wait_signal.__doc__ = put_before.__doc__, wait_before.__doc__
    symm_mem.put_signal, symm_mem.wait_signal = put_signal, wait_signal


def register() -> None:
    """Makes the backend known. CPU tensors have it at once, since torch has no other for them."""
    _c.register_symm_mem(_start)
    for name, function in (
            ("get_remote_tensors", symm_mem._get_remote_tensors_default),
            ("fused_all_gather_matmul", symm_mem._fused_all_gather_matmul_fallback),
            ("fused_all_gather_scaled_matmul", symm_mem._fused_all_gather_scaled_matmul_fallback),
            ("fused_matmul_reduce_scatter", symm_mem._fused_matmul_reduce_scatter_fallback),
            ("fused_scaled_matmul_reduce_scatter",
             symm_mem._fused_scaled_matmul_reduce_scatter_fallback),
            ("_low_contention_all_gather", _low_contention_all_gather),
            ("_low_contention_reduce_scatter", _low_contention_reduce_scatter)):
        _operators.impl(name, function, "CPU")
    _wrap_signals()
    if torch.cuda.is_available() and importlib.util.find_spec("triton"):
        from . import _symm_mem_cuda
        _symm_mem_cuda.register()
