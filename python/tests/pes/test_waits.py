# SPDX-License-Identifier: Apache-2.0
"""Waits and tests of one element and of many."""
import threading

import meshmem
import numpy as np
import pytest
from support import STANDARD

COMPARISONS = {"==": np.equal, "!=": np.not_equal, ">": np.greater, "<=": np.less_equal,
               "<": np.less, ">=": np.greater_equal}


@pytest.mark.parametrize("dtype", STANDARD)
@pytest.mark.parametrize("cmp", COMPARISONS)
def test_comparisons(dtype, cmp, make):
    array = make(3, dtype)
    limits = np.iinfo(dtype)
    array.local[:] = numbers = np.array([limits.min, 7, limits.max], dtype)
    for value in numbers:
        for index in range(3):
            holds = bool(COMPARISONS[cmp](numbers[index], value))
            assert array.test(cmp, value, index) is holds
            if holds:
                array.wait_until(cmp, value, index)
        expected = np.flatnonzero(COMPARISONS[cmp](numbers, value))
        assert sorted(array.test_some(cmp, value)) == list(expected)
        assert array.test_all(cmp, value) is (len(expected) == 3)
        assert array.test_any(cmp, value) in (list(expected) or [None])


@pytest.mark.parametrize("dtype", STANDARD)
def test_all_any_and_some_find_the_stored_elements(dtype, make, me, n):
    array = make(n, dtype)
    for pe in range(n):
        array.p(pe, 1 + me, me)
    array.wait_until_all("!=", 0)
    assert list(array.local) == list(range(1, n + 1))
    wanted = np.arange(1, n + 1, dtype=dtype)
    array.wait_until_all("==", wanted)
    assert array.test_all("==", wanted) and not array.test_all("==", wanted + 1)
    left_out = np.zeros(n, np.int32)
    for _ in range(n):
        index = array.wait_until_any(">", 0, left_out)
        assert not left_out[index]
        left_out[index] = 1
    assert array.wait_until_any(">", 0, left_out) is None
    assert array.wait_until_any("==", wanted) in range(n)
    assert array.test_any("==", wanted) in range(n)
    assert sorted(array.wait_until_some("==", wanted)) == list(range(n))
    assert sorted(array.test_some("==", wanted)) == list(range(n))
    left_out[0] = 0
    assert list(array.wait_until_some("==", 1, left_out)) == [0]


def test_other_threads_go_on(make, me):
    flag = make(1, np.int64)
    thread = threading.Timer(0.05, lambda: flag.p(me, 1))
    thread.start()
    flag.wait_until("==", 1)
    thread.join()
