# SPDX-License-Identifier: Apache-2.0
"""The base of Experts, AllReduceNorm and Quantized: all PEs of the job make and close them
together, and the PEs of a team call them."""
from __future__ import annotations

import typing

import torch.distributed as dist

import meshmem
from meshmem import _core

from . import _symm_mem

Team = typing.Union[meshmem.Team, dist.ProcessGroup, None]
Self = typing.TypeVar("Self", bound="TeamObject")


class TeamObject:
    _part: typing.Any  # in C++
    _job: int

    @property
    def _handle(self) -> typing.Any:
        """The part in C++, for a call."""
        if self._job != _core.n_inits():
            raise RuntimeError(f"{type(self).__name__}: made before the latest meshmem.init(); "
                               "make another")
        return self._part

    @_handle.setter
    def _handle(self, part: typing.Any) -> None:
        self._part, self._job = part, _core.n_inits()

    @staticmethod
    def _pes_of(team: typing.Any) -> list[int]:
        """In the world. A group's ranks are PEs. Starts the library if nobody has."""
        if not meshmem.is_initialized():
            _symm_mem._start()
        if team is None or team is dist.GroupMember.NON_GROUP_MEMBER:
            return []
        if isinstance(team, dist.ProcessGroup):
            rank, pe = dist.get_rank(), meshmem.my_pe()
            if rank != pe:
                raise ValueError(f"team: this process is rank {rank}, but PE {pe}")
            return dist.get_process_group_ranks(team)
        if not isinstance(team, meshmem.Team):
            raise TypeError(f"team: {type(team).__name__} is neither a Team nor a ProcessGroup")
        pes = [team.translate_pe(pe, meshmem.TEAM_WORLD) for pe in range(team.n_pes())]
        return [pe for pe in pes if pe is not None]

    def close(self) -> None:
        """Frees the memory, after the calls on streams. Collective of all PEs. No graph that has
        captured a call may be in use any more. After meshmem.finalize() there is nothing to
        free."""
        if not self._part.is_open():
            raise ValueError(f"{type(self).__name__}: closed")
        self._part.close(self._job == _core.n_inits())

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, error: typing.Any, value: typing.Any, traceback: typing.Any) -> None:
        """Closes it. After an error other PEs may not come here, so it stays."""
        if error is None and self._part.is_open():
            self.close()
