# SPDX-License-Identifier: Apache-2.0
"""Each function of kernels, by kernels that Triton interprets."""
import meshmem.triton as mt
import numpy as np
import pytest
import triton
import triton.language as tl

TYPES = ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64", "float16", "float32",
         "float64"]
COUNTERS = ["int32", "uint32", "int64", "uint64"]


def values(shape, dtype, seed):
    random = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return random.normal(size=shape).astype(dtype)
    return random.integers(0, 256, (*np.atleast_1d(shape), np.dtype(dtype).itemsize),
                           np.uint8).view(dtype).reshape(shape)


@triton.jit
def move(src, dst, bases, me, pe, count, WAY: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    if WAY == "put":
        mt.put(src + at, dst + at, me, pe, bases, mask=mask)
    if WAY == "store":
        mt.store(dst + at, tl.load(src + at, mask=mask), me, pe, bases, mask=mask)
    if WAY == "get":
        mt.get(src + at, dst + at, me, pe, bases, mask=mask)
    if WAY == "load":
        tl.store(dst + at, mt.load(src + at, me, pe, bases, mask=mask, other=0), mask=mask)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("way", ["put", "store", "get", "load"])
def test_data_moves_exactly_count_elements(ctx, me, left, right, way, dtype):
    count = 37
    source, dest = ctx.tensor(values(64, dtype, me)), ctx.zeros(64, dtype=dtype)
    move[(3,)](source, dest, ctx.bases, me, right, count, way, 16)
    ctx.barrier()
    wanted = np.zeros(64, dtype)
    wanted[:count] = values(64, dtype, left if way in ("put", "store") else right)[:count]
    np.testing.assert_array_equal(dest.cpu().numpy(), wanted)


@triton.jit
def update(counters, before, bases, me, value, OP: tl.constexpr, LANES: tl.constexpr):
    at = tl.arange(0, LANES)
    mask = at < LANES - 1
    if OP == "add":
        old = mt.atomic_add(counters + at, value, me, 0, bases, mask=mask)
    if OP == "sub":
        old = mt.atomic_sub(counters + at, value, me, 0, bases, mask=mask)
    if OP == "and":
        old = mt.atomic_and(counters + at, value, me, 0, bases, mask=mask)
    if OP == "or":
        old = mt.atomic_or(counters + at, value, me, 0, bases, mask=mask)
    if OP == "xor":
        old = mt.atomic_xor(counters + at, value, me, 0, bases, mask=mask)
    if OP == "min":
        old = mt.atomic_min(counters + at, value, me, 0, bases, mask=mask)
    if OP == "max":
        old = mt.atomic_max(counters + at, value, me, 0, bases, mask=mask)
    if OP == "xchg":
        old = mt.atomic_xchg(counters + at, value, me, 0, bases, mask=mask)
    tl.store(before + at, old, mask=mask)


@pytest.mark.parametrize("dtype", COUNTERS)
@pytest.mark.parametrize("op", ["add", "sub", "and", "or", "xor", "min", "max"])
def test_atomics_of_all_pes_add_up(ctx, me, n, op, dtype):
    start, mine = 0x0F55, [0x0F33 << pe for pe in range(n)]
    counters = ctx.full(8, start, dtype=dtype)
    update[(1,)](counters, ctx.zeros(8, dtype=dtype), ctx.bases, me, mine[me], op, 8)
    ctx.barrier()
    functions = {"add": np.add, "sub": np.subtract, "and": np.bitwise_and, "or": np.bitwise_or,
                 "xor": np.bitwise_xor, "min": np.minimum, "max": np.maximum}
    with np.errstate(over="ignore"):
        wanted = functions[op].reduce(np.array([start, *mine]).astype(dtype))
    found = ctx.at(counters, 0).cpu().numpy()
    assert found.tolist() == [wanted] * 7 + [start]


@triton.jit
def subtract_one(counter, bases, me):
    mt.atomic_sub(counter, tl.full((), 1, tl.uint32), me, 0, bases)


def test_a_narrower_unsigned_value_is_subtracted(ctx, me, n):
    counter = ctx.full(1, 10, dtype="int64")
    subtract_one[(1,)](counter, ctx.bases, me)
    ctx.barrier()
    assert ctx.at(counter, 0).cpu().numpy()[0] == 10 - n


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floats_add_up(ctx, me, n, dtype):
    counters = ctx.zeros(4, dtype=dtype)
    update[(1,)](counters, ctx.zeros(4, dtype=dtype), ctx.bases, me, me + 0.5, "add", 4)
    ctx.barrier()
    assert ctx.at(counters, 0).cpu().numpy().tolist() == [n * n / 2] * 3 + [0]


@pytest.mark.parametrize("dtype", COUNTERS)
def test_an_exchange_returns_what_another_pe_has_left(ctx, me, n, dtype):
    top = 3 << (np.dtype(dtype).itemsize * 8 - 3)
    place, before = ctx.full(2, n + top, dtype=dtype), ctx.zeros((n, 2), dtype=dtype)
    update[(1,)](place, before[me], ctx.bases, me, me + top, "xchg", 2)
    ctx.barrier()
    found = [int(ctx.at(before, pe).cpu().numpy()[pe, 0]) for pe in range(n)]
    found.append(int(ctx.at(place, 0).cpu().numpy()[0]))
    assert sorted(found) == [pe + top for pe in range(n + 1)]


@triton.jit
def take_turns(turn, order, bases, me, n_pes):
    seen = me - 1  # one atomic in the loop (docs/triton.md)
    while seen != me:
        seen = mt.atomic_cas(turn, me, me + 100, me, 0, bases).to(tl.int32)
    mt.store(order + me, tl.load(turn) * 0 + me + 1, me, 0, bases)
    mt.atomic_xchg(turn, me + 1, me, 0, bases, sem="release")


def test_compare_and_swap_lets_pes_take_turns(ctx, me, n):
    turn, order = ctx.zeros(1, dtype="int64"), ctx.zeros(n, dtype="int64")
    take_turns[(1,)](turn, order, ctx.bases, me, n)
    ctx.barrier()
    assert ctx.at(order, 0).cpu().numpy().tolist() == [pe + 1 for pe in range(n)]
    assert ctx.at(turn, 0).cpu().numpy()[0] == n


@triton.jit
def pass_on(source, dest, arrived, sums, bases, me, pe, round, OP: tl.constexpr, CMP: tl.constexpr,
            BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    mt.put_signal(source + at, dest + at, arrived + pid, 1 if OP == "add" else round, me, pe, bases,
                  op=OP)
    seen = mt.wait(arrived + pid, round, CMP)
    tl.store(sums + pid, tl.sum(tl.load(dest + at)) + seen)


@pytest.mark.parametrize("dtype", COUNTERS)
@pytest.mark.parametrize("op, cmp", [("set", "=="), ("add", ">="), ("set", ">=")])
def test_a_signal_announces_the_data(ctx, me, left, right, op, cmp, dtype):
    arrived, sums = ctx.zeros(2, dtype=dtype), ctx.zeros(2, dtype="int64")
    dest = ctx.zeros(32, dtype="int64")
    for round in range(1, 4):
        source = ctx.full(32, 1000 * round + me, dtype="int64")
        pass_on[(2,)](source, dest, arrived, sums, ctx.bases, me, right, round, op, cmp, 16)
        ctx.barrier()
        wanted = 16 * (1000 * round + left) + round
        assert sums.cpu().numpy().tolist() == [wanted, wanted]


@triton.jit
def meet(places, state, bad, bases, me, n_pes, rounds, BLOCK: tl.constexpr):
    pe = tl.arange(0, BLOCK)
    for round in range(rounds):
        mt.store(places + me, round + 1, me, (me + 1) % n_pes, bases)
        mt.barrier(state, me, n_pes, bases)
        left = (me + n_pes - 1) % n_pes
        wrong = (pe == left) & (tl.load(places + pe, mask=pe < n_pes, other=0) != round + 1)
        tl.store(bad, tl.load(bad) + tl.sum(wrong.to(tl.int64)))
        mt.barrier(state, me, n_pes, bases)


def test_a_barrier_lets_nobody_pass(ctx, me, n):
    state, bad = ctx.zeros(2, dtype="int64"), ctx.zeros(1, dtype="int64")
    places = ctx.zeros(n, dtype="int64")
    for _ in range(2):
        meet[(1,)](places, state, bad, ctx.bases, me, n, 5, 8)
    ctx.barrier()
    assert bad.cpu().numpy()[0] == 0 and state.cpu().numpy().tolist() == [20 * n, 20]


def test_teams_have_numbers_of_their_own(me, n):
    """Two contexts of all PEs, each for one half of them."""
    world = mt.context(1 << 12).team
    half = [world.split_strided(first, 2, (n + 1 - first) // 2) if first < n else None
            for first in (0, 1)][me % 2]
    other = mt.context(1 << 16, half)
    assert (other.get_rank(), other.get_num_ranks()) == (me // 2, (n + 1 - me % 2) // 2)
    state, bad = other.zeros(2, dtype="int64"), other.zeros(1, dtype="int64")
    places = other.zeros(other.n_pes, dtype="int64")
    meet[(1,)](places, state, bad, other.bases, other.me, other.n_pes, 3, 8)
    other.barrier()
    assert bad.cpu().numpy()[0] == 0
    assert other.broadcast(other.n_pes - 1, me) == 2 * (other.n_pes - 1) + me % 2
    world.sync()
