#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests meshmem.triton without a GPU: each function by interpreted kernels at 1 to 4 PEs, and
planted races. Also tests the code for AMD and NVIDIA GPUs, kernels on the emulated AMD GPU where
that was built, and the commands of docs/triton.md.

triton_kernels.py PROJECT_FOLDER BUILD_FOLDER CXX   as core.py, whose package this uses

MESHMEM_TRITON_PYTHON names a Python that has Triton, NumPy and pytest, of the version of python3;
without it that is python3 itself, or the environment of core.py. Ends with 77 and a reason if none
has Triton.
"""
import os
import subprocess
import sys

import core
from core import BUILD, ENVIRONMENT, OSHRUN, PACKAGE, PROJECT, make_site, run

TESTS = PROJECT / "python/tests/triton"
PROBE = "import sys, triton, numpy, pytest; print(*sys.version_info[:2], triton.__version__)"


def find_python():
    """The Python, and the version of its Triton."""
    named = os.environ.get("MESHMEM_TRITON_PYTHON")
    for python in [named] if named else [sys.executable, core.PYTHON]:
        try:
            probe = subprocess.run([python, "-c", PROBE], capture_output=True, text=True)
        except FileNotFoundError:
            continue
        if probe.returncode == 0:
            *version, triton = probe.stdout.split()
            if [int(number) for number in version] == list(sys.version_info[:2]):
                return python, triton
            make_site.skip(f"{python} is Python {'.'.join(version)}, and the package is not")
    make_site.skip("no Python with triton, numpy and pytest; MESHMEM_TRITON_PYTHON names one")
    return None


def main():
    python, triton = find_python()
    core.install()
    pytest = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--capture=sys"]
    ENVIRONMENT["PATH"] = f"{os.path.dirname(python)}:{BUILD}/bin:{os.environ['PATH']}"
    emulator = BUILD / "tests/amd_gpu/lib"
    if (emulator / "libamdhip64.so.5").exists():
        ENVIRONMENT["MESHMEM_AMD_EMULATOR"] = str(emulator)
    jobs = subprocess.Popen([*pytest, TESTS / "jobs"], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, env=ENVIRONMENT)
    try:
        ENVIRONMENT["TRITON_INTERPRET"] = "1"
        for pes in (1, 2, 3, 4):
            said = run(f"{pes} PEs", [OSHRUN, "-n", pes, *pytest, TESTS / "pes"])
            if " passed" not in said or "skipped" in said:
                sys.exit(f"{said}\ntriton_kernels.py: {pes} PEs ran no test, or skipped some")
        run("the kernels of gpu_triton.py",
            [OSHRUN, "-n", 3, python, TESTS / "gpu_triton.py", "measure"])
        core.check_page(PROJECT / "docs/triton.md")
        said = jobs.communicate(timeout=200)[0]
    finally:
        jobs.kill()
    print(said)
    if jobs.returncode or " passed" not in said:
        sys.exit("triton_kernels.py: the jobs failed")
    print(f"triton_kernels.py: Triton {triton}, {PACKAGE}")


if __name__ == "__main__":
    main()
