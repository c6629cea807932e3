# SPDX-License-Identifier: Apache-2.0
"""OpenSHMEM 1.6 for Python, by meshmem.

A job has many processes, called PEs. An Array has a part of the same shape and dtype on each PE,
and every PE can put into the others' parts and get from them. docs/python.md is the tutorial.
Sections in docstrings, as (9.6), are those of the OpenSHMEM 1.6 standard. Shapes and indices count
elements.
"""
from __future__ import annotations

import operator
import threading
import typing
from collections.abc import Sequence

import numpy as np
from numpy.typing import DTypeLike

from . import _core, _endings
from ._core import (MALLOC_ATOMICS_REMOTE, MALLOC_SIGNAL_REMOTE, TEAM_SHARED, TEAM_WORLD, Array,
                    Context, Team, barrier_all, fence, finalize, is_accessible, is_initialized,
                    my_pe, n_pes, name, pcontrol, pe_quiet, query_thread, quiet, sync_all,
                    unique_id, version)
from ._endings import global_exit

__all__ = ["MALLOC_ATOMICS_REMOTE", "MALLOC_SIGNAL_REMOTE", "TEAM_SHARED", "TEAM_WORLD", "Array",
           "Context", "Lock", "Team", "barrier_all", "empty", "fence", "finalize", "full",
           "global_exit", "init", "is_accessible", "is_initialized", "located_dtype", "my_pe",
           "n_pes", "name", "pcontrol", "pe_quiet", "query_thread", "quiet", "realloc", "sync_all",
           "unique_id", "version", "zeros"]

Shape = typing.Union[int, Sequence[int]]


def init(*, rank: typing.Optional[int] = None, n_pes: typing.Optional[int] = None,
         unique_id: typing.Optional[bytes] = None) -> None:
    """Starts the library (9.1, shmem_init_thread). Collective. All threads may call it afterwards.

    Processes that no launcher has started give all three arguments (shmemx_init_attr): their number
    in the job, the number of PEs, and the bytes that unique_id() has returned in one process.

    From then on an uncaught exception of the main thread ends the job, and so does Ctrl-C in a call
    that waits. The end of the program with status 0 calls finalize.
    """
    if unique_id is None and rank is None and n_pes is None:
        _core.init(0, 1, None)
    elif unique_id is None or rank is None or n_pes is None:
        raise TypeError("meshmem.init: give rank, n_pes and unique_id, or none of them")
    else:
        _core.init(rank, n_pes, unique_id)
    _endings.install()


def _numbers(shape: Shape) -> Sequence[int]:
    try:
        return [operator.index(typing.cast(int, shape))]
    except TypeError:
        return list(typing.cast(Sequence[int], shape))


def _allocate(shape: Shape, dtype: DTypeLike, is_cleared: bool, align: int, hints: int,
              device: str) -> Array:
    if device not in ("cpu", "gpu"):
        raise ValueError(f"device: {device!r} is neither 'cpu' nor 'gpu'")
    return _core.allocate(_numbers(shape), _sample(dtype), is_cleared, align, hints,
                          device == "gpu")


def _sample(dtype: DTypeLike) -> np.ndarray[typing.Any, typing.Any]:
    """Two elements. TypeError unless Python's buffer protocol describes them and only them."""
    sample = np.zeros(2, dtype)
    again: typing.Optional[np.dtype[typing.Any]] = None
    try:
        again = np.asarray(sample.data).dtype
    except (RuntimeError, ValueError):
        pass
    if again != sample.dtype or sample.dtype.hasobject or sample.ndim > 1 or not sample.itemsize:
        raise TypeError(f"dtype: {np.dtype(dtype)} cannot be symmetric: it has objects, dates, "
                        "subarrays, no bytes, or a struct's unused bytes at its end")
    return sample


