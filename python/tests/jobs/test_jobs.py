# SPDX-License-Identifier: Apache-2.0
"""How jobs of Python programs start and end. Each test runs jobs of its own: pytest runs without a
launcher, and takes oshrun from the package."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import textwrap

import pytest
from meshmem.run import find_oshrun

HAS_GIL = getattr(sys, "_is_gil_enabled", lambda: True)()
START = "import meshmem, os, sys, numpy as np\nmeshmem.init()\nme = meshmem.my_pe()\n"
EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


def command(pes, program, *launcher):
    return [*(launcher or (find_oshrun(),)), "-n", str(pes), sys.executable, "-c",
            START + textwrap.dedent(program)]


def run(words, **options):
    environment = {**os.environ, "MESHMEM_TIMEOUT": "60", **options.pop("env", {})}
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          timeout=100, env=environment, **options)


def test_both_launchers(tmp_path):
    program = tmp_path / "prog.py"
    program.write_text(START + "print(me, meshmem.n_pes(), sys.argv[1:])\n")
    for launcher in ((find_oshrun(),), (sys.executable, "-m", "meshmem.run")):
        python = (sys.executable,) if len(launcher) == 1 else ()
        result = run([*launcher, "-n", 3, *python, program, "-n", "x.py"])
        assert result.returncode == 0, result
        assert sorted(result.stdout.splitlines()) == [f"{pe} 3 ['-n', 'x.py']" for pe in range(3)]
    assert run([sys.executable, program]).stdout == "0 1 []\n"


def test_run_says_what_is_wrong():
    result = run([sys.executable, "-m", "meshmem.run", "-n", 2])
    assert result.returncode == 1 and result.stderr.startswith("usage: "), result


def test_an_exception_ends_the_other_pes():
    result = run(command(3, """
        def fails():
            raise KeyError("why")
        if me == 1:
            fails()
        meshmem.barrier_all()
    """))
    assert result.returncode == 1, result
    assert "meshmem: PE 1 of 3 ends the job: KeyError was not caught\nTraceback" in result.stderr
    assert "in fails\n" in result.stderr and "\nKeyError: 'why'\n" in result.stderr


def test_the_race_checker_sees_locks_and_signals():
    result = run(command(2, """
        lock, count, signals = meshmem.Lock(), meshmem.zeros(8), meshmem.zeros(1, np.uint64)
        meshmem.barrier_all()
        for i in range(5):
            with lock:
                mine = count.get(0)
                count.put(0, mine + 1)
                meshmem.quiet()
        meshmem.barrier_all()
        if me == 0:
            count.put(1, np.full(8, 7.0))
            meshmem.fence()
            signals.signal_add(1, 1)
        else:
            signals.signal_wait_until(">=", 1)
            assert np.array_equal(count.get(1), np.full(8, 7.0))
    """), env={"MESHMEM_CHECK": "races"})
    assert (result.returncode, result.stderr) == (0, ""), result


def test_an_exit_with_a_status_ends_the_other_pes():
    result = run(command(2, """
        if me == 1:
            sys.exit(7)
        meshmem.barrier_all()
    """))
    assert result.returncode == 7 and "PE 1" in result.stderr, result


def test_global_exit_flushes():
    result = run(command(2, """
        if me == 0:
            print("last words", end="")
            meshmem.global_exit(3)
        meshmem.barrier_all()
    """))
    assert (result.returncode, result.stdout) == (3, "last words"), result


def test_the_end_of_the_program_finalizes():
    result = run(command(2, """
        array = meshmem.zeros(3)
        view = array.local  # both live until the interpreter ends
        array.put_nbi(1 - me, np.ones(3))
    """))
    assert (result.returncode, result.stderr) == (0, ""), result


def test_finalize_completes_nonblocking_calls():
    result = run(command(2, """
        array, source = meshmem.zeros(3), meshmem.full(3, 1.0)
        array.put_nbi(1 - me, source.local)
        array.put_nbi(1 - me, source.local, ctx=meshmem.Context())
        meshmem.finalize()
    """))
    assert (result.returncode, result.stderr) == (0, ""), result


def test_start_again_after_finalize():
    result = run(command(2, """
        def refuses(*calls):
            for call in calls:
                try:
                    call()
                    print("no error")
                except (RuntimeError, BufferError, ValueError):
                    pass
        array = meshmem.zeros(1)
        team = meshmem.TEAM_WORLD.split_strided(0, 1, 2)
        ctx = meshmem.Context()
        view = array.local
        refuses(meshmem.finalize)
        del view
        meshmem.finalize()
        refuses(array.free, meshmem.my_pe, meshmem.barrier_all, lambda: meshmem.zeros(1),
                lambda: array.local, team.sync, ctx.quiet)
        meshmem.init()
        again = meshmem.full(1, 5)
        refuses(array.free, lambda: array.g(0), lambda: array.local, team.sync, ctx.quiet)
        print(again.g(1 - me))
    """))
    assert (result.returncode, result.stdout) == (0, "5\n5\n"), result


def test_no_call_before_init():
    result = run([sys.executable, "-c", "import meshmem; meshmem.my_pe()"])
    assert result.returncode == 1
    assert result.stderr.endswith("RuntimeError: meshmem: call meshmem.init() first\n"), result


def test_a_wrong_start_by_a_unique_id():
    result = run([sys.executable, "-c", textwrap.dedent("""
        import meshmem
        unique_id = meshmem.unique_id()
        try:
            meshmem.unique_id()
        except RuntimeError as error:
            print(error)
        for arguments in ({"rank": 0}, {"rank": 0, "n_pes": 1, "unique_id": b""},
                          {"rank": 1, "n_pes": 1, "unique_id": unique_id}):
            try:
                meshmem.init(**arguments)
            except (RuntimeError, TypeError, ValueError) as error:
                print(type(error).__name__, meshmem.is_initialized())
        meshmem.init(rank=0, n_pes=1, unique_id=unique_id)
        print(meshmem.my_pe(), meshmem.n_pes())
    """)])
    assert "one job" in result.stdout.splitlines()[0], result
    assert result.stdout.splitlines()[1:] == ["TypeError False", "ValueError False",
                                              "RuntimeError False", "0 1"], result


@pytest.mark.parametrize("wait", ["wait_until", "signal_wait_until"])
def test_interrupt_in_a_wait(wait):
    """One PE, which a terminal's Ctrl-C reaches at once; oshrun ends its PEs by SIGTERM."""
    program = START + textwrap.dedent(f"""
        import threading, time
        flag = meshmem.zeros(1, np.uint64)
        def announce():
            while not meshmem._core.call_of_main_thread():
                time.sleep(0.01)
            print("waits", flush=True)
        threading.Thread(target=announce, daemon=True).start()
        def waits():
            flag.{wait}('==', 1)
        waits()
    """)
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "MESHMEM_TIMEOUT": "60"})
    assert process.stdout.readline() == "waits\n"
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=60)
    assert process.returncode == 130, (process.returncode, output)
    assert "PE 0 of 1 ends the job: interrupted in a call that waits\n" in output[1]
    assert "in waits\n" in output[1] and output[1].endswith("KeyboardInterrupt\n")


