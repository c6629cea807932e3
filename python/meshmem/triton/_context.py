# SPDX-License-Identifier: Apache-2.0
"""The host's side: symmetric memory that kernels take, and the table by which they reach the other
PEs' parts of it.

Invariant: a context's memory is one allocation on the symmetric heap, or on the device heap, so one
table of int64 is enough for all its tensors. PEs that ask for the same tensors in the same order
get the same offsets.
"""
from __future__ import annotations

import ctypes
import math
import statistics
import time
import typing

import numpy as np
from triton import knobs

import meshmem
from meshmem import _core

from ._tensor import NDArray, Tensor

try:
    import torch
except ModuleNotFoundError:
    torch = None

ALIGNMENT = 256
HOST = 1  # DLPack's kDLCPU

_library = ctypes.CDLL(_core.__file__)
_library.shmem_ptr.restype = ctypes.c_void_p
_library.shmem_ptr.argtypes = [ctypes.c_void_p, ctypes.c_int]


def _as_tensor(values: NDArray) -> typing.Any:
    """Of the same memory."""
    return torch.from_numpy(values) if torch else Tensor(values)


class _DeviceBytes:
    """Memory that torch takes by CUDA's array interface, which HIP has too."""

    def __init__(self, address: int, n_bytes: int) -> None:
        self.__cuda_array_interface__ = {"shape": (n_bytes,), "typestr": "|u1", "version": 3,
                                         "data": (address, False)}


