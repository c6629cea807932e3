# SPDX-License-Identifier: Apache-2.0
"""Each call that a program makes is counted once, with its bytes, and no other call is.

08_count_calls.py LAUNCHER PROGRAM PES LIBRARY: PROGRAM is 08_program.cpp, LIBRARY the tool."""

import collections
import os
import pathlib
import re
import subprocess
import sys

from example import LAUNCHER, PES, PROGRAM, check

LIBRARY = os.path.abspath(sys.argv[4])
OVERLOADS = {"shmem_p": "shmem_long_p"}
LONG = 8
BYTES = {"shmem_putmem": 100, "shmem_long_put": 4 * LONG, "shmem_ctx_long_put": 4 * LONG,
         "shmem_put32": 4 * 4, "shmem_long_iput": 2 * LONG, "shmem_long_ibput": 6 * LONG,
         "shmem_long_p": 2 * LONG, "shmem_long_g": LONG, "shmem_uint_atomic_or": 4,
         "shmem_long_atomic_fetch_inc": LONG, "shmem_long_put_signal": 4 * LONG,
         "shmem_long_sum_reduce": 4 * LONG, "shmem_broadcastmem": 8,
         "shmem_long_wait_until_all": 0, "shmem_long_test": 0, "shmem_malloc": 0,
         "shmem_barrier_all": 0, "shmem_quiet": 0}


def calls_in(source):
    """Routine -> how often it is called, of the text of a program without loops."""
    source = re.sub(r"//.*", "", source)
    source = re.sub(r"shmem_pcontrol\(0\).*?shmem_pcontrol\(1.*?\)", "", source, flags=re.DOTALL)
    names = re.findall(r"\b(shmem_\w+)\(", source)
    return collections.Counter(OVERLOADS.get(name, name) for name in names)


def table_of(text):
    rows = re.findall(r"^ +(\d+) +(\d+)  (shmem_\w+)$", text, flags=re.MULTILINE)
    check(len(rows) == len({name for _, _, name in rows}), "there is one table", text)
    return {name: (int(calls), int(size)) for calls, size, name in rows}


command = [LAUNCHER, "-n", str(PES), "-x", f"LD_PRELOAD={LIBRARY}", PROGRAM]
done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                      timeout=120)
check(done.returncode == 0, f"it ends with status 0, not {done.returncode}", done.stderr)
table = table_of(done.stderr)
expected = calls_in(pathlib.Path(__file__).with_name("08_program.cpp").read_text())
for name in sorted(expected.keys() | table.keys()):
    calls = table.get(name, (0, 0))[0]
    check(calls == expected[name] * PES,
          f"{name} is called {expected[name]} times by each PE, not {calls} in all")
for name, size in BYTES.items():
    check(table[name][1] == size * PES,
          f"{name} names {size} bytes on each PE, not {table[name][1]} in all")
