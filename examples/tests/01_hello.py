# SPDX-License-Identifier: Apache-2.0
"""Every PE says hello once, with its own number."""

import re

from example import PES, check, run

lines = run()
numbers = [re.fullmatch(rf"Hello from PE (\d+) of {PES}, by .+", line) for line in lines]
check(all(numbers), "every line is a hello", lines)
check(sorted(int(n[1]) for n in numbers) == list(range(PES)), "each PE says it once", lines)
