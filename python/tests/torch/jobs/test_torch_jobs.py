# SPDX-License-Identifier: Apache-2.0
"""How jobs that use PyTorch start and end. pytest runs without a launcher, and takes oshrun from
the package. Each start of PyTorch takes seconds, so several tests look at the lines of one job."""
import os
import pathlib
import re
import subprocess
import sys
import textwrap

import pytest
from meshmem.run import find_oshrun

START = """
import datetime, os, signal, sys, time, torch, torch.distributed as dist
from torch.utils.data import DataLoader, TensorDataset
torch.set_num_threads(1)
def say(*words):
    print(*words, flush=True)
def all_reduce():
    tensor = torch.ones(3)
    dist.all_reduce(tensor)
    return int(tensor[0])
"""


def run(words, **variables):
    environment = {**os.environ, "MESHMEM_TIMEOUT": "60", **variables}
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          timeout=100, env=environment)


def job(n, program, *options, **variables):
    return run([find_oshrun(), *options, "-n", n, sys.executable, "-c",
                START + textwrap.dedent(program)], **variables)


@pytest.fixture(scope="module")
def two_ranks():
    """A job that ends well."""
    return job(2, """
        import meshmem
        from meshmem.torch import AllReduceNorm, Experts, Quantized
        meshmem.init()
        dist.init_process_group("cpu:meshmem")
        array = meshmem.full(1, meshmem.my_pe())
        say("after init", all_reduce(), array.g(1 - meshmem.my_pe()) == 1 - dist.get_rank())

        dist.all_reduce(torch.ones(3), async_op=True).get_future().wait()
        loader = DataLoader(TensorDataset(torch.arange(20)), 4, num_workers=1)
        n_loaded = sum(len(batch) for batch, in loader)
        received = torch.zeros(1)
        work = dist.irecv(received, 1 - dist.get_rank())
        child = os.fork()
        if child == 0:
            for use in (all_reduce, work.wait):
                try:
                    use()
                    os._exit(2)
                except RuntimeError as error:
                    if "a child of fork is no rank" not in str(error):
                        os._exit(1)
            os._exit(0)
        ended = os.waitpid(child, 0)[1]
        dist.barrier()
        dist.send(torch.ones(1), 1 - dist.get_rank())
        work.wait()
        say("children", n_loaded, ended, all_reduce(), int(received))

        for _ in range(10):
            dist.all_reduce(torch.ones(1000), async_op=True)
        work = dist.irecv(torch.ones(3), 1 - dist.get_rank())
        dist.destroy_process_group()
        dist.init_process_group("meshmem")
        say("again", all_reduce())
        dist.destroy_process_group()
        array.free()
        world = meshmem.TEAM_WORLD
        kept = Quantized(world)
        with Experts(world, hidden=1, top_k=1, experts=2, max_tokens=1), AllReduceNorm(world):
            meshmem.finalize()
        say("finalized")
        meshmem.init()
        try:
            kept.all_reduce(torch.ones(8), "int8")
        except RuntimeError as error:
            say(str(error))
        kept.close()
        try:
            dist.init_process_group("meshmem")
        except RuntimeError as error:
            say(str(error))
    """)


def assert_said(result, *lines):
    """By each of the two ranks."""
    assert result.returncode == 0, result
    said = result.stdout.splitlines()
    assert [said.count(line) for line in lines] == [2] * len(lines), result


def test_init_of_meshmem_before_and_after(two_ranks):
    assert_said(two_ranks, "after init 2 True", "finalized")


def test_no_group_starts_after_finalize(two_ranks):
    assert_said(two_ranks, "meshmem.torch: a process cannot use PyTorch with meshmem again after "
                "meshmem.finalize()")


def test_objects_of_the_job_before_are_refused(two_ranks):
    assert_said(two_ranks, "Quantized: made before the latest meshmem.init(); make another")


def test_children_of_fork(two_ranks):
    """Workers that load data are no problem. A child that uses the group gets an exception."""
    assert_said(two_ranks, "children 20 0 2 1")


def test_a_group_may_end_with_work_that_nobody_waits_for(two_ranks):
    assert_said(two_ranks, "again 2")
    assert "meshmem:" not in two_ranks.stderr, two_ranks


def test_an_exception_is_printed():
    result = job(2, """
        dist.init_process_group("meshmem")
        if dist.get_rank() == 1:
            raise KeyError("why")
        dist.barrier()
    """)
    assert result.returncode == 1, result
    assert "Traceback" in result.stderr and "KeyError: 'why'" in result.stderr, result


def test_torchrun(tmp_path):
    program = tmp_path / "prog.py"
    program.write_text(START + textwrap.dedent("""
        dist.init_process_group("meshmem")
        say(all_reduce())
        # The program ends before these operations and a callback do.
        for _ in range(20):
            dist.all_reduce(torch.ones(1_000_000), async_op=True)
        work = dist.all_reduce(torch.ones(3), async_op=True)
        def again(_):
            time.sleep(0.5)
            dist.all_reduce(torch.ones(3), async_op=True).get_future().wait()
        work.get_future().then(again)
    """))
    result = run([sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", 2,
                  "--master-port", 0, "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0",
                  program])
    assert (result.returncode, result.stdout.split()) in ((0, ["2", "2"]), (0, ["22"])), result


