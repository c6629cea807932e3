# SPDX-License-Identifier: Apache-2.0
"""What MPI brings and what a put brings are the same."""

from example import PES, check, check_refuses, run

for arguments, count in (((), 1 << 20), ((1,), 1)):
    expected = f"{PES} {'PE' if PES == 1 else 'PEs'}: {count} numbers from GPU to GPU by MPI and by a put: the same"
    lines = run(*arguments)
    check(lines == [expected], "all numbers are the same", lines)
for bad in (["0"], [5, 6]):  # mpirun takes long to start
    check_refuses(*bad, says="give one number of numbers", status=2)
