# SPDX-License-Identifier: Apache-2.0
"""Operators of torch.ops.symm_mem for CUDA tensors of meshmem, where torch's code needs NVSHMEM.

All work takes its place on the current stream, and a graph can capture it. The code has no word of
CUDA, so the tests run it on CPU tensors by Triton's interpreter.
"""
from __future__ import annotations

import contextlib
import importlib
import math
import typing
import warnings
from collections.abc import Iterator

import torch
from torch.distributed import _symmetric_memory

triton: typing.Any = importlib.import_module("triton")  # which has no types
tl: typing.Any = importlib.import_module("triton.language")
symm_mem: typing.Any = _symmetric_memory
library: typing.Any = torch.library
_operators = library.Library("symm_mem", "IMPL")
WORLD = "0"  # the name of the default group
CHANNEL = 0
WORDS = ((8, torch.int64), (4, torch.int32), (2, torch.int16), (1, torch.int8))


def _meet(tensor: torch.Tensor, group_name: str, name: str) -> typing.Any:
    hdl = symm_mem.rendezvous(tensor, group_name)
    if hdl is None:
        raise ValueError(f"{name}: it is not symmetric memory, as symm_mem.empty makes it")
    return hdl


def _check(condition: bool, text: str) -> None:
    if not condition:
        raise ValueError(text)


def _check_apart(out: torch.Tensor, name: str, input: torch.Tensor, input_name: str) -> None:
    begins, sizes = zip(*((tensor.data_ptr(), tensor.nbytes) for tensor in (out, input)))
    _check(begins[0] + sizes[0] <= begins[1] or begins[1] + sizes[1] <= begins[0],
           f"{name}: it overlaps {input_name}, which other ranks read")


@contextlib.contextmanager
def _between_barriers(hdl: typing.Any) -> Iterator[None]:
    """All inputs are complete, and no rank changes one while another reads it. A rank that raises
    an exception passes the second barrier too, so the others do not wait for it."""
    hdl.barrier(CHANNEL)
    try:
        yield
    finally:
        hdl.barrier(CHANNEL)


def _place(hdl: typing.Any, tensor: torch.Tensor) -> int:
    """Also of a tensor without elements, whose data_ptr() is 0."""
    first = int(tensor.storage_offset()) * tensor.element_size()
    return tensor.untyped_storage().data_ptr() + first - int(hdl.buffer_ptrs[hdl.rank])


