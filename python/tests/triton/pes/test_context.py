# SPDX-License-Identifier: Apache-2.0
"""The host's side: tensors, other PEs, and exceptions for bad input."""
import meshmem.triton as iris
import numpy as np
import pytest
import triton
import triton.language as tl
from meshmem.triton import _context
from meshmem.triton._tensor import Tensor

torch = _context.torch
interpreted = pytest.mark.skipif(not triton.knobs.runtime.interpret,
                                 reason="only while Triton interprets kernels")


def host(tensor):
    return tensor.cpu().numpy()


def test_tensors_have_the_values_of_their_name(ctx):
    assert host(ctx.zeros(3, dtype="int32")).tolist() == [0, 0, 0]
    assert host(ctx.ones((2, 2))).tolist() == [[1, 1], [1, 1]]
    assert host(ctx.full((2,), 7, dtype="uint8")).tolist() == [7, 7]
    assert host(ctx.arange(2, 8, 3)).tolist() == [2, 5]
    assert host(ctx.tensor([[1.5, 2.5]])).tolist() == [[1.5, 2.5]]
    assert host(ctx.randn(3, 4)).std() > 0
    assert ctx.zeros(0).numel() == 0 == ctx.at(ctx.zeros(0), 0).numel()
    assert ctx.zeros(2, dtype=None).dtype == ctx.zeros(2).dtype
    bits = ctx.full((3, 5), 1, dtype="int16")
    like = ctx.zeros_like(bits)
    assert (like.dtype, tuple(like.shape)) == (bits.dtype, (3, 5))


def test_tensors_lie_apart_and_at_the_same_offset(ctx, me, n):
    tensors = [ctx.zeros(size, dtype="uint8") for size in (1, 255, 257, 3)]
    ends = [tensor.data_ptr() + tensor.numel() for tensor in tensors]
    assert all(tensor.data_ptr() >= end for tensor, end in zip(tensors[1:], ends))
    tensors[3][1] = me + 1
    ctx.barrier()
    for pe in range(n):
        assert host(ctx.at(tensors[3], pe)).tolist() == [0, pe + 1, 0]


def test_broadcast_takes_numbers(ctx, me, n):
    for value in (2**60 + 7, -1.25, np.float32(1.5), np.int8(-3)):
        for other in (type(value)(me), None):
            assert ctx.broadcast(n - 1, value if me == n - 1 else other) == value


def test_tensors_without_torch_index_as_arrays():
    values = np.arange(12).reshape(3, 4)
    tensor = Tensor(values)
    for key in (1, (1, 2), (slice(None), 2), (..., 0), ..., slice(1, 3)):
        found = tensor[key].numpy()
        assert found.tolist() == values[key].tolist() and np.shares_memory(found, values)
    tensor[values > 9] = 7
    tensor[0, 1] = tensor[2, 0]
    assert values.tolist() == [[0, 8, 2, 3], [4, 5, 6, 7], [8, 9, 7, 7]]


def test_bad_input_is_named(ctx, n):
    mine = ctx.zeros(4)
    strange = torch.zeros(4) if torch else type(mine)(np.zeros(4))
    for error, name, call in (
            (ValueError, "tensor: not symmetric", lambda: ctx.at(strange, 0)),
            (ValueError, "tensor: it is not contiguous", lambda: ctx.at(mine[::2], 0)),
            (ValueError, f"pe: {n} is not in", lambda: ctx.at(mine, n)),
            (ValueError, "source_rank: -1 is not in", lambda: ctx.broadcast(-1, 0)),
            (TypeError, "dtype: Triton has no complex64", lambda: ctx.zeros(2, dtype="complex64")),
            (TypeError, "dtype: Triton has no nonsense", lambda: ctx.zeros(2, dtype="nonsense")),
            (MemoryError, "size: 68719476736 bytes do not fit", lambda: ctx.zeros(1 << 34)),
            (ValueError, "size: a negative number", lambda: ctx.zeros(-1)),
            (MemoryError, "no .* bytes are left", lambda: iris.context(1 << 60))):
        with pytest.raises(error, match=name):
            call()


@triton.jit
def store_one(dst, bases, me, pe):
    iris.store(dst, 1, me, pe, bases, mask=True)


