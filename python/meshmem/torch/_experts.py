# SPDX-License-Identifier: Apache-2.0
"""Expert parallelism: tokens travel to the experts that they have chosen, and the results back.
docs/experts.md is for users."""
from __future__ import annotations

import typing

import torch
from torch.autograd.graph import increment_version

from . import _c
from ._team_object import Team, TeamObject


class Experts(TeamObject):
    """Sends each token of a mixture of experts to the PEs of its experts, and adds up the results.

    All PEs of the job make it and close it together, since it takes symmetric memory. The experts
    are spread over a team, or over the ranks of a process group; other PEs pass None. `hidden` is
    the length of a token, `top_k` the number of its choices, `experts` that of all experts, and
    `max_tokens` the most tokens of a PE. With a `capacity` an expert takes that many rows, and
    drops the others. Results and sums have `result_dtype`: by default dtype, and bfloat16 for
    float8_e4m3fn.

    plan, dispatch and combine are collectives of the team on the current stream; a CUDA graph can
    capture them. With CPU tensors they have ended when they return. They have no gradients, so
    tensors that require one are errors, except under torch.no_grad(). All tensors are contiguous,
    and on the experts' device. Wrong ones raise TypeError or ValueError, and a call in a wrong
    order RuntimeError, on this PE alone.

    These tensors are the memory itself, which every round uses:

    rows: [max_rows, hidden], the tokens that have come, expert by expert.
    row_scales: [max_rows, scales of a token], of tokens of float8_e4m3fn.
    results: [max_rows, hidden], a place for what the experts make of their rows.
    counts, offsets: expert first_expert + i has counts[i] rows from row offsets[i] on. The last
        offset is behind all rows.
    dropped: [1], how many choices of this PE's tokens found no room.
    status: [1], becomes 1 by an index that is no expert. Only the program clears it.
    """

    rows: torch.Tensor
    row_scales: torch.Tensor
    results: torch.Tensor
    counts: torch.Tensor
    offsets: torch.Tensor
    dropped: torch.Tensor
    status: torch.Tensor
    first_expert: int

    def __init__(self, team: Team, *, hidden: int, top_k: int, experts: int, max_tokens: int,
                 dtype: torch.dtype = torch.bfloat16,
                 result_dtype: typing.Optional[torch.dtype] = None, capacity: int = 0,
                 max_blocks: int = 0) -> None:
        pes = self._pes_of(team)
        self._handle = _c.Experts(pes, dtype, result_dtype, hidden, top_k, experts, max_tokens,
                                  capacity, max_blocks)
        for name in Experts.__annotations__ if pes else ():
            setattr(self, name, getattr(self._handle, name)())

    def plan(self, indices: torch.Tensor) -> None:
        """Begins a round: finds out where rows go, and sets counts, offsets and dropped.

        indices: [tokens, top_k] of int32, or of int64, which costs a copy. Each is an expert, or -1
        for nobody. PEs may have different numbers of tokens, or none.
        """
        self._handle.plan(indices)
        increment_version((self.counts, self.offsets, self.dropped))

    def dispatch(self, tokens: torch.Tensor, scales: typing.Optional[torch.Tensor] = None
                 ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Sends the tokens of the last plan. Returns rows, counts and offsets of this PE's experts.

        tokens: [tokens, hidden] of dtype. scales: only with float8_e4m3fn, [tokens, hidden / 128]
        of float32, rounded up; row_scales gets them. The rows stay until the next call. Another
        dispatch needs a plan, or a combine of other results than rows, before it.
        """
        self._handle.dispatch(tokens, scales)
        increment_version((self.rows, self.row_scales))
        return self.rows, self.counts, self.offsets

    def combine(self, weights: torch.Tensor, out: typing.Optional[torch.Tensor] = None,
                results: typing.Optional[torch.Tensor] = None) -> torch.Tensor:
        """Returns the sums of weight * result over each token's choices, [tokens, hidden] of
        result_dtype, in out if it is given.

        weights: [tokens, top_k] of float32. results: the tensor of this name, rows, or a tensor of
        its shape over a symmetric array, as meshmem.zeros makes it, at the same place on all PEs.
        Memory of symm_mem.empty has another place on each PE. It must not change before the next
        plan or dispatch.
        """
        sums: torch.Tensor = self._handle.combine(weights, out, results)
        increment_version(sums)
        return sums

    def close(self) -> None:
        """Frees the memory, after the calls on streams, and removes its tensors. Collective of all
        PEs. No copy of the tensors and no graph may be in use any more. After meshmem.finalize()
        there is nothing to free."""
        super().close()
        for name in Experts.__annotations__:
            self.__dict__.pop(name, None)