def zeros(shape: Shape, dtype: DTypeLike = float, *, align: int = 0, hints: int = 0,
          device: str = "cpu") -> Array:
    """A symmetric array of zeros (9.3, shmem_calloc). Collective, with the same arguments.

    align: a power of two, in bytes. hints: MALLOC_ATOMICS_REMOTE, MALLOC_SIGNAL_REMOTE or both.
    device: "cpu", or "gpu" for the memory of each PE's GPU. Raises MemoryError on all PEs if the
    heap is full, or if a PE has no GPU.
    """
    return _allocate(shape, dtype, True, align, hints, device)


def empty(shape: Shape, dtype: DTypeLike = float, *, align: int = 0, hints: int = 0,
          device: str = "cpu") -> Array:
    """As zeros, but the values are anything (9.3, shmem_align, shmem_malloc_with_hints)."""
    return _allocate(shape, dtype, False, align, hints, device)


def full(shape: Shape, value: typing.Any, dtype: typing.Optional[DTypeLike] = None, *,
         align: int = 0, hints: int = 0, device: str = "cpu") -> Array:
    """As zeros, but all elements are value. Without dtype, NumPy's for the value."""
    array = empty(shape, np.asarray(value).dtype if dtype is None else dtype, align=align,
                  hints=hints, device=device)
    array.put(my_pe(), np.full(array.shape, value, array.dtype))
    barrier_all()
    return array


def realloc(array: Array, shape: Shape) -> Array:
    """An array of another shape that replaces this one (9.3, shmem_realloc). Collective.

    Its elements are the array's, in their order, as far as there is room; more elements may have
    any values. The array and its views end, as by free(). The new one has the default alignment.

    If the heap is full, raises MemoryError on all PEs, and the array stays. BufferError, as of
    free(), is this PE's alone: the others wait until it calls realloc again.
    """
    return _core.reallocate(array, _numbers(shape))


def located_dtype(dtype: DTypeLike) -> np.dtype[typing.Any]:
    """The dtype of Team.maxloc and Team.minloc: fields value and index, of the same size.

    dtype: float32, float64, or an integer of 4 or 8 bytes.
    """
    value = np.dtype(dtype)
    if value.kind not in "fiu" or value.itemsize not in (4, 8):
        raise TypeError(f"dtype: maxloc has no routine for {value}")
    return np.dtype([("value", f"{value.kind}{value.itemsize}"), ("index", f"i{value.itemsize}")])


class Lock:
    """A lock that one PE has at a time (9.13). Collective to make and to free.

    `with lock:` acquires and releases it. It belongs to a PE, not to a thread: RuntimeError if a PE
    acquires it twice, or releases a lock that it does not have.
    """

    def __init__(self) -> None:
        self._word = zeros(1, np.int64)
        self._is_asked_for = threading.Lock()  # a thread of this PE has it or waits for it
        self._is_mine = False

    def acquire(self, blocking: bool = True) -> bool:
        """Waits for the lock; PEs get it in the order in which they ask (9.13, shmem_set_lock).

        With blocking=False returns whether it got the lock, without a wait (shmem_test_lock).
        """
        if not self._is_asked_for.acquire(blocking=False):
            raise RuntimeError("lock: this PE has it already, or another thread waits for it")
        try:
            if blocking:
                _core.set_lock(self._word)
            self._is_mine = blocking or _core.test_lock(self._word)
        finally:
            if not self._is_mine:
                self._is_asked_for.release()
        return self._is_mine

    def release(self) -> None:
        """Completes this PE's earlier updates and gives the lock back (9.13, shmem_clear_lock)."""
        if not self._is_mine:
            raise RuntimeError("lock: this PE does not have it")
        self._is_mine = False
        _core.clear_lock(self._word)
        self._is_asked_for.release()

    def free(self) -> None:
        """Releases the memory. Collective."""
        self._word.free()

    def __enter__(self) -> Lock:
        self.acquire()
        return self

    def __exit__(self, *error: object) -> None:
        self.release()