@pytest.fixture(scope="module")
def aborted():
    return job(2, """
        import meshmem
        from meshmem.torch import AllReduceNorm, Experts, Quantized
        meshmem.init()
        rank = 1 - meshmem.my_pe()
        store = dist.TCPStore("localhost", int(os.environ["PORT"]), 2, rank == 0)
        dist.init_process_group("gloo", store=dist.PrefixStore("gloo", store), rank=rank,
                                world_size=2)
        try:
            Experts(dist.group.WORLD, hidden=1, top_k=1, experts=2, max_tokens=1)
        except ValueError as error:
            say(error)
        dist.destroy_process_group()
        try:
            dist.init_process_group("meshmem", store=store, rank=rank, world_size=2)
        except ValueError as error:
            say(error)
        dist.init_process_group("meshmem", store=store, rank=1 - rank, world_size=2)
        if dist.get_rank() == 0:
            dist.all_reduce(torch.ones(3), async_op=True)
            time.sleep(0.5)
            dist.group.WORLD._get_backend(torch.device("cpu")).abort()
        time.sleep(60)
    """, PORT="29871")


def test_ranks_differ_from_pes(aborted):
    said = sorted(aborted.stdout.splitlines())
    assert said[0].startswith("rank: 0 of 2, but this process is PE 1 of 2"), aborted
    assert said[2].startswith("team: this process is rank 0, but PE 1"), aborted


def test_an_abort_names_the_group(aborted):
    assert aborted.returncode, aborted
    assert "PE 0 (rank 0): the program aborts the group" in aborted.stderr, aborted


def assert_ends(result, whom):
    """A line of the watchdog says for whom a rank has waited."""
    assert result.returncode, result
    assert re.search(r"\): operation 1, meshmem:all_reduce, has waited \d+\.\d s for "
                     rf"{whom}; this ends the job", result.stderr), result


@pytest.fixture(scope="module")
def hanging():
    return job(3, """
        dist.init_process_group("meshmem")
        say(dist.get_rank() in range(3), all_reduce(), dist.get_backend())
        group = dist.new_group(timeout=datetime.timedelta(seconds=1))
        dist.barrier()
        if dist.get_rank() == 1:
            time.sleep(60)
        dist.all_reduce(torch.ones(3), group=group)
    """)


def test_a_launcher_of_meshmem_is_enough(hanging):
    assert hanging.stdout == "True 3 meshmem\n" * 3, hanging


def test_a_rank_that_hangs_is_named(hanging):
    assert_ends(hanging, r"PE 1 \(rank 1\)")


@pytest.fixture(scope="module")
def few_parts():
    """The heap has memory for four groups at a time."""
    return job(3, """
        dist.init_process_group("meshmem")
        rank, store = dist.get_rank(), dist.distributed_c10d._get_default_store()
        def members(n):
            return dist.new_group(range(n), use_local_synchronization=True)
        group = members(3)
        if rank < 2:
            dist.destroy_process_group(group)
            del group
            group = members(2)
        if rank == 1:  # rank 2's message goes to the memory of the group that rank 0 has left
            dist.send(torch.ones(100_000), 0, group=group)
        dist.barrier()
        if rank == 2:
            dist.send(torch.full((1000,), 2.), 0, group=group)
        dist.barrier()
        if rank == 0:
            tensor = torch.zeros(100_000)
            dist.recv(tensor, 1, group=group)
            say("received", bool(tensor.eq(1).all()))
        dist.destroy_process_group(group)
        del group
        for _ in range(20):
            group = members(3)
            dist.all_reduce(torch.ones(1), group=group)
            dist.destroy_process_group(group)
            del group
        groups = [members(3) for _ in range(3)]
        dist.barrier()
        if rank == 2:  # the others wait for the part of the first group
            time.sleep(0.5)
        dist.destroy_process_group(groups.pop(0))
        if rank < 2:
            groups.append(members(2))
            say("made")
        dist.barrier()
        if rank < 2:
            try:
                members(2)
            except RuntimeError as error:
                say("too many process groups" in str(error))
    """, SHMEM_SYMMETRIC_SIZE="64m")


def test_a_part_waits_for_all_that_had_it(few_parts):
    assert few_parts.returncode == 0 and "received True\n" in few_parts.stdout, few_parts


def test_parts_are_used_again(few_parts):
    said = few_parts.stdout.splitlines()
    assert said.count("made") == said.count("True") == 2, few_parts


def test_operations_after_finalize():
    """Also if the process is a PE of another job by then."""
    result = job(2, """
        import meshmem
        dist.init_process_group("meshmem")
        group = dist.new_group()
        for end in (meshmem.finalize, meshmem.init):
            end()
            for use in (all_reduce, lambda: dist.send(torch.ones(1), 1 - dist.get_rank())):
                try:
                    use()
                except RuntimeError as error:
                    say(str(error).partition(": ")[2].splitlines()[0])
        dist.destroy_process_group()
        del group
        say("destroyed")
    """)
    assert result.returncode == 0, result
    assert result.stdout.count("the group has ended") == 8, result
    assert result.stdout.count("destroyed") == 2, result


