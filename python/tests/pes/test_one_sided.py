# SPDX-License-Identifier: Apache-2.0
"""Puts and gets against NumPy, for every dtype."""
import meshmem
import numpy as np
import pytest
from support import MOVED, values


@pytest.mark.parametrize("dtype", MOVED)
def test_put_and_get(dtype, make, me, n, left, right):
    array = make((3, 5), dtype)
    array.put(right, values((3, 5), dtype, me))
    meshmem.barrier_all()
    assert np.array_equal(array, values((3, 5), dtype, left))
    there = array.get(right)
    assert there.dtype == array.dtype and np.array_equal(there, values((3, 5), dtype, me))
    out = np.zeros(5, dtype)
    assert array[1].get(right, out) is out and np.array_equal(out, values((3, 5), dtype, me)[1])


@pytest.mark.parametrize("dtype", MOVED)
def test_nonblocking(dtype, make, me, n, left, right):
    array = make(7, dtype)
    array.put_nbi(right, values(7, dtype, me))  # nobody else holds the values
    meshmem.quiet()
    meshmem.barrier_all()
    out = array.get_nbi(right)
    meshmem.quiet()
    assert np.array_equal(array, values(7, dtype, left))
    assert np.array_equal(out, values(7, dtype, me))


@pytest.mark.parametrize("dtype", MOVED)
def test_p_and_g(dtype, make, me, right, left):
    array = make(4, dtype)
    mine = values(4, dtype, me)
    for index in range(4):
        array.p(right, mine[index], index)
    meshmem.barrier_all()
    assert np.array_equal(array, values(4, dtype, left))
    assert [array.g(right, index) for index in range(4)] == list(mine)


@pytest.mark.parametrize("dtype", [dtype for dtype in MOVED if dtype != "S12"])
def test_strided(dtype, make, me, left, right):
    array = make((6, 4), dtype)
    mine, theirs = (values((6, 4), dtype, pe) for pe in (me, left))
    array[::2, 1].iput(right, mine[3:, 2])
    meshmem.barrier_all()
    assert np.array_equal(array.local[::2, 1], theirs[3:, 2])
    out = np.zeros((6, 4), dtype)
    array[::2, 1].iget(right, out[::2, 3])
    assert np.array_equal(out[::2, 3], mine[3:, 2])
    meshmem.barrier_all()
    array[1::2, 1:3].ibput(right, mine[:3, 2:])
    meshmem.barrier_all()
    assert np.array_equal(array.local[1::2, 1:3], theirs[:3, 2:])
    array[1::2, 1:3].ibget(right, out[3:, :2])
    assert np.array_equal(out[3:, :2], mine[:3, 2:])
