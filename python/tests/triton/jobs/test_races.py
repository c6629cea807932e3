# SPDX-License-Identifier: Apache-2.0
"""MESHMEM_CHECK=races finds races of interpreted kernels, each time, and none in right programs.
Each test runs jobs of its own, of races.py."""
import os
import pathlib
import re
import subprocess
import sys

import pytest
from meshmem.run import find_oshrun

PROGRAM = pathlib.Path(__file__).with_name("races.py")
RIGHT = ("right", "meets", "released")
# By the two accesses of which each is reported.
PLANTED = {"no_signal": "read written", "no_wait": "read written", "early_signal": "read written",
           "relaxed": "read written", "of_one_gpu": "read written", "load_loop": "read written",
           "one_place": "written written"}


def run(pes, *words, **check):
    return subprocess.run([find_oshrun(), "-n", str(pes), sys.executable, PROGRAM, *words],
                          capture_output=True, text=True, timeout=100,
                          env={**os.environ, "MESHMEM_TIMEOUT": "30", "TRITON_INTERPRET": "1",
                               **check})


@pytest.mark.parametrize("pes", [2, 4])
def test_right_programs_are_silent(pes):
    result = run(pes, *RIGHT, MESHMEM_CHECK="races")
    assert (result.returncode, result.stderr) == (0, ""), result


@pytest.mark.parametrize("_", range(5))
def test_planted_ones_are_found_each_time(_):
    result = run(4, *PLANTED, MESHMEM_CHECK="races")
    assert result.returncode == 1, result
    access = r"(read|written)\b.* by PE \d: an? \w+ of the program in (\w+) at races\.py:\d+"
    pairs = re.findall(f"\n  first {access}\n  then {access}", result.stderr)
    found = {(name, " ".join(sorted((first, then)))) for first, name, then, other in pairs
             if name == other}
    assert set(PLANTED.items()) <= found, result


def test_without_the_check_nothing_is_watched():
    result = run(4, "no_signal")
    assert (result.returncode, result.stderr) == (0, ""), result


def test_the_import_comes_before_init():
    result = subprocess.run([sys.executable, "-c", "import meshmem\nmeshmem.init()\n"
                             "import meshmem.triton"], capture_output=True, text=True, timeout=100,
                            env={**os.environ, "MESHMEM_CHECK": "races", "TRITON_INTERPRET": "1"})
    assert result.returncode == 1
    assert "import it before meshmem.init()" in result.stderr, result