@interpreted
def test_a_kernel_that_is_interpreted_checks_too(ctx, me, n):
    mine, outside = ctx.zeros(4), ctx.zeros(4)
    strange = torch.zeros(4) if torch else type(mine)(np.zeros(4))
    for name, arguments in (("pe: -1 is not in", (mine, ctx.bases, me, -1)),
                            (f"pe: {n} is not in", (mine, ctx.bases, me, n)),
                            (f"me: {n} is not in", (mine, ctx.bases, n, me)),
                            ("ptr: .* is not in the memory of the context",
                             (strange, ctx.bases, me, 0)),
                            ("bases: not a", (mine, outside, me, 0)),
                            ("bases: not the table of a context",
                             (mine, ctx.zeros(n, dtype="int64"), me, 0))):
        with pytest.raises(triton.runtime.errors.InterpreterError, match=name):
            store_one[(1,)](*arguments)


@interpreted
def test_a_store_with_a_constant_mask(ctx, me, right):
    mine = ctx.zeros(1)
    store_one[(1,)](mine, ctx.bases, me, right)
    ctx.barrier()
    assert host(mine)[0] == 1


@interpreted
def test_only_these_packages_are_not_the_program():
    from meshmem.triton import _interpreted
    scope = {"place": _interpreted._place}
    for package in _interpreted.PACKAGES:
        name = package.rstrip("/") + "_kernels/program.py"
        exec(compile("def kernel():\n    return place()", name, "exec"), scope)
        assert scope["kernel"]() == b"kernel at program.py:2"


@interpreted
def test_close_frees_the_memory_once_no_tensor_is_in_use(ctx):
    other = iris.context(1 << 16)
    tensor = other.ones(4)
    address = tensor.data_ptr()
    with pytest.raises(BufferError, match="still in use"):
        other.close()
    del tensor
    other.close()
    with pytest.raises(triton.runtime.errors.InterpreterError, match="bases: not the table"):
        store_one[(1,)](ctx.zeros(1), other.bases, 0, 0)
    again = iris.context(1 << 16)
    assert again.zeros(4).data_ptr() == address
    again.close()


@triton.jit
def producer(source, target, flag, count, me: tl.constexpr, consumer: tl.constexpr,
             BLOCK: tl.constexpr, heap_bases_ptr: tl.tensor):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    iris.put(source + at, target + at, me, consumer, heap_bases_ptr, mask=mask)
    iris.atomic_cas(flag + tl.program_id(0), 0, 1, me, consumer, heap_bases_ptr, sem="release",
                    scope="sys")


@triton.jit
def consumer(buffer, flag, count, me: tl.constexpr, BLOCK: tl.constexpr,
             heap_bases_ptr: tl.tensor):
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    done = 0
    while done == 0:
        done = iris.atomic_cas(flag + pid, 1, 0, me, me, heap_bases_ptr, sem="acquire", scope="sys")
    data = iris.load(buffer + at, me, me, heap_bases_ptr, mask=mask)
    iris.store(buffer + at, data * 2, me, me, heap_bases_ptr, mask=mask)


def test_a_program_for_iris_runs():
    """A producer and a consumer as iris's examples have them, by iris's names alone."""
    shmem = iris.iris(1 << 20)
    me, world_size = shmem.get_rank(), shmem.get_num_ranks()
    to, count = world_size - 1, 1000
    source = shmem.arange(0, count, dtype="float32", device="cuda")
    target = shmem.zeros(count, device="cuda", dtype="float32")
    flags = shmem.zeros((triton.cdiv(count, 256),), device="cuda", dtype="int32")
    grid = lambda meta: (triton.cdiv(count, meta["BLOCK"]),)  # noqa: E731
    if me == 0:
        producer[grid](source, target, flags, count, 0, to, 256, shmem.get_heap_bases())
    if me == to:
        consumer[grid](target, flags, count, to, 256, shmem.get_heap_bases())
    shmem.barrier()
    if me == to:
        assert (target.cpu().numpy() == 2 * np.arange(count)).all()
    assert iris.do_bench(lambda: None, shmem.barrier, n_warmup=1, n_repeat=3) >= 0