class Context:
    """Symmetric tensors for kernels. All PEs of the job make it, each with its team, and close it.

    Its tensors are torch's if torch is installed. Otherwise they are of a class of this package,
    with the few methods of torch's that programs here use. A method that fills a new tensor is
    collective: it ends with a barrier, so no PE stores into the tensor before it has its values.
    """

    def __init__(self, heap_size: int = 1 << 30,
                 team: typing.Optional[meshmem.Team] = None) -> None:
        if not meshmem.is_initialized():
            meshmem.init()
        self.team = team or meshmem.TEAM_WORLD
        self.me, self.n_pes = self.team.my_pe(), self.team.n_pes()
        self._used, self._size = 0, -(-heap_size // ALIGNMENT) * ALIGNMENT
        self._allocate(knobs.runtime.interpret)
        self._broadcast = [meshmem.zeros(2, np.int64) for _ in range(2)]
        # Only some PEs may raise an exception here, so what is collective comes before.
        self._addresses = [self._address_at(pe) for pe in range(self.n_pes)]
        self.bases = _as_tensor(np.array(self._addresses, np.int64))
        if self._device:
            self.bases = self.bases.to(self._device)
        else:
            from . import _interpreted  # which changes Triton
            region = (self._address, self._size, self.n_pes)
            _interpreted.regions[self.bases.data_ptr()] = region

    def _allocate(self, on_host: bool) -> None:
        if not (torch or on_host):
            raise ModuleNotFoundError("meshmem.triton on a GPU needs torch; TRITON_INTERPRET=1 "
                                      "does not")
        self._array = meshmem.empty(self._size, np.uint8, align=4096,
                                    device="cpu" if on_host else "gpu")
        self._device: typing.Any = None  # of torch; None: the host
        if on_host:
            self._bytes: typing.Any = _as_tensor(self._array.local)
            self._address = self._bytes.data_ptr()
            return
        kind, number = self._array.__dlpack_device__()
        if kind == HOST:
            raise RuntimeError("meshmem has no GPU here; TRITON_INTERPRET=1 needs none")
        self._device = torch.device("cuda", number)
        self._address = self._array.__cuda_array_interface__["data"][0]
        self._bytes = self._on_device(self._address, self._size)
        torch.cuda.set_device(self._device)

    def _on_device(self, address: int, n_bytes: int) -> typing.Any:
        """The memory as a tensor. torch does not ask the driver for the device, so it is told."""
        return torch.as_tensor(_DeviceBytes(address, n_bytes), device=self._device)

    def _address_at(self, pe: int) -> int:
        world = self.team.translate_pe(pe, meshmem.TEAM_WORLD)
        address = _library.shmem_ptr(self._address, world)
        if not address:
            raise ValueError(f"team: kernels do not reach the memory of PE {world}, which is on "
                             "another machine or GPU; TEAM_SHARED has the PEs of this machine")
        return int(address)

    def close(self) -> None:
        """Frees the memory. Collective; no tensor may be in use any more."""
        self.barrier()
        self._bytes = None
        self._array.free()
        for array in self._broadcast:
            array.free()
        if not self._device:
            from . import _interpreted
            del _interpreted.regions[self.bases.data_ptr()]

    # ---- Tensors

    def _dtype(self, dtype: typing.Any) -> typing.Any:
        if torch and isinstance(dtype, torch.dtype):
            return dtype
        try:
            found = np.dtype("float32" if dtype is None else dtype)
            if found.kind not in "biuf" or found.itemsize > 8:
                raise TypeError
            return getattr(torch, found.name) if torch else found
        except (TypeError, AttributeError):
            raise TypeError(f"dtype: Triton has no {dtype}") from None

    def empty(self, *size: typing.Any, dtype: typing.Any = "float32",
              device: typing.Any = None) -> typing.Any:
        """A tensor whose values are anything. Raises MemoryError if the context's memory is used
        up. device is not looked at: it is the context's."""
        if len(size) == 1 and isinstance(size[0], (tuple, list)):
            size = tuple(size[0])
        dtype = self._dtype(dtype)
        n_bytes = math.prod(size) * dtype.itemsize
        if any(n < 0 for n in size):
            raise ValueError(f"size: a negative number in {size}")
        if self._used + n_bytes > self._size:
            raise MemoryError(f"size: {n_bytes} bytes do not fit; {self._used} of the context's "
                              f"{self._size} bytes (heap_size) are used")
        made = self._bytes[self._used:self._used + n_bytes].view(dtype).reshape(size)
        self._used += -(-n_bytes // ALIGNMENT) * ALIGNMENT
        return made

    def _filled(self, values: typing.Any, size: typing.Any, **options: typing.Any) -> typing.Any:
        made = self.empty(*size, **options)
        if isinstance(values, (bool, int, float)):
            made.fill_(values)  # a tensor of it would be float32
        else:
            made.copy_(torch.as_tensor(values) if torch else values)
        self.barrier()
        return made

    def zeros(self, *size: typing.Any, **options: typing.Any) -> typing.Any:
        return self._filled(0, size, **options)

    def ones(self, *size: typing.Any, **options: typing.Any) -> typing.Any:
        return self._filled(1, size, **options)

    def full(self, size: typing.Any, fill_value: typing.Any, **options: typing.Any) -> typing.Any:
        return self._filled(fill_value, (size,), **options)

    def tensor(self, values: typing.Any, dtype: typing.Any = None,
               **options: typing.Any) -> typing.Any:
        """A symmetric copy of an array, a list or a tensor."""
        if not (torch and isinstance(values, torch.Tensor)):
            values = np.asarray(values)
        return self._filled(values, (tuple(values.shape),),
                            dtype=values.dtype if dtype is None else dtype, **options)

    def zeros_like(self, tensor: typing.Any, **options: typing.Any) -> typing.Any:
        return self.zeros(tuple(tensor.shape), **{"dtype": tensor.dtype, **options})

    def arange(self, start: typing.Any = 0, end: typing.Any = None, step: typing.Any = 1, *,
               dtype: typing.Any = None, **options: typing.Any) -> typing.Any:
        if end is None:
            start, end = 0, start
        return self.tensor(np.arange(start, end, step), dtype, **options)

    def randn(self, *size: typing.Any, generator: typing.Any = None,
              **options: typing.Any) -> typing.Any:
        """Normal numbers of torch's or NumPy's generator, so others on each PE unless seeded."""
        shape = size[0] if isinstance(size[0], (tuple, list)) else size
        return self._filled(torch.randn(*shape, generator=generator) if torch
                            else np.random.standard_normal(shape), size, **options)

    # ---- Other PEs

    def at(self, tensor: typing.Any, pe: int) -> typing.Any:
        """A copy of the same tensor of PE pe. It does not wait for kernels."""
        if not 0 <= pe < self.n_pes:
            raise ValueError(f"pe: {pe} is not in 0..{self.n_pes - 1}")
        if not tensor.is_contiguous():
            raise ValueError("tensor: it is not contiguous")
        n_bytes, offset = tensor.numel() * tensor.element_size(), tensor.data_ptr() - self._address
        if n_bytes and not 0 <= offset <= self._size - n_bytes:
            raise ValueError("tensor: not symmetric, since this context has not made it")
        address = self._addresses[pe] + (offset if n_bytes else 0)  # an empty tensor may have none
        if self._device:
            there = self._on_device(address, n_bytes).clone()
        else:
            there = _as_tensor(np.frombuffer(bytearray(ctypes.string_at(address, n_bytes)), "u1"))
        return there.view(tensor.dtype).reshape(tuple(tensor.shape))

    def barrier(self) -> None:
        """Waits for this PE's kernels, and then for the team. After it the kernels' stores have
        arrived."""
        if self._device:
            torch.cuda.synchronize(self._device)
        if self.team is meshmem.TEAM_WORLD:
            meshmem.barrier_all()
        else:
            meshmem.quiet()
            self.team.sync()

    def broadcast(self, source_rank: int, value: typing.Any) -> typing.Any:
        """PE source_rank's value, a number. Collective in the team."""
        if not 0 <= source_rank < self.n_pes:
            raise ValueError(f"source_rank: {source_rank} is not in 0..{self.n_pes - 1}")
        dest, source = self._broadcast
        if self.me == source_rank:
            value = value.item() if hasattr(value, "item") else value  # of NumPy or torch
            is_float = isinstance(value, float)
            source.local[:] = is_float, np.float64(value).view(np.int64) if is_float else int(value)
        self.team.broadcast(dest, source, source_rank)
        is_float, bits = dest.local.tolist()
        return float(np.int64(bits).view(np.float64)) if is_float else bits

    # ---- The names of iris

    def get_heap_bases(self) -> typing.Any:
        """The table that kernels take: int64, by the PE's number in the team."""
        return self.bases

    def get_rank(self) -> int:
        return self.me

    def get_num_ranks(self) -> int:
        return self.n_pes

    def get_device(self) -> typing.Any:
        return self._bytes.device if torch else "cpu"

    def get_cu_count(self) -> int:
        """Multiprocessors or compute units; 1 while Triton interprets kernels."""
        if not self._device:
            return 1
        return int(torch.cuda.get_device_properties(self.get_device()).multi_processor_count)

    def deallocate(self, tensor: typing.Any) -> None:
        """Does nothing: close() frees all."""

    def log(self, message: str) -> None:
        print(f"[{self.me}/{self.n_pes}] {message}", flush=True)

    log_stats = log

    def log_debug(self, message: str) -> None:
        pass


def context(heap_size: int = 1 << 30, team: typing.Optional[meshmem.Team] = None) -> Context:
    """A context with heap_size bytes of symmetric memory, which starts the library if nothing has.

    team: whose memory kernels reach; TEAM_WORLD without it.
    """
    return Context(heap_size, team)


def memset_tensor(tensor: typing.Any, value: typing.Any) -> None:
    tensor.fill_(value)


def do_bench(fn: typing.Callable[[], typing.Any],
             barrier_fn: typing.Callable[[], typing.Any] = lambda: None,
             preamble_fn: typing.Callable[[], typing.Any] = lambda: None, n_warmup: int = 25,
             n_repeat: int = 100, quantiles: typing.Optional[typing.Sequence[float]] = None,
             return_mode: str = "mean") -> typing.Any:
    """Milliseconds that fn takes: return_mode is mean, median, min, max or all. Quantiles come as a
    list, or as one number."""
    times = []
    for _ in range(n_warmup + n_repeat):
        barrier_fn()
        preamble_fn()
        barrier_fn()
        times.append(_time_of(fn))
    barrier_fn()
    times = sorted(times[n_warmup:])
    if quantiles:
        found = np.quantile(times, quantiles).tolist()
        return found[0] if len(found) == 1 else found
    modes: dict[str, typing.Any] = {"mean": statistics.mean, "median": statistics.median,
                                    "min": min, "max": max, "all": list}
    return modes[return_mode](times)


def _time_of(fn: typing.Callable[[], typing.Any]) -> float:
    if knobs.runtime.interpret:
        begin = time.perf_counter()
        fn()
        return 1e3 * (time.perf_counter() - begin)
    events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
    events[0].record()
    fn()
    events[1].record()
    events[1].synchronize()
    return float(events[0].elapsed_time(events[1]))
