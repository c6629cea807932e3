# SPDX-License-Identifier: Apache-2.0
"""The token comes around, whatever its size and the number of threads."""

import re

from example import PES, check, check_refuses, run

for laps, numbers, threads in ((100, 1024, 64), (1, 1, 1), (7, 1001, 96)):
    lines = run("--laps", laps, "--numbers", numbers, "--threads", threads)
    expected = (
        rf"{PES} PEs?: {laps} laps of {numbers} numbers, all as expected; \S+ us from PE to PE")
    check(len(lines) == 1 and re.fullmatch(expected, lines[0]), f"{laps} laps work", lines)
check_refuses("--laps", "0", says="--laps: Value 0 not in range 1 to", status=2)
check_refuses("--thread", "1", says="were not expected: 1 --thread", status=2)
