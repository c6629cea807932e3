# SPDX-License-Identifier: Apache-2.0
"""Fused and quantized collectives. docs/pytorch.md and docs/fused_collectives.md are for users."""
from __future__ import annotations

import typing

import torch
from torch.autograd.graph import increment_version

from . import _c, _compiled
from ._team_object import Team, TeamObject

Wire = typing.Literal["int8", "e4m3", "e5m2"]


def _require(kind: type, **arguments: typing.Any) -> None:
    for name, value in arguments.items():
        if not isinstance(value, kind):
            raise TypeError(f"{name}: {type(value).__name__} is no {kind.__name__}")


class _Fused(TeamObject):
    def __init__(self, of_module: typing.Any, team: Team, stage_bytes: int) -> None:
        _require(int, stage_bytes=stage_bytes)
        pes = self._pes_of(team)
        library = str(_compiled.companion("libmeshmem_fused.so"))
        self._handle = of_module(pes, stage_bytes, library)


class AllReduceNorm(_Fused):
    """All-reduce, residual addition and RMSNorm of rows, in one kernel.

    All PEs of the job make it and close it together, since it takes symmetric memory of the device:
    twice `stage_bytes`, which is the same on all PEs. A call is a collective of a team, or of the
    ranks of a process group, whose devices reach each other; other PEs pass None. It is on the
    current stream, and a CUDA graph can capture it. With CPU tensors it has ended when it returns.
    It has no gradient, so tensors that require one are errors, except under torch.no_grad(). All
    PEs of the team give the same shapes and dtype, or they wait for ever. Wrong tensors raise
    TypeError, ValueError or RuntimeError on this PE alone, before anything is sent.
    """

    def __init__(self, team: Team, *, stage_bytes: int = 16 << 20) -> None:
        super().__init__(_c.AllReduceNorm, team, stage_bytes)

    def __call__(self, x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float, *,
                 out: typing.Optional[tuple[torch.Tensor, torch.Tensor]] = None
                 ) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns (y, new_residual), which are the tensors of out if it is given:

        new_residual = residual + the sum of x over the PEs
        y = new_residual / sqrt(mean of new_residual^2 of the row + eps) * weight

        x: [..., hidden] of float16 or bfloat16, with hidden a multiple of 8 up to 16,384. residual
        is of the same shape, and weight of [hidden]; these two and eps are the same on all PEs. All
        are contiguous and aligned to 16 bytes. Sums are in float, and rounded once. out may be
        (x, residual). All PEs get the same bits.
        """
        y_out, residual_out = (x, x) if out is None else out
        _require(torch.Tensor, x=x, residual=residual, weight=weight, y=y_out,
                 new_residual=residual_out)
        y, new_residual = self._handle.execute(x, residual, weight, float(eps), out)
        increment_version((y, new_residual))
        return y, new_residual


class Quantized(_Fused):
    """Collectives whose data travels as numbers of 8 bits, with a scale for each 128 elements.

    It is made and closed as an AllReduceNorm, and its calls have the same rules, also for `wire`.
    Tensors are contiguous, of float32, float16 or bfloat16. `wire` is "int8", "e4m3" or "e5m2":
    docs/fused_collectives.md has the bounds of their errors. Sums are in float, in the order of
    PEs, and rounded once. All PEs get the same bits. A block with an infinity or a NaN arrives as
    NaNs only.
    """

    def __init__(self, team: Team, *, stage_bytes: int = 64 << 20) -> None:
        super().__init__(_c.Quantized, team, stage_bytes)

    def all_reduce(self, tensor: torch.Tensor, wire: Wire, *,
                   out: typing.Optional[torch.Tensor] = None) -> torch.Tensor:
        """Returns the sum of the PEs' tensors, in out if it is given. out may be tensor."""
        return self._run(self._handle.all_reduce, tensor, wire, out)

    def reduce_scatter(self, tensor: torch.Tensor, wire: Wire, *,
                       out: typing.Optional[torch.Tensor] = None) -> torch.Tensor:
        """Returns this PE's share of the sum, in out if it is given. The first dimension is divided
        by the number of PEs. out may be this PE's share of tensor."""
        return self._run(self._handle.reduce_scatter, tensor, wire, out)

    def all_gather(self, tensor: torch.Tensor, wire: Wire, *,
                   out: typing.Optional[torch.Tensor] = None) -> torch.Tensor:
        """Returns the tensors of all PEs along the first dimension, in out if it is given. tensor
        may be this PE's share of out."""
        return self._run(self._handle.all_gather, tensor, wire, out)

    @staticmethod
    def _run(call: typing.Any, tensor: torch.Tensor, wire: str,
             out: typing.Optional[torch.Tensor]) -> torch.Tensor:
        _require(torch.Tensor, tensor=tensor, out=tensor if out is None else out)
        _require(str, wire=wire)
        result: torch.Tensor = call(tensor, wire, out)
        increment_version(result)
        return result
