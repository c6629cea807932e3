# SPDX-License-Identifier: Apache-2.0
"""Teams, contexts and collectives, against NumPy."""
import os
import pathlib
import shutil
import tempfile

import meshmem
import numpy as np
import pytest
from support import ARITHMETIC, KERNEL_TYPES, LOGIC, MOVED, REALS, values

WORLD = meshmem.TEAM_WORLD


def small(shape, dtype, seed):
    """Values whose sums and products are exact in any order."""
    array = np.random.default_rng(seed).integers(1, 4, shape).astype(dtype)
    return array * np.array(1 - 2j, dtype) if array.dtype.kind == "c" else array


def sources(shape, dtype, n, made_by=values):
    return np.stack([made_by(shape, dtype, pe) for pe in range(n)])


@pytest.mark.parametrize("dtype", MOVED)
def test_moves(dtype, make, me, n):
    source, dest = make(2 * n, dtype), make((n, 2 * n), dtype)
    of_all = sources(2 * n, dtype, n)
    source.local[:] = of_all[me]
    WORLD.fcollect(dest, source)
    assert np.array_equal(dest, of_all)
    WORLD.sync()
    for root in range(n):
        WORLD.broadcast(dest[0], source, root)
        assert np.array_equal(dest[0], of_all[root])
        WORLD.sync()
    WORLD.alltoall(dest[0], source)
    assert np.array_equal(dest[0], of_all[:, 2 * me:2 * me + 2].reshape(-1))
    WORLD.sync()
    WORLD.collect(dest, source[:me + 1])
    joined = np.concatenate([of_all[pe, :pe + 1] for pe in range(n)])
    assert np.array_equal(dest.local.reshape(-1)[:len(joined)], joined)
    WORLD.sync()


@pytest.mark.parametrize("dtype", [d for d in MOVED if d not in ("S12", "complex128")])
def test_alltoalls(dtype, make, me, n):
    source, dest = make(4 * n, dtype), make(6 * n, dtype)
    of_all = sources(4 * n, dtype, n)
    source.local[:] = of_all[me]
    WORLD.alltoalls(dest, source, 3, 2, 2)
    for pe in range(n):
        assert np.array_equal(dest.local[6 * pe:6 * pe + 6:3], of_all[pe, 4 * me:4 * me + 4:2])


@pytest.mark.parametrize("dtype", MOVED)
def test_alltoallv(dtype, make, me, n):
    source, dest = make(n * n + n, dtype), make(n * n + n, dtype)
    of_all = sources(n * n + n, dtype, n)
    source.local[:] = of_all[me]
    to = [(me + pe) % n + 1 for pe in range(n)]  # PE a sends (a + b) % n + 1 elements to PE b
    WORLD.alltoallv(dest, to, source, to)
    begin = 0
    for pe in range(n):
        sent = [(pe + k) % n + 1 for k in range(n)]
        first = sum(sent[:me])
        assert np.array_equal(dest.local[begin:begin + to[pe]],
                              of_all[pe, first:first + to[pe]])
        begin += to[pe]


REDUCTIONS = [(name, ufunc, dtype)
              for name, ufunc, dtypes in (
                  ("sum", np.add, ARITHMETIC), ("prod", np.multiply, ARITHMETIC),
                  ("min", np.minimum, REALS), ("max", np.maximum, REALS),
                  ("bitwise_and", np.bitwise_and, LOGIC), ("bitwise_or", np.bitwise_or, LOGIC),
                  ("bitwise_xor", np.bitwise_xor, LOGIC))
              for dtype in dtypes]


@pytest.mark.parametrize("name, ufunc, dtype", REDUCTIONS)
def test_reductions(name, ufunc, dtype, make, me, n):
    source, dest = make(11, dtype), make(11, dtype)
    of_all = sources(11, dtype, n, values if name[0] in "mb" else small)
    source.local[:] = of_all[me]
    expected = ufunc.reduce(of_all, axis=0, dtype=dtype)
    getattr(WORLD, name)(dest, source)
    assert np.array_equal(dest, expected)
    WORLD.sync()
    getattr(WORLD, name)(source, source)
    assert np.array_equal(source, expected)


