# SPDX-License-Identifier: Apache-2.0
"""How jobs that use PyTorch start and end. Each test runs jobs of its own: pytest runs without a
launcher, and takes oshrun from the package."""
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest
from meshmem.run import find_oshrun

START = """
import datetime, os, sys, time, torch, torch.distributed as dist
torch.set_num_threads(1)
def all_reduce():
    tensor = torch.ones(3)
    dist.all_reduce(tensor)
    return int(tensor[0])
"""


def run(words, **variables):
    environment = {**os.environ, "MESHMEM_TIMEOUT": "60", **variables}
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          timeout=100, env=environment)


def job(n, program, **variables):
    return run([find_oshrun(), "-n", n, sys.executable, "-c", START + textwrap.dedent(program)],
               **variables)


def test_a_launcher_of_meshmem_is_enough():
    result = job(3, """
        dist.init_process_group("meshmem")
        print(dist.get_rank() in range(3), all_reduce(), dist.get_backend())
    """)
    assert (result.returncode, result.stdout) == (0, "True 3 meshmem\n" * 3), result


def test_init_of_meshmem_before_and_after():
    result = job(2, """
        import meshmem
        meshmem.init()
        dist.init_process_group("cpu:meshmem")
        array = meshmem.full(1, meshmem.my_pe())
        print(all_reduce(), array.g(1 - meshmem.my_pe()) == 1 - dist.get_rank())
        dist.destroy_process_group()
        array.free()
        meshmem.finalize()
    """)
    assert (result.returncode, result.stdout) == (0, "2 True\n" * 2), result


def test_torchrun(tmp_path):
    program = tmp_path / "prog.py"
    program.write_text(START + 'dist.init_process_group("meshmem")\nprint(all_reduce())\n')
    result = run([sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", 2,
                  "--master-port", 0, "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0",
                  program])
    assert (result.returncode, result.stdout.split()) in ((0, ["2", "2"]), (0, ["22"])), result


def test_ranks_differ_from_pes():
    result = job(2, """
        import meshmem
        meshmem.init()
        rank = 1 - meshmem.my_pe()
        store = dist.TCPStore("localhost", int(os.environ["PORT"]), 2, rank == 0)
        try:
            dist.init_process_group("meshmem", store=store, rank=rank, world_size=2)
        except ValueError as error:
            print(error)
    """, PORT="29871")
    assert result.returncode == 0, result
    assert sorted(result.stdout.splitlines())[0].startswith(
        "rank: 0 of 2, but this process is PE 1 of 2"), result


def test_a_rank_that_hangs_is_named():
    result = job(3, """
        dist.init_process_group("meshmem", timeout=datetime.timedelta(seconds=1))
        all_reduce()
        if dist.get_rank() == 1:
            time.sleep(60)
        all_reduce()
    """)
    assert result.returncode, result
    assert "operation 2, meshmem:all_reduce, has waited 1." in result.stderr, result
    assert "for PE 1 (rank 1); this ends the job" in result.stderr, result


def test_an_abort_names_the_group():
    result = job(2, """
        dist.init_process_group("meshmem")
        if dist.get_rank() == 0:
            dist.all_reduce(torch.ones(3), async_op=True)
            time.sleep(0.5)
            dist.group.WORLD._get_backend(torch.device("cpu")).abort()
        time.sleep(60)
    """)
    assert result.returncode and "PE 0 (rank 0): the program aborts the group" in result.stderr


def test_a_group_may_end_with_work_that_nobody_waits_for():
    result = job(2, """
        dist.init_process_group("meshmem")
        for _ in range(10):
            dist.all_reduce(torch.ones(1000), async_op=True)
        work = dist.irecv(torch.ones(3), 1 - dist.get_rank())
        dist.destroy_process_group()
    """)
    assert (result.returncode, result.stderr) == (0, ""), result


MISSING = "import sys\nsys.modules['torch'] = None\n"


@pytest.mark.parametrize("program,text", [
    (MISSING + "import meshmem; print(meshmem.name()); import meshmem.torch",
     "meshmem.torch: PyTorch is missing"),
    ("import torch; torch.__version__ = '2.3.0'; import meshmem.torch",
     "meshmem.torch: torch 2.3.0 is too old; install 2.11 or later"),
    ("import torch; torch.__version__ = '2.99.0'; import meshmem.torch",
     "meshmem.torch: nothing is compiled for torch 2.99.0 and this meshmem; run "
     "`python3 -m meshmem.torch` once"),
])
def test_another_torch_or_none(program, text):
    result = run([sys.executable, "-c", program])
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1].startswith(f"ImportError: {text}"), result


def test_nothing_is_loaded_until_it_is_asked_for():
    result = run([sys.executable, "-c",
                  "import sys, torch; print('meshmem' in sys.modules, "
                  "torch.distributed.Backend.MESHMEM)"])
    assert (result.returncode, result.stdout) == (0, "False meshmem\n"), result


def test_the_example(tmp_path):
    example = pathlib.Path(__file__).parents[3] / "examples/train_digits_ddp.py"
    result = run([find_oshrun(), "-n", 2, sys.executable, example, "2"])
    assert result.returncode == 0 and "2 ranks" in result.stdout, result
