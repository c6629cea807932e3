# SPDX-License-Identifier: Apache-2.0
"""Computes how heat spreads in a plate. Each PE has a tile of the plate, with a border (halo) for
the edges of its neighbours; slices of NumPy name rows and columns.
`python3 -m meshmem.run -n 4 heat.py [SIZE] [STEPS]`"""
import sys

import meshmem
import numpy as np


def shape_of(n: int) -> tuple[int, int]:
    """Rows and columns of tiles, as square as n allows."""
    rows = max(k for k in range(1, int(n**0.5) + 1) if n % k == 0)
    return rows, n // rows


def main() -> None:
    size, steps = ([int(word) for word in sys.argv[1:]] + [48, 200][len(sys.argv) - 1:])[:2]
    meshmem.init()
    n_rows, n_columns = shape_of(meshmem.n_pes())
    row, column = divmod(meshmem.my_pe(), n_columns)
    height, width = size // n_rows, size // n_columns
    if size % n_rows or size % n_columns:
        sys.exit(f"heat.py: {n_rows} x {n_columns} tiles do not divide {size} x {size}")
    tiles = [meshmem.zeros((height + 2, width + 2)) for _ in range(2)]
    for tile in tiles:
        if row == 0:
            tile[0] = 100.0  # the upper edge of the plate is hot

    arrived = meshmem.zeros(1, np.uint64)
    neighbours = [(pe, mine, theirs) for there, pe, mine, theirs in (
        (row > 0, meshmem.my_pe() - n_columns, 1, -1),
        (row < n_rows - 1, meshmem.my_pe() + n_columns, -2, 0)) if there]
    beside = [(pe, mine, theirs) for there, pe, mine, theirs in (
        (column > 0, meshmem.my_pe() - 1, 1, -1),
        (column < n_columns - 1, meshmem.my_pe() + 1, -2, 0)) if there]
    for step in range(1, steps + 1):
        old, new = tiles
        t = old.local
        new.local[1:-1, 1:-1] = (t[:-2, 1:-1] + t[2:, 1:-1] + t[1:-1, :-2] + t[1:-1, 2:]) / 4
        for pe, mine, theirs in neighbours:  # a row is contiguous
            new[theirs].put_signal(pe, new.local[mine], arrived, 1, "add")
        for pe, mine, theirs in beside:  # a column is not
            new[:, theirs].iput(pe, new.local[:, mine])
            meshmem.fence()
            arrived.signal_add(pe, 1)
        arrived.signal_wait_until(">=", step * len(neighbours + beside))
        meshmem.sync_all()  # nobody still reads what the next step overwrites
        tiles.reverse()

    heat, total = meshmem.zeros(1), meshmem.zeros(1)
    heat[0] = tiles[0].local[1:-1, 1:-1].sum()
    meshmem.TEAM_WORLD.sum(total, heat)
    if meshmem.my_pe() == 0:
        print(f"{size} x {size}, {steps} steps: mean temperature {total.local[0] / size**2:.6f}")


if __name__ == "__main__":
    main()
