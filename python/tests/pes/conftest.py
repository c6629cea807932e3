# SPDX-License-Identifier: Apache-2.0
"""Runs the tests on all PEs of a job: `oshrun -n 4 python3 -m pytest python/tests/pes`. PE 0
reports. A failure on any PE ends the job, since the others would wait for it."""
import pathlib
import sys

import meshmem
import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))  # on_all_pes.py


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    meshmem.init()
    if meshmem.my_pe():
        config.pluginmanager.unregister(name="terminalreporter")


def pytest_runtest_logreport(report):
    if report.failed:
        print(f"PE {meshmem.my_pe()} of {meshmem.n_pes()}: {report.nodeid}\n{report.longreprtext}",
              file=sys.__stderr__, flush=True)
        meshmem.global_exit(1)


@pytest.fixture
def me():
    return meshmem.my_pe()


@pytest.fixture
def n():
    return meshmem.n_pes()


@pytest.fixture
def right(me, n):
    return (me + 1) % n


@pytest.fixture
def left(me, n):
    return (me - 1) % n


@pytest.fixture
def make():
    """Makes arrays that are freed after the test, on all PEs in the same order."""
    made = []

    def zeros(shape, dtype=float, **how):
        made.append(meshmem.zeros(shape, dtype, **how))
        return made[-1]
    yield zeros
    meshmem.barrier_all()
    for array in made:
        array.free()
