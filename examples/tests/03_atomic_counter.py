# SPDX-License-Identifier: Apache-2.0
"""Every task is done once, whoever does it."""

import re

from example import PES, check, run

lines = run()
done = [re.fullmatch(r"PE (\d+) did (\d+) tasks", line) for line in lines]
done = [(int(m[1]), int(m[2])) for m in done if m]
check(sorted(pe for pe, _ in done) == list(range(PES)), "each PE says how much it did", lines)
check(sum(tasks for _, tasks in done) == 1000, "1000 tasks are done in all", lines)
check("1000 tasks: 78498 primes below 1000000" in lines, "all primes are found", lines)