def _remote(hdl: typing.Any, tensor: torch.Tensor, rank: int) -> torch.Tensor:
    """The same part of another rank's memory, which may have gaps."""
    _check(0 <= rank < hdl.world_size, f"peer: {rank} is not in 0..{hdl.world_size - 1}")
    if not tensor.numel():
        return torch.empty_like(tensor)  # torch gives it no address
    span = 1 + sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride()))
    whole = hdl.get_buffer(rank, (span,), tensor.dtype,
                           _place(hdl, tensor) // tensor.element_size())
    return typing.cast(torch.Tensor, whole.as_strided(tensor.shape, tensor.stride()))


# ---- One-sided


def put(tensor: torch.Tensor, peer: int) -> None:
    _remote(_meet(tensor, WORLD, "tensor"), tensor, peer).copy_(tensor)


def get(tensor: torch.Tensor, peer: int) -> None:
    tensor.copy_(_remote(_meet(tensor, WORLD, "tensor"), tensor, peer))


def put_with_signal(tensor: torch.Tensor, sigpad: torch.Tensor, signal: int, peer: int) -> None:
    """The end of the copy on the stream publishes it to the store of the signal."""
    hdl = _meet(tensor, WORLD, "tensor")
    place = sigpad.data_ptr() - int(hdl.signal_pad_ptrs[hdl.rank])
    _check(0 <= place <= hdl.signal_pad_size - 8 and place % 8 == 0 and sigpad.element_size() == 8,
           "sigpad: it is not a word of 8 bytes in the signal pad of tensor")
    put(tensor, peer)
    hdl.get_signal_pad(peer, (1,), torch.int64, place // 8).fill_(signal)


@triton.jit  # type: ignore[untyped-decorator]
def _wait_kernel(word: typing.Any, value: typing.Any) -> None:
    wanted = tl.load(value)
    while tl.atomic_cas(word, wanted, wanted, sem="acquire", scope="sys") != wanted:
        pass


def wait_for_signal(sigpad: torch.Tensor, signal: int, peer: int) -> None:
    _check(sigpad.element_size() == 8, f"sigpad: its dtype is {sigpad.dtype}, not of 8 bytes")
    word = sigpad.view(torch.int64)
    _wait_kernel[(1,)](word, torch.full_like(word[:1], signal))


# ---- Collectives


def broadcast(input: torch.Tensor, root: int, group_name: str) -> torch.Tensor:
    hdl = _meet(input, group_name, "input")
    source = _remote(hdl, input, root)
    with _between_barriers(hdl):
        if root != hdl.rank:
            input.copy_(source)
    return input


def all_to_all(input: torch.Tensor, out: torch.Tensor, group_name: str) -> torch.Tensor:
    hdl = _meet(input, group_name, "input")
    n = hdl.world_size
    _check(input.is_contiguous() and input.numel() % n == 0, f"input: {n} ranks cannot share it")
    _check(out.is_contiguous() and out.numel() == input.numel() and out.dtype == input.dtype,
           "out: its shape or dtype is not that of input")
    _check_apart(out, "out", input, "input")
    size = input.numel() // n
    part = input.view(n, size)[hdl.rank]
    with _between_barriers(hdl):
        for rank in range(n):
            out.view(n, size)[rank].copy_(_remote(hdl, part, rank))
    return out


def multi_root_tile_reduce(in_tiles: list[torch.Tensor], out_tile: torch.Tensor, roots: list[int],
                           group_name: str, reduce_op: str = "sum") -> None:
    _check(reduce_op == "sum", f'reduce_op: "{reduce_op}" is not supported; only sum')
    _check(len(roots) == len(in_tiles) > 0, f"roots: {len(roots)} for {len(in_tiles)} tiles")
    _check(len(set(roots)) == len(roots), "roots: a rank is the root of two tiles")
    for tile in in_tiles:
        _check(tile.shape == out_tile.shape and tile.dtype == out_tile.dtype,
               "out_tile: its shape or dtype is not that of in_tile")
    hdls = [_meet(tile, group_name, "in_tile") for tile in in_tiles]
    n = hdls[0].world_size
    for root in roots:
        _check(0 <= root < n, f"root: {root} is not in 0..{n - 1}")
    with _between_barriers(hdls[0]):
        for tile, hdl, root in zip(in_tiles, hdls, roots):
            if root == hdl.rank:
                total = _remote(hdl, tile, 0).clone()  # out_tile may be in_tile
                for rank in range(1, hdl.world_size):
                    total.add_(_remote(hdl, tile, rank))
                out_tile.copy_(total)


def tile_reduce(in_tile: torch.Tensor, out_tile: torch.Tensor, root: int, group_name: str,
                reduce_op: str = "sum") -> None:
    multi_root_tile_reduce([in_tile], out_tile, [root], group_name, reduce_op)


# ---- All-to-all of rows, with counts that are on the device


@triton.jit  # type: ignore[untyped-decorator]
def _gather_kernel(buffers: typing.Any, place: typing.Any, out: typing.Any, ranks: typing.Any,
                   counts: typing.Any, starts: typing.Any, places: typing.Any,
                   row_words: typing.Any, WORD: tl.constexpr, BLOCK: tl.constexpr) -> None:
    """Programs (split, i) copy the rows of a split from the rank that has it."""
    split = tl.program_id(0)
    rank = tl.load(ranks + split)
    buffer = tl.load(buffers.to(tl.pointer_type(tl.int64)) + rank) + place
    source = buffer.to(tl.pointer_type(WORD)) + tl.load(starts + split) * row_words
    dest = out + tl.load(places + split) * row_words
    n_words = tl.load(counts + split) * row_words
    begin = tl.program_id(1).to(tl.int64) * BLOCK
    while begin < n_words:
        words = begin + tl.arange(0, BLOCK)
        values = tl.load(source + words, mask=words < n_words)
        tl.store(dest + words, values, mask=words < n_words)
        begin += tl.num_programs(1) * BLOCK


def _layout(tables: torch.Tensor, me: int, is_rank_major_in: bool, align: int) -> typing.Any:
    """Four tensors with an entry for each split that this rank takes, in the order of the output.
    They are the rank that has it, its number of rows, its first row there, and its first row here.
    """
    n = len(tables)
    ranks = torch.arange(n, device=tables.device)
    if is_rank_major_in:  # [rank, rank, expert] becomes [expert, rank]
        starts = (tables.cumsum(1) - tables).view(n, n, -1)[:, me].t()
        counts = tables.view(n, n, -1)[:, me].t()
        ranks = ranks.expand(len(counts), n)
    else:  # [rank, expert, rank] becomes [rank, expert]
        counts, starts = (tables[:, row].view(n, -1, n)[:, :, me] for row in range(2))
        ranks = ranks.view(n, 1).expand(counts.shape)
    lengths = counts.sum(1)
    if align:
        lengths = ((lengths + align - 1) // align).clamp(min=1) * align
    places = (lengths.cumsum(0) - lengths).view(-1, 1) + counts.cumsum(1) - counts
    return ranks, counts, starts, places


def _exchange(input: torch.Tensor, out: torch.Tensor, splits: torch.Tensor, result: torch.Tensor,
              group_name: str, name: str, n_experts: int, is_rank_major_in: bool,
              align: int) -> None:
    """As all_to_all of symm_mem_splits.cpp. `splits` has a second row, of offsets, where the input
    is not by rank. n_experts is 0 if the shape of splits says it."""
    hdl, counts_hdl = _meet(input, group_name, "input"), _meet(splits, group_name, name)
    n, n_splits = hdl.world_size, splits.shape[-1] if splits.dim() else 0
    for tensor, what in ((input, "input"), (out, "out"), (splits, name),
                         (result, "out_splits_offsets")):
        _check(tensor.is_contiguous(), f"{what}: it is not contiguous")
    _check(splits.dtype == result.dtype == torch.int64, f"{name}: its dtype is not int64")
    _check(splits.shape == ((n_splits,) if is_rank_major_in else (2, n_splits))
           and n_splits > 0 and n_splits % n == 0 and n_experts in (0, n_splits // n),
           f"{name}: it has shape {list(splits.shape)} in a group of {n}")
    _check(result.shape == (2, n_splits), f"out_splits_offsets: it has no shape [2, {n_splits}]")
    _check(input.dtype == out.dtype and input.dim() > 0 and out.dim() > 0
           and input.shape[1:] == out.shape[1:], "out: its rows are not those of input")
    _check_apart(out, "out", input, "input")
    _check_apart(result, "out_splits_offsets", splits, name)
    row_bytes = input.element_size() * math.prod(input.shape[1:])
    # Ranks may have different numbers of rows, but their allocations have one size.
    most = (hdl.buffer_size - _place(hdl, input)) // max(row_bytes, 1)
    addresses = row_bytes | _place(hdl, input) | out.data_ptr()
    word_bytes, word = next(found for found in WORDS if addresses % found[0] == 0)
    with _between_barriers(hdl):
        tables = torch.stack([_remote(counts_hdl, splits, rank) for rank in range(n)])
        ranks, counts, starts, places = _layout(tables, hdl.rank, is_rank_major_in, align)
        is_inside = ((counts > 0) & (starts >= 0) & (counts <= most - starts)
                     & (counts <= len(out) - places))
        torch._assert_async((is_inside | (counts == 0)).all(),
                            f"{name}: a split is not in the memory of input, or not in out")
        result[0].copy_(counts.reshape(-1))
        result[1].copy_(places.reshape(-1))
        _gather_kernel[(n_splits, max(1, 128 // n_splits))](
            hdl.buffer_ptrs_dev, _place(hdl, input), out.view(-1).view(word),
            *(table.reshape(-1).contiguous() for table in (ranks, counts, starts)), result[1],
            row_bytes // word_bytes, WORD=getattr(tl, f"int{8 * word_bytes}"), BLOCK=1024)


def all_to_all_vdev(input: torch.Tensor, out: torch.Tensor, in_splits: torch.Tensor,
                    out_splits_offsets: torch.Tensor, group_name: str) -> None:
    _exchange(input, out, in_splits, out_splits_offsets, group_name, "in_splits", 1, True, 0)


def all_to_all_vdev_2d(input: torch.Tensor, out: torch.Tensor, in_splits: torch.Tensor,
                       out_splits_offsets: torch.Tensor, group_name: str,
                       major_align: typing.Optional[int] = None) -> None:
    align = 1 if major_align is None else major_align
    _check(align > 0, f"major_align: {align} is not positive")
    _exchange(input, out, in_splits, out_splits_offsets, group_name, "in_splits", 0, True, align)


def all_to_all_vdev_2d_offset(input: torch.Tensor, out: torch.Tensor,
                              in_splits_offsets: torch.Tensor, out_splits_offsets: torch.Tensor,
                              group_name: str) -> None:
    _exchange(input, out, in_splits_offsets, out_splits_offsets, group_name, "in_splits_offsets",
              0, False, 0)


OPERATORS: dict[str, typing.Callable[..., typing.Any]] = {
    "nvshmem_put": put, "nvshmem_get": get, "nvshmem_put_with_signal": put_with_signal,
    "nvshmem_wait_for_signal": wait_for_signal, "nvshmem_broadcast": broadcast,
    "nvshmem_all_to_all": all_to_all, "tile_reduce": tile_reduce,
    "multi_root_tile_reduce": multi_root_tile_reduce, "all_to_all_vdev": all_to_all_vdev,
    "all_to_all_vdev_2d": all_to_all_vdev_2d,
    "all_to_all_vdev_2d_offset": all_to_all_vdev_2d_offset}


def _choose(name: str, function: typing.Callable[..., typing.Any]) -> None:
    """torch's kernel, if it has one, stays that of all other backends."""
    try:
        before = library.get_kernel(f"symm_mem::{name}", "CUDA")
    except RuntimeError:  # torch was built without NVSHMEM
        before = None

    def chosen(keys: typing.Any, *arguments: typing.Any, **options: typing.Any) -> typing.Any:
        if symm_mem.get_backend("cuda") != "MESHMEM":
            if before is None:
                raise NotImplementedError(f"symm_mem::{name}: this torch has no kernel of its own")
            return before.call_boxed(keys, *arguments, **options)
        tensor = next(value for value in arguments if isinstance(value, torch.Tensor))
        with torch.cuda.device(tensor.device):
            return function(*arguments, **options)

    _operators.impl(name, chosen, "CUDA", with_keyset=True, allow_override=True)


def register() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a kernel replaces another one
        for name, function in OPERATORS.items():
            _choose(name, function)
