# SPDX-License-Identifier: Apache-2.0
"""The three ways agree, which the example checks; here: that the sums are those of plain loops."""

import re

from example import PES, check, check_refuses, run


def value(matrix, row, column):
    mixed = (matrix * 7919 + row * 104729 + column * 1299709) * 2654435761 % 2**64
    return (mixed >> 16) % 5 - 2


def product(a, b):
    columns = list(zip(*b))
    return [[sum(x * y for x, y in zip(row, column)) for column in columns] for row in a]


def matrix(number, rows, columns):
    return [[value(number, row, column) for column in range(columns)] for row in range(rows)]


def checksum(rows, width, inner):
    """Of all PEs' shares: each element counts by its place in its share."""
    x, first, second = (matrix(0, rows * PES, width), matrix(1, width, inner * PES),
                        matrix(2, inner * PES, width))
    y = sum(product(product(x, first), second), [])
    return sum(element * (i % (rows * width) % 101 + 1) for i, element in enumerate(y))


def check_layers(rows, width, inner, *more):
    lines = run("--rows", rows, "--width", width, "--inner", inner, *more)
    pes = "1 PE" if PES == 1 else f"{PES} PEs"
    first = f"{pes}: {rows * PES} x {width} activations, checksum {checksum(rows, width, inner)}"
    check(lines[:1] == [first], f"'{first}'", lines)
    check(len(lines) == 2 and re.fullmatch(
        r"a step: \S+ us in turn, \S+ us in two kernels, \S+ us in chunks", lines[1]),
          "the times follow", lines)


check_layers(16, 32, 24)
check_layers(5, 9, 3, "--tile", 2, "--blocks", 3, "--steps", 2)
check_layers(1, 1, 1)
check_refuses("--tile", "0", says="--tile: Value 0 not in range 1 to", status=2)
