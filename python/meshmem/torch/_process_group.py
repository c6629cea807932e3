# SPDX-License-Identifier: Apache-2.0
"""How process groups start: ranks are PEs of the job, and a group is a team of them."""
from __future__ import annotations

import datetime
import socket
import typing
from collections.abc import Iterator

import numpy as np
import torch
import torch.distributed as dist

import meshmem
from meshmem import _core

from . import _c


def _start_job(store: typing.Any, rank: int, size: int) -> None:
    """Makes the processes the PEs of a job. Under a launcher of meshmem's they are that already,
    and it compares. Otherwise they find each other by an id that goes through the store."""
    if rank == 0:
        store.set("meshmem_id", _c.make_unique_id())
    _c.start_by_unique_id(rank, size, bytes(store.get("meshmem_id")))
    meshmem.init()
    _c.end_extra_start()


_first_job: int | None = None


def require_first_job() -> None:
    """Memory of groups and symmetric tensors is kept for later ones, and finalize frees it all."""
    global _first_job
    if _first_job is None:
        _first_job = _core.n_inits()
    if _first_job != _core.n_inits():
        raise RuntimeError("meshmem.torch: a process cannot use PyTorch with meshmem again after "
                           "meshmem.finalize()")


def create_backend(options: typing.Any, backend_options: typing.Any) -> typing.Any:
    """The backend of one group. Called by torch.distributed on each member."""
    rank, size = options.group_rank, options.group_size
    ranks = list(options.global_ranks_in_group) or list(range(size))
    if backend_options is not None:
        raise TypeError("pg_options: the backend meshmem has no options")
    is_whole = ranks == list(range(dist.get_world_size() if dist.is_initialized() else size))
    if not meshmem.is_initialized():
        if not is_whole:
            raise ValueError("ranks: the first group of meshmem must have all ranks in order; call "
                             'init_process_group("meshmem"), or new_group of all ranks before')
        _start_job(options.store, rank, size)
    require_first_job()
    if ranks[rank] != meshmem.my_pe() or is_whole and size != meshmem.n_pes():
        raise ValueError(f"rank: {ranks[rank]} of {size}, but this process is PE "
                         f"{meshmem.my_pe()} of {meshmem.n_pes()}; they must be the same")
    seconds = options.timeout
    if isinstance(seconds, datetime.timedelta):
        seconds = seconds.total_seconds()
    return _c.Backend(rank, ranks, seconds, options.group_id, torch.cuda.is_available())


def rendezvous_of_job(timeout: datetime.timedelta = dist.default_pg_timeout,
                      **_: typing.Any) -> Iterator[tuple[typing.Any, int, int]]:
    """The store of a job that a launcher of meshmem's has started. PE 0 has it."""
    if not meshmem.is_initialized():
        meshmem.init()
    require_first_job()  # on all PEs, before one of them makes the store
    world, me, n = meshmem.TEAM_WORLD, meshmem.my_pe(), meshmem.n_pes()
    is_one_machine = meshmem.TEAM_SHARED.n_pes() == n
    host = "localhost" if is_one_machine else socket.gethostname()
    store, make_store = None, getattr(dist, "TCPStore")
    address = meshmem.zeros((2, 256), np.uint8)  # PE 0's, and where it comes to
    if me == 0:
        store = make_store(host, 0, n, True, timeout, wait_for_workers=False)
        text = f"{host} {store.port}".encode()
        address.local[0, :len(text)] = np.frombuffer(text, np.uint8)
    world.broadcast(address[1], address[0], 0)
    host, port = address.local[1].tobytes().rstrip(b"\0").decode().split()
    address.free()
    if store is None:
        store = make_store(host, int(port), n, False, timeout)
    yield store, me, n
    raise RuntimeError("meshmem.torch: a job cannot rendezvous again")