def test_interrupt_between_calls():
    result = run([sys.executable, "-c", START + textwrap.dedent("""
        import signal, threading
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            print("caught")
    """)])
    assert (result.returncode, result.stdout) == (0, "caught\n"), result


def test_an_interrupt_ends_a_wait():
    process = subprocess.Popen(command(2, """
        print("waits", flush=True)
        meshmem.zeros(1, int).wait_until("==", 1)
    """), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert [process.stdout.readline() for _ in range(2)] == ["waits\n"] * 2
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130


@pytest.mark.skipif(not HAS_GIL, reason="the child shares the locks of a free-threaded Python")
def test_a_child_of_fork_may_not_call():
    result = run([sys.executable, "-c", START + textwrap.dedent("""
        array = meshmem.zeros(1)
        child = os.fork()
        if child == 0:
            for call in (meshmem.my_pe, meshmem.barrier_all, lambda: array.g(0), meshmem.init):
                try:
                    call()
                    os._exit(1)
                except RuntimeError as error:
                    assert "child of fork" in str(error)
            sys.exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        array.p(0, 1)
    """)])
    assert (result.returncode, result.stdout) == (0, "0\n"), result


@pytest.mark.skipif(not HAS_GIL, reason="the child shares the locks of a free-threaded Python")
def test_an_interrupt_of_a_child_leaves_the_wait():
    result = run([sys.executable, "-c", START + textwrap.dedent("""
        import signal, threading, time
        flag = meshmem.zeros(1, int)
        def interrupt_a_child():
            while not meshmem._core.call_of_main_thread():
                time.sleep(0.01)
            reader, writer = os.pipe()
            child = os.fork()
            if child == 0:
                try:
                    os.write(writer, b"x")
                    time.sleep(60)
                finally:
                    os._exit(5)
            os.read(reader, 1)
            os.kill(child, signal.SIGINT)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            time.sleep(0.2)
            flag.p(0, 1)
        threading.Thread(target=interrupt_a_child).start()
        flag.wait_until("==", 1)
    """)])
    assert (result.returncode, result.stdout) == (0, "5\n"), result


def test_threads_call_at_the_same_time():
    """Only calls with a context of their own, which release Python's lock."""
    result = run(command(2, """
        import threading
        counter = meshmem.zeros(1, int)
        def add():
            with meshmem.Context(serialized=True) as ctx:
                for _ in range(1000):
                    counter.atomic_inc(0, ctx=ctx)
        threads = [threading.Thread(target=add) for _ in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        meshmem.barrier_all()
        print(counter.g(0))
    """))
    assert (result.returncode, result.stdout) == (0, "8000\n8000\n"), result


def test_threads_share_arrays_and_the_default_context():
    result = run(command(2, """
        import threading
        table = meshmem.zeros((4, 50), int)
        sums = [0] * 4
        def work(row):
            for i in range(1, 201):
                table[row].put_nbi(1 - me, np.full(50, i))
                sums[row] += table.local[row].size  # an export that ends at once
                if i % 10 == 0:
                    meshmem.quiet()
        threads = [threading.Thread(target=work, args=(row,)) for row in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        meshmem.barrier_all()
        print(sums, table.local.min(), table.local.max())
        meshmem.barrier_all()
        table.free()
    """))
    assert (result.returncode, result.stdout) == (0, f"{[10000] * 4} 200 200\n" * 2), result


def test_a_wait_has_a_row_in_the_table():
    result = run(command(2, "meshmem.zeros(1, int).wait_until('==', 1)"),
                 env={"MESHMEM_TIMEOUT": "1"})
    assert result.returncode and re.search("shmem_\\w*wait_until", result.stderr), result


def test_arrays_in_a_gpus_memory(tmp_path):
    """A stand-in for CUDA's driver says that all memory is that of GPU 1. Nobody may read it while
    a key is looked at."""
    driver = tmp_path / "driver.cpp"
    driver.write_text('extern "C" int cuPointerGetAttribute(int* value, int attribute, const void*)'
                      "{ *value = 1; return attribute != 9; }\n")
    subprocess.run([os.environ.get("CXX", "c++"), "-shared", "-fPIC", driver, "-o",
                    tmp_path / "libcuda.so", "-Wl,-soname,libcuda.so.1"], check=True)
    result = run(command(2, f"""
        import ctypes, gc
        ctypes.CDLL("{tmp_path}/libcuda.so")
        array = meshmem.full((2, 3), me, "f4", device="gpu")
        array[1].put(1 - me, np.arange(3, dtype="f4"))
        meshmem.barrier_all()
        column = array[:, 1]
        interface = column.__cuda_array_interface__
        print(array.get(me).tolist(), column.__dlpack_device__(), interface["typestr"],
              interface["shape"], interface["strides"])
        capsule = column.__dlpack__()
        for use in (lambda: array.local, lambda: np.asarray(array), lambda: memoryview(array),
                    lambda: array.__array_interface__, array.free,
                    lambda: array.put(0, np.zeros((2, 3), "f4"), stream=0)):
            try:
                print("no error", use())
            except (TypeError, AttributeError, BufferError):
                pass
        del capsule
        array.free()
        hidden, page = meshmem.empty((2, 512), device="gpu", align=4096), ctypes.c_void_p
        where = page(hidden.__cuda_array_interface__["data"][0])
        assert ctypes.CDLL(None).mprotect(where, ctypes.c_size_t(4096), 0) == 0
        hidden[-1, np.int32(3):, None], hidden[np.array(1), ...]
        for key in ([0, 1], [], True, np.array([True, False]), np.array([1]), (0, [2]), "f"):
            try:
                print("no error", hidden[key])
            except TypeError as error:
                assert "key: " in str(error)
        assert ctypes.CDLL(None).mprotect(where, ctypes.c_size_t(4096), 3) == 0
    """))
    assert result.returncode == 0, result
    assert sorted(result.stdout.splitlines()) == [
        f"[[{pe}.0, {pe}.0, {pe}.0], [0.0, 1.0, 2.0]] (2, 1) <f4 (2,) (12,)" for pe in range(2)]
