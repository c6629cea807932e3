#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts what a compiler reads and makes for a small program with one kernel; fails above a limit.

cost.py OSHHIP SOURCE

A limit on time would depend on the machine. The compiler's time goes into the functions that it
makes of the headers, called or not: 22,600 of them took three times as long as today's 5,800.
Exit status 77 (skipped) where the compiler is not GCC.
"""
import pathlib
import subprocess
import sys
import tempfile

MOST_FUNCTIONS = 7000
MOST_LINES = 35000


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def functions_made(oshhip, source):
    """How many functions the front end has finished: GCC dumps each."""
    with tempfile.TemporaryDirectory() as folder:
        dump = pathlib.Path(folder, "functions")
        run(oshhip, "-c", source, "-o", str(pathlib.Path(folder, "object")),
            f"-fdump-tree-original={dump}")
        return sum(line.startswith(";; Function ") for line in dump.open(errors="replace"))


def lines_read(oshhip, source):
    return sum(not line.startswith("#") and not line.isspace()
               for line in run(oshhip, "-E", source).splitlines())


def main():
    oshhip, source = sys.argv[1:]
    if "Free Software Foundation" not in run(oshhip, "--version"):
        print("SKIPPED: oshhip's compiler is not GCC")
        return 77
    status = 0
    for what, number, most in [("functions made", functions_made(oshhip, source), MOST_FUNCTIONS),
                               ("lines read", lines_read(oshhip, source), MOST_LINES)]:
        print(f"{number} {what}, of at most {most}")
        if not 0 < number <= most:
            print(f"cost.py: {number} {what} for {source}, where {most} are the most",
                  file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
