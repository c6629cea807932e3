# SPDX-License-Identifier: Apache-2.0
"""Errors of three kinds. Triton is missing, too old or too new for the import. A kernel waits
longer than MESHMEM_TIMEOUT. A context is for PEs that do not reach each other."""
import os
import subprocess
import sys

from meshmem.run import find_oshrun


def run(program, **environment):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          timeout=100, env={**os.environ, "TRITON_INTERPRET": "1", **environment})


def with_version(version):
    return run(f"import triton\ntriton.__version__ = '{version}'\nimport meshmem.triton")


def test_without_triton_one_line_says_so():
    result = run("import sys\nsys.modules['triton'] = None\nimport meshmem.triton")
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1] == ("ImportError: meshmem.triton needs the package "
                                              "triton: pip install triton"), result
    assert result.stderr.count("Traceback") == 1, result


def test_versions():
    assert "ImportError: meshmem.triton needs Triton 3.6 or later, and this is 3.5.1" in \
        with_version("3.5.1").stderr
    result = with_version("4.0.0")
    assert result.returncode == 0
    assert "was tried with Triton 3.6, 3.9, and this is 4.0.0" in result.stderr
    result = with_version("3.6.0+git1")
    assert result.returncode == 0 and "tried" not in result.stderr


def test_without_a_launcher_there_is_one_pe():
    result = run("import meshmem.triton as mt\nctx = mt.context(4096)\n"
                 "print(ctx.get_rank(), ctx.get_num_ranks(), ctx.zeros(2).numpy())")
    assert (result.returncode, result.stdout) == (0, "0 1 [0. 0.]\n"), result


def test_a_wait_in_vain_ends(tmp_path):
    program = tmp_path / "prog.py"
    program.write_text("""
import meshmem.triton as mt, triton, triton.language as tl
@triton.jit
def waits(flag):
    mt.wait(flag, 1)
waits[(1,)](mt.context(4096).zeros(1, dtype="int32"))
""")
    result = run(f"exec(compile(open({str(program)!r}).read(), {str(program)!r}, 'exec'))",
                 MESHMEM_TIMEOUT="1")
    assert result.returncode == 1
    assert "flag: not as waited for within 1 s; the limit is MESHMEM_TIMEOUT" in result.stderr


def test_some_pes_may_refuse_a_context():
    program = """
import meshmem, meshmem.triton as mt
meshmem.init()
teams = [meshmem.TEAM_WORLD.split_strided(first, 1, size) for first, size in ((0, 1), (1, 2))]
try:
    print(mt.context(4096, teams[meshmem.my_pe() > 0]).n_pes)
except ValueError as error:
    print(str(error).split(",")[0])
meshmem.barrier_all()
"""
    result = subprocess.run(
        [find_oshrun(), "--fake-nodes", "2", "-n", "3", sys.executable, "-c", program],
        capture_output=True, text=True, timeout=100,
        env={**os.environ, "TRITON_INTERPRET": "1", "MESHMEM_TIMEOUT": "20"})
    assert result.returncode == 0, result
    refusal = "team: kernels do not reach the memory of PE {}"
    assert sorted(result.stdout.splitlines()) == ["1", refusal.format(1), refusal.format(2)]
