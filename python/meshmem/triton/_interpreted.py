# SPDX-License-Identifier: Apache-2.0
"""Used only while Triton interprets kernels: checks of addresses, and MESHMEM_CHECK=races
for what kernels load and store.

The interpreter executes the programs of a grid one after the other. Its loads, stores and atomics
are the processor's, on raw addresses, also of memory of other PEs.
"""
from __future__ import annotations

import ctypes
import os
import pathlib
import sys
import time
import typing

import numpy as np
import triton
from triton.runtime import interpreter

import meshmem

from ._tensor import NDArray

PACKAGES = tuple(str(pathlib.Path(name).parent) + os.sep for name in (__file__, triton.__file__))
regions: dict[int, tuple[int, int, int]] = {}  # by the table's address: own memory and n_pes


def _addresses(pointers: typing.Any, mask: typing.Any) -> NDArray:
    addresses: NDArray = np.atleast_1d(pointers.handle.data).astype(np.uint64)
    mask = getattr(mask, "value", mask)  # of a constexpr
    if mask is None:
        return addresses.ravel()
    mask = mask.handle.data if hasattr(mask, "handle") else np.array(mask)
    is_used = np.broadcast_to(mask, addresses.shape)
    used: NDArray = addresses[is_used.astype(bool)]
    return used.ravel()


def check_peer(ptr: typing.Any, me: typing.Any, pe: typing.Any, bases: typing.Any,
               mask: typing.Any) -> None:
    """ValueError that names the argument, if the access would not reach PE pe's memory."""
    if bases.handle.data.item() not in regions:
        raise ValueError("bases: not the table of a context")
    begin, n_bytes, n_pes = regions[bases.handle.data.item()]
    for name, number in (("me", me), ("pe", pe)):
        number = int(number.handle.data.item()) if hasattr(number, "handle") else int(number)
        if not 0 <= number < n_pes:
            raise ValueError(f"{name}: {number} is not in 0..{n_pes - 1}")
    addresses = _addresses(ptr, mask)
    is_outside = (addresses < begin) | (addresses >= begin + n_bytes)
    if is_outside.any():
        raise ValueError(f"ptr: {int(addresses[is_outside][0]):#x} is not in the memory of the "
                         "context, so other PEs have no such place")


limit_of_waits = float(os.environ.get("MESHMEM_TIMEOUT") or 0)
begin_of_wait: typing.Optional[float] = None


def pause(flag: typing.Any, goes_on: typing.Any) -> None:
    """Between two polls. The processor is for those that do not wait."""
    global begin_of_wait
    if not goes_on:
        begin_of_wait = None
        return
    if begin_of_wait is None:
        begin_of_wait = time.monotonic()
    elif limit_of_waits and time.monotonic() - begin_of_wait > limit_of_waits:
        begin_of_wait = None
        raise TimeoutError(f"flag: not as waited for within {limit_of_waits:g} s; the limit is "
                           "MESHMEM_TIMEOUT")
    time.sleep(5e-5)


# ---- MESHMEM_CHECK=races

LOAD, STORE, ATOMIC = 0, 1, 4  # AccessKind of src/base/hooks/access_hooks.hpp
places: dict[tuple[str, int], bytes] = {}


def _place() -> bytes:
    """The line of the program that is interpreted; the same object each time."""
    frame: typing.Any = sys._getframe(1)
    while frame and (frame.f_code.co_filename.startswith(PACKAGES)
                     or frame.f_code.co_filename.startswith("<")):
        frame = frame.f_back
    if not frame:
        return places.setdefault(("", 0), b"an unknown place")
    name, line = frame.f_code.co_filename, frame.f_lineno
    text = f"{frame.f_code.co_name} at {os.path.basename(name)}:{line}"
    return places.setdefault((name, line), text.encode())


