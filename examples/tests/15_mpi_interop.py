# SPDX-License-Identifier: Apache-2.0
"""The numbers are the same by MPI through the hosts, by MPI directly where it can, and by a put."""

import re

from example import PES, check, check_refuses, run

for arguments, count in (((), 1 << 20), ((1,), 1)):
    # Directly where GPUs are processors, or MPI says that it takes their memory.
    expected = (f"{PES} {'PE' if PES == 1 else 'PEs'}: {count} numbers from GPU to GPU by MPI "
                "through hosts"
                "(, by MPI directly)? and by a put: the same")
    lines = run(*arguments)
    check(len(lines) == 1 and re.fullmatch(expected, lines[0]), "all numbers are the same", lines)
for bad in (["0"], [5, 6]):  # mpirun takes long to start
    check_refuses(*bad, says="give one number of numbers", status=2)
