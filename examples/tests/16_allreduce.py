# SPDX-License-Identifier: Apache-2.0
"""The averages are right, which the example checks; here: of how many gradients, in which
buckets."""

import re

from example import PES, check, check_refuses, run


def sizes(layers):
    """The sizes of the layers, the last one first."""
    return [1000 * (layer % 5 + 1) + 7 for layer in reversed(range(layers))]


def buckets(layers, most):
    found = []
    for size in sizes(layers):
        if not found or found[-1] + size > most:
            found.append(0)
        found[-1] += size
    return found


for layers, kib, steps in ((12, 64, 5), (1, 64, 1), (7, 1, 2), (9, 4096, 2)):
    lines = run("--layers", layers, "--bucket", kib, "--steps", steps)
    pes = "1 PE" if PES == 1 else f"{PES} PEs"
    first = (f"{pes}: {sum(sizes(layers))} gradients of {layers} layers in "
             f"{len(buckets(layers, kib * 256))} buckets, averaged {2 * steps} times: all as "
             "expected")
    check(lines[:1] == [first], f"'{first}'", lines)
    check(len(lines) == 2 and re.fullmatch(
        r"\d+ us a step through the buffer of the AllReduce, \d+ us registered", lines[1]),
          "the times follow", lines)
check_refuses("--steps", "0", says="--steps: Value 0 not in range 1 to", status=2)
check_refuses("5", says="was not expected: 5", status=2)