def test_a_callback_that_waits_for_the_program_ends_the_job():
    result = job(2, """
        import threading
        dist.init_process_group("meshmem")
        group = dist.new_group(timeout=datetime.timedelta(seconds=2))
        store = dist.distributed_c10d._get_default_store()
        if dist.get_rank() == 1:
            store.get("begun")
            dist.all_reduce(torch.ones(1), group=group)
            time.sleep(60)
        lock = threading.Lock()
        with lock:
            work = dist.all_reduce(torch.ones(1), group=group, async_op=True)
            work.get_future().then(lambda _: lock.acquire())
            store.set("begun", "yes")
            dist.barrier(group=group)
    """)
    assert result.returncode, result
    assert re.search(r"\): meshmem:barrier has waited \d\.\d s for a callback of an earlier "
                     "operation; this ends the job", result.stderr), result


def test_a_rank_that_does_not_answer_ends_the_job():
    result = job(2, """
        dist.init_process_group("meshmem")
        group = dist.new_group(timeout=datetime.timedelta(seconds=1))
        dist.barrier()
        if dist.get_rank() == 1:
            os.kill(os.getpid(), signal.SIGSTOP)
        dist.all_reduce(torch.ones(3), group=group)
    """, "--fake-nodes", 2, MESHMEM_TIMEOUT="0")
    assert_ends(result, "members that do not answer")


def test_a_gpu_on_one_rank_only():
    result = job(2, """
        import meshmem
        meshmem.init()
        torch.cuda.is_available = lambda: meshmem.my_pe() == 0
        dist.init_process_group("meshmem")
        say(all_reduce())
    """)
    assert result.stdout == "2\n2\n", result


@pytest.mark.parametrize("missing", ["sys.modules['triton'] = None",
                                     "torch.library.get_kernel = missing"])
def test_a_torch_that_has_less(missing):
    """Neither Triton nor the kernels of NVSHMEM are part of each PyTorch for GPUs."""
    result = run([sys.executable, "-c", textwrap.dedent(f"""
        import sys, torch
        def missing(*_):
            raise RuntimeError("no kernel")
        torch.cuda.is_available = lambda: True
        {missing}
        import meshmem.torch
    """)])
    assert result.returncode == 0, result


def test_no_torch():
    result = run([sys.executable, "-c", "import sys; sys.modules['torch'] = None\n"
                  "import meshmem; print(meshmem.name()); import meshmem.torch"])
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1].startswith(
        "ImportError: meshmem.torch: PyTorch is missing"), result


@pytest.fixture(scope="module")
def alone():
    """A process that asks for the package late, and as other versions of PyTorch."""
    return run([sys.executable, "-c", textwrap.dedent("""
        import ctypes, os, pathlib, shutil, sys, tempfile, torch
        print("meshmem" in sys.modules, torch.distributed.Backend.MESHMEM)
        for torch.__version__ in ("2.3.0", "2.99.0"):
            try:
                import meshmem.torch
            except ImportError as error:
                print(error)
        sys.argv, sys.orig_argv = ["-m"], [sys.executable, "-u", "-m", "meshmem.torch"]
        from meshmem.torch import _compiled
        library = _compiled.loaded_library("libstdc++")
        copy = pathlib.Path(tempfile.mkdtemp()) / "my libraries/libcopy.so.1"
        copy.parent.mkdir()
        shutil.copy(library, copy)
        ctypes.CDLL(str(copy), os.RTLD_LOCAL)
        print(_compiled.loaded_library("libcopy") == copy)
        shutil.rmtree(copy.parents[1])
        try:
            _compiled.loaded_library("libcopy")
        except RuntimeError as error:
            print(str(error).partition(";")[0])
    """)])


def test_nothing_is_loaded_until_it_is_asked_for(alone):
    assert alone.returncode == 0 and alone.stdout.splitlines()[0] == "False meshmem", alone


def test_another_torch(alone):
    assert alone.stdout.splitlines()[1:3] == [
        "meshmem.torch: torch 2.3.0 is too old; install 2.11 or later",
        "meshmem.torch: nothing is compiled for torch 2.99.0 and this meshmem; run "
        "`python3 -m meshmem.torch` once"], alone


def test_the_command_that_compiles(alone):
    """It may have options of Python, and find the library in a path with spaces."""
    assert alone.returncode == 0 and alone.stdout.splitlines()[3:] == [
        "True", "meshmem.torch: libcopy was removed or replaced after the program has loaded it"
    ], alone


def test_the_example(tmp_path):
    example = pathlib.Path(__file__).parents[3] / "examples/train_digits_ddp.py"
    result = run([find_oshrun(), "-n", 2, sys.executable, example, "2"])
    assert result.returncode == 0 and "2 ranks" in result.stdout, result
