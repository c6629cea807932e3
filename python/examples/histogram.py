# SPDX-License-Identifier: Apache-2.0
"""Counts letters in a histogram that is spread over the PEs: each PE has some of the bins, and adds
to the bins of the others by atomics. `python3 -m meshmem.run -n 4 histogram.py`"""
import pathlib
import string

import meshmem
import numpy as np

LETTERS = string.ascii_lowercase


def main() -> None:
    meshmem.init()
    me, n = meshmem.my_pe(), meshmem.n_pes()
    bins = meshmem.zeros(-(-len(LETTERS) // n), np.int64)  # letter i is in bin i // n of PE i % n

    # Each PE reads every n-th line of this file.
    lines = pathlib.Path(__file__).read_text(encoding="utf-8").lower().splitlines()[me::n]
    for letter in "".join(lines):
        if letter in LETTERS:
            i = LETTERS.index(letter)
            bins.atomic_add(i % n, 1, i // n)
    meshmem.barrier_all()

    if me == 0:
        counts = np.array([bins.g(i % n, i // n) for i in range(len(LETTERS))])
        for i in counts.argsort(kind="stable")[:-6:-1]:
            print(f"{LETTERS[i]} {counts[i]:5}")


if __name__ == "__main__":
    main()