def _pieces(pointers: typing.Any, mask: typing.Any) -> typing.Iterator[tuple[int, int]]:
    """(address, bytes) of memory that is contiguous."""
    is_used = np.broadcast_to(mask.data, pointers.data.shape).astype(bool)
    addresses = np.unique(pointers.data[is_used])
    size = max(1, pointers.get_element_ty().primitive_bitwidth // 8)
    for piece in np.split(addresses, np.flatnonzero(np.diff(addresses) != size) + 1):
        if piece.size:
            yield int(piece[0]), int(piece.size) * size


def _library() -> ctypes.CDLL:
    """libmeshmem_accesses.so, which is beside libmeshmem.so."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        loaded = next(line.split(maxsplit=5)[5].strip() for line in maps
                      if "/libmeshmem.so" in line)
    found = sorted(pathlib.Path(loaded).parent.glob("libmeshmem_accesses.so*"))
    if not found:
        raise ImportError("meshmem.triton: MESHMEM_CHECK=races needs libmeshmem_accesses.so beside "
                          f"{loaded}")
    return ctypes.CDLL(str(found[0]), mode=ctypes.RTLD_GLOBAL)


def watch_races() -> None:
    """Tells the check of accesses from now on. Before the library's start."""
    if meshmem.is_initialized():
        raise RuntimeError("meshmem.triton: under MESHMEM_CHECK=races import it before "
                           "meshmem.init()")
    library = _library()
    builder = interpreter.InterpreterBuilder
    note_access, note_seen = library.meshmem_note_access, library.meshmem_note_seen
    note_access.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_char_p]
    note_seen.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    note_access.restype = note_seen.restype = None
    system = interpreter._ir.MEM_SYNC_SCOPE.SYSTEM
    load, store = builder.create_masked_load, builder.create_masked_store
    rmw, cas = builder.create_atomic_rmw, builder.create_atomic_cas

    def note(pointers: typing.Any, mask: typing.Any, kind: int) -> None:
        for address, n_bytes in _pieces(pointers, mask):
            note_access(address, n_bytes, kind, _place())

    def masked_load(self: typing.Any, ptrs: typing.Any, mask: typing.Any, other: typing.Any,
                    *rest: typing.Any, **named: typing.Any) -> typing.Any:
        if not named.get("is_volatile", rest and rest[-1]):
            note(ptrs, mask, LOAD)
        return load(self, ptrs, mask, other, *rest, **named)

    def masked_store(self: typing.Any, ptrs: typing.Any, value: typing.Any, mask: typing.Any,
                     *rest: typing.Any) -> typing.Any:
        note(ptrs, mask, STORE)
        return store(self, ptrs, value, mask, *rest)

    def atomic(run: typing.Callable[[], typing.Any], ptrs: typing.Any, mask: typing.Any,
               writes: bool, sem: typing.Any, scope: typing.Any) -> typing.Any:
        """Only what orders is told of: a relaxed atomic, or one of the own GPU, tells other PEs
        nothing of what was before."""
        orders = sem.name if scope == system else "RELAXED"
        if writes and orders in ("RELEASE", "ACQUIRE_RELEASE"):
            note(ptrs, mask, ATOMIC)
        result = run()
        if orders in ("ACQUIRE", "ACQUIRE_RELEASE"):
            for address, n_bytes in _pieces(ptrs, mask):
                note_seen(address, n_bytes)
        return result

    def atomic_rmw(self: typing.Any, op: typing.Any, ptr: typing.Any, value: typing.Any,
                   mask: typing.Any, sem: typing.Any, scope: typing.Any) -> typing.Any:
        adds_nothing = op == interpreter._ir.ATOMIC_OP.ADD and not value.data.any()
        return atomic(lambda: rmw(self, op, ptr, value, mask, sem, scope), ptr, mask,
                      not adds_nothing, sem, scope)

    def atomic_cas(self: typing.Any, ptr: typing.Any, compare: typing.Any, value: typing.Any,
                   sem: typing.Any, scope: typing.Any) -> typing.Any:
        everywhere = interpreter.TensorHandle(np.ones_like(ptr.data, dtype=bool),
                                              triton.language.int1)
        return atomic(lambda: cas(self, ptr, compare, value, sem, scope), ptr, everywhere,
                      bool((compare.data != value.data).any()), sem, scope)

    for name, function in (("create_masked_load", masked_load), ("create_atomic_cas", atomic_cas),
                           ("create_masked_store", masked_store),
                           ("create_atomic_rmw", atomic_rmw)):
        setattr(builder, name, function)


def _accept_new_numpy() -> None:
    """Since NumPy 2.4 int() refuses the arrays of one element that Triton 3.6 has for numbers. So
    range() in a kernel would take only constants."""
    patch = interpreter._patch_lang_tensor

    def patch_more(tensor: typing.Any, scope: typing.Any) -> None:
        patch(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda number: int(number.handle.data.item()))

    interpreter._patch_lang_tensor = patch_more


_accept_new_numpy()
if "races" in os.environ.get("MESHMEM_CHECK", ""):
    watch_races()
