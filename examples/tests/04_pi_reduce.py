# SPDX-License-Identifier: Apache-2.0
"""The parts add up to pi, also with fewer strips than PEs; other arguments are refused."""

import math
import re

from example import PES, check, check_refuses, run


def pi_from(*arguments):
    lines = run(*arguments)
    found = re.fullmatch(rf"pi is about (\S+) \(off by \S+\): \d+ strips on {PES} PEs?", lines[0])
    check(len(lines) == 1 and found, "one line tells the result", lines)
    return float(found[1])


check(abs(pi_from() - math.pi) < 1e-10, "ten million strips give pi")
check(abs(pi_from(1000) - math.pi) < 1e-6, "a thousand strips come near")
check(abs(pi_from(2) - (64 / 17 + 64 / 25) / 2) < 1e-12, "two strips give what two strips give")
for bad in (["none"], ["0"], ["-3"], ["5x"], [""], [5, 6]):
    check_refuses(*bad, says="give one number of strips", status=2)
