# SPDX-License-Identifier: Apache-2.0
"""The board is that of a plain loop, whatever the sizes, on one machine and over fake nodes."""

import os
import re

from example import PES, check, check_refuses, run


def first(x, y):
    mixed = (x * 2654435761 ^ y * 2246822519) & 0xffffffff
    mixed = (mixed ^ mixed >> 15) * 3266489917 & 0xffffffff
    return int((mixed ^ mixed >> 13) % 3 == 0)


def life(width, height, generations):
    """How many live at the end, and the sum of their numbers."""
    cells = [[first(x, y) for x in range(width)] for y in range(height)]
    for _ in range(generations):
        sums = [[row[x - 1] + row[x] + row[(x + 1) % width] for x in range(width)] for row in cells]
        cells = [[int(around == 3 or (around == 4 and row[x]))
                  for x, around
                  in enumerate(map(sum, zip(sums[y - 1], sums[y], sums[(y + 1) % height])))]
                 for y, row in enumerate(cells)]
    living = [number + 1 for number, cell in enumerate(sum(cells, [])) if cell]
    return len(living), sum(living)


def check_board(width, rows, generations, *more, **where):
    lines = run("--width", width, "--rows", rows, "--generations", generations, *more, **where)
    living, places = life(width, rows * PES, generations)
    check(lines[0] == f"{width} x {rows * PES} cells, after {generations} generations {living} "
          "live, "
          f"checksum {places}", f"{living} live, checksum {places}", lines)
    check(len(lines) == 2 and re.fullmatch(r"a generation: \S+ us if all wait for the halos, "
                                           r"\S+ us if they travel meanwhile", lines[1]),
          "times follow", lines)


check_board(40, 9, 20)
check_board(33, 2, 7, "--blocks", 1, "--threads", 33)
if PES == 3:
    check_board(40, 9, 20, launcher=("--fake-nodes", 2))
if PES == 5 and os.environ.get("WITH_NODES"):
    check_board(40, 9, 20, launcher=("--fake-nodes", 3))
check_refuses("--rows", "1", says="--rows: Value 1 not in range 2 to", status=2)
