# SPDX-License-Identifier: Apache-2.0
"""Runs the tests on all ranks: `oshrun -n 4 python3 -m pytest python/tests/torch/pes`. Rank 0
reports. A failure on any rank ends the job, since the others would wait for it."""
import datetime
import pathlib
import sys

import meshmem
import pytest
import torch
import torch.distributed as dist
from meshmem.torch import Experts

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))  # on_all_pes.py


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    torch.set_num_threads(1)
    dist.init_process_group("meshmem", timeout=datetime.timedelta(seconds=60))
    if dist.get_rank():
        config.pluginmanager.unregister(name="terminalreporter")


def pytest_unconfigure(config):
    dist.destroy_process_group()


def pytest_runtest_logreport(report):
    if report.failed:
        print(f"rank {meshmem.my_pe()} of {meshmem.n_pes()}: {report.nodeid}\n"
              f"{report.longreprtext}", file=sys.__stderr__, flush=True)
        meshmem.global_exit(1)


@pytest.fixture(scope="module")
def device():
    """Where the device heap is: with a library for GPUs the tests are of CUDA tensors."""
    with Experts(meshmem.TEAM_WORLD, hidden=1, top_k=1, experts=1, max_tokens=1) as moe:
        place = moe.rows.device
    torch.set_default_device(place)
    yield place
    torch.set_default_device(None)


@pytest.fixture
def me():
    return dist.get_rank()


@pytest.fixture
def n():
    return dist.get_world_size()
