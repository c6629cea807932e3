# SPDX-License-Identifier: Apache-2.0
"""The results are those of a plain loop, which the example checks; here: for which sizes."""

import re

from example import PES, check, check_refuses, run

for tokens, width, experts, rounds in ((32, 64, 2, 3), (1, 1, 1, 5), (33, 50, 3, 2),
                                       (100, 7, 1, 4)):
    lines = run("--tokens", tokens, "--width", width, "--experts", experts, "--rounds", rounds)
    first = (f"{PES} PE(s)?, {PES * experts} experts: {rounds} rounds of {PES * tokens} tokens, "
             rf"{width} numbers each, {min(2, PES * experts)} experts a token: all as expected")
    check(len(lines) == 2 and re.fullmatch(first, lines[0]), "all results are right", lines)
    busiest = int(re.match(r"the busiest expert had (\d+) tokens in the last round; \S+ us a round",
                           lines[1])[1])
    check(tokens * min(2, PES * experts) <= busiest * experts <= PES * tokens * experts,
          "the busiest expert has at least the mean of all", lines)
check_refuses("--tokens", "none", says="--tokens: Value none not in range 1 to", status=2)
check_refuses("5", says="was not expected: 5", status=2)
