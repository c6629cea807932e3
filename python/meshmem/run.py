# SPDX-License-Identifier: Apache-2.0
"""Starts a Python program as a job: `python3 -m meshmem.run -n 4 prog.py ARGS`.

Runs oshrun with the same Python. Options are oshrun's, up to the program.
"""
from __future__ import annotations

import os
import shutil
import sys
import typing

from . import _core


def find_oshrun() -> typing.Optional[str]:
    """Returns the oshrun of the package or beside the library, else the first in PATH."""
    in_package = os.path.join(os.path.dirname(__file__), "bin", "oshrun")
    for path in (in_package, _core.OSHRUN):
        if path and os.access(path, os.X_OK):
            return path
    return shutil.which("oshrun")


def split(words: list[str]) -> int:
    """Returns where oshrun's options end: at the first word that names a Python program, or is -m
    or -c."""
    for index, word in enumerate(words):
        if word in ("-m", "-c") or word.endswith((".py", ".pyc", ".pyz")):
            return index
    return len(words)


def main() -> None:
    words = sys.argv[1:]
    begin = split(words)
    oshrun = find_oshrun()
    if oshrun is None:
        sys.exit("meshmem.run: there is no oshrun in PATH")
    if begin == len(words):
        sys.exit("usage: python3 -m meshmem.run [OPTIONS OF oshrun] (PROG.py | -m MODULE | "
                 "-c CODE) [ARGS]\n"
                 "  e.g. python3 -m meshmem.run -n 4 prog.py; oshrun --help lists the options")
    command = [oshrun, *words[:begin], sys.executable, *words[begin:]]
    sys.stdout.flush()
    os.execv(oshrun, command)


if __name__ == "__main__":
    main()