@pytest.mark.parametrize("dtype", ARITHMETIC)
def test_scans(dtype, make, me, n):
    source, dest = make(5, dtype), make(5, dtype)
    of_all = sources(5, dtype, n, small)
    source.local[:] = of_all[me]
    WORLD.sum_inscan(dest, source)
    assert np.array_equal(dest, np.add.reduce(of_all[:me + 1], axis=0, dtype=dtype))
    WORLD.sync()
    WORLD.sum_exscan(dest, source)
    assert np.array_equal(dest, np.add.reduce(of_all[:me], axis=0, dtype=dtype))


@pytest.mark.parametrize("dtype", KERNEL_TYPES)
def test_reductions_beyond_the_standard(dtype, make, me, n):
    source, dest = make((n, 3), dtype), make(3, dtype)
    of_all = sources((n, 3), dtype, n, small)
    source.local[:] = of_all[me]
    for op, ufunc in (("sum", np.add), ("prod", np.multiply), ("min", np.minimum),
                      ("max", np.maximum)):
        WORLD.reduce_scatter(dest, source, op)
        assert np.array_equal(dest, ufunc.reduce(of_all[:, me], axis=0, dtype=dtype))
        WORLD.sync()
    total = np.add.reduce(of_all, axis=0, dtype=dtype)
    whole = np.dtype(dtype).kind in "iu"
    WORLD.reduce_scatter(dest, source, "avg")
    average = (total[me] / n).astype(dtype)
    assert np.allclose(dest, average, rtol=0 if whole else 1e-6)
    WORLD.sync()
    WORLD.avg(source, source)
    assert np.allclose(source, (total / n).astype(dtype), rtol=0 if whole else 1e-6)
    if np.dtype(dtype).name in LOGIC:
        source.local[:] = of_all[me]
        WORLD.reduce_scatter(source[me], source, "bitwise_xor")
        assert np.array_equal(source[me], np.bitwise_xor.reduce(of_all[:, me]))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint32", "uint64",
                                   "longlong", ">f8"])
def test_located(dtype, make, me, n):
    located = meshmem.located_dtype(dtype)
    source, dest = make(4, located), make(4, located)
    of_all = sources(4, dtype, n)
    source.local["value"], source.local["index"] = of_all[me], me
    WORLD.maxloc(dest, source)
    assert np.array_equal(dest.local["index"], of_all.argmax(axis=0))
    assert np.array_equal(dest.local["value"], of_all.max(axis=0))
    WORLD.sync()
    WORLD.minloc(dest, source)
    assert np.array_equal(dest.local["index"], of_all.argmin(axis=0))


