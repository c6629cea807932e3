# SPDX-License-Identifier: Apache-2.0
"""Atomics, signals and locks: all PEs work on the same elements, and no update is lost."""
import threading
import time

import meshmem
import numpy as np
import pytest
from support import EXTENDED, LOGIC, MOVED, STANDARD, values

TIMES = 20


@pytest.mark.parametrize("dtype", EXTENDED)
def test_set_fetch_and_swap(dtype, make, me, right):
    array = make(3, dtype)
    mine = values(3, dtype, me)
    array.atomic_set(right, mine[1], 1)
    meshmem.quiet()
    assert array.atomic_fetch(right, 1) == mine[1]
    assert array.atomic_swap(right, mine[2], 1) == mine[1]
    meshmem.quiet()
    out = np.zeros(2, dtype)
    array.atomic_fetch_nbi(out[:1], right, 1)
    meshmem.quiet()
    array.atomic_swap_nbi(out[1:], right, mine[0], 1)
    meshmem.quiet()
    assert list(out) == [mine[2], mine[2]] and array.g(right, 1) == mine[0]


@pytest.mark.parametrize("dtype", STANDARD)
def test_sums_lose_nothing(dtype, make, n):
    array = make(2, dtype)
    out = np.zeros((), dtype)
    seen = []
    for _ in range(TIMES):
        array.atomic_inc(0)
        array.atomic_add(0, 3)
        seen.append(array.atomic_fetch_inc(0, 1))
        seen.append(array.atomic_fetch_add(0, 1, 1))
        array.atomic_fetch_inc_nbi(out, 0)
        array.atomic_fetch_add_nbi(out, 0, 2)
    meshmem.barrier_all()
    assert array.g(0) == 7 * TIMES * n and array.g(0, 1) == 2 * TIMES * n
    assert seen == sorted(set(seen))


@pytest.mark.parametrize("dtype", STANDARD)
def test_integers_wrap(dtype, make, right):
    array = make(1, dtype)
    limits = np.iinfo(dtype)
    array.p(right, limits.max)
    meshmem.quiet()
    assert array.atomic_fetch_add(right, 1) == limits.max
    meshmem.quiet()
    assert array.g(right) == limits.min


@pytest.mark.parametrize("dtype", STANDARD)
def test_compare_swap(dtype, make, me, n):
    array = make(1, dtype)
    for turn in range(2 * n):  # round and round: only the PE whose turn it is changes it
        if turn % n == me:
            while array.atomic_compare_swap(0, turn, turn + 1) != turn:
                pass
    meshmem.barrier_all()
    assert array.g(0) == 2 * n
    out = np.zeros(1, dtype)
    meshmem.barrier_all()
    array.atomic_compare_swap_nbi(out, 0, 2 * n, 1)
    meshmem.barrier_all()
    assert array.g(0) == 1 and out[0] in (1, 2 * n)


@pytest.mark.parametrize("dtype", [d for d in LOGIC if d[-2:] in ("32", "64")])
def test_bitwise(dtype, make, right):
    array = make(1, dtype)
    expected = values((), dtype, 0)
    array.p(right, expected)
    meshmem.barrier_all()
    out = np.zeros(1, dtype)
    for name, ufunc in (("and", np.bitwise_and), ("or", np.bitwise_or), ("xor", np.bitwise_xor)):
        first, second, third = values(3, dtype, len(name))
        getattr(array, f"atomic_{name}")(right, first)
        expected = ufunc(expected, first)
        assert getattr(array, f"atomic_fetch_{name}")(right, second) == expected
        expected = ufunc(expected, second)
        getattr(array, f"atomic_fetch_{name}_nbi")(out, right, third)
        meshmem.quiet()
        assert out[0] == expected
        expected = ufunc(expected, third)
    assert array.g(right) == expected


@pytest.mark.parametrize("dtype", MOVED)
def test_the_signal_comes_after_the_data(dtype, make, me, n, left, right):
    array, signal = make(100, dtype), make(2, np.uint64)
    array.put_signal(right, values(100, dtype, me), signal, 5)
    assert signal.signal_wait_until("==", 5) == 5
    assert np.array_equal(array, values(100, dtype, left))
    meshmem.barrier_all()
    array.put_signal_nbi(right, values(100, dtype, me + n), signal, 2**63, "add", index=1)
    assert signal.signal_wait_until(">", 7, 1) == signal.signal_fetch(1) == 2**63
    assert np.array_equal(array, values(100, dtype, left + n))


def test_signals_alone(make, right):
    signal = make(1, np.uint64)
    signal.signal_set(right, 40)
    signal.signal_wait_until("!=", 0)
    meshmem.barrier_all()
    signal.signal_add(right, 2)
    assert signal.signal_wait_until(">=", 42) == 42


def test_one_thread_at_a_time_asks_for_a_lock(make, me):
    lock, turn = meshmem.Lock(), make(1, np.int64)
    if me == 0:
        with lock:
            for pe in range(meshmem.n_pes()):
                turn.p(pe, 1)
            if meshmem.n_pes() > 1:
                turn.wait_until("==", 2)
    elif me == 1:
        turn.wait_until("==", 1)
        thread = threading.Thread(target=lock.acquire)
        thread.start()
        while not lock._is_asked_for.locked():
            time.sleep(0.001)
        for call in (lock.acquire, lambda: lock.acquire(blocking=False), lock.release):
            with pytest.raises(RuntimeError, match="^lock: "):
                call()
        turn.p(0, 2)
        thread.join()
        lock.release()
    meshmem.barrier_all()
    lock.free()


def test_locks(make, n):
    lock, counter = meshmem.Lock(), make(1, int)
    for _ in range(TIMES):
        with lock:
            counter.p(0, counter.g(0) + 1)
    meshmem.barrier_all()
    assert counter.g(0) == TIMES * n
    meshmem.barrier_all()
    if lock.acquire(blocking=False):
        with pytest.raises(RuntimeError, match="^lock: this PE has it"):
            lock.acquire()
        lock.release()
    with pytest.raises(RuntimeError, match="^lock: this PE does not"):
        lock.release()
    meshmem.barrier_all()
    lock.free()
