# SPDX-License-Identifier: Apache-2.0
"""Measures what a call from Python costs, on two PEs of one machine: the best of five series.

PYTHONPATH=build/release/python/package build/release/bin/oshrun -n 2 \\
    build/python_venv/bin/python tests/python/overhead.py
"""
import timeit

import meshmem
import numpy as np

meshmem.init()
me = meshmem.my_pe()
other = (me + 1) % meshmem.n_pes()
array, dest, signal = (meshmem.zeros(64, dtype) for dtype in (np.int64, np.int64, np.uint64))
one, values = array[:1], np.zeros(1, np.int64)
CALLS = {
    "a.p(pe, 5)": lambda: array.p(other, 5),
    "a.g(pe)": lambda: array.g(other),
    "a.put(pe, values), 8 bytes": lambda: one.put(other, values),
    "a.get(pe, out), 8 bytes": lambda: one.get(other, values),
    "a.get(pe), 8 bytes": lambda: one.get(other),
    "a.put_nbi(pe, values), 8 bytes": lambda: one.put_nbi(other, values),
    "a.iput(pe, values), 1 element": lambda: one.iput(other, values),
    "a.atomic_add(pe, 1)": lambda: array.atomic_add(other, 1),
    "a.atomic_fetch_add(pe, 1)": lambda: array.atomic_fetch_add(other, 1),
    "a.signal_set(pe, 1)": lambda: signal.signal_set(other, 1),
    "a.test('==', 1)": lambda: array.test("==", 1),
    "a.wait_until('!=', -1)": lambda: array.wait_until("!=", -1),
    "meshmem.quiet()": meshmem.quiet,
    "meshmem.my_pe()": meshmem.my_pe,
    "a.local": lambda: array.local,
    "a[3]": lambda: array[3],
    "team.sum(dest, a), 1 PE": lambda: ALONE.sum(dest, array),
}
ALONE = [meshmem.TEAM_WORLD.split_strided(pe, 1, 1) for pe in range(meshmem.n_pes())][me]


def seconds(call):
    n = 20_000
    series = timeit.repeat(call, number=n, repeat=6)[1:]
    meshmem.quiet()
    return min(series) / n


meshmem.barrier_all()
if me == 0:
    nothing = seconds(lambda: None)
    for name, call in CALLS.items():
        print(f"| `{name}` | {max(seconds(call) - nothing, 0) * 1e6:.2f} |")