def test_split_strided_takes_every_second_pe(make, me, n):
    evens = WORLD.split_strided(0, 2, (n + 1) // 2, num_contexts=1)
    assert (evens is None) == bool(me % 2)
    source, dest = make(1, int), make(1, int)
    source.local[:] = me
    if evens:
        with evens:
            assert (evens.my_pe(), evens.n_pes()) == (me // 2, (n + 1) // 2)
            assert evens.num_contexts() == 1
            assert evens.translate_pe(me // 2, WORLD) == me
            assert WORLD.translate_pe(1, evens) is None if n > 1 else True
            assert evens.ptr(source, evens.my_pe())[0] == me
            evens.sum(dest, source)
            assert dest.local[0] == sum(range(0, n, 2))
            evens.sync()  # the put below changes dest
            with meshmem.Context(evens, serialized=True) as ctx:
                assert ctx.team().n_pes() == evens.n_pes()
                dest.put(evens.n_pes() - 1, np.array([5]), ctx=ctx)
                with pytest.raises(ValueError, match="^pe: "):
                    dest.p(evens.n_pes(), 1, ctx=ctx)
        with pytest.raises(ValueError, match="^team: it was destroyed"):
            evens.sync()
    meshmem.barrier_all()
    backwards = WORLD.split_strided(n - 1, -1, n)
    assert backwards.my_pe() == n - 1 - me
    backwards.destroy()


def test_destroy_ends_contexts_and_copies_too(make, n):
    array = make(1, int)
    team = WORLD.split_strided(0, 1, n)
    ctx = meshmem.Context(team)
    same = ctx.team()
    same.destroy()
    other = WORLD.split_strided(n - 1, -1, n)  # takes the slot
    for use in (lambda: array.p(0, 7, ctx=ctx), ctx.quiet, ctx.destroy, ctx.team):
        with pytest.raises(ValueError, match="^ctx: it was destroyed"):
            use()
    with pytest.raises(ValueError, match="^team: it was destroyed"):
        team.sync()
    other.destroy()


def test_a_split_without_a_free_slot_raises():
    teams = []
    with pytest.raises(RuntimeError, match="^team: the library has no more teams"):
        for _ in range(5000):
            teams.append(WORLD.split_strided(0, 1, 1))
    for team in teams:
        if team:
            team.destroy()


def test_rows_and_columns(me, n):
    row, column = WORLD.split_2d(2)
    assert row.my_pe() == me % 2 and column.my_pe() == me // 2
    assert row.translate_pe(row.my_pe(), WORLD) == me
    column.destroy()
    row.destroy()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [1, 77, 5003])
def test_fixed_order(make, me, n, dtype, size):
    random = np.random.default_rng(size)
    scale = 10.0 ** random.integers(-6, 6, (n, size))
    of_all = (random.standard_normal((n, size)) * scale).astype(dtype)
    total = of_all[-1].copy()
    for of_pe in of_all[-2::-1]:
        total += of_pe
    dest, source = make(size, dtype), make(size, dtype)
    source.local[:] = of_all[me]
    team = WORLD.split_strided(n - 1, -1, n)
    team.sum(dest, source)
    if me == 0 and size > 1 and 1 < meshmem.TEAM_SHARED.n_pes() < n:  # by nodes
        assert dest.local.tobytes() != total.tobytes()
    team.fix_reduce_order()
    team.sum(dest, source)
    assert dest.local.tobytes() == total.tobytes()
    team.destroy()


def test_checkpoint(make, me, n):
    array, mine, number = make(1000, float), make(1, int), make(1, int)
    mine.local[0] = os.getpid()
    WORLD.broadcast(number, mine, root=0)
    folder = pathlib.Path(tempfile.gettempdir(), f"meshmem-checkpoint-{number.local[0]}")
    team = WORLD.split_strided(n - 1, -1, n)
    assert team.restore(folder) is False
    array.local[:] = np.arange(1000) + me
    team.save(folder)
    array.local[:] = -1
    assert team.restore(str(folder)) is True
    assert (array.local == np.arange(1000) + me).all()
    meshmem.barrier_all()
    more = make(1, float)
    with pytest.raises(RuntimeError, match="nothing was restored"):
        team.restore(folder)
    meshmem.barrier_all()
    if me == 0:
        shutil.rmtree(folder)
        folder.write_text("no folder")
    meshmem.barrier_all()
    with pytest.raises(RuntimeError, match="nothing was saved"):
        team.save(folder)
    if me == 0:
        folder.unlink()
    team.destroy()
    assert more.local[0] == 0


def test_contexts(make, me, n, left, right):
    array = make(2, int)
    with meshmem.Context(private=True) as ctx:
        ctx.session_start(total_ops=3, batch=True)
        array.put_nbi(right, np.array([me, 1]), ctx=ctx)
        ctx.fence()
        array.atomic_add(right, 10, ctx=ctx)
        ctx.pe_quiet([right])
        ctx.session_stop()
        ctx.quiet()
        meshmem.sync_all()
        assert list(array.local) == [left + 10, 1]
        assert array.g(right, 1, ctx=ctx) == 1
    with pytest.raises(ValueError, match="^ctx: it was destroyed"):
        array.p(right, 1, ctx=ctx)
    meshmem.fence()
    meshmem.pe_quiet([left, right])


def test_queries(make, me, n):
    assert meshmem.version() == (1, 6) and meshmem.name().startswith("meshmem")
    assert meshmem.query_thread() == 3 and meshmem.is_initialized()
    assert WORLD.n_pes() == n and 1 <= meshmem.TEAM_SHARED.n_pes() <= n
    assert meshmem.is_accessible(n - 1) and not meshmem.is_accessible(n)
    assert make(1).is_accessible(n - 1)
    meshmem.pcontrol(1)
